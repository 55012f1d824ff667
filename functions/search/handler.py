"""The search function: turns, look-ups, feedback. Streamed by ``plumbline.lambda_runtime``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.http import Response
from plumbline.wiring.search_function import search

WEB = Path(__file__).parent / "web"


def handler(event: Mapping[str, Any], context: object) -> Response:
    """One function URL event; the body of a turn is an iterator of server-sent events."""
    return search(os.environ, WEB).respond(event)
