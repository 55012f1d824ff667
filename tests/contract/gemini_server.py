"""A local server that speaks Gemini's wire, and misbehaves on command."""

from __future__ import annotations

import json
import os
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

MODEL = "gemini-3.8-flash"
USAGE = {"promptTokenCount": 70, "candidatesTokenCount": 50, "thoughtsTokenCount": 30}
# No test waits so long: it is what a server that never answers would do.
FOREVER = 10.0


@dataclass(slots=True)
class Exchange:
    """One request, and the connection that its answer goes to."""

    connection: socket.socket
    connection_number: int
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    keep_alive: bool = True
    # Set when the client has closed the connection while the answer was still to come.
    left: threading.Event = field(default_factory=threading.Event)

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def head(self, status: int, *headers: str, reason: str = "Any") -> None:
        lines = [f"HTTP/1.1 {status} {reason}", *headers, "", ""]
        self.send("\r\n".join(lines).encode())

    def whole(
        self, status: int, body: bytes, *headers: str, kind: str = "application/json"
    ) -> None:
        self.head(status, f"content-type: {kind}", f"content-length: {len(body)}", *headers)
        self.send(body)

    def open_stream(self) -> None:
        self.head(200, "content-type: text/event-stream", "transfer-encoding: chunked")

    def chunk(self, data: bytes) -> None:
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def event(self, message: Mapping[str, object]) -> None:
        self.chunk(b"data: " + json.dumps(message).encode() + b"\r\n\r\n")

    def end_stream(self) -> None:
        self.send(b"0\r\n\r\n")

    def close(self) -> None:
        self.keep_alive = False

    def reset(self) -> None:
        """Close so that the peer gets a TCP reset."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        # The reader's file would keep a closed socket open.
        os.close(self.connection.detach())
        self.keep_alive = False

    def wait_until_left(self, seconds: float = FOREVER) -> bool:
        """Whether the client closes the connection within the time."""
        ready, _, _ = select.select([self.connection], [], [], seconds)
        if ready:
            with suppress(OSError):
                gone = self.connection.recv(1) == b""
                if gone:
                    self.left.set()
        self.keep_alive = False
        return self.left.is_set()


Step = Callable[[Exchange], None]


def message(
    text: str | None = None,
    *,
    finish: str | None = None,
    usage: Mapping[str, int] | None = None,
    thought: str | None = None,
) -> dict[str, Any]:
    """One response, or one event of a stream."""
    parts = [{"text": thought, "thought": True}] if thought is not None else []
    parts += [{"text": text}] if text is not None else []
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": parts}
    if finish is not None:
        candidate["finishReason"] = finish
    answer: dict[str, Any] = {"candidates": [candidate], "modelVersion": MODEL, "responseId": "r"}
    if usage is not None:
        answer["usageMetadata"] = {**usage, "totalTokenCount": sum(usage.values())}
    return answer


BLOCKED_PROMPT = {
    "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
    "usageMetadata": {"promptTokenCount": 7, "totalTokenCount": 7},
    "modelVersion": MODEL,
}


def events(*messages: Mapping[str, object]) -> Step:
    """A whole stream."""

    def step(exchange: Exchange) -> None:
        exchange.open_stream()
        for item in messages:
            exchange.event(item)
        exchange.end_stream()

    return step


def answer(*texts: str, finish: str | None = "STOP") -> Step:
    """A stream of texts with its finish reason and its tokens in the last event."""
    last = message(finish=finish, usage=USAGE)
    return events(*(message(text) for text in texts), last)


def unary(body: Mapping[str, object]) -> Step:
    """The one response of a call that does not stream."""
    return lambda exchange: exchange.whole(200, json.dumps(body).encode())


def raw(status: int, body: bytes, *headers: str, kind: str = "text/html") -> Step:
    """Any response."""
    return lambda exchange: exchange.whole(status, body, *headers, kind=kind)


def error_body(code: int, status: str, *, retry_delay: str | None = None) -> dict[str, Any]:
    """Google's form of an error."""
    details: list[dict[str, object]] = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}]
    if retry_delay is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        details.append({"@type": kind, "retryDelay": retry_delay})
    return {"error": {"code": code, "message": "no", "status": status, "details": details}}


