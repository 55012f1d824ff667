"""Link checks against real servers on this machine, with the real HTTP client."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from plumbline.audit.health import AuditResult, ContentAuditor
from plumbline.index.public_hosts import is_public
from plumbline.policy import AuditPolicy

POLICY = AuditPolicy(brand="Acme", allowed_hosts=("ok.example", "other.example"))


class _Pages(BaseHTTPRequestHandler):
    """``/404``, ``/405`` (GET works), ``/slow``, ``/to/<where>`` and everything else 200."""

    server: _Server

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_GET(self) -> None:
        self._answer("GET")

    def _answer(self, method: str) -> None:
        self.server.seen.append((method, self.path, self.headers))
        if self.path == "/slow":
            self.server.release.wait(10)
        status = 200
        if self.path.startswith("/to/"):
            status = 302
        elif self.path == "/405" and method == "HEAD":
            status = 405
        elif self.path.strip("/").isdigit() and self.path != "/405":
            status = int(self.path.strip("/"))
        self.send_response(status)
        if status == 302:
            self.send_header("location", self.path.removeprefix("/to/"))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.seen: list[tuple[str, str, object]] = []
        self.release = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


@contextmanager
def running() -> Iterator[_Server]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server() -> Iterator[_Server]:
    with running() as found:
        yield found


def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def check(*links: str, seconds: float = 4.0) -> AuditResult:
    auditor = ContentAuditor(POLICY, resolve=here, public=lambda ip: True)
    return auditor.audit_content(links, seconds=seconds)


def test_alive_dead_and_unknown(server: _Server) -> None:
    base = f"http://ok.example:{server.port}"
    found = check(f"{base}/a?b=1#c", f"{base}/404", f"{base}/410", f"{base}/500", f"{base}/403")
    assert found.alive == (f"{base}/a?b=1#c",)
    assert found.dead_links == (f"{base}/404", f"{base}/410")
    assert dict(found.unknown) == {f"{base}/500": "status_500", f"{base}/403": "status_403"}
    assert ("HEAD", "/a?b=1") in {(method, path) for method, path, _ in server.seen}
    assert all(method == "HEAD" for method, _, _ in server.seen)


def test_405_falls_back_to_a_ranged_get(server: _Server) -> None:
    link = f"http://ok.example:{server.port}/405"
    assert check(link).alive == (link,)
    method, _, headers = server.seen[-1]
    assert method == "GET"
    assert headers["range"] == "bytes=0-0"  # type: ignore[index]
    assert headers["host"] == f"ok.example:{server.port}"  # type: ignore[index]


def test_redirects_are_followed_under_the_same_rules(server: _Server) -> None:
    base = f"http://ok.example:{server.port}"
    good, gone = f"{base}/to//fine", f"{base}/to//404"
    away = f"{base}/to/http://evil.example:{server.port}/x"
    scheme, loop = f"{base}/to/file:///etc/passwd", f"{base}/to//to//to//to//to//to//to//x"
    found = check(good, gone, away, scheme, loop)
    assert found.alive == (good,)
    assert found.dead_links == (gone,)
    assert found.unknown[away] == "hostname_not_allowed"
    assert found.unknown[scheme] == "scheme_not_allowed"
    assert found.unknown[loop] == "too_many_redirects"
    assert "/x" not in {path for _, path, _ in server.seen}


def test_no_request_leaves_for_a_host_that_is_not_allowed(server: _Server) -> None:
    link = f"http://evil.example:{server.port}/a"
    assert check(link).unknown == {link: "hostname_not_allowed"}
    assert server.seen == []


@pytest.mark.parametrize("answers", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["::1"], []])
def test_every_address_of_the_host_must_be_public(server: _Server, answers: list[str]) -> None:
    link = f"http://ok.example:{server.port}/a"
    auditor = ContentAuditor(POLICY, resolve=lambda host, port: answers)
    assert auditor.audit_content([link]).unknown == {link: "address_not_public"}
    assert server.seen == []


def test_the_connection_is_made_to_the_address_that_was_checked(server: _Server) -> None:
    """A name that resolves to something else the second time is resolved once only."""
    asked: list[str] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["192.0.2.1"]

    link = f"http://ok.example:{server.port}/a"
    auditor = ContentAuditor(POLICY, resolve=resolve, public=lambda ip: True)
    assert auditor.audit_content([link]).alive == (link,)
    assert asked == ["ok.example"]


def test_a_host_that_does_not_exist_is_dead() -> None:
    def resolve(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    link = "https://ok.example/a"
    auditor = ContentAuditor(POLICY, resolve=resolve)
    assert auditor.audit_content([link]).dead_links == (link,)


def test_slow_links_do_not_hold_the_turn(server: _Server) -> None:
    slow, fast = f"http://ok.example:{server.port}/slow", f"http://ok.example:{server.port}/a"
    begun = time.monotonic()
    found = check(slow, fast, seconds=0.3)
    assert time.monotonic() - begun < 2.0
    assert found.alive == (fast,)
    assert found.unknown == {slow: "timeout"}


def test_at_most_twelve_links_each_once(server: _Server) -> None:
    base = f"http://ok.example:{server.port}"
    links = [f"{base}/p{i}" for i in range(20)]
    assert len(check(*links, *links).alive) == 12
    assert len(server.seen) == 12


def test_no_server_is_no_death() -> None:
    with running() as server:
        port = server.port
    link = f"http://ok.example:{port}/a"
    assert check(link).unknown == {link: "unreachable"}


@pytest.mark.parametrize(
    ("ip", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00:ec2::254", False),
        ("::ffff:169.254.169.254", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses(ip: str, public: bool) -> None:
    assert is_public(ip) is public
