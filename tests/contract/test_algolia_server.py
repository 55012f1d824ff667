"""The official client against the embedded server."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from algoliasearch.http.exceptions import RequestException
from algoliasearch.http.hosts import Host, HostsCollection
from algoliasearch.insights.client import InsightsClientSync
from algoliasearch.insights.config import InsightsConfig
from algoliasearch.search.client import SearchClientSync
from algoliasearch.search.config import SearchConfig
from algoliasearch.search.models.browse_params_object import BrowseParamsObject

from devstack.algolia_server import AlgoliaServer

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"reader": frozenset({"search"}), "writer": frozenset({"search", "admin"})}
SETTINGS = {
    "searchableAttributes": ["entity_name", "description"],
    "attributesForFaceting": ["filterOnly(repository_id)", "language", "searchable(file_path)"],
    "camelCaseAttributes": ["entity_name"],
    "customRanking": ["asc(is_test)", "desc(rank_weight)"],
}


@pytest.fixture(scope="module")
def server() -> Iterator[AlgoliaServer]:
    with AlgoliaServer(None, app_id="APP", api_keys=KEYS) as running:
        yield running


def client(server: AlgoliaServer, key: str = "writer", app_id: str = "APP") -> SearchClientSync:
    config = SearchConfig(app_id, key)
    host, port = server.address
    config.hosts = HostsCollection([Host(host, scheme="http", port=port)])
    config.compression_type, config.compression_threshold = "gzip", 750
    return SearchClientSync.create_with_config(config)


def record(number: int, **more: object) -> dict[str, Any]:
    return {
        "objectID": f"r{number}",
        "repository_id": number % 3,
        "entity_name": f"loadItem{number}",
        "description": "Loads an item from the store",
        "language": "python" if number % 2 else "go",
        "file_path": f"src/item_{number}.py",
        "is_test": False,
        "rank_weight": 2,
        **more,
    }


@pytest.fixture
def index(server: AlgoliaServer, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name)[:60]
    writer = client(server)
    writer.set_settings(name, SETTINGS)
    writer.save_objects(name, [record(n) for n in range(10)], wait_for_tasks=True)
    return name


def stored(writer: SearchClientSync, index: str, object_id: str) -> Any:
    return writer.get_object(index, object_id)


def browsing(parameters: dict[str, Any]) -> BrowseParamsObject:
    return BrowseParamsObject(**parameters)


def ids(response: Any) -> list[str]:
    return [hit.object_id for hit in response.hits]


def test_a_search_with_everything_the_product_asks_for(server: AlgoliaServer, index: str) -> None:
    found = client(server, "reader").search_single_index(
        index,
        {
            "query": "load item",
            "hitsPerPage": 3,
            "page": 1,
            "filters": 'repository_id=1 AND language:"python"',
            "facets": ["language"],
            "optionalFilters": ["file_path:src/item_7.py<score=3>"],
            "clickAnalytics": True,
            "getRankingInfo": True,
            "attributesToRetrieve": ["entity_name"],
            "attributesToSnippet": ["description:3"],
        },
    )
    assert (found.nb_hits, found.page, found.nb_pages, found.hits_per_page) == (2, 1, 1, 3)
    assert found.facets == {"language": {"python": 2}}
    assert found.query_id is not None
    assert len(found.query_id) == 32
    int(found.query_id, 16)
    first = (
        client(server)
        .search_single_index(
            index,
            {
                "query": "load item",
                "filters": "repository_id=1 AND language:python",
                "optionalFilters": ["file_path:src/item_7.py<score=3>"],
                "getRankingInfo": True,
                "attributesToRetrieve": ["entity_name"],
                "attributesToSnippet": ["description:3"],
            },
        )
        .to_dict()["hits"]
    )
    assert [hit["objectID"] for hit in first] == ["r7", "r1"]
    assert [hit["_rankingInfo"]["filters"] for hit in first] == [3, 0]
    assert set(first[0]) == {
        "objectID",
        "entity_name",
        "_rankingInfo",
        "_highlightResult",
        "_snippetResult",
    }
    assert first[0]["_highlightResult"]["entity_name"] == {
        "value": "<em>load</em><em>Item</em>7",
        "matchLevel": "full",
        "matchedWords": ["load", "item"],
        "fullyHighlighted": False,
    }
    assert first[0]["_snippetResult"]["description"]["matchLevel"] != "none"


def test_multi_query_stops_when_a_page_is_full(server: AlgoliaServer, index: str) -> None:
    def results(strategy: str) -> list[Any]:
        request = {"indexName": index, "hitsPerPage": 2}
        answer = client(server, "reader").search(
            {
                "requests": [
                    {**request, "query": "nothing"},
                    {**request, "query": "store"},
                    {**request, "query": "item"},
                ],
                "strategy": strategy,
            }
        )
        return [one.actual_instance for one in answer.results]

    assert [len(one.hits) for one in results("none")] == [0, 2, 2]
    assert [len(one.hits) for one in results("stopIfEnoughMatches")] == [0, 2, 0]


def test_every_batch_action(server: AlgoliaServer, index: str) -> None:
    writer = client(server)

    def batch(action: str, **body: object) -> list[str]:
        answer = writer.batch(index, {"requests": [{"action": action, "body": body}]})
        assert writer.get_task(index, answer.task_id).status == "published"
        return list(answer.object_ids)

    batch("addObject", objectID="new", entity_name="fresh")
    batch("updateObject", objectID="new", entity_name="second")
    batch("partialUpdateObject", objectID="new", description="told")
    batch("partialUpdateObjectNoCreate", objectID="missing", description="never")
    batch("partialUpdateObject", objectID="new", seen={"_operation": "Increment", "value": 2})
    batch("partialUpdateObject", objectID="new", tags={"_operation": "AddUnique", "value": "a"})
    assert writer.get_object(index, "new") == {
        "objectID": "new",
        "entity_name": "second",
        "description": "told",
        "seen": 2,
        "tags": ["a"],
    }
    with pytest.raises(RequestException) as missing:
        writer.get_object(index, "missing")
    assert missing.value.status_code == 404
    assert batch("deleteObject", objectID="new") == ["new"]
    assert len(batch("addObject", entity_name="anonymous")) == 1
    batch("clear")
    assert writer.search_single_index(index, {"query": ""}).nb_hits == 0
    assert writer.get_settings(index).camel_case_attributes == ["entity_name"]
    batch("delete")
    assert writer.index_exists(index) is False


def test_objects_one_by_one(server: AlgoliaServer, index: str) -> None:
    writer = client(server)
    odd = "id/with space?é"
    writer.add_or_update_object(index, odd, {"entity_name": "odd"})
    assert stored(writer, index, odd)["entity_name"] == "odd"
    writer.partial_update_object(index, odd, {"language": "ruby"})
    answer = writer.get_objects(
        {"requests": [{"indexName": index, "objectID": odd}, {"indexName": index, "objectID": "x"}]}
    ).to_dict()["results"]
    assert answer == [{"objectID": odd, "entity_name": "odd", "language": "ruby"}, None]
    writer.delete_object(index, odd)
    saved = writer.save_object(index, {"entity_name": "unnamed"})
    assert stored(writer, index, str(saved.object_id))["entity_name"] == "unnamed"


def test_settings_delete_by_clear_and_the_list(server: AlgoliaServer, index: str) -> None:
    writer = client(server)
    task = writer.delete_by(index, {"filters": "repository_id=0"})
    writer.wait_for_task(index, task.task_id)
    assert writer.search_single_index(index, {"query": ""}).nb_hits == 6
    writer.set_settings(index, {"hitsPerPage": 2})
    assert len(writer.search_single_index(index, {"query": ""}).hits) == 2
    assert writer.get_settings(index).searchable_attributes == ["entity_name", "description"]
    (item,) = [one for one in writer.list_indices().items if one.name == index]
    assert item.entries == 6
    writer.clear_objects(index)
    assert writer.search_single_index(index, {"query": ""}).nb_hits == 0
    writer.delete_index(index)
    with pytest.raises(RequestException) as gone:
        writer.get_settings(index)
    assert (gone.value.status_code, gone.value.message) == (404, f"Index {index} does not exist")


def test_browse_meets_every_record_once(server: AlgoliaServer, index: str) -> None:
    seen: list[str] = []
    pages: list[int] = []

    def collect(page: Any) -> None:
        pages.append(len(page.hits))
        seen.extend(ids(page))

    client(server).browse_objects(index, collect, browsing({"hitsPerPage": 4}))
    assert pages == [4, 4, 2]
    assert sorted(seen) == sorted(f"r{n}" for n in range(10))
    seen.clear()
    client(server).browse_objects(
        index, collect, browsing({"filters": "language:go", "hitsPerPage": 2})
    )
    assert sorted(seen) == ["r0", "r2", "r4", "r6", "r8"]


def test_facet_values(server: AlgoliaServer, index: str) -> None:
    reader = client(server, "reader")
    answer = reader.search_for_facet_values(index, "file_path", {"facetQuery": "item_7"})
    (hit,) = answer.facet_hits
    assert (hit.value, hit.count) == ("src/item_7.py", 1)
    with pytest.raises(RequestException) as refused:
        reader.search_for_facet_values(index, "language", {"facetQuery": "py"})
    assert refused.value.status_code == 400
    assert "searchable(language)" in refused.value.message


def test_copy_move_and_replace(server: AlgoliaServer, index: str) -> None:
    writer = client(server)
    copy, moved = f"{index}_copy", f"{index}_moved"
    writer.operation_index(index, {"operation": "copy", "destination": copy})
    writer.operation_index(copy, {"operation": "move", "destination": moved})
    assert writer.index_exists(copy) is False
    assert writer.search_single_index(moved, {"query": "WithNothing load"}).nb_hits == 0
    assert writer.search_single_index(moved, {"query": "load"}).nb_hits == 10
    writer.replace_all_objects(index, [record(99)])
    assert ids(writer.search_single_index(index, {"query": "load"})) == ["r99"]
    assert writer.get_settings(index).camel_case_attributes == ["entity_name"]


def test_multiple_batch(server: AlgoliaServer, index: str) -> None:
    writer = client(server)
    other = f"{index}_2"
    requests = [
        {"action": "addObject", "indexName": name, "body": {"objectID": name, "entity_name": "x"}}
        for name in (index, other)
    ]
    answer = writer.multiple_batch({"requests": requests})
    assert sorted(answer.task_id) == sorted([index, other])
    assert writer.search_single_index(other, {"query": "x"}).nb_hits == 1


def test_insights_events_are_kept(server: AlgoliaServer) -> None:
    config = InsightsConfig("APP", "reader", "us")
    host, port = server.address
    config.hosts = HostsCollection([Host(host, scheme="http", port=port)])
    event = {
        "eventType": "view",
        "eventName": "Source cited",
        "index": "code",
        "objectIDs": ["r1"],
        "userToken": "anonymous",
    }
    InsightsClientSync.create_with_config(config).push_events({"events": [event]})
    assert server.events[-1] == event


@pytest.mark.parametrize(
    ("app_id", "key", "message"),
    [
        ("APP", "unknown", "Invalid Application-ID or API key"),
        ("OTHER", "writer", "Invalid Application-ID or API key"),
        ("APP", "reader", "Method not allowed with this API key"),
    ],
)
def test_keys(server: AlgoliaServer, app_id: str, key: str, message: str) -> None:
    with pytest.raises(RequestException) as refused:
        client(server, key, app_id).save_object("locked", {"a": 1})
    assert (refused.value.status_code, refused.value.message) == (403, message)


BAD_QUERIES: list[dict[str, object]] = [
    {"query": "é" * 257},
    {"query": 7},
    {"hitsPerPage": 1001},
    {"hitsPerPage": -1},
    {"page": "two"},
    {"unheardOf": 1},
    {"filters": "language:"},
    {"filters": "(a:1 AND b:2) OR c:3"},
    {"filters": "NOT (a:1 OR b:2)"},
    {"filters": "a:1 OR b=2"},
    {"filters": "repository_id=twelve"},
    {"filters": 'language:"open'},
    {"facetFilters": [[["a:1"]]]},
    {"facetFilters": ["no colon"]},
    {"numericFilters": ["a:b"]},
    {"optionalFilters": {"a": 1}},
    {"optionalFilters": ["a:b<score=70000>"]},
    {"restrictSearchableAttributes": ["content"]},
    {"removeWordsIfNoResults": "some"},
    {"typoTolerance": "often"},
    {"optionalWords": [1]},
    {"distinct": 9},
]


@pytest.mark.parametrize("body", BAD_QUERIES, ids=[json.dumps(one)[:40] for one in BAD_QUERIES])
def test_a_bad_query_is_400_with_a_message(
    server: AlgoliaServer, index: str, body: dict[str, object]
) -> None:
    with pytest.raises(RequestException) as refused:
        client(server, "reader").search_single_index(index, body)
    assert refused.value.status_code == 400
    assert refused.value.message


def call(
    server: AlgoliaServer, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection(*server.address)
    names = {"x-algolia-application-id": "APP", "x-algolia-api-key": "writer", **headers}
    connection.request(method, path, body, names)
    response = connection.getresponse()
    answer: dict[str, Any] = json.loads(response.read())
    connection.close()
    return response.status, answer


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/1/indexes/nowhere/query", b"{}", 404),
        ("POST", "/1/indexes/nowhere/browse", b"{}", 404),
        ("POST", "/1/indexes/nowhere/clear", b"", 404),
        ("GET", "/1/indexes/x/task/99999999", b"", 404),
        ("GET", "/1/unknown", b"", 404),
        ("PATCH", "/1/indexes/x/query", b"{}", 405),
        ("POST", "/1/indexes/x/batch", b"{", 400),
        ("POST", "/1/indexes/x/batch", b"[]", 400),
        ("POST", "/1/indexes/x/batch", b'{"requests": 1}', 400),
        ("POST", "/1/indexes/x/batch", b'{"requests": [{"action": "fly", "body": {}}]}', 400),
        ("POST", "/1/indexes/x/batch", b'{"requests": [{"action": "updateObject"}]}', 400),
        ("PUT", "/1/indexes/x/settings", b'{"unheardOf": 1}', 400),
        ("PUT", "/1/indexes/x/settings", b'{"customRanking": ["up(a)"]}', 400),
        ("PUT", "/1/indexes/x/settings", b'{"ranking": ["luck"]}', 400),
        ("POST", "/1/indexes/x/deleteByQuery", b"{}", 400),
        ("POST", "/1/indexes/x/operation", b'{"operation": "eat", "destination": "y"}', 400),
        ("POST", "/1/indexes/*/queries", b'{"requests": [{}]}', 400),
        ("POST", "/1/indexes/*/objects", b'{"requests": [{}]}', 400),
        ("POST", "/1/events", b'{"events": [{}]}', 400),
        ("POST", "/1/indexes/x/query", b"[" * 100_000, 400),
    ],
)
def test_bad_calls_get_a_message_and_never_5xx(
    server: AlgoliaServer, method: str, path: str, body: bytes, status: int
) -> None:
    found, answer = call(server, method, path, body)
    assert found == status
    assert answer["status"] == status
    assert answer["message"]


def test_gzip_bodies(server: AlgoliaServer, index: str) -> None:
    path = f"/1/indexes/{index}/query"
    packed = gzip.compress(b'{"query": "load"}')
    headers = {"content-encoding": "gzip"}
    assert call(server, "POST", path, packed, **headers)[1]["nbHits"] == 10
    assert call(server, "POST", path, b"not gzip", **headers)[0] == 400


def test_a_record_over_10_kb_fails_its_whole_batch(server: AlgoliaServer, index: str) -> None:
    writer = client(server)
    batch = [record(50), record(51, content="x" * 10_000)]
    with pytest.raises(RequestException) as refused:
        writer.save_objects(index, batch)
    assert refused.value.status_code == 400
    assert "Record is too big" in refused.value.message
    assert writer.search_single_index(index, {"query": ""}).nb_hits == 10


def test_searches_see_a_batch_whole_or_not_at_all(server: AlgoliaServer, index: str) -> None:
    writer = client(server)
    seen: set[int] = set()
    failures: list[Exception] = []
    done = threading.Event()

    def read() -> None:
        reader = client(server, "reader")
        try:
            while not done.is_set():
                answer = reader.search_single_index(index, {"query": "item", "hitsPerPage": 100})
                assert answer.nb_hits == len(answer.hits)
                seen.add(len(answer.hits))
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        writer.save_objects(index, [record(n) for n in range(10, 60)])
        writer.batch(
            index,
            {
                "requests": [
                    {"action": "deleteObject", "body": {"objectID": f"r{n}"}} for n in range(10, 60)
                ]
            },
        )
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert seen <= {10, 60}


_WRITER = """
import sys
from pathlib import Path
from devstack.engine.engine import Engine
engine = Engine(Path(sys.argv[1]))
engine.set_settings("kept", {"attributesForFaceting": ["kind"], "hitsPerPage": 7})
number = 0
while True:
    requests = [
        {"action": "addObject", "body": {"objectID": f"{number}-{i}", "kind": "a"}}
        for i in range(5)
    ]
    task, _ = engine.batch("kept", requests)
    print(number, task, flush=True)
    number += 1
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().split() for _ in range(10)]
    process.send_signal(signal.SIGKILL)
    acknowledged += [line.split() for line in process.stdout if len(line.split()) == 2]
    process.wait()
    process.stdout.close()
    last, task = (int(word) for word in acknowledged[-1])
    with AlgoliaServer(tmp_path, app_id="APP", api_keys=KEYS) as revived:
        found = client(revived).search_single_index("kept", {"filters": "kind:a"})
        # The batch under way may have been written without being acknowledged; never half of it.
        assert found.nb_hits is not None
        assert found.nb_hits % 5 == 0
        assert found.nb_hits >= (last + 1) * 5
        assert found.hits_per_page == 7
        assert client(revived).get_task("kept", task).status == "published"
        assert client(revived).save_object("kept", {"kind": "b"}).task_id > task
