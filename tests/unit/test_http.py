"""Function URL events in, responses out."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from plumbline.errors import (
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    PlumblineError,
    RateLimited,
)
from plumbline.http import (
    MAX_BODY_BYTES,
    Request,
    Response,
    cors_headers,
    decode,
    encode,
    error_response,
    internal_error,
    stream_response,
)


def event(body: str | None = None, **extra: Any) -> dict[str, Any]:
    return {
        "rawPath": "/search_code",
        "rawQueryString": "q=a%20b&empty=",
        "headers": {"X-Api-Key": "k"},
        "requestContext": {
            "requestId": "r1",
            "http": {"method": "post", "path": "/search_code", "sourceIp": "192.0.2.1"},
        },
        "body": body,
        **extra,
    }


def test_decode_reads_every_part() -> None:
    request = decode(event('{"a": "ü"}'))
    assert (request.method, request.path, request.source_ip) == (
        "POST",
        "/search_code",
        "192.0.2.1",
    )
    assert request.headers == {"x-api-key": "k"}
    assert request.query == {"q": "a b", "empty": ""}
    assert request.json() == {"a": "ü"}
    assert request.request_id == "r1"


def test_decode_takes_base64() -> None:
    body = base64.b64encode(b'{"a": 1}').decode()
    assert decode(event(body, isBase64Encoded=True)).json() == {"a": 1}


def test_decode_survives_an_event_with_nothing_in_it() -> None:
    assert decode({}) == Request("GET", "/")


@pytest.mark.parametrize("body", ["***", "abc"])
def test_a_body_that_is_not_the_base64_it_claims_is_refused(body: str) -> None:
    with pytest.raises(InvalidRequest):
        decode(event(body, isBase64Encoded=True))


@pytest.mark.parametrize("encoded", [False, True])
def test_the_body_limit_is_exact(encoded: bool) -> None:
    def sized(size: int) -> dict[str, Any]:
        raw = b"x" * size
        body = base64.b64encode(raw).decode() if encoded else raw.decode()
        return event(body, isBase64Encoded=encoded)

    assert len(decode(sized(MAX_BODY_BYTES)).body) == MAX_BODY_BYTES
    with pytest.raises(PayloadTooLarge):
        decode(sized(MAX_BODY_BYTES + 1))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"{", "not valid JSON"),
        (b"[1]", "must be a JSON object"),
        (b"[" * 60_000, "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
    ],
)
def test_json_says_what_is_wrong(body: bytes, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        Request("POST", "/", body=body).json()


def test_an_error_is_its_code_message_and_wait() -> None:
    response = error_response(RateLimited("Slow down.", retry_after=7))
    assert response.status == 429
    assert response.headers["retry-after"] == "7"
    assert isinstance(response.body, bytes)
    assert json.loads(response.body) == {
        "error": {"code": "rate_limited", "message": "Slow down.", "details": {"retry_after": 7}}
    }


def test_a_defect_tells_nothing_of_its_cause() -> None:
    response = internal_error()
    assert response.status == 500
    assert isinstance(response.body, bytes)
    assert json.loads(response.body)["error"]["code"] == "internal_error"


def test_every_error_has_a_code_a_status_and_a_place_in_the_drawn_tree() -> None:
    import plumbline.errors as module

    def classes(root: type[PlumblineError]) -> list[type[PlumblineError]]:
        return [root] + [c for child in root.__subclasses__() for c in classes(child)]

    drawn = module.__doc__ or ""
    for kind in classes(PlumblineError):
        assert kind.__name__ in drawn, f"{kind.__name__} is not in the tree"
        assert 400 <= kind.status < 600
        assert kind.code.replace("_", "").isalpha()
        if kind.status != 500 and not kind.__subclasses__():
            assert kind.code in drawn


def test_responses_carry_the_security_headers() -> None:
    for response in (error_response(NotFound("No.")), stream_response(iter(()))):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["x-frame-options"] == "DENY"
    stream = stream_response(iter(()), {"x-plumbline-session": "s"})
    assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert stream.headers["cache-control"] == "no-cache, no-transform"
    assert stream.headers["x-accel-buffering"] == "no"
    assert stream.headers["x-plumbline-protocol"] == "1"
    assert stream.headers["x-plumbline-session"] == "s"


@pytest.mark.parametrize(
    ("origin", "allowed", "expected"),
    [
        (None, ["*"], None),
        ("https://a.example", [], None),
        ("https://b.example", ["https://a.example"], None),
        ("https://a.example", ["https://a.example"], "https://a.example"),
        ("https://a.example", ["*"], "*"),
    ],
)
def test_cors(origin: str | None, allowed: list[str], expected: str | None) -> None:
    assert cors_headers(origin, allowed).get("access-control-allow-origin") == expected


def test_encode_joins_a_streamed_body() -> None:
    encoded = encode(Response(200, {"a": "b"}, iter([b"x", "ü".encode()])))
    assert encoded["statusCode"] == 200
    assert encoded["body"] == "xü"
    assert encoded["headers"] == {"a": "b"}