def error(
    code: int, status: str, *, retry_delay: str | None = None, retry_after: str | None = None
) -> Step:
    """An error response."""
    headers = [f"retry-after: {retry_after}"] if retry_after is not None else []
    body = json.dumps(error_body(code, status, retry_delay=retry_delay)).encode()
    return raw(code, body, *headers, kind="application/json")


def hang(exchange: Exchange) -> None:
    """No answer at all."""
    exchange.wait_until_left()


def drop(exchange: Exchange) -> None:
    """The connection is closed without an answer, as a kept one that had gone stale."""
    exchange.close()


def broken(*texts: str, then: Callable[[Exchange], None]) -> Step:
    """A stream that begins well."""

    def step(exchange: Exchange) -> None:
        exchange.open_stream()
        for text in texts:
            exchange.event(message(text))
        then(exchange)

    return step


def stall(exchange: Exchange) -> None:
    exchange.wait_until_left()


def cut(exchange: Exchange) -> None:
    exchange.close()


def reset(exchange: Exchange) -> None:
    exchange.reset()


def half_event(exchange: Exchange) -> None:
    exchange.chunk(b'data: {"candidates": [{"content": {"parts": [{"te')
    exchange.end_stream()


def error_inside(exchange: Exchange) -> None:
    exchange.event(error_body(503, "UNAVAILABLE"))
    exchange.end_stream()


def drip(exchange: Exchange) -> None:
    """Bytes without end, and never a whole event."""
    exchange.chunk(b"data: ")
    while not exchange.wait_until_left(0.02):
        exchange.chunk(b" ")


class GeminiServer:
    """Plays steps in order, the last one again and again; keeps what it was sent."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.exchanges: list[Exchange] = []
        self._steps: list[Step] = [answer("Hello.")]
        self._unary: list[Step] = [unary(message("{}", finish="STOP", usage=USAGE))]
        self._arrived = threading.Condition()
        self._open: set[socket.socket] = set()
        self._connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        # A blocked accept is woken by shutdown, not by close.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def play(self, *steps: Step) -> None:
        """What the next streams get."""
        self._steps = list(steps)

    def play_unary(self, *steps: Step) -> None:
        """What the next calls get that do not stream."""
        self._unary = list(steps)

    def wait_for(self, number: int, seconds: float = FOREVER) -> Sequence[Exchange]:
        """The exchanges, once there are so many."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.exchanges) >= number, seconds):
                raise AssertionError(f"{len(self.exchanges)} of {number} requests came")
        return self.exchanges

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections += 1
            arguments = (connection, self._connections)
            threading.Thread(target=self._serve, args=arguments, daemon=True).start()

    def _serve(self, accepted: socket.socket, number: int) -> None:
        with suppress(OSError):
            tls = self._tls
            connection = tls.wrap_socket(accepted, server_side=True) if tls else accepted
            with self._closing(connection):
                self._answer(connection, number)

    def _answer(self, connection: socket.socket, number: int) -> None:
        reader = connection.makefile("rb")
        while exchange := _read_request(reader, connection, number):
            streamed = ":streamGenerateContent" in exchange.path
            steps = self._steps if streamed else self._unary
            step = steps.pop(0) if len(steps) > 1 else steps[0]
            with self._arrived:
                self.exchanges.append(exchange)
                self._arrived.notify_all()
            step(exchange)
            if not exchange.keep_alive:
                return

    @contextmanager
    def _closing(self, connection: socket.socket) -> Iterator[None]:
        self._open.add(connection)
        try:
            yield
        finally:
            self._open.discard(connection)
            with suppress(OSError):
                # The reader's file holds the descriptor: only this tells the peer.
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def _read_request(reader: Any, connection: socket.socket, number: int) -> Exchange | None:
    line = reader.readline().decode("ascii").split()
    if len(line) != 3:
        return None
    headers: dict[str, str] = {}
    while (raw_header := reader.readline().decode("latin-1").strip()) != "":
        name, _, value = raw_header.partition(":")
        headers[name.lower()] = value.strip()
    body = json.loads(reader.read(int(headers.get("content-length", "0"))) or b"{}")
    return Exchange(connection, number, line[1], headers, body)
