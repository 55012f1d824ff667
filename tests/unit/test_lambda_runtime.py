"""The runtime's pure parts: prelude, chunks, errors, context, handler names."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.lambda_runtime import InitError, context_of, load_handler
from plumbline.runtime_response import (
    MAX_TRAILER_BODY_BYTES,
    body_chunks,
    error_payload,
    error_type,
    prelude,
    trailer_body,
)

HEADERS = {"lambda-runtime-aws-request-id": "r-1"}


def test_a_prelude_is_json_and_eight_nuls() -> None:
    encoded = prelude(201, {"content-type": "text/plain", "x": "é"})
    assert encoded.endswith(b"}" + b"\0" * 8)
    assert json.loads(encoded[:-8]) == {
        "statusCode": 201,
        "headers": {"content-type": "text/plain", "x": "é"},
    }


def test_cookies_go_where_lambda_reads_them() -> None:
    head = json.loads(prelude(200, {"Set-Cookie": "a=1; Secure", "x": "y"})[:-8])
    assert head == {"statusCode": 200, "headers": {"x": "y"}, "cookies": ["a=1; Secure"]}


@given(st.dictionaries(st.text(), st.text()))
def test_no_header_can_end_the_prelude_early(headers: dict[str, str]) -> None:
    encoded = prelude(200, headers)
    assert encoded.index(b"\0" * 8) == len(encoded) - 8
    assert b"\0" not in encoded[:-8]


@pytest.mark.parametrize(
    ("body", "chunks"),
    [
        (b"whole", [b"whole"]),
        (b"", []),
        ([b"a", b"", b"b"], [b"a", b"b"]),
        ((part for part in (b"a", b"b")), [b"a", b"b"]),
    ],
)
def test_the_chunks_of_a_body(body: Any, chunks: list[bytes]) -> None:
    assert list(body_chunks(body)) == chunks


@pytest.mark.parametrize("body", ["text", ["text"], [None], [3]])
def test_a_body_that_is_no_bytes_is_refused(body: Any) -> None:
    with pytest.raises(TypeError, match="bytes"):
        list(body_chunks(body))


class Weird2_Error(Exception):  # noqa: N801
    """A name with what the Runtime API does not take."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError(), "Function.ValueError"),
        (Weird2_Error(), "Function.WeirdError"),
        (type("Ошибка", (Exception,), {})(), "Function.Unknown"),
        (SystemExit(1), "Runtime.ExitError"),
    ],
)
def test_the_type_of_an_error(error: BaseException, kind: str) -> None:
    assert error_type(error) == kind


def test_an_errors_payload_is_the_managed_runtimes() -> None:
    try:
        raise ValueError("x" * 5_000)
    except ValueError as exc:
        payload = error_payload(exc)
    assert payload["errorType"] == "ValueError"
    assert payload["errorMessage"] == "x" * 2_000
    assert "test_lambda_runtime.py" in "".join(payload["stackTrace"])
    assert all(len(line) <= 2_000 for line in payload["stackTrace"])


@given(st.text(), st.integers(0, 20), st.text('äöü\n"', max_size=3_000))
def test_trailers_fit_whatever_the_error(message: str, depth: int, filler: str) -> None:
    def fail(left: int) -> None:
        if left:
            fail(left - 1)
        raise ValueError(message + filler)

    try:
        fail(depth)
    except ValueError as exc:
        encoded = trailer_body(exc)
    decoded = base64.b64decode(encoded)
    assert len(decoded) <= MAX_TRAILER_BODY_BYTES
    assert b"\n" not in encoded
    assert json.loads(decoded)["errorType"] == "ValueError"


def test_a_context_without_the_optional_headers() -> None:
    context = context_of(HEADERS, {})
    assert context.aws_request_id == "r-1"
    assert context.get_remaining_time_in_millis() == 0
    assert context.client_context is None
    assert context.identity.cognito_identity_pool_id is None
    assert context.function_name == ""


def test_the_remaining_time_is_counted_from_the_deadline() -> None:
    deadline = int((time.time() + 100) * 1000)
    context = context_of(HEADERS | {"lambda-runtime-deadline-ms": str(deadline)}, {})
    assert 90_000 < context.get_remaining_time_in_millis() <= 100_000


@pytest.mark.parametrize("name", ["", "handler", ".handler", "handler."])
def test_a_handlers_name_has_two_parts(name: str) -> None:
    with pytest.raises(InitError, match="Bad handler name"):
        load_handler(name, "/var/task")
