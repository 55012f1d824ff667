"""The indexer through the real client to the embedded engine, with faults put between the two.

In each case it is shown what a searcher finds meanwhile, and afterwards.
"""

from __future__ import annotations

import http.client
import threading
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from devstack.algolia_server import AlgoliaServer
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.index.indexer import Outcome
from tests.index_doubles import COMMIT
from tests.index_world import World, python_files

OTHER = "f" * 40
BEFORE = python_files(["kept", "gone"])
AFTER = python_files(["kept", "new", "beta"])


class Faults:
    """A server between the client and the engine; ``coming`` are applied to the next batches."""

    def __init__(self, engine_url: str) -> None:
        self.coming: list[Callable[[Relay], bool]] = []
        self.batches = 0
        self.before_fault: Callable[[], None] = lambda: None
        self.released = threading.Event()
        parts = urlsplit(engine_url)
        self.engine = (parts.hostname or "", parts.port or 0)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
        self._server.daemon_threads = True
        self._server.faults = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Relay(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b""

    def do_GET(self) -> None:
        self._relay()

    def do_PUT(self) -> None:
        self._relay()

    def do_POST(self) -> None:
        self._relay()

    @property
    def faults(self) -> Faults:
        faults: Faults = self.server.faults  # type: ignore[attr-defined]
        return faults

    def _relay(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.endswith("/batch"):
            self.faults.batches += 1
            if self.faults.coming:
                self.faults.before_fault()
                if self.faults.coming.pop(0)(self):
                    return
        status, data = self.forward()
        self.answer(status, data)

    def forward(self) -> tuple[int, bytes]:
        """The engine's answer to the request."""
        connection = http.client.HTTPConnection(*self.faults.engine, timeout=10)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        try:
            connection.request(self.command, self.path, self.body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def answer(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


def rate_limited(seconds: int) -> Callable[[Relay], bool]:
    def fault(relay: Relay) -> bool:
        message = b'{"message":"Too many jobs","status":429}'
        relay.answer(429, message, retry_after=str(seconds))
        return True

    return fault


def silent(relay: Relay) -> bool:
    """Never answers, and never reaches the engine."""
    relay.faults.released.wait(5)
    relay.close_connection = True
    return True


def applied_but_silent(relay: Relay) -> bool:
    """The engine applies the batch; its answer is lost."""
    relay.forward()
    return silent(relay)


def broken(relay: Relay) -> bool:
    relay.answer(503, b'{"message":"unavailable"}')
    return True


def cut_off(relay: Relay) -> bool:
    """The connection breaks within the answer."""
    relay.send_response(200)
    relay.send_header("content-length", "500")
    relay.end_headers()
    relay.wfile.write(b'{"taskID":')
    relay.close_connection = True
    return True


def refuses_beta(relay: Relay) -> bool:
    """Algolia refuses a whole batch for one record, and says so for every batch with it."""
    relay.faults.coming.insert(0, refuses_beta)
    packed = relay.headers.get("content-encoding") == "gzip"
    body = zlib.decompress(relay.body, 31) if packed else relay.body
    if b'"beta"' not in body:
        return False
    relay.answer(400, b'{"message":"Record at the position 1 is too big","status":400}')
    return True


def forbidden(relay: Relay) -> bool:
    relay.answer(403, b'{"message":"Invalid API key","status":403}')
    return True


class Setting:
    """A world whose index is the engine, behind the faults, with the real client."""

    def __init__(self, engine: AlgoliaServer, faults: Faults) -> None:
        self.faults = faults
        self._direct = AlgoliaIndex("APP", "a", "code", url=engine.url)
        self.world = World()
        self.world.index = AlgoliaIndex(  # type: ignore[assignment]
            "APP", "a", "code", url=faults.url, write_timeout=1, read_timeout=3
        )
        self.world.restart()
        first = self.world.handle(self.world.upload(BEFORE, comment=COMMIT))
        assert first.status == "completed"
        self.request = self.world.upload(AFTER, comment=OTHER)
        self.meanwhile: list[set[str]] = []
        faults.before_fault = lambda: self.meanwhile.append(self.found())

    def run(self, *coming: Callable[[Relay], bool]) -> Outcome:
        self.faults.coming = list(coming)
        return self.world.handle(self.request)

    def found(self) -> set[str]:
        """What a searcher finds now."""
        answer = self._direct.search({"query": "", "filters": "repository_id=1"})
        return {hit["entity_name"] for hit in answer["hits"]}


@pytest.fixture
def setting() -> Iterator[Setting]:
    keys = {"a": frozenset({"search", "admin"})}
    with AlgoliaServer(None, app_id="APP", api_keys=keys) as engine:
        faults = Faults(engine.url)
        try:
            yield Setting(engine, faults)
        finally:
            faults.stop()


def test_without_a_fault_it_is_one_batch_of_writes_and_one_of_deletions(setting: Setting) -> None:
    setting.faults.batches = 0
    assert setting.run().status == "completed"
    assert setting.faults.batches == 2
    assert setting.found() == {"kept", "new", "beta"}


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (rate_limited(17), 17),
        (broken, 1),
        (silent, 1),
        (applied_but_silent, 1),
        (cut_off, 1),
    ],
    ids=["rate limit", "server error", "timeout", "answer lost", "cut off"],
)
def test_a_fault_that_passes_is_waited_out(
    setting: Setting, fault: Callable[[Relay], bool], seconds: int
) -> None:
    before = setting.world.clock.now
    # The client itself tries a host twice after a 5xx or a timeout.
    assert setting.run(fault, *([fault] if seconds == 1 else [])).status == "completed"
    assert (setting.world.clock.now - before).total_seconds() >= seconds
    assert setting.meanwhile
    assert all(found >= {"kept", "gone"} for found in setting.meanwhile)
    assert setting.found() == {"kept", "new", "beta"}
    assert setting.world.repository.status == "completed"


def test_a_fault_that_stays_leaves_the_old_index_to_searchers(setting: Setting) -> None:
    outcome = setting.run(*[broken] * 20)
    assert (outcome.status, outcome.retry_after) == ("retry", 30)
    assert setting.found() == {"kept", "gone"}
    assert setting.world.repository.reason == "Algolia did not answer. It is tried again."
    assert setting.run().status == "completed"
    assert setting.found() == {"kept", "new", "beta"}


def test_a_rate_limit_that_stays_asks_to_be_tried_when_it_ends(setting: Setting) -> None:
    outcome = setting.run(rate_limited(240))
    assert (outcome.status, outcome.retry_after) == ("retry", 240)
    assert setting.found() == {"kept", "gone"}


def test_a_refused_record_is_left_out_and_told(setting: Setting) -> None:
    outcome = setting.run(refuses_beta)
    assert outcome.status == "completed"
    assert setting.found() == {"kept", "new"}
    assert setting.world.repository.files_skipped == {"record refused by Algolia": 1}


def test_a_refused_key_changes_nothing(setting: Setting) -> None:
    assert setting.run(forbidden).status == "retry"
    assert setting.found() == {"kept", "gone"}
    assert setting.world.repository.reason == (
        "Algolia refused the key; check that it may write to the index."
    )


def test_deletions_that_fail_leave_stale_records_rather_than_a_hole(setting: Setting) -> None:
    def passes(relay: Relay) -> bool:
        return False

    outcome = setting.run(passes, *[broken] * 20)
    assert outcome.status == "retry"
    assert setting.found() == {"kept", "new", "beta", "gone"}
    assert setting.run().status == "completed"
    assert setting.found() == {"kept", "new", "beta"}


def test_a_repository_is_deleted_by_its_number(setting: Setting) -> None:
    assert setting.world.handle(setting.world.delete_event()).status == "deleted"
    assert setting.found() == set()
