"""Lambda function URLs on loopback: HTTP in, a payload 2.0 event, the response streamed out."""

from __future__ import annotations

import base64
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from cheroot.wsgi import Server

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
    409: "Conflict",
    413: "Payload Too Large",
    422: "Unprocessable Entity",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


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
        self._server = Server((host, port), self._application, numthreads=_THREADS)
        self._server.max_request_body_size = MAX_PAYLOAD_BYTES
        self._server.timeout = 30
        self._server.shutdown_timeout = 1
        self._thread = threading.Thread(target=self._server.serve, daemon=True, name="http")

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
        """Stop serving; open streams are cut."""
        self._server.stop()
        self._thread.join(timeout=5)

    def _application(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        path = str(environ.get("PATH_INFO") or "/")
        for prefix, (name, handler) in self._functions:
            if path == prefix or path.startswith(f"{prefix}/"):
                event = to_event(environ, path.removeprefix(prefix) or "/")
                context = new_context(name, self._timeout)
                status, headers, body = _answer(handler(event, context))
                reason = _REASONS.get(status, "Unknown")
                start_response(f"{status} {reason}", list(headers.items()))
                return [body] if isinstance(body, bytes) else _Drained(iter(body))
        start_response("404 Not Found", [("content-type", "text/plain")])
        return [b"no such function\n"]


class _Drained:
    """A stream that is read to its end even when its reader has gone, as on Lambda."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        """Called by the server at the end of every response."""
        threading.Thread(target=self._drain, daemon=True, name="drain").start()

    def _drain(self) -> None:
        for _ in self._chunks:
            pass


def to_event(environ: WSGIEnvironment, path: str) -> dict[str, Any]:
    """A WSGI request as a function URL event, payload format 2.0."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length) if length else environ["wsgi.input"].read()
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
