"""View events through the official transport, against a local server that misbehaves."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from plumbline.adapters.insights import Insights


class InsightsServer(ThreadingHTTPServer):
    """Answers ``statuses`` in turn, then 200; an event stops it until ``go`` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.statuses: list[int] = []
        self.go = threading.Event()
        self.go.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: InsightsServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, body))
        self.server.go.wait(10)
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        answer = b'{"status":200,"message":"OK"}'
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[InsightsServer]:
    with InsightsServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.go.set()
        server.shutdown()


def view(insights: Insights, object_ids: list[str], **fields: Any) -> None:
    insights.track_view(
        index="code", event_name="Answer Shown", user_token="reader-1", object_ids=object_ids,
        **fields,
    )  # fmt: skip


def test_a_view_is_sent_as_insights_expects_it(server: InsightsServer) -> None:
    insights = Insights("APP", "KEY", url=server.url)
    view(insights, ["a", "b"], query_id="0" * 32)
    assert insights.flush(10)
    [(path, headers, body)] = server.requests
    assert path == "/1/events"
    assert headers["x-algolia-application-id"] == "APP"
    assert headers["x-algolia-api-key"] == "KEY"
    [event] = body["events"]
    timestamp = event.pop("timestamp")
    assert isinstance(timestamp, int)
    assert event == {
        "eventType": "view",
        "eventName": "Answer Shown",
        "index": "code",
        "objectIDs": ["a", "b"],
        "userToken": "reader-1",
        "queryID": "0" * 32,
    }


def test_what_algolia_would_refuse_is_mended_first(server: InsightsServer) -> None:
    insights = Insights("APP", "KEY", url=server.url)
    insights.track_view(
        index="code",
        event_name="x" * 100,
        user_token="no such\ntoken é",
        query_id="not a query id",
        object_ids=["", *(str(n) for n in range(30))],
    )
    assert insights.flush(10)
    [event] = server.requests[0][2]["events"]
    assert len(event["objectIDs"]) == 20
    assert len(event["eventName"]) == 64
    assert len(event["userToken"]) == 64
    assert event["userToken"].isalnum()
    assert "queryID" not in event


@pytest.mark.parametrize(
    ("app_id", "api_key", "object_ids"), [(None, "K", ["a"]), ("A", None, ["a"]), ("A", "K", [])]
)
def test_nothing_to_send_sends_nothing(
    server: InsightsServer, app_id: str | None, api_key: str | None, object_ids: list[str]
) -> None:
    insights = Insights(app_id, api_key, url=server.url)
    view(insights, object_ids)
    assert insights.flush(0)
    assert server.requests == []


def test_a_stalled_server_holds_nobody_up_and_the_overflow_is_dropped(
    server: InsightsServer,
) -> None:
    server.go.clear()
    failures: list[str] = []
    insights = Insights("APP", "KEY", url=server.url, timeout=30, on_failure=failures.append)
    for _ in range(200):
        view(insights, ["a"])
    # All 200 calls are back while the first event still waits for its answer.
    assert len(server.requests) <= 1
    assert len(failures) >= 200 - 64 - 1
    assert set(failures) == {"dropped: too many events wait"}
    server.go.set()
    assert insights.flush(30)
    assert len(server.requests) + len(failures) == 200


def test_failures_stay_inside_and_the_next_event_is_still_sent(server: InsightsServer) -> None:
    failures: list[str] = []
    insights = Insights("APP", "KEY", url=server.url, on_failure=failures.append)
    server.statuses = [500, 401, 429]
    for number in range(4):
        view(insights, [str(number)])
    assert insights.flush(10)
    assert len(failures) == 3
    assert [body["events"][0]["objectIDs"] for _, _, body in server.requests] == [
        ["0"],
        ["1"],
        ["2"],
        ["3"],
    ]


def test_a_refused_connection_stays_inside() -> None:
    with InsightsServer() as closed:
        url = closed.url
    failures: list[str] = []
    insights = Insights("APP", "KEY", url=url, on_failure=failures.append)
    view(insights, ["a"])
    assert insights.flush(10)
    assert failures == ["ConnectionError"]


def test_the_vendor_is_imported_by_the_sending_thread_only() -> None:
    code = (
        "import sys; from plumbline.adapters.insights import Insights; Insights('A', 'K');"
        "print(any(name.startswith(('algoliasearch', 'requests')) for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
