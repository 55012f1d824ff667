"""Lambda function URLs on loopback: HTTP in, a payload 2.0 event, the response streamed out."""

from __future__ import annotations

import base64
import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from cheroot.errors import MaxSizeExceeded
from cheroot.wsgi import Server

from devstack.draining import Drained, Drains

Handler = Callable[[dict[str, Any], Any], Any]
# Lambda's own limit; a larger body never reaches the function.
MAX_PAYLOAD_BYTES = 6 * 1024 * 1024
_THREADS = 24
_REASONS = {
    200: "OK",
    202: "Accepted",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Payload Too Large",
    422: "Unprocessable Entity",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}

log = logging.getLogger("plumbline.devstack")


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """What a handler can ask of its invocation."""

    function_name: str
    aws_request_id: str
    deadline: float
    memory_limit_in_mb: int = 1024
    function_version: str = "$LATEST"

    @property
    def invoked_function_arn(self) -> str:
        """An ARN of the embedded account."""
        return f"arn:aws:lambda:us-east-1:123456789012:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the invocation is stopped."""
        return max(0, int((self.deadline - time.monotonic()) * 1000))


def new_context(function_name: str, seconds: float) -> LambdaContext:
    """A context for one invocation that may take ``seconds``."""
    return LambdaContext(function_name, str(uuid.uuid4()), time.monotonic() + seconds)


class BadBody(Exception):
    """The request's body did not arrive as its headers say; ``status`` is what to answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _LoggedServer(Server):
    """Cheroot, which would write its tracebacks to the terminal of whoever runs the stack."""

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        log.debug("%s", msg, exc_info=traceback)


class FunctionUrls:
    """One server for several functions, each under a path prefix (the empty one comes last)."""

    def __init__(
        self,
        functions: Mapping[str, tuple[str, Handler]],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        timeout_seconds: float = 60.0,
    ) -> None:
        self._functions = sorted(functions.items(), key=lambda item: -len(item[0]))
        self._timeout = timeout_seconds
        self._server = _LoggedServer((host, port), self._application, numthreads=_THREADS)
        self._server.max_request_body_size = MAX_PAYLOAD_BYTES
        self._server.timeout = 30
        self._server.shutdown_timeout = 1
        self._thread = threading.Thread(target=self._server.serve, daemon=True, name="http")
        self._drains = Drains()

    def start(self) -> None:
        """Bind and serve; OSError when the port is taken."""
        # The server's own error for a taken port has no errno to tell it by.
        socket.create_server(self._server.bind_addr).close()
        self._server.prepare()
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it answers, without a slash at the end."""
        host, port = self._server.bind_addr[:2]
        return f"http://{host}:{port}"

    def stop(self) -> None:
        """Stop serving; open streams are cut. Nothing happens if it never started."""
        self._server.stop()
        if self._thread.ident is not None:
            self._thread.join(timeout=5)
        self._drains.join()

    def _application(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        path = str(environ.get("PATH_INFO") or "/")
        for prefix, (name, handler) in self._functions:
            if path == prefix or path.startswith(f"{prefix}/"):
                try:
                    event = to_event(environ, path.removeprefix(prefix) or "/")
                except BadBody as exc:
                    # What is left of the body is not the next request.
                    close = {"connection": "close"}
                    return self._plain(environ, start_response, exc.status, str(exc), close)
                try:
                    answer = _answer(handler(event, new_context(name, self._timeout)))
                except Exception:
                    # Lambda's own answer for a function that broke.
                    log.exception("the function %s failed", name)
                    return self._plain(environ, start_response, 502, "Internal Server Error")
                return self._send(environ, start_response, *answer)
        return self._plain(environ, start_response, 404, "no such function")

    def _plain(
        self,
        environ: WSGIEnvironment,
        start_response: StartResponse,
        status: int,
        text: str,
        more: Mapping[str, str] | None = None,
    ) -> Iterable[bytes]:
        headers = {"content-type": "text/plain", **(more or {})}
        return self._send(environ, start_response, status, headers, f"{text}\n".encode())

    def _send(
        self,
        environ: WSGIEnvironment,
        start_response: StartResponse,
        status: int,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes],
    ) -> Iterable[bytes]:
        """The response by HTTP's rules, which Lambda's front end keeps for its functions."""
        listed = list(headers.items())
        bodiless = status in (204, 304)
        if isinstance(body, bytes) and not bodiless and "content-length" not in _names(headers):
            listed.append(("content-length", str(len(body))))
        start_response(f"{status} {_REASONS.get(status, 'Unknown')}", listed)
        if isinstance(body, bytes):
            return [] if bodiless or environ["REQUEST_METHOD"] == "HEAD" else [body]
        stream = Drained(iter(body), self._drains)
        if environ["REQUEST_METHOD"] == "HEAD":
            stream.close()
            return []
        return stream


def to_event(environ: WSGIEnvironment, path: str) -> dict[str, Any]:
    """A WSGI request as a function URL event, payload format 2.0. Raises ``BadBody``."""
    body = _body(environ)
    headers = {
        key[5:].replace("_", "-").lower(): str(value)
        for key, value in environ.items()
        if key.startswith("HTTP_")
    }
    if environ.get("CONTENT_TYPE"):
        headers["content-type"] = str(environ["CONTENT_TYPE"])
    binary = _is_binary(body)
    request_id = str(uuid.uuid4())
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": str(environ.get("QUERY_STRING") or ""),
        "headers": headers,
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "embedded",
            "domainName": headers.get("host", "localhost"),
            "http": {
                "method": environ["REQUEST_METHOD"],
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": str(environ.get("REMOTE_ADDR") or ""),
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": request_id,
            "routeKey": "$default",
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime()),
            "timeEpoch": int(time.time() * 1000),
        },
        "body": base64.b64encode(body).decode() if binary else body.decode(),
        "isBase64Encoded": binary,
    }


def _body(environ: WSGIEnvironment) -> bytes:
    """All of the body; a function is never invoked with half of one."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length < 0:
        raise BadBody(400, "Content-Length must not be negative.")
    try:
        body: bytes = environ["wsgi.input"].read(length) if length else environ["wsgi.input"].read()
    except MaxSizeExceeded as exc:
        raise _too_large() from exc
    except OSError as exc:
        # Cheroot's way to say that the next chunk would be too much: an error without a number.
        if exc.errno is not None or isinstance(exc, TimeoutError):
            raise
        raise _too_large() from exc
    except ValueError as exc:
        raise BadBody(400, "The body's chunks are malformed.") from exc
    if len(body) < length:
        raise BadBody(400, "The body is shorter than Content-Length says.")
    return body


def _too_large() -> BadBody:
    return BadBody(413, f"The body is over {MAX_PAYLOAD_BYTES} bytes.")


def _names(headers: Mapping[str, str]) -> set[str]:
    return {name.lower() for name in headers}


def _is_binary(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return True
    return False


def _answer(answer: Any) -> tuple[int, dict[str, str], bytes | Iterable[bytes]]:
    """A streamed handler's Response, or a buffered handler's result, as its parts."""
    if isinstance(answer, Mapping):
        body = str(answer.get("body") or "").encode()
        if answer.get("isBase64Encoded"):
            body = base64.b64decode(body)
        return int(answer["statusCode"]), dict(answer.get("headers") or {}), body
    return int(answer.status), dict(answer.headers), answer.body
