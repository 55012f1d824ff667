"""Writing records in batches: journalled first, retried, split where Algolia refuses one.

Source: design, decision 12; seed 002, "Waits and timeouts".
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from plumbline.errors import SearchRefused, SearchUnavailable
from plumbline.index.manifests import Manifests
from plumbline.index.records import Record
from plumbline.index.tasks import (
    DELETE_DEADLINE_SECONDS,
    INDEX_DEADLINE_SECONDS,
    wait_for_task,
)

MAX_BATCH_RECORDS = 1000
MAX_BATCH_BYTES = 8_000_000
# {"action":"addObject","body":} and the comma.
_OPERATION_BYTES = 40
_TRIES = 4
_LONGEST_RETRY_SECONDS = 60.0
# Algolia slows an application down from 100 tasks in waiting.
_MAX_OUTSTANDING = 8
_MAX_REFUSED_IN_BATCH = 20


class WritableIndex(Protocol):
    """What the indexer asks of the index. Raises ``SearchUnavailable`` and ``SearchRefused``."""

    def batch(self, operations: Sequence[Mapping[str, object]]) -> int:
        """Apply ``{"action", "body"}`` operations; the task to wait for."""

    def delete_by(self, filters: str) -> int:
        """Delete what the filter matches; the task to wait for."""

    def task_published(self, task_id: int) -> bool:
        """Whether the task has been applied."""

    def browse(self, params: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Every record that matches."""

    def get_settings(self) -> Mapping[str, object] | None:
        """The live settings; None when there is no index."""

    def set_settings(self, settings: Mapping[str, object]) -> int:
        """Write settings; the task, which is not waited for."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Time, as a run sees it: what is left of it, how to wait, and what to do meanwhile.

    ``tick`` is called often, and keeps the lease.
    """

    remaining: Callable[[], float]
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    tick: Callable[[], None]

    def wait(self, seconds: float) -> None:
        """Sleep, and keep the lease meanwhile."""
        self.sleep(seconds)
        self.tick()


@dataclass(slots=True)
class Written:
    """What a writer has done: records sent and deleted, and the ids that Algolia refused."""

    sent: int = 0
    deleted: int = 0
    refused: list[str] = field(default_factory=list)
    unpublished: int = 0


class IndexWriter:
    """Sends records and deletions of one run in order, in batches of at most 1,000 and 8 MB."""

    def __init__(
        self, index: WritableIndex, manifests: Manifests, *, number: int, run: str, pace: Pace
    ) -> None:
        self._index, self._manifests, self._number = index, manifests, number
        self._run, self._pace = run, pace
        self._sequence = 0
        self._batch: list[Record] = []
        self._batch_bytes = 0
        self._tasks: deque[int] = deque()
        self.written = Written()

    def add(self, record: Record) -> None:
        """Take a record; it is sent with its batch."""
        size = len(json.dumps(record)) + _OPERATION_BYTES
        if self._batch and (
            len(self._batch) >= MAX_BATCH_RECORDS or self._batch_bytes + size > MAX_BATCH_BYTES
        ):
            self.flush()
        self._batch.append(record)
        self._batch_bytes += size

    def flush(self) -> None:
        """Send what was taken."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch:
            return
        self._journal([str(record["objectID"]) for record in batch])
        refused_before = len(self.written.refused)
        self._send(
            [{"action": "addObject", "body": record} for record in batch], INDEX_DEADLINE_SECONDS
        )
        refused = len(self.written.refused) - refused_before
        self.written.sent += len(batch) - refused

    def settle(self) -> None:
        """Wait until every batch sent is published; one that is not in 300 s is only counted, for
        its records were accepted.
        """
        while self._tasks:
            self._wait_for_oldest()

    def delete(self, object_ids: Sequence[str]) -> None:
        """Delete records and wait for it; ``SearchUnavailable`` if it takes over 120 s, so that no
        run ends well with stale records.
        """
        for start in range(0, len(object_ids), MAX_BATCH_RECORDS):
            chunk = object_ids[start : start + MAX_BATCH_RECORDS]
            self._journal(chunk)
            task = self._attempt(
                [{"action": "deleteObject", "body": {"objectID": oid}} for oid in chunk]
            )
            if not self._published(task, DELETE_DEADLINE_SECONDS):
                raise SearchUnavailable("Algolia did not delete stale records in time.")
            self.written.deleted += len(chunk)

    def _journal(self, object_ids: Sequence[str]) -> None:
        self._manifests.journal(self._number, self._run, self._sequence, object_ids)
        self._sequence += 1

    def _send(self, operations: Sequence[Mapping[str, object]], seconds: float) -> None:
        """Send a batch; halve one that is refused until the record at fault is alone."""
        stack = [list(operations)]
        refused = 0
        while stack:
            part = stack.pop()
            try:
                task = self._attempt(part)
            except SearchRefused as exc:
                # 400 and 413 are about the content; the rest is about the key or the index.
                if exc.upstream_status not in (400, 413) or refused >= _MAX_REFUSED_IN_BATCH:
                    raise
                if len(part) > 1:
                    half = len(part) // 2
                    stack += [part[half:], part[:half]]
                else:
                    refused += 1
                    body = part[0]["body"]
                    if isinstance(body, Mapping):
                        self.written.refused.append(str(body["objectID"]))
                continue
            self._tasks.append(task)
            if len(self._tasks) >= _MAX_OUTSTANDING:
                self._wait_for_oldest(seconds)

    def _attempt(self, operations: Sequence[Mapping[str, object]]) -> int:
        """One batch, retried: the ids make a second arrival of the same batch harmless."""
        for attempt in range(_TRIES):
            self._pace.tick()
            try:
                return self._index.batch(operations)
            except SearchUnavailable as exc:
                pause = float(exc.retry_after or 2**attempt)
                last = attempt == _TRIES - 1
                if last or pause > _LONGEST_RETRY_SECONDS or pause > self._pace.remaining() / 2:
                    raise
                self._pace.wait(pause)
        raise AssertionError("unreachable")

    def _wait_for_oldest(self, seconds: float = INDEX_DEADLINE_SECONDS) -> None:
        if not self._published(self._tasks.popleft(), seconds):
            self.written.unpublished += 1

    def _published(self, task: int, seconds: float) -> bool:
        return wait_for_task(
            self._index,
            task,
            seconds=min(seconds, max(1.0, self._pace.remaining() - 30.0)),
            sleep=self._pace.wait,
            monotonic=self._pace.monotonic,
        )
