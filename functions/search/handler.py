"""The search function: turns, look-ups, feedback. Streamed by ``plumbline.lambda_runtime``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from plumbline import wiring
from plumbline.http import Response


def handler(event: Mapping[str, Any], context: object) -> Response:
    """One function URL event; the body of a turn is an iterator of server-sent events."""
    return wiring.search(os.environ).respond(event)
