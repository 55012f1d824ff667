"""GET /?q=&limit=: names that complete what is typed, as ``{"suggestions": []}``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from plumbline.errors import ConfigurationError, InvalidRequest, MethodNotAllowed, PlumblineError
from plumbline.http import (
    Request,
    Response,
    cors_headers,
    decode,
    encode,
    error_response,
    internal_error,
    json_response,
)
from plumbline.observability import flush, logger
from plumbline.search.suggestions import DEFAULT_SUGGESTIONS, MAX_SUGGESTIONS
from plumbline.wiring.suggestions_function import suggestions as suggestions_function


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """One function URL event. Bad requests, keys and rates are errors; a failing search is none."""
    origin: str | None = None
    allowed: tuple[str, ...] = ()
    try:
        suggestions = suggestions_function(os.environ)
        allowed = suggestions.allowed_origins
        request = decode(event)
        origin = request.headers.get("origin")
        if request.method == "OPTIONS":
            response = Response(204, {})
        elif request.method != "GET":
            raise MethodNotAllowed("Suggestions are read with GET.")
        else:
            suggestions.admit(request)
            names = suggestions.suggest(request.query.get("q", ""), _limit(request))
            response = json_response(200, {"suggestions": names})
    except PlumblineError as error:
        if isinstance(error, ConfigurationError):
            logger.error("deployment is at fault", problem=error.message)
        response = error_response(error)
    except Exception:
        logger.exception("the suggestions function broke")
        response = internal_error()
    flush()
    return encode(response.with_headers(cors_headers(origin, allowed)))


def _limit(request: Request) -> int:
    text = request.query.get("limit", "")
    if text.isascii() and text.isdigit() and len(text) < 5:
        return int(text)
    if text:
        raise InvalidRequest(f"limit must be a whole number from 1 to {MAX_SUGGESTIONS}")
    return DEFAULT_SUGGESTIONS
