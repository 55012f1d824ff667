"""Waiting for Algolia's tasks, with a deadline: the client's own wait can poll for ever.

Source: seed 002, "Waits and timeouts".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from plumbline.errors import SearchUnavailable

INDEX_DEADLINE_SECONDS = 300.0
DELETE_DEADLINE_SECONDS = 120.0
_FIRST_POLL_SECONDS = 0.1
_LONGEST_POLL_SECONDS = 2.0


class TaskIndex(Protocol):
    """What is asked of the index for its tasks."""

    def task_published(self, task_id: int) -> bool:
        """Whether the task has been applied; one poll, no wait."""


def wait_for_task(
    index: TaskIndex,
    task_id: int,
    *,
    seconds: float,
    sleep: Callable[[float], None],
    monotonic: Callable[[], float],
) -> bool:
    """Whether the task was published within ``seconds``.

    The poll starts at 0.1 s and doubles up to 2 s between calls. A poll that fails is a poll that
    said no: the task was accepted all the same.
    """
    deadline = monotonic() + seconds
    pause = _FIRST_POLL_SECONDS
    while True:
        try:
            if index.task_published(task_id):
                return True
        except SearchUnavailable as exc:
            pause = max(pause, float(exc.retry_after or 0))
        left = deadline - monotonic()
        if left <= 0:
            return False
        sleep(min(pause, left))
        pause = min(pause * 2, _LONGEST_POLL_SECONDS)
