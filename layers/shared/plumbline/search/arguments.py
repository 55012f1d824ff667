"""Arguments as callers send them: text and whole numbers, checked and named in the refusal."""

from __future__ import annotations

from plumbline.errors import InvalidRequest

# Algolia rejects longer queries. Source: seed 002, "Query parameters".
MAX_QUERY_BYTES = 512


def text_argument(name: str, value: object, max_bytes: int) -> str | None:
    """The text without outer white space, None when there is none.

    Raises ``InvalidRequest`` for another type, for text that is not Unicode and over the limit.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be text")
    text = value.strip()
    try:
        size = len(text.encode())
    except UnicodeEncodeError as exc:
        raise InvalidRequest(f"{name} is not valid Unicode text") from exc
    if size > max_bytes:
        raise InvalidRequest(f"{name} is too long; the limit is {max_bytes} bytes")
    return text or None


def number_argument(name: str, value: object, low: int, high: int) -> int:
    """The whole number, if it is one and in its range; ``InvalidRequest`` says the range."""
    # JSON knows one kind of number: 10.0 is 10.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidRequest(f"{name} must be a whole number from {low} to {high}")
    return value


def unicode_text(value: object) -> str:
    """The value as text that can be encoded: a lone surrogate, as JSON allows it, becomes "?"."""
    return str(value).encode("utf-8", "replace").decode()
