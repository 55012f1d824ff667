"""Indexing requests: a queue's batch, or one event sent directly."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol

from plumbline.observability import flush
from plumbline.wiring.index_function import index_repo


class Context(Protocol):
    """What is used of Lambda's context."""

    def get_remaining_time_in_millis(self) -> int:
        """The time until Lambda ends the invocation."""


def handler(event: Mapping[str, Any], context: Context) -> dict[str, object]:
    """``{"batchItemFailures": [...]}`` for a batch, ``{"outcomes": [...]}`` for a direct event.

    S3, EventBridge and schedule events come through the queue; a direct invocation sends one of
    those events, or the detail of plumbline.reindex alone.
    """
    try:
        return index_repo(os.environ).handle(
            event, lambda: context.get_remaining_time_in_millis() / 1000
        )
    finally:
        flush()
