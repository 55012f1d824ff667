"""What the Gemini SDK and its transport raise: our errors for it, and what may be tried again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

import httpx2
from google.genai import errors

from plumbline.errors import GenerationInterrupted, ModelError, ModelUnavailable

UNAVAILABLE = "The language model is unavailable; try again later."
INTERRUPTED = "The answer broke off; please ask again."

_FIRST_WAIT_SECONDS = 0.3
_RETRIED_STATUS = frozenset({408, 429})
# The last five: the SDK reads what a server sends without checking its form, and lets through
# what then goes wrong (``UnknownApiResponseError`` and pydantic's errors are ``ValueError``s).
_VENDOR_ERRORS: tuple[type[Exception], ...] = (
    errors.APIError,
    errors.ContinuationInterruptedError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    httpx2.CookieConflict,
    OSError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
)


class Progress(Protocol):
    """Whether any text of the call has gone out."""

    @property
    def started(self) -> bool:
        """True from the first piece of text on."""


@contextmanager
def mapped_errors(call: Progress) -> Iterator[None]:
    """The vendor's errors as ours: unavailable before the first piece, interrupted after it."""
    try:
        yield
    except ModelError:
        raise
    except _VENDOR_ERRORS as exc:
        if call.started:
            raise GenerationInterrupted(INTERRUPTED) from exc
        raise ModelUnavailable(UNAVAILABLE) from exc


def is_dropped_connection(cause: BaseException | None) -> bool:
    """Whether the other side went away without a word, as one does that has closed while idle."""
    return isinstance(cause, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError)


def retry_wait(cause: BaseException | None) -> float | None:
    """Seconds to wait before another attempt, as the server asks; None when none would help."""
    if isinstance(cause, errors.APIError):
        code = cause.code
        if not isinstance(code, int) or not (code in _RETRIED_STATUS or 500 <= code <= 599):
            return None
        return max(_FIRST_WAIT_SECONDS, _retry_info(cause.details), _retry_after(cause))
    if isinstance(cause, httpx2.TimeoutException | httpx2.NetworkError | httpx2.ProtocolError):
        return _FIRST_WAIT_SECONDS
    return None


def _retry_info(details: object) -> float:
    """Seconds of a ``google.rpc.RetryInfo`` among an error's details, else 0."""
    error = details.get("error", details) if isinstance(details, dict) else None
    entries = error.get("details") if isinstance(error, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and str(entry.get("@type", "")).endswith("RetryInfo"):
            return _seconds(str(entry.get("retryDelay", "")).removesuffix("s"))
    return 0.0


def _retry_after(error: errors.APIError) -> float:
    """Seconds of a ``Retry-After`` header, which may be a number or a date, else 0."""
    headers = getattr(error.response, "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    if not isinstance(value, str):
        return 0.0
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return _seconds(value)
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
