"""Leases: one run at a time, nothing that was asked for is lost, nothing is done twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from plumbline.errors import StorageConflict, StorageUnavailable
from plumbline.index.index_request import (
    ArchiveObject,
    IndexRequest,
    with_lease,
)
from plumbline.index.leases import LEASE_SECONDS, Busy, Handled, Lease, acquire, rescue
from plumbline.index.registry import Registry
from tests.index_doubles import Clock, MemoryTable

URL = "https://github.com/acme/app"


def request(minute: int, name: str = "", **fields: object) -> IndexRequest:
    made = IndexRequest(
        "index", name or f"event-{minute}", f"2026-03-01T11:{minute:02d}:00Z", url=URL
    )
    return replace(made, **fields)  # type: ignore[arg-type]


class Messages(list[Mapping[str, object]]):
    def send(self, message: Mapping[str, object]) -> None:
        self.append(message)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(clock: Clock) -> Registry:
    return Registry(MemoryTable(), clock)


@pytest.fixture
def sent() -> Messages:
    return Messages()


def held(registry: Registry, asked: IndexRequest, clock: Clock) -> Lease:
    lease = acquire(registry, asked, clock)
    assert isinstance(lease, Lease)
    return lease


def completed(registry: Registry, asked: IndexRequest, clock: Clock, sent: Messages) -> None:
    lease = held(registry, asked, clock)
    lease.complete({"commit_sha": "c"}, archive_key=None, archive_etag="e")
    lease.release(sent.send)


def test_a_run_is_processing_then_completed(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(1), clock)
    running = registry.find(URL)
    assert running is not None
    assert running.status == "processing"
    lease.renew(progress=0.25)
    assert registry.list()[0].progress == 0.25
    lease.complete({"commit_sha": "c"}, archive_key="k", archive_etag="e")
    lease.release(sent.send)
    done = registry.list()[0]
    assert (done.status, done.progress, done.commit_sha) == ("completed", 1.0, "c")
    assert done.indexed_at == "2026-03-01T12:00:00.000Z"
    assert sent == []


def test_the_bar_begins_anew_with_each_run_and_not_with_each_part(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    completed(registry, request(1), clock, sent)
    lease = held(registry, request(2), clock)
    assert registry.list()[0].progress == 0.0
    lease.renew(progress=0.5)
    onward = with_lease(request(2), run_id="0" * 8, lease=lease.hand_over())
    assert held(registry, onward, clock).repository.progress == 0.5


def test_the_newest_request_waits_and_is_sent_at_the_end(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(1), clock)
    for minute in (3, 5, 4):
        assert acquire(registry, request(minute), clock) == Busy(recorded=True)
    waiting = lease.pending()
    assert waiting is not None
    assert waiting.event_id == "event-5"
    lease.complete({}, archive_key=None, archive_etag=None)
    lease.release(sent.send)
    assert [message["id"] for message in sent] == ["event-5"]
    assert registry.entry(URL).pending is None
    assert isinstance(acquire(registry, request(5), clock), Lease)


def test_a_request_that_comes_during_the_release_is_sent_too(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(1), clock)
    acquire(registry, request(3), clock)

    def send(message: Mapping[str, object]) -> None:
        if not sent:
            assert acquire(registry, request(5), clock) == Busy(recorded=True)
        sent.append(message)

    lease.release(send)
    assert [message["id"] for message in sent] == ["event-3", "event-5"]


def test_what_could_not_be_sent_is_still_waiting(registry: Registry, clock: Clock) -> None:
    lease = held(registry, request(1), clock)
    acquire(registry, request(3), clock)

    def send(message: Mapping[str, object]) -> None:
        raise StorageUnavailable("no queue")

    with pytest.raises(StorageUnavailable):
        lease.release(send)
    assert registry.entry(URL).pending is not None


def test_the_same_event_is_looked_at_again_when_the_lease_ends(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(1), clock)
    busy = acquire(registry, request(1), clock)
    assert busy == Busy(recorded=False, retry_after=int(LEASE_SECONDS) + 1)
    lease.complete({}, archive_key=None, archive_etag=None)
    lease.release(sent.send)
    assert acquire(registry, request(1), clock) == Handled("the event was handled before")


def test_an_older_event_never_replaces_a_newer_index(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    completed(registry, request(5), clock, sent)
    assert acquire(registry, request(4), clock) == Handled("the index is of a newer event")
    assert isinstance(acquire(registry, request(6), clock), Lease)


def test_an_older_event_is_taken_when_the_newer_one_failed(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(5), clock)
    lease.fail("failed", "no archive", handled=True)
    lease.release(sent.send)
    assert registry.list()[0].reason == "no archive"
    assert isinstance(acquire(registry, request(4), clock), Lease)


def test_of_one_key_the_later_sequencer_wins_within_a_second(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    first = request(1, "a", archive=ArchiveObject("archives/x", "e1", "0A"))
    second = request(1, "b", archive=ArchiveObject("archives/x", "e2", "0B"))
    completed(registry, second, clock, sent)
    assert acquire(registry, first, clock) == Handled("the index is of a newer event")


def test_an_expired_lease_is_taken_over_and_its_holder_is_fenced_off(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lost = held(registry, request(1), clock)
    clock.sleep(LEASE_SECONDS + 1)
    taken = held(registry, request(2), clock)
    for write in (
        lost.renew,
        lambda: lost.complete({}, archive_key=None, archive_etag=None),
        lambda: lost.fail("failed", "x", handled=True),
        lost.hand_over,
        lost.delete,
    ):
        with pytest.raises(StorageConflict, match="taken this repository over"):
            write()
    lost.release(sent.send)
    taken.renew(progress=0.5)
    assert registry.list()[0].progress == 0.5


def test_renewing_keeps_the_lease(registry: Registry, clock: Clock) -> None:
    lease = held(registry, request(1), clock)
    for _ in range(5):
        clock.sleep(LEASE_SECONDS * 0.9)
        lease.renew()
    assert acquire(registry, request(2), clock) == Busy(recorded=True)


def test_a_continuation_goes_on_under_its_lease_once(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(1), clock)
    onward = with_lease(request(1), run_id="0" * 8, lease=lease.hand_over())
    assert acquire(registry, request(2), clock) == Busy(recorded=True)
    clock.sleep(600)
    second = held(registry, onward, clock)
    # The same message once more: the lease has another token by now.
    assert isinstance(acquire(registry, onward, clock), Busy)
    second.complete({}, archive_key=None, archive_etag=None)
    second.release(sent.send)
    assert [message["id"] for message in sent] == ["event-2"]
    assert acquire(registry, onward, clock) == Handled("the event was handled before")


def test_a_continuation_whose_lease_was_taken_over_stops(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(1), clock)
    onward = with_lease(request(1), run_id="0" * 8, lease=lease.hand_over())
    clock.sleep(10_000)
    completed(registry, request(0, "older"), clock, sent)
    assert acquire(registry, onward, clock) == Handled("the run that this continues was taken over")


def test_a_delete_of_what_is_not_there_registers_nothing(registry: Registry, clock: Clock) -> None:
    asked = request(1, action="delete")
    assert acquire(registry, asked, clock) == Handled("there is no such repository")
    assert registry.list() == []


def test_a_deleted_repository_comes_back_with_its_number(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    completed(registry, request(1), clock, sent)
    lease = held(registry, request(2, action="delete"), clock)
    lease.delete()
    lease.release(sent.send)
    assert registry.list() == []
    # The upload before the deletion arrives late; the one after it counts.
    assert acquire(registry, request(1, "late"), clock) == Handled("the index is of a newer event")
    completed(registry, request(3), clock, sent)
    assert [one.number for one in registry.list()] == [1]


def test_a_reason_is_cut_to_what_a_person_reads(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(1), clock)
    lease.fail("failed", "x" * 5000, handled=True)
    assert len(registry.list()[0].reason or "") == 500


def test_what_waited_for_a_dead_run_is_rescued_once(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    held(registry, request(1), clock)
    acquire(registry, request(3), clock)
    assert not rescue(registry, URL, sent.send, clock)
    clock.sleep(LEASE_SECONDS + 1)
    assert rescue(registry, URL, sent.send, clock)
    assert not rescue(registry, URL, sent.send, clock)
    assert [message["id"] for message in sent] == ["event-3"]


def test_a_failure_after_the_end_says_nothing(
    registry: Registry, clock: Clock, sent: Messages
) -> None:
    lease = held(registry, request(1), clock)
    lease.complete({}, archive_key=None, archive_etag=None)
    lease.fail("pending", "the answer was lost", handled=False)
    assert registry.list()[0].status == "completed"
