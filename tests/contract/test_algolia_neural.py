"""Neural mode over the wire: the official client waits for vectors as for any task."""

from __future__ import annotations

import threading

import pytest

from devstack.algolia_server import AlgoliaServer
from tests.algolia_world import KEYS, client
from tests.neural_world import NEURAL_SETTINGS, ConceptModel, record

pytest.importorskip("numpy", reason="neural mode needs the extra `neural`")


def test_the_official_client_waits_until_vectors_are_searchable() -> None:
    model = ConceptModel()
    model.gate.clear()
    with AlgoliaServer(None, app_id="APP", api_keys=KEYS, embedder=model) as server:
        writer = client(server)
        writer.set_settings("i", dict(NEURAL_SETTINGS))
        task = writer.save_objects("i", [record(1, "save_image", "Writes a picture to disk")])
        number = task[0].task_id
        assert writer.get_task("i", number).status == "notPublished"
        release = threading.Timer(0.1, model.gate.set)
        release.start()
        writer.wait_for_task("i", number)
        release.join()
        found = client(server, "reader").search_single_index(
            "i", {"query": "store a photograph", "getRankingInfo": True}
        )
        assert [hit.object_id for hit in found.hits] == ["1"]
        info = found.hits[0].ranking_info
        assert info is not None
        scores = info.to_dict()
        assert scores["keywordScore"] == 0
        assert scores["semanticScore"] == 1
        assert scores["neuralScore"] == 0.5
        assert writer.get_settings("i").to_dict()["mode"] == "neuralSearch"
