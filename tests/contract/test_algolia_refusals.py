"""What the embedded server refuses, and how it says so."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from algoliasearch.http.exceptions import RequestException

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


def test_a_port_in_use_is_an_os_error(server: AlgoliaServer) -> None:
    second = AlgoliaServer(None, app_id="APP", api_keys=KEYS, port=server.address[1])
    with pytest.raises(OSError, match="in use"):
        second.start()
    second.stop()
