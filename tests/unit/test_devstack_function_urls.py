"""The embedded function URLs: HTTP's rules around a function, and clients that go half-way."""

from __future__ import annotations

import json
import logging
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests

from devstack.function_urls import FunctionUrls
from plumbline.http import Response

HOST = b"Host: x\r\n"


@dataclass
class Function:
    """A function that notes what it was invoked with."""

    events: list[dict[str, Any]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    going: threading.Event = field(default_factory=threading.Event)

    def __call__(self, event: dict[str, Any], context: object) -> Any:
        self.events.append(event)
        match event["rawPath"]:
            case "/stream":
                return Response(200, {"content-type": "text/event-stream"}, self._stream())
            case "/breaks":
                raise LookupError("on purpose")
            case "/nothing":
                return {"statusCode": 204, "body": "not to be sent"}
        return {"statusCode": 200, "headers": {"content-type": "text/plain"}, "body": "hello"}

    def _stream(self) -> Iterator[bytes]:
        yield b"first\n"
        self.going.wait(5)
        for _ in range(200):
            yield b"x" * 8192
        self.ended.set()


@dataclass
class Door:
    """One server for all tests, each with a function of its own behind it."""

    function: Function = field(default_factory=Function)

    def __call__(self, event: dict[str, Any], context: object) -> Any:
        return self.function(event, context)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[FunctionUrls, Door]]:
    before = set(threading.enumerate())
    door = Door()
    urls = FunctionUrls({"": ("f", door)})
    urls.start()
    yield urls, door
    urls.stop()
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.is_alive()]
    assert left == []


@pytest.fixture
def function(served: tuple[FunctionUrls, Door]) -> Iterator[Function]:
    served[1].function = Function()
    yield served[1].function
    served[1].function.going.set()


@pytest.fixture
def urls(
    served: tuple[FunctionUrls, Door], function: Function, capfd: pytest.CaptureFixture[str]
) -> Iterator[FunctionUrls]:
    yield served[0]
    assert "Traceback" not in capfd.readouterr().err


def exchange(urls: FunctionUrls, sent: bytes) -> bytes:
    """All that comes back for some bytes, after which nothing more is sent."""
    host, port = urls.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 5) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := client.recv(65536):
            received += chunk
        return received


def reset(urls: FunctionUrls, sent: bytes) -> None:
    """Send and go away as a killed client does."""
    host, port = urls.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 5) as client:
        client.sendall(sent)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("path", ["/", "/stream"])
def test_head_gets_headers_and_no_body(urls: FunctionUrls, function: Function, path: str) -> None:
    function.going.set()
    received = exchange(urls, f"HEAD {path} HTTP/1.1\r\n".encode() + HOST + b"\r\n")
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert body == b""
    assert function.events[0]["requestContext"]["http"]["method"] == "HEAD"


def test_the_next_request_of_a_connection_is_read_after_a_head(urls: FunctionUrls) -> None:
    received = exchange(
        urls, b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n"
    )
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.count(b"hello") == 1
    assert received.endswith(b"\r\n\r\nhello")


def test_no_content_has_none(urls: FunctionUrls) -> None:
    received = exchange(urls, b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n")
    assert received.startswith(b"HTTP/1.1 204 No Content")
    assert received.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (b"Content-Length: 100\r\n\r\nabc", b"shorter than Content-Length"),
        (b"Content-Length: -5\r\n\r\n", b"must not be negative"),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", b"malformed"),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\nab", b"malformed"),
    ],
)
def test_half_a_body_never_reaches_the_function(
    urls: FunctionUrls, function: Function, sent: bytes, says: bytes
) -> None:
    received = exchange(urls, b"POST / HTTP/1.1\r\n" + HOST + sent)
    assert received.startswith(b"HTTP/1.1 400 Bad Request")
    assert says in received
    assert function.events == []


def test_a_chunked_body_over_the_limit_is_refused(urls: FunctionUrls, function: Function) -> None:
    received = exchange(
        urls, b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n6400000\r\n"
    )
    assert b"413 Payload Too Large" in received
    assert function.events == []


def test_a_client_that_is_killed_half_way_is_no_news(urls: FunctionUrls) -> None:
    reset(urls, b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\nabc")
    reset(urls, b"POST / HT")
    assert requests.get(f"{urls.url}/", timeout=5).text == "hello"


def test_a_turn_goes_on_when_its_reader_has_gone(urls: FunctionUrls, function: Function) -> None:
    with requests.get(f"{urls.url}/stream", stream=True, timeout=5) as answer:
        assert next(answer.iter_lines()) == b"first"
    function.going.set()
    assert function.ended.wait(5)


def test_stopping_waits_for_a_turn_that_nobody_reads(function: Function) -> None:
    own = FunctionUrls({"": ("f", function)})
    own.start()
    requests.head(f"{own.url}/stream", timeout=5)
    function.going.set()
    own.stop()
    assert function.ended.is_set()


def test_a_function_that_breaks_is_502_and_logged_once(
    urls: FunctionUrls, caplog: pytest.LogCaptureFixture
) -> None:
    answer = requests.get(f"{urls.url}/breaks", timeout=5)
    assert (answer.status_code, answer.text) == (502, "Internal Server Error\n")
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        "the function f failed"
    ]


def test_one_that_never_started_can_be_stopped(function: Function) -> None:
    started = time.monotonic()
    FunctionUrls({"": ("f", function)}).stop()
    assert time.monotonic() - started < 5


def test_a_body_arrives_whole(urls: FunctionUrls, function: Function) -> None:
    requests.post(f"{urls.url}/a", json={"query": "é"}, timeout=5)
    assert json.loads(function.events[0]["body"]) == {"query": "é"}
