"""A Lambda event to its answer: partial failures, waits, the dead-letter queue."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plumbline.errors import InvalidRequest, StorageUnavailable
from plumbline.index.index_request import (
    IndexRequest,
)
from plumbline.index.indexer import Outcome
from plumbline.index.run import RunSummary
from plumbline.index.triggers import MAX_RECEIVES, Triggers
from tests.index_doubles import Clock

EVENTS = Path(__file__).parents[2] / "events"


class Worker:
    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.outcomes = list(outcomes)
        self.seen: list[tuple[IndexRequest, bool]] = []

    def handle(
        self,
        request: IndexRequest,
        remaining_seconds: Callable[[], float],
        *,
        last_try: bool = False,
    ) -> Outcome:
        assert remaining_seconds() == 900
        self.seen.append((request, last_try))
        outcome = self.outcomes.pop(0) if self.outcomes else Outcome("completed")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class Queue:
    def __init__(self) -> None:
        self.shown: list[tuple[str, int]] = []
        self.error: Exception | None = None

    def show_again(self, receipt_handle: str, seconds: int) -> None:
        if self.error:
            raise self.error
        self.shown.append((receipt_handle, seconds))


class Log:
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def info(self, message: str, /, *args: Any, **fields: Any) -> None:
        self.lines.append((message, fields))

    def exception(self, message: str, /, *args: Any, **fields: Any) -> None:
        self.lines.append((message, fields))


class Setting:
    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.worker, self.queue, self.log = Worker(*outcomes), Queue(), Log()
        self.triggers = Triggers(
            self.worker, self.queue, bucket="plumbline", clock=Clock(), log=self.log
        )

    def handle(self, event: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self.triggers.handle(event, lambda: 900)
        json.dumps(answer)
        return answer


def load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return loaded


def message(body: object, number: int = 1, receives: int = 1) -> dict[str, Any]:
    (record,) = load("index_direct_sqs")["Records"]
    text = body if isinstance(body, str) else json.dumps(body)
    return {
        **record,
        "messageId": f"m{number}",
        "receiptHandle": f"r{number}",
        "body": text,
        "attributes": {"ApproximateReceiveCount": str(receives)},
    }


@pytest.mark.parametrize(
    "path", sorted(EVENTS.glob("index_*_sqs.json")), ids=lambda path: path.stem
)
def test_every_trigger_through_the_queue_is_done_with(path: Path) -> None:
    s = Setting()
    assert s.handle(json.loads(path.read_text())) == {"batchItemFailures": []}
    silent = any(word in path.stem for word in ("expired", "test_event"))
    assert len(s.worker.seen) == (0 if silent else 1)
    assert s.queue.shown == []


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(EVENTS.glob("index_*.json")) if not path.stem.endswith("_sqs")],
    ids=lambda path: path.stem,
)
def test_every_trigger_sent_directly_is_answered(path: Path) -> None:
    s = Setting()
    answer = s.handle(json.loads(path.read_text()))
    assert answer == {"outcomes": [{"status": "completed"}] * len(s.worker.seen)}
    assert all(last_try for _, last_try in s.worker.seen)


def test_a_direct_answer_tells_what_was_done() -> None:
    summary = RunSummary(records=2, sent=1)
    summary.skip("a.png", "binary")
    s = Setting(Outcome("completed", summary=summary))
    (shown,) = s.handle(load("index_direct"))["outcomes"]
    assert shown["summary"]["listed"] == ["a.png: binary"]
    assert (shown["summary"]["records"], shown["summary"]["sent"]) == (2, 1)


def test_a_direct_event_that_cannot_be_understood_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="none that the indexer knows"):
        Setting().handle({"hello": "world"})


def test_one_bad_message_costs_only_itself() -> None:
    bodies = [load("index_reindex"), "{", load("index_direct"), {"what": 1}, load("index_schedule")]
    s = Setting()
    answer = s.handle({"Records": [message(body, n) for n, body in enumerate(bodies)]})
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m1"}, {"itemIdentifier": "m3"}]}
    assert len(s.worker.seen) == 3
    # Nothing mends them: straight on to the dead-letter queue.
    assert s.queue.shown == [("r1", 1), ("r3", 1)]


@pytest.mark.parametrize(
    ("outcome", "receives", "seconds"),
    [
        (Outcome("retry", "down", 30), 1, 30),
        (Outcome("retry", "down", 30), 3, 120),
        (Outcome("retry", "down", 30), 99, 900),
        (Outcome("retry", "busy", 181), 1, 181),
        (StorageUnavailable("no table"), 1, 30),
        (ZeroDivisionError(), 2, 60),
    ],
    ids=["first", "third", "capped", "busy", "registry", "defect"],
)
def test_a_retry_shortens_its_own_wait(
    outcome: Outcome | Exception, receives: int, seconds: int
) -> None:
    s = Setting(outcome)
    answer = s.handle({"Records": [message(load("index_reindex"), 7, receives)]})
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m7"}]}
    assert s.queue.shown == [("r7", seconds)]


def test_a_wait_that_cannot_be_shortened_is_still_a_retry() -> None:
    s = Setting(Outcome("retry", "down", 30))
    s.queue.error = StorageUnavailable("no queue")
    answer = s.handle({"Records": [message(load("index_reindex"), 7)]})
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m7"}]}


@pytest.mark.parametrize("outcome", ["completed", "unchanged", "continued", "waiting", "failed"])
def test_what_has_ended_is_not_seen_again(outcome: Any) -> None:
    s = Setting(Outcome(outcome, "why"))
    assert s.handle(load("index_reindex_sqs")) == {"batchItemFailures": []}
    ((_, fields),) = s.log.lines
    assert (fields["status"], fields["reason"]) == (outcome, "why")


def test_what_an_operator_should_see_is_logged_once_with_its_cause() -> None:
    error = StorageUnavailable("down")
    s = Setting(Outcome("retry", "down", 30, error=error))
    s.handle(load("index_reindex_sqs"))
    ((message, fields),) = s.log.lines
    assert message == "Index request failed"
    assert fields["exc_info"] is error


@pytest.mark.parametrize("receives", [1, MAX_RECEIVES - 1, MAX_RECEIVES])
def test_the_worker_is_told_the_last_try(receives: int) -> None:
    s = Setting()
    s.handle({"Records": [message(load("index_reindex"), receives=receives)]})
    assert s.worker.seen[0][1] is (receives == MAX_RECEIVES)


def test_an_empty_batch_is_done() -> None:
    with pytest.raises(InvalidRequest):
        Setting().handle({})
    assert Setting().handle({"Records": []}) == {"outcomes": []}
