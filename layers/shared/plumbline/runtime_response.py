"""What the runtime posts for one invocation: a streamed HTTP response, or an error."""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

API_PREFIX = "/2018-06-01/runtime"
INTEGRATION_RESPONSE = "application/vnd.awslambda.http-integration-response"
ERROR_TYPE_HEADER = "Lambda-Runtime-Function-Error-Type"
ERROR_BODY_HEADER = "Lambda-Runtime-Function-Error-Body"
PRELUDE_END = b"\0" * 8
# The service reads trailers through a 4 KiB buffer and gives up on longer ones; in base64,
# 2,700 bytes are 3,600 characters.
MAX_TRAILER_BODY_BYTES = 2_700
MAX_ERROR_TEXT = 2_000
_LINGER_NOT = struct.pack("ii", 1, 0)


class StreamableResponse(Protocol):
    """What a handler returns; ``body`` is bytes or an iterable of bytes."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> Any: ...


def prelude(status: int, headers: Mapping[str, str]) -> bytes:
    """The JSON head of a streamed HTTP response and the eight NULs that end it.

    ``set-cookie`` headers become the prelude's ``cookies``, which is where Lambda reads them.
    """
    fields = {name: value for name, value in headers.items() if name.lower() != "set-cookie"}
    cookies = [value for name, value in headers.items() if name.lower() == "set-cookie"]
    head: dict[str, Any] = {"statusCode": int(status), "headers": fields}
    if cookies:
        head["cookies"] = cookies
    return json.dumps(head).encode() + PRELUDE_END


def body_chunks(body: Any) -> Iterator[bytes]:
    """The body's chunks without the empty ones, which would end an HTTP chunked body early.

    Raises ``TypeError`` for a body, or a chunk of it, that is not bytes.
    """
    if isinstance(body, bytes):
        body = (body,)
    elif isinstance(body, str):
        raise TypeError("The response's body is text; it must be bytes or an iterable of bytes.")
    for chunk in body:
        if not isinstance(chunk, bytes):
            raise TypeError(f"A chunk of the response is {type(chunk).__name__}, not bytes.")
        if chunk:
            yield chunk


def error_type(exc: BaseException) -> str:
    """The error's type as the Runtime API wants it: a category, a dot, a name."""
    if isinstance(exc, SystemExit):
        return "Runtime.ExitError"
    return "Function." + (re.sub(r"[^A-Za-z]", "", type(exc).__name__) or "Unknown")


def error_payload(exc: BaseException) -> dict[str, Any]:
    """The error as the managed runtime words it: errorMessage, errorType, stackTrace.

    Each text is cut at 2,000 characters: an error may quote the whole of what it could not read.
    """
    return {
        "errorMessage": str(exc)[:MAX_ERROR_TEXT],
        "errorType": type(exc).__name__,
        "stackTrace": [line[:MAX_ERROR_TEXT] for line in traceback.format_exception(exc)],
    }


def log_error(message: str, exc: BaseException, request_id: str = "") -> None:
    """One line of JSON on standard error: the log of whatever leaves the handler's hands."""
    line = {"level": "ERROR", "message": message, "aws_request_id": request_id}
    sys.stderr.write(json.dumps(line | error_payload(exc)) + "\n")
    sys.stderr.flush()


def trailer_body(exc: BaseException) -> bytes:
    """The error's payload in base64, cut down until the trailers fit."""
    payload = error_payload(exc)
    while len(encoded := json.dumps(payload).encode()) > MAX_TRAILER_BODY_BYTES:
        # The innermost frames, which come last, say most.
        if payload["stackTrace"]:
            del payload["stackTrace"][0]
        else:
            payload["errorMessage"] = payload["errorMessage"][: len(payload["errorMessage"]) // 2]
    return base64.b64encode(encoded)


class StreamedResponse:
    """One invocation's response, posted chunk by chunk over a connection of its own.

    A reader that goes, or that takes nothing for ``patience()`` seconds, ends the posting and
    nothing else: every later call returns at once, so that the turn behind it runs to its end.
    """

    def __init__(
        self, host: str, port: int | None, request_id: str, *, patience: Callable[[], float]
    ) -> None:
        self._request_id = request_id
        self._patience = patience
        self._connection = http.client.HTTPConnection(host, port, timeout=patience())
        self.opened = False
        self.reader_gone = False

    def open(self, status: int, headers: Mapping[str, str], first: bytes) -> None:
        """Send the request's head, the prelude and the first chunk.

        An exception means that nothing was sent; ``opened`` says that something may have been.
        """
        opening = prelude(status, headers)
        self.opened = True
        try:
            self._connection.putrequest(
                "POST",
                f"{API_PREFIX}/invocation/{self._request_id}/response",
                skip_accept_encoding=True,
            )
            for name, value in (
                ("Content-Type", INTEGRATION_RESPONSE),
                ("Lambda-Runtime-Function-Response-Mode", "streaming"),
                ("Transfer-Encoding", "chunked"),
                ("Trailer", f"{ERROR_TYPE_HEADER}, {ERROR_BODY_HEADER}"),
            ):
                self._connection.putheader(name, value)
            self._connection.endheaders()
        except OSError as exc:
            self._give_up(exc)
        self.write(opening + first)

    def write(self, chunk: bytes) -> None:
        """Send one chunk at once, if the reader is still there."""
        self._send(b"%x\r\n%b\r\n" % (len(chunk), chunk))

    def finish(self) -> None:
        """End the response, wait for the service to have taken it, and hang up."""
        self._end(b"0\r\n\r\n")

    def fail(self, exc: BaseException) -> None:
        """End the response with the error as trailers: the status is already on its way."""
        self._end(
            b"0\r\n%b: %b\r\n%b: %b\r\n\r\n"
            % (
                ERROR_TYPE_HEADER.encode(),
                error_type(exc).encode(),
                ERROR_BODY_HEADER.encode(),
                trailer_body(exc),
            )
        )

    def _send(self, data: bytes) -> None:
        if self.reader_gone:
            return
        try:
            if self._connection.sock is not None:
                self._connection.sock.settimeout(self._patience())
            self._connection.send(data)
        except OSError as exc:
            self._give_up(exc)

    def _end(self, data: bytes) -> None:
        self._send(data)
        if self.reader_gone:
            return
        try:
            answer = self._connection.getresponse()
            answer.read()
            if answer.status != 202:
                raise http.client.HTTPException(f"The Runtime API answered {answer.status}.")
        except (OSError, http.client.HTTPException) as exc:
            self._give_up(exc)
        finally:
            self._connection.close()

    def _give_up(self, exc: Exception) -> None:
        self.reader_gone = True
        if self._connection.sock is not None:
            # A reset tells even a reader whose buffers are full; an orderly end would queue
            # behind what it does not take.
            self._connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        self._connection.close()
        log_error("The response could not be posted to its end.", exc, self._request_id)
