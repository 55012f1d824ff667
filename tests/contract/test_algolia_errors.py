"""The official transport against a server that misbehaves: what each failure becomes."""

from __future__ import annotations

import inspect
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import algoliasearch.http.exceptions as vendor
import pytest
from algoliasearch.http.hosts import Host, HostsCollection

from plumbline.adapters.algolia import AlgoliaIndex, _Client
from plumbline.errors import SearchError, SearchNotConfigured, SearchRefused, SearchUnavailable

Reply = Callable[[BaseHTTPRequestHandler], None]


def reply(status: int, body: bytes, **headers: str) -> Reply:
    def send(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return send


def cut(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("content-length", "1000")
    request.end_headers()
    request.wfile.write(b'{"hits"')
    request.close_connection = True


def hang(request: BaseHTTPRequestHandler) -> None:
    request.server.stopped.wait(5)  # type: ignore[attr-defined]  # set by the fixture
    request.close_connection = True


class Scripted:
    """Plays replies in order; the last one goes on."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.peers: list[tuple[str, int]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                outer.peers.append(self.client_address)
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.requests.append((self.command, self.path, headers, self.rfile.read(length)))
                step = outer.replies.pop(0) if len(outer.replies) > 1 else outer.replies[0]
                step(self)

            do_GET = do_POST = do_PUT = handle_any  # noqa: N815  # the base class's names

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.stopped = threading.Event()  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Scripted]:
    scripted = Scripted()
    threading.Thread(target=scripted.server.serve_forever, args=(0.01,), daemon=True).start()
    yield scripted
    scripted.server.stopped.set()  # type: ignore[attr-defined]
    scripted.server.shutdown()
    scripted.server.server_close()


def index(url: str, **options: float) -> AlgoliaIndex:
    return AlgoliaIndex("APP", "KEY", "ix", url=url, **options)


OK = reply(200, b'{"hits":[{"objectID":"a"}]}')


@pytest.mark.parametrize(
    ("answer", "error", "status"),
    [
        (reply(400, b'{"message":"bad","status":400}'), SearchRefused, 400),
        (reply(403, b'{"message":"key","status":403}'), SearchRefused, 403),
        (reply(405, b"<html>no</html>"), SearchRefused, 405),
        (reply(400, b"a message that is no JSON"), SearchUnavailable, None),
        (reply(500, b"oops"), SearchUnavailable, None),
        (reply(301, b"", location="https://elsewhere.example/"), SearchUnavailable, None),
        (reply(200, b"not json"), SearchUnavailable, None),
        (reply(200, b"[]"), SearchUnavailable, None),
        (reply(200, b""), SearchUnavailable, None),
        (cut, SearchUnavailable, None),
        (hang, SearchUnavailable, None),
    ],
    ids=[
        *("400", "403", "405-html", "400-no-json", "500", "redirect"),
        *("no-json", "array", "empty", "cut", "hang"),
    ],
)
def test_a_failure_becomes_ours_and_tells_nothing_of_the_vendor(
    server: Scripted, answer: Reply, error: type[SearchError], status: int | None
) -> None:
    server.replies = [answer]
    with pytest.raises(error) as caught:
        index(server.url, read_timeout=0.2).search({"query": "x"})
    assert caught.value.message == "Search is unavailable; try again later."
    assert getattr(caught.value, "upstream_status", None) == status


def test_an_index_that_is_not_there_yet_is_empty(server: Scripted) -> None:
    server.replies = [reply(404, b'{"message":"Index ix does not exist","status":404}')]
    shared = index(server.url)
    assert shared.search({"query": "x"})["hits"] == []
    assert [a["hits"] for a in shared.multi_query([{"query": "x"}, {"query": "y"}])] == [[], []]


def test_a_429_says_how_long_to_wait_and_does_not_sleep(server: Scripted) -> None:
    server.replies = [reply(429, b'{"message":"slow","status":429}', retry_after="17")]
    with pytest.raises(SearchUnavailable) as caught:
        index(server.url).search({"query": "x"})
    assert caught.value.retry_after == 17
    assert len(server.requests) == 1


def test_one_5xx_is_retried_and_the_host_is_not_blacked_out(server: Scripted) -> None:
    server.replies = [reply(500, b""), OK]
    shared = index(server.url)
    assert shared.search({"query": "x"})["hits"]
    server.replies = [reply(500, b"")]
    with pytest.raises(SearchUnavailable):
        shared.search({"query": "x"})
    server.replies = [OK]
    assert shared.search({"query": "x"})["hits"]


def test_a_closed_port_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(SearchUnavailable):
        index(f"http://127.0.0.1:{port}").search({"query": "x"})


def test_a_host_that_refuses_is_passed_over(server: Scripted) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        dead = free.getsockname()[1]
    server.replies = [OK]
    client = _Client("APP", "KEY", server.url, (1.0, 1.0, 1.0))
    port = server.server.server_address[1]
    client.config.hosts = HostsCollection(
        [Host("127.0.0.1", scheme="http", port=dead), Host("127.0.0.1", scheme="http", port=port)]
    )
    for _ in range(2):
        assert json.loads(client.request("POST", "/1/indexes/ix/query", "{}", reads=True))["hits"]
    assert len(server.requests) == 2


def test_threads_that_come_and_go_share_connections(server: Scripted) -> None:
    """Each turn runs in a thread of its own; none pays for a connection that is there."""
    server.replies = [OK]
    shared = index(server.url)
    for _ in range(4):
        thread = threading.Thread(target=lambda: shared.search({"query": "x"}))
        thread.start()
        thread.join()
    assert len(set(server.peers)) == 1


@pytest.mark.parametrize(("app", "key"), [(None, "k"), ("", "k"), ("a", None), ("a", "")])
def test_missing_credentials_are_told_as_such(app: str | None, key: str | None) -> None:
    with pytest.raises(SearchNotConfigured, match="not configured on the server"):
        AlgoliaIndex(app, key, "ix").search({"query": "x"})


def test_every_exception_of_the_transport_is_mapped(server: Scripted) -> None:
    """A new vendor exception must be a child of one that the mapping names."""
    kinds = [
        kind
        for _, kind in inspect.getmembers(vendor, inspect.isclass)
        if issubclass(kind, Exception)
    ]
    assert kinds
    assert all(issubclass(kind, vendor.AlgoliaException) for kind in kinds)


def test_the_wire(server: Scripted) -> None:
    server.replies = [
        OK,
        reply(200, b'{"results":[{"hits":[]},{"hits":[]}]}'),
        reply(200, b'{"taskID":7,"objectIDs":["a"]}'),
        reply(200, b'{"status":"notPublished"}'),
        reply(404, b'{"message":"Index ix does not exist","status":404}'),
        reply(200, b'{"taskID":8,"updatedAt":"x"}'),
        reply(200, b'{"hits":[{"objectID":"a"}],"cursor":"c"}'),
        reply(200, b'{"hits":[{"objectID":"b"}]}'),
    ]
    shared = index(server.url)
    shared.search({"query": "x"})
    shared.multi_query([{"query": "x"}, {"query": "y"}], strategy="stopIfEnoughMatches")
    assert shared.batch([{"action": "addObject", "body": {"objectID": "a"}}]) == 7
    assert shared.task_published(7) is False
    assert shared.get_settings() is None
    assert shared.delete_by("repository_id=1") == 8
    assert [hit["objectID"] for hit in shared.browse({})] == ["a", "b"]

    sent = [(method, path) for method, path, _, _ in server.requests]
    assert sent == [
        ("POST", "/1/indexes/ix/query"),
        ("POST", "/1/indexes/*/queries"),
        ("POST", "/1/indexes/ix/batch"),
        ("GET", "/1/indexes/ix/task/7"),
        ("GET", "/1/indexes/ix/settings"),
        ("POST", "/1/indexes/ix/deleteByQuery"),
        ("POST", "/1/indexes/ix/browse"),
        ("POST", "/1/indexes/ix/browse"),
    ]
    headers, body = server.requests[1][2], json.loads(server.requests[1][3])
    assert headers["x-algolia-application-id"] == "APP"
    assert headers["x-algolia-api-key"] == "KEY"
    assert body["strategy"] == "stopIfEnoughMatches"
    assert [query["indexName"] for query in body["requests"]] == ["ix", "ix"]
    assert json.loads(server.requests[7][3]) == {"cursor": "c"}


def test_a_refused_query_inside_a_multi_query_is_a_refusal(server: Scripted) -> None:
    server.replies = [reply(200, b'{"results":[{"message":"bad filter","status":400}]}')]
    with pytest.raises(SearchRefused):
        index(server.url).multi_query([{"query": "x"}])
