"""One call's deadline, held even against a server that keeps sending but never says anything.

The SDK's timeout is for each socket operation, and its stream gives way only at whole events.
Source: facts measured of google-genai 3.6; design, decision 16.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx2


class CallDeadline:
    """When a call must be over, on ``time.monotonic``'s clock; at that time its socket is shut.

    ``started`` is True once text has gone out. A shut socket ends the read that waits on it.
    """

    def __init__(self, until: float) -> None:
        self.started = False
        self._until = until
        self._changed = threading.Condition()
        self._socket: socket.socket | None = None
        self._done = self._shut = False

    @property
    def remaining(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._until - time.monotonic())

    def check(self) -> None:
        """Raise ``TimeoutError`` when the time is over."""
        if not self.remaining:
            raise TimeoutError("the call's deadline has passed")

    def move(self, until: float) -> None:
        """Set another end."""
        with self._changed:
            self._until = until
            self._changed.notify()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Hold the deadline from another thread until the block ends."""
        threading.Thread(target=self._watch, name="gemini-deadline", daemon=True).start()
        try:
            yield
        finally:
            with self._changed:
                self._done, self._socket = True, None
                self._changed.notify()

    def attach(self, response: httpx2.Response) -> None:
        """Take the socket that the answer comes from."""
        stream = response.extensions.get("network_stream")
        connection = stream.get_extra_info("socket") if stream is not None else None
        with self._changed:
            self._socket = connection
            if self._shut:
                self._shut_socket()

    def _watch(self) -> None:
        with self._changed:
            while not self._done and self.remaining:
                self._changed.wait(self.remaining)
            self._shut = not self._done
            self._shut_socket()

    def _shut_socket(self) -> None:
        if self._socket is None:
            return
        # The plain socket's own method: TLS's would unwrap it under the reader. It fails where
        # the other side has gone, which is as well.
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class AnswerHooks:
    """Tells the call that this thread is making of the response that has come for it."""

    def __init__(self, connect_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._current = threading.local()

    @contextmanager
    def sending(self, call: CallDeadline) -> Iterator[None]:
        """For this block, what this thread receives belongs to ``call``."""
        self._current.call = call
        try:
            yield
        finally:
            self._current.call = None

    def event_hooks(self) -> dict[str, list[Callable[..., None]]]:
        """In the form of httpx2's client."""
        return {"request": [self._request], "response": [self._response]}

    def _request(self, request: httpx2.Request) -> None:
        # The SDK knows one timeout; connecting gets a shorter one, so that it can be tried again.
        timeouts = dict(request.extensions.get("timeout") or {})
        for kind in ("connect", "pool"):
            timeouts[kind] = min(timeouts.get(kind) or self._connect_timeout, self._connect_timeout)
        request.extensions = {**request.extensions, "timeout": timeouts}

    def _response(self, response: httpx2.Response) -> None:
        call: CallDeadline | None = getattr(self._current, "call", None)
        if call is not None:
            call.attach(response)
