"""The official client against the embedded server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from algoliasearch.http.exceptions import RequestException
from algoliasearch.http.hosts import Host, HostsCollection
from algoliasearch.insights.client import InsightsClientSync
from algoliasearch.insights.config import InsightsConfig
from algoliasearch.search.client import SearchClientSync
from algoliasearch.search.models.browse_params_object import BrowseParamsObject

from devstack.algolia_server import AlgoliaServer
from tests.algolia_world import KEYS, SETTINGS, client, record


@pytest.fixture(scope="module")
def server() -> Iterator[AlgoliaServer]:
    with AlgoliaServer(None, app_id="APP", api_keys=KEYS) as running:
        yield running


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
