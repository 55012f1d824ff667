"""One run at a time for a repository: leases that expire, and the newest request that waits.

Source: design, section 6. A lease is fenced: every write of its holder is conditional on it, so a
run that lost its lease finds out at its next write and stops.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from plumbline.errors import StorageConflict
from plumbline.index.index_request import (
    IndexRequest,
    is_older,
    iso,
)
from plumbline.index.registry import Registry, RegistryEntry, Repository, RepositoryStatus
from plumbline.index.requests import (
    read_requests,
)

LEASE_SECONDS = 180.0
# A continuation waits in the queue under its predecessor's lease.
HANDOVER_SECONDS = 900.0
# Five deliveries, an hour and a half apart: a process that is killed cannot ask for less.
ABANDONED_SECONDS = 8 * 3600.0
REASON_CHARS = 500


@dataclass(frozen=True, slots=True)
class Busy:
    """The repository is being worked on: ``recorded`` says whether the request waits there now.

    If not, it is the very event being worked on, to be looked at again in ``retry_after`` seconds.
    """

    recorded: bool
    retry_after: int = 0


@dataclass(frozen=True, slots=True)
class Handled:
    """The request needs no work: its event was handled, or a newer one was."""

    reason: str


class Lease:
    """The right to change one repository's index, until it expires or is given back."""

    def __init__(
        self,
        registry: Registry,
        entry: RegistryEntry,
        request: IndexRequest,
        clock: Callable[[], datetime],
        *,
        before: Repository,
    ) -> None:
        self._registry, self._clock = registry, clock
        self._before = before
        self.entry = entry
        self.request = request
        self._token = entry.lease

    @property
    def repository(self) -> Repository:
        """The repository as it was last written under this lease."""
        return self.entry.repository

    def renew(self, **changes: object) -> None:
        """Extend the lease and change fields of the repository, such as ``progress``.

        ``StorageConflict`` if the lease is no longer ours: the run must stop.
        """
        self._write(
            lambda entry: replace(
                entry,
                repository=replace(entry.repository, **changes),  # type: ignore[arg-type]
                lease_until=self._clock().timestamp() + LEASE_SECONDS,
            )
        )

    def hand_over(self) -> str:
        """Extend the lease for the continuation that is about to be sent; its token."""
        until = self._clock().timestamp() + HANDOVER_SECONDS
        self._write(lambda entry: replace(entry, lease_until=until))
        return str(self._token)

    def pending(self) -> IndexRequest | None:
        """The newest request that came while the lease was held."""
        return _request_of(self._registry.entry(self.repository.url).pending, self._clock())

    def complete(
        self,
        repository: Mapping[str, object],
        *,
        archive_key: str | None,
        archive_etag: str | None,
    ) -> None:
        """The index stands as the request asked: fields of the repository, and what it is of."""
        now = self._clock()
        changed = {"status": "completed", "reason": None, "progress": 1.0, "indexed_at": iso(now)}
        self._write(
            lambda entry: replace(
                entry,
                repository=replace(entry.repository, **{**changed, **repository}),  # type: ignore[arg-type]
                event_id=self.request.event_id,
                event_order=self.request.order(),
                archive_key=archive_key,
                archive_etag=archive_etag,
                deleted=False,
            )
        )

    def keep(self) -> None:
        """The request asked for nothing after all: the repository is as it was."""
        self._write(
            lambda entry: replace(entry, repository=self._before, event_id=self.request.event_id)
        )

    def delete(self) -> None:
        """The repository is gone; its number is kept, in case it comes back."""
        self._write(
            lambda entry: replace(
                entry,
                repository=Repository(
                    entry.repository.number, entry.repository.url, entry.repository.name
                ),
                event_id=self.request.event_id,
                event_order=self.request.order(),
                archive_key=None,
                archive_etag=None,
                deleted=True,
            )
        )

    def fail(self, status: RepositoryStatus, reason: str, *, handled: bool) -> None:
        """Say why there is no new index; the old one stands. ``handled``: it is not tried again.

        Nothing is said if the run had completed: only the answer to that write was lost.
        """

        def change(entry: RegistryEntry) -> RegistryEntry | None:
            if entry.event_id == self.request.event_id:
                return None
            return replace(
                entry,
                repository=replace(
                    entry.repository, status=status, reason=reason[:REASON_CHARS], progress=0.0
                ),
                event_id=self.request.event_id if handled else entry.event_id,
            )

        self._write(change)

    def release(self, send: Callable[[Mapping[str, object]], None]) -> None:
        """Give the lease back, after ``send`` took the request that waited, if there is one.

        It is sent before it is forgotten, so a crash between sends it twice, never not at all. A
        lease that was lost meanwhile is left to its new holder.
        """
        self.entry = _freed(
            self._registry, self.repository.url, send, lambda entry: entry.lease == self._token
        )

    def _write(self, change: Callable[[RegistryEntry], RegistryEntry | None]) -> None:
        def decide(entry: RegistryEntry) -> RegistryEntry | None:
            if entry.lease != self._token:
                raise StorageConflict("Another run has taken this repository over.")
            return change(entry)

        self.entry = self._registry.change(self.repository.url, decide)


