"""A small Lambda Runtime API that notes when each chunk of a response arrives.

The real emulator buffers a response; this one shows it as the reader would see it, and can be a
reader that stalls or hangs up.
"""

from __future__ import annotations

import contextlib
import json
import queue
import select
import socket
import struct
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

Reading = Literal["all", "stall", "cut"]
# The connection that asked for the next is then kept open, closed as announced, or dropped.
AfterNext = Literal["keep", "close", "drop"]
PATIENCE = 20.0


@dataclass(eq=False)
class Invocation:
    """One invocation, and all that came back for it."""

    event: bytes
    request_id: str
    deadline_ms: int
    reading: Reading
    headers: Mapping[str, str]
    response_headers: dict[str, str] = field(default_factory=dict)
    chunks: list[tuple[float, bytes]] = field(default_factory=list)
    trailers: dict[str, str] = field(default_factory=dict)
    complete: bool = False
    error: dict[str, Any] | None = None
    error_type: str = ""
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def wait_for_chunks(self, count: int) -> None:
        """Wait until ``count`` chunks have arrived."""
        self._wait(lambda: len(self.chunks) >= count, f"{count} chunks")

    def wait(self) -> Invocation:
        """Wait until the response is complete, cut or refused."""
        self._wait(lambda: self.complete or self.error is not None, "the end")
        return self

    def note(self, **values: Any) -> None:
        with self._changed:
            for name, value in values.items():
                setattr(self, name, value)
            self._changed.notify_all()

    def add(self, chunk: bytes) -> None:
        with self._changed:
            self.chunks.append((time.monotonic(), chunk))
            self._changed.notify_all()

    def _wait(self, predicate: Any, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(predicate, PATIENCE):
                raise AssertionError(f"no {what} within {PATIENCE} s; got {self.chunks[-3:]}")

    @property
    def payload(self) -> bytes:
        return b"".join(chunk for _, chunk in self.chunks)

    @property
    def prelude(self) -> dict[str, Any]:
        head, _, _ = self.payload.partition(b"\0" * 8)
        loaded: dict[str, Any] = json.loads(head)
        return loaded

    @property
    def body(self) -> bytes:
        return self.payload.partition(b"\0" * 8)[2]


class RuntimeApiServer:
    """Serves ``next``, ``response`` and both kinds of ``error`` on a loopback port."""

    def __init__(self, *, after_next: AfterNext = "keep") -> None:
        self._after_next = after_next
        self._waiting: queue.Queue[Invocation | None] = queue.Queue()
        self._sent: dict[str, Invocation] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.asked = threading.Semaphore(0)
        # What came in and is no request of the Runtime API.
        self.violations: list[str] = []
        self.init_error: dict[str, Any] | None = None
        self.init_error_type = ""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def invoke(
        self,
        event: object,
        *,
        seconds: float = 30.0,
        reading: Reading = "all",
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Invocation:
        """Hand an event to whoever asks for the next."""
        invocation = Invocation(
            event=json.dumps(event).encode() if raw is None else raw,
            request_id=str(uuid.uuid4()),
            deadline_ms=int((time.time() + seconds) * 1000),
            reading=reading,
            headers=headers or {},
        )
        self._sent[invocation.request_id] = invocation
        self._waiting.put(invocation)
        return invocation

    def wait_until_asked(self) -> None:
        """Wait for one more ``next`` than were waited for before."""
        if not self.asked.acquire(timeout=PATIENCE):
            raise AssertionError("the runtime did not ask for the next invocation")

    def close(self) -> None:
        """Go away: whoever waits for ``next`` loses the connection."""
        self._waiting.put(None)
        for connection in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            try:
                while self._serve_one(connection, reader):
                    pass
            except OSError:
                return
            except (ValueError, KeyError) as exc:
                self.violations.append(repr(exc))

    def _serve_one(self, connection: socket.socket, reader: BinaryIO) -> bool:
        request_line = reader.readline().decode()
        if not request_line:
            return False
        method, path, _ = request_line.split(" ", 2)
        headers = _read_headers(reader)
        if method == "GET" and path == "/2018-06-01/runtime/invocation/next":
            return self._next(connection)
        if path == "/2018-06-01/runtime/init/error":
            self.init_error = json.loads(reader.read(int(headers["content-length"])))
            self.init_error_type = headers["lambda-runtime-function-error-type"]
            connection.sendall(_answer(202, {}, b"{}"))
            return False
        _, _, _, _, request_id, what = path.split("/")
        invocation = self._sent[request_id]
        if what == "error":
            error = json.loads(reader.read(int(headers["content-length"])))
            kind = headers["lambda-runtime-function-error-type"]
            connection.sendall(_answer(202, {}, b"{}"))
            invocation.note(error=error, error_type=kind)
            return False
        invocation.note(response_headers=headers)
        return self._take_response(connection, reader, invocation)

    def _next(self, connection: socket.socket) -> bool:
        self.asked.release()
        invocation = self._waiting.get()
        if invocation is None:
            return False
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-west-1:1:function:search",
            **invocation.headers,
        }
        if self._after_next == "close":
            headers["Connection"] = "close"
        connection.sendall(_answer(200, headers, invocation.event))
        return self._after_next == "keep"

    def _take_response(
        self, connection: socket.socket, reader: BinaryIO, invocation: Invocation
    ) -> bool:
        while size := int(reader.readline(), 16):
            if invocation.reading == "stall" and invocation.chunks:
                # Takes nothing more until the other side hangs up.
                _until_hung_up(connection)
                invocation.note(complete=True)
                return False
            invocation.add(reader.read(size))
            reader.readline()
            if invocation.reading == "cut":
                # A reset, not an orderly end.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                reader.close()
                connection.close()
                invocation.note(complete=True)
                return False
        invocation.note(trailers=_read_headers(reader))
        connection.sendall(_answer(202, {}, b"{}"))
        invocation.note(complete=True)
        return False


def _until_hung_up(connection: socket.socket) -> None:
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    poll.poll(PATIENCE * 1000)


def _read_headers(reader: BinaryIO) -> dict[str, str]:
    headers: dict[str, str] = {}
    while line := reader.readline().strip():
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return headers


def _answer(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"HTTP/1.1 {status} -", *(f"{k}: {v}" for k, v in headers.items())]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
