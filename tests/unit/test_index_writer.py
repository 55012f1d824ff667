"""Writing batches: sizes, order, retries, refusals, waits."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from plumbline.errors import SearchRefused, SearchUnavailable, StorageUnavailable
from plumbline.index.manifests import Manifests
from plumbline.index.tasks import wait_for_task
from plumbline.index.writer import MAX_BATCH_BYTES, IndexWriter, Pace
from tests.index_doubles import Clock, MemoryBucket, RecordingIndex, unavailable


class Setting:
    def __init__(self, remaining: float = 900.0) -> None:
        self.index, self.bucket, self.clock = RecordingIndex(), MemoryBucket(), Clock()
        self.ticks = 0
        self.remaining = remaining
        self.writer = IndexWriter(
            self.index,
            Manifests(self.bucket),
            number=1,
            run="run",
            pace=Pace(lambda: self.remaining, self.clock.sleep, self.clock.monotonic, self.tick),
        )

    def tick(self) -> None:
        self.ticks += 1

    def add(self, count: int, size: int = 10) -> None:
        for n in range(count):
            self.writer.add({"objectID": f"r{n}", "repository_id": 1, "content": "x" * size})

    def batches(self) -> list[list[str]]:
        return [
            [op["body"]["objectID"] for op in argument]
            for name, argument in self.index.calls
            if name == "batch"
        ]


def test_a_batch_has_at_most_a_thousand_records() -> None:
    s = Setting()
    s.add(2500)
    s.writer.flush()
    assert [len(batch) for batch in s.batches()] == [1000, 1000, 500]
    assert s.writer.written.sent == 2500


def test_a_batch_has_at_most_eight_megabytes() -> None:
    s = Setting()
    s.add(2000, size=8900)
    s.writer.flush()
    sizes = [
        len(json.dumps({"requests": argument}))
        for name, argument in s.index.calls
        if name == "batch"
    ]
    assert len(sizes) == 3
    assert max(sizes) <= MAX_BATCH_BYTES
    assert min(sizes[:-1]) > MAX_BATCH_BYTES * 0.95


def test_text_is_counted_as_it_is_sent() -> None:
    s = Setting()
    for n in range(1000):
        s.writer.add({"objectID": f"r{n}", "repository_id": 1, "content": "ü" * 2000})
    s.writer.flush()
    for name, argument in s.index.calls:
        if name == "batch":
            assert len(json.dumps({"requests": argument})) <= MAX_BATCH_BYTES


def test_nothing_taken_is_nothing_sent() -> None:
    s = Setting()
    s.writer.flush()
    s.writer.settle()
    s.writer.delete([])
    assert s.index.calls == []


def test_ids_are_journalled_before_they_are_sent() -> None:
    s = Setting()

    def fail(verb: str, key: str) -> None:
        raise StorageUnavailable("no bucket")

    s.bucket.fail = fail
    s.add(3)
    with pytest.raises(StorageUnavailable):
        s.writer.flush()
    with pytest.raises(StorageUnavailable):
        s.writer.delete(["r1"])
    assert s.batches() == []
    s.bucket.fail = lambda verb, key: None
    s.add(2)
    s.writer.flush()
    s.writer.delete(["gone"])
    assert sorted(s.bucket.objects.values()) == [b"gone", b"r0\nr1"]


def test_a_failing_batch_is_sent_again() -> None:
    s = Setting()
    s.index.failures["batch"] = [unavailable(), unavailable(), None]
    s.add(3)
    s.writer.flush()
    assert s.batches() == [["r0", "r1", "r2"]] * 3
    assert s.writer.written.sent == 3
    assert s.clock.monotonic() - Clock().monotonic() == 1 + 2
    assert s.ticks >= 3


def test_a_rate_limit_is_waited_for() -> None:
    s = Setting()
    s.index.failures["batch"] = [unavailable(17), None]
    s.add(1)
    s.writer.flush()
    assert s.clock.monotonic() - Clock().monotonic() == 17


@pytest.mark.parametrize(
    ("failures", "remaining", "calls"),
    [
        ([unavailable()] * 4, 900.0, 4),
        # Longer than a function should sleep: the message comes back later instead.
        ([unavailable(3600)], 900.0, 1),
        ([unavailable(20)], 30.0, 1),
    ],
    ids=["always", "long", "short of time"],
)
def test_what_does_not_recover_is_unavailable(
    failures: list[Exception | None], remaining: float, calls: int
) -> None:
    s = Setting(remaining)
    s.index.failures["batch"] = failures
    s.add(1)
    with pytest.raises(SearchUnavailable):
        s.writer.flush()
    assert len(s.batches()) == calls


@pytest.mark.parametrize("bad", [{"r0"}, {"r7"}, {"r3", "r4"}, {f"r{n}" for n in range(10)}])
def test_a_refused_record_costs_only_itself(bad: set[str]) -> None:
    s = Setting()
    s.index.refused = lambda record: record["objectID"] in bad
    s.add(10)
    s.writer.flush()
    assert set(s.index.records) == {f"r{n}" for n in range(10)} - bad
    assert set(s.writer.written.refused) == bad
    assert s.writer.written.sent == 10 - len(bad)


def test_an_index_that_refuses_everything_is_not_asked_a_thousand_times() -> None:
    s = Setting()
    s.index.refused = lambda record: True
    s.add(1000)
    with pytest.raises(SearchRefused):
        s.writer.flush()
    assert len(s.batches()) < 100


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_of_the_key_is_not_halved(status: int) -> None:
    s = Setting()
    s.index.failures["batch"] = [SearchRefused("no", upstream_status=status)]
    s.add(10)
    with pytest.raises(SearchRefused):
        s.writer.flush()
    assert len(s.batches()) == 1


def test_a_task_that_is_never_published_does_not_stop_the_writing() -> None:
    s = Setting()
    s.index.published = False
    s.add(1500)
    s.writer.flush()
    s.writer.settle()
    assert s.writer.written.unpublished == 2
    assert s.writer.written.sent == 1500
    assert 600 <= s.clock.monotonic() - Clock().monotonic() <= 604


def test_a_deletion_that_is_not_published_fails_the_run() -> None:
    s = Setting()
    s.index.published = False
    with pytest.raises(SearchUnavailable, match="stale records"):
        s.writer.delete(["a"])
    assert 120 <= s.clock.monotonic() - Clock().monotonic() <= 122


def test_few_tasks_wait_at_any_time() -> None:
    s = Setting()
    s.add(20_000)
    s.writer.flush()
    waited = sum(name == "task_published" for name, _ in s.index.calls)
    assert waited >= 20 - 8
    s.writer.settle()
    assert sum(name == "task_published" for name, _ in s.index.calls) == 20


class Tasks:
    def __init__(self, answer: Callable[[int], bool]) -> None:
        self.polls = 0
        self._answer = answer

    def task_published(self, task_id: int) -> bool:
        self.polls += 1
        return self._answer(self.polls)


def waited(tasks: Tasks, seconds: float) -> tuple[bool, list[float]]:
    clock = Clock()
    pauses: list[float] = []

    def sleep(pause: float) -> None:
        pauses.append(pause)
        clock.sleep(pause)

    found = wait_for_task(tasks, 1, seconds=seconds, sleep=sleep, monotonic=clock.monotonic)
    return found, pauses


def test_the_poll_doubles_up_to_two_seconds() -> None:
    done, pauses = waited(Tasks(lambda n: n == 8), 300)
    assert done
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0])


def test_the_poll_ends_at_its_deadline() -> None:
    done, pauses = waited(Tasks(lambda n: False), 5)
    assert not done
    assert sum(pauses) == pytest.approx(5)


def test_a_published_task_is_not_waited_for() -> None:
    assert waited(Tasks(lambda n: True), 5) == (True, [])


def test_a_poll_that_fails_is_asked_again() -> None:
    def answer(n: int) -> bool:
        if n < 3:
            raise unavailable(1)
        return True

    done, pauses = waited(Tasks(answer), 300)
    assert done
    assert pauses == pytest.approx([1.0, 2.0])