def acquire(
    registry: Registry, request: IndexRequest, clock: Callable[[], datetime]
) -> Lease | Busy | Handled:
    """The lease for a request; or that it waits for the holder; or that nothing is to be done.

    An event that was handled is not handled again, and one older than the index is dropped.
    """
    token = uuid.uuid4().hex
    outcome: Busy | Handled | None = None
    before: Repository | None = None

    def decide(entry: RegistryEntry) -> RegistryEntry | None:
        nonlocal outcome, before
        before = entry.repository
        outcome = _handled(entry, request)
        if outcome:
            return None
        now = clock().timestamp()
        held = entry.lease is not None and entry.lease_until > now
        if held and (request.lease is None or entry.lease != request.lease):
            if entry.running_event == request.event_id:
                outcome = Busy(False, max(1, int(entry.lease_until - now) + 1))
                return None
            outcome = Busy(True)
            waiting = _request_of(entry.pending, clock())
            if waiting and is_older(request.order(), waiting.order()):
                return None
            return replace(entry, pending=request.message())
        if request.lease is not None and entry.lease != request.lease:
            # Its lease expired and others have run since: the place it saved is not there.
            outcome = Handled("the run that this continues was taken over")
            return None
        # A continuation goes on from where the bar stands.
        progress = entry.repository.progress if request.lease else 0.0
        return replace(
            entry,
            repository=replace(
                entry.repository, status="processing", reason=None, progress=progress
            ),
            deleted=entry.deleted and request.action == "delete",
            lease=token,
            lease_until=now + LEASE_SECONDS,
            running_event=request.event_id,
        )

    if request.action == "delete" and not registry.known(request.url):
        return Handled("there is no such repository")
    entry = registry.change(request.url, decide)
    return outcome or Lease(registry, entry, request, clock, before=before or entry.repository)


def rescue(
    registry: Registry,
    url: str,
    send: Callable[[Mapping[str, object]], None],
    clock: Callable[[], datetime],
) -> bool:
    """Send the request that a dead run left waiting, if there is one; whether there was."""
    found: list[object] = []

    def send_found(message: Mapping[str, object]) -> None:
        send(message)
        found.append(message)

    now = clock().timestamp()
    _freed(
        registry,
        url,
        send_found,
        lambda entry: entry.pending is not None and entry.lease_until <= now,
    )
    return bool(found)


def give_up(registry: Registry, url: str, clock: Callable[[], datetime]) -> None:
    """Call a run failed whose process died and whose message is in the dead-letter queue by now."""
    long_ago = clock().timestamp() - ABANDONED_SECONDS

    def decide(entry: RegistryEntry) -> RegistryEntry | None:
        if entry.repository.status != "processing" or entry.lease_until > long_ago:
            return None
        reason = "The run broke off each time it was tried; the function's log says where."
        failed = replace(entry.repository, status="failed", reason=reason, progress=0.0)
        return replace(entry, repository=failed, lease=None, lease_until=0.0, running_event=None)

    registry.change(url, decide)


def _freed(
    registry: Registry,
    url: str,
    send: Callable[[Mapping[str, object]], None],
    may: Callable[[RegistryEntry], bool],
) -> RegistryEntry:
    """The entry without its lease, the waiting request sent; as it is unless ``may`` says so."""
    sent: Mapping[str, object] | None = None

    def decide(entry: RegistryEntry) -> RegistryEntry | None:
        nonlocal sent
        if not may(entry):
            return None
        if entry.pending and entry.pending != sent:
            send(entry.pending)
            sent = entry.pending
        return replace(entry, lease=None, lease_until=0.0, running_event=None, pending=None)

    return registry.change(url, decide)


def _handled(entry: RegistryEntry, request: IndexRequest) -> Handled | None:
    if entry.event_id == request.event_id:
        return Handled("the event was handled before")
    if is_older(request.order(), entry.event_order):
        return Handled("the index is of a newer event")
    return None


def _request_of(message: Mapping[str, object] | None, now: datetime) -> IndexRequest | None:
    if not message:
        return None
    return read_requests(message, bucket="", now=now)[0]
