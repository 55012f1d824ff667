"""Function URL events in, responses out: decoding, security headers, the error payload."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl

from plumbline.errors import ConfigurationError, InvalidRequest, PayloadTooLarge, PlumblineError

MAX_BODY_BYTES = 64 * 1024
# When an upstream that is down does not say when to come back.
RETRY_AFTER_SECONDS = 5

SECURITY_HEADERS: Mapping[str, str] = {
    "strict-transport-security": "max-age=63072000; includeSubDomains",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}
STREAM_HEADERS: Mapping[str, str] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-plumbline-protocol": "1",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. Header names are lower case; ``body`` is decoded bytes."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    source_ip: str = ""
    request_id: str = ""

    def json(self) -> dict[str, Any]:
        """The body as a JSON object; ``InvalidRequest`` says what is wrong with any other."""
        if not self.body.strip():
            raise InvalidRequest("The body is empty; send a JSON object.")
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError) as exc:
            raise InvalidRequest("The body is not valid JSON.") from exc
        if not isinstance(value, dict):
            raise InvalidRequest("The body must be a JSON object.")
        return value


@dataclass(frozen=True, slots=True)
class Response:
    """A status, headers, and a body that is bytes or an iterable of byte chunks."""

    status: int
    headers: Mapping[str, str]
    body: bytes | Iterable[bytes] = b""

    def with_headers(self, extra: Mapping[str, str]) -> Response:
        """The same response with further headers."""
        return replace(self, headers={**self.headers, **extra})


def decode(event: Mapping[str, Any]) -> Request:
    """A function URL event (payload 2.0) as a Request.

    Raises ``PayloadTooLarge`` over 64 KiB and ``InvalidRequest`` for a body that is not base64
    where the event says so. Source: design, "HTTP".
    """
    context = event.get("requestContext") or {}
    http = context.get("http") or {}
    raw = event.get("body") or ""
    # Refused before decoding: base64 takes four characters for three bytes.
    if len(raw) > MAX_BODY_BYTES * 4 // 3 + 4:
        raise PayloadTooLarge("The body is larger than 64 KiB.")
    try:
        body = (
            base64.b64decode(raw, validate=True) if event.get("isBase64Encoded") else raw.encode()
        )
    except (binascii.Error, ValueError) as exc:
        raise InvalidRequest("The body is not valid base64 or text.") from exc
    if len(body) > MAX_BODY_BYTES:
        raise PayloadTooLarge("The body is larger than 64 KiB.")
    return Request(
        method=str(http.get("method", "GET")).upper(),
        path=str(event.get("rawPath") or http.get("path") or "/"),
        headers={str(k).lower(): str(v) for k, v in (event.get("headers") or {}).items()},
        query=dict(parse_qsl(str(event.get("rawQueryString") or ""), keep_blank_values=True)),
        body=body,
        source_ip=str(http.get("sourceIp") or ""),
        request_id=str(context.get("requestId") or ""),
    )


def origin_of(event: Mapping[str, Any]) -> str | None:
    """The Origin header of an event that may be too malformed to decode."""
    headers = event.get("headers")
    if not isinstance(headers, Mapping):
        return None
    found = (value for name, value in headers.items() if str(name).lower() == "origin")
    return next((value for value in found if isinstance(value, str)), None)


def json_response(
    status: int, payload: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response with the security headers."""
    return Response(
        status,
        {
            **SECURITY_HEADERS,
            "content-type": "application/json; charset=utf-8",
            "cache-control": "no-store",
            **(headers or {}),
        },
        json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode(),
    )


def error_response(error: PlumblineError) -> Response:
    """The error as ``{"error": {"code", "message", "details"?}}``, Retry-After if it has one.

    A mistake of the deployment is told to its operator, in the log, and to nobody else.
    """
    if isinstance(error, ConfigurationError):
        return internal_error()
    payload: dict[str, object] = {"code": error.code, "message": error.message}
    if error.details:
        payload["details"] = error.details
    retry_after = getattr(error, "retry_after", None)
    if retry_after is None and error.status == 503:
        retry_after = RETRY_AFTER_SECONDS
    headers = {"retry-after": str(retry_after)} if retry_after is not None else None
    return json_response(error.status, {"error": payload}, headers)


def internal_error() -> Response:
    """What a caller sees of a defect: nothing of its cause."""
    return error_response(PlumblineError("Something went wrong on our side; please try again."))


def stream_response(chunks: Iterator[bytes], headers: Mapping[str, str] | None = None) -> Response:
    """A server-sent event stream with the headers that keep proxies from holding it back."""
    return Response(200, {**SECURITY_HEADERS, **STREAM_HEADERS, **(headers or {})}, chunks)


def cors_headers(origin: str | None, allowed: Iterable[str]) -> dict[str, str]:
    """The CORS headers for an allowed origin, or none. ``*`` in ``allowed`` allows every one."""
    allowed = tuple(allowed)
    if origin is None or not allowed or (origin not in allowed and "*" not in allowed):
        return {}
    return {
        "access-control-allow-origin": origin if "*" not in allowed else "*",
        "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
        "access-control-allow-headers": (
            "authorization, content-type, x-api-key, x-plumbline-session, last-event-id,"
            " mcp-protocol-version, mcp-session-id"
        ),
        "access-control-expose-headers": "retry-after, x-plumbline-protocol, x-plumbline-session",
        "access-control-max-age": "600",
        "vary": "origin",
    }


def encode(response: Response) -> dict[str, Any]:
    """The response as a buffered function URL result; a streamed body is joined."""
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": body.decode("utf-8"),
        "isBase64Encoded": False,
    }
