"""The search function: turns, look-ups, feedback. Streamed by ``plumbline.lambda_runtime``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.errors import ConfigurationError
from plumbline.http import Response, error_response
from plumbline.observability import logger
from plumbline.wiring.search_function import search

WEB = Path(__file__).parent / "web"


def handler(event: Mapping[str, Any], context: object) -> Response:
    """One function URL event; the body of a turn is an iterator of server-sent events."""
    try:
        function = search(os.environ, WEB)
    except ConfigurationError as error:
        logger.error("deployment is at fault", problem=error.message)
        return error_response(error)
    return function.respond(event)
