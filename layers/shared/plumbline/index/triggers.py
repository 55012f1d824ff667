"""A Lambda event of the indexing function: a queue batch, or one event sent directly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from plumbline.errors import InvalidRequest, PlumblineError
from plumbline.index.index_request import (
    IndexRequest,
)
from plumbline.index.indexer import Outcome
from plumbline.index.requests import (
    parse_message,
    read_requests,
)

_FIRST_RETRY_SECONDS = 30
_LONGEST_RETRY_SECONDS = 900
MAX_RECEIVES = 5


class Worker(Protocol):
    """What carries a request out; see ``indexer``."""

    def handle(
        self,
        request: IndexRequest,
        remaining_seconds: Callable[[], float],
        *,
        last_try: bool = False,
    ) -> Outcome:
        """Carry out one request."""


class MessageQueue(Protocol):
    """The queue that messages came from."""

    def show_again(self, receipt_handle: str, seconds: int) -> None:
        """Make a failed message visible in so many seconds, instead of at the queue's timeout."""


class Log(Protocol):
    """The logger's two verbs that are needed here."""

    def info(self, message: str, /, *args: Any, **fields: Any) -> None:
        """Log what happened."""

    def exception(self, message: str, /, *args: Any, **fields: Any) -> None:
        """Log the error being handled."""


class Triggers:
    """Turns events into requests and requests into the answer that Lambda expects."""

    def __init__(
        self,
        worker: Worker,
        queue: MessageQueue,
        *,
        bucket: str,
        clock: Callable[[], datetime],
        log: Log,
    ) -> None:
        self._worker, self._queue, self._bucket = worker, queue, bucket
        self._clock, self._log = clock, log

    def handle(
        self, event: Mapping[str, Any], remaining_seconds: Callable[[], float]
    ) -> dict[str, object]:
        """``{"batchItemFailures": [...]}`` for a queue's batch; ``{"outcomes": [...]}`` for any
        other event, which is not tried again: ``InvalidRequest`` if it cannot be understood.
        """
        records = event.get("Records")
        if isinstance(records, list) and records and _is_queue_record(records[0]):
            failures = [
                {"itemIdentifier": str(record.get("messageId"))}
                for record in records
                if not self._message(record, remaining_seconds)
            ]
            return {"batchItemFailures": failures}
        outcomes = self._event(event, remaining_seconds, last_try=True)
        return {"outcomes": [_shown(outcome) for outcome in outcomes]}

    def _message(self, record: Mapping[str, Any], remaining: Callable[[], float]) -> bool:
        """Whether the message is done. A bad one costs only itself."""
        receives = _receives(record)
        retry_after: int | None = None
        try:
            event = parse_message(str(record.get("body", "")))
            outcomes = self._event(event, remaining, last_try=receives >= MAX_RECEIVES)
            waits = [one.retry_after for one in outcomes if one.retry_after is not None]
            if not waits:
                return True
            retry_after = max(waits)
        except InvalidRequest:
            # No retry mends it: straight on to the dead-letter queue, where somebody sees it.
            self._log.exception("A message cannot be understood", receives=receives)
            retry_after = 1
        except PlumblineError as exc:
            self._log.exception("A message failed", receives=receives)
            retry_after = int(getattr(exc, "retry_after", None) or _FIRST_RETRY_SECONDS)
        except Exception:
            self._log.exception("A message failed", receives=receives)
            retry_after = _FIRST_RETRY_SECONDS
        self._shorten(record, retry_after, receives)
        return False

    def _event(
        self, event: Mapping[str, Any], remaining: Callable[[], float], *, last_try: bool
    ) -> list[Outcome]:
        outcomes = []
        for request in read_requests(event, bucket=self._bucket, now=self._clock()):
            outcome = self._worker.handle(request, remaining, last_try=last_try)
            fields = {
                "repository": request.url,
                "action": request.action,
                "event_id": request.event_id,
                "hop": request.hop,
                **_shown(outcome),
            }
            if outcome.error is None:
                self._log.info("Index request handled", **fields)
            else:
                self._log.exception("Index request failed", exc_info=outcome.error, **fields)
            outcomes.append(outcome)
        return outcomes

    def _shorten(self, record: Mapping[str, Any], seconds: int, receives: int) -> None:
        # The queue's own timeout is six times the function's: an hour and a half.
        pause = min(seconds * 2 ** max(0, receives - 1), _LONGEST_RETRY_SECONDS)
        try:
            self._queue.show_again(str(record.get("receiptHandle", "")), pause)
        except PlumblineError:
            self._log.exception("The message waits for the queue's own timeout")


def _is_queue_record(record: object) -> bool:
    return isinstance(record, Mapping) and record.get("eventSource") == "aws:sqs"


def _receives(record: Mapping[str, Any]) -> int:
    attributes = record.get("attributes")
    count = attributes.get("ApproximateReceiveCount") if isinstance(attributes, Mapping) else None
    return int(count) if isinstance(count, str) and count.isdecimal() else 1


def _shown(outcome: Outcome) -> dict[str, object]:
    shown: dict[str, object] = {"status": outcome.status}
    if outcome.reason:
        shown["reason"] = outcome.reason
    if outcome.summary:
        shown["summary"] = outcome.summary.shown()
    return shown
