"""A request is carried out: under a lease, once, to an end that the registry tells.

Source: design, section 6 and section 5, "When something is down".
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from tempfile import TemporaryFile
from typing import BinaryIO, Literal, Protocol, cast

from plumbline.errors import (
    ConfigurationError,
    PlumblineError,
    RepositoryError,
    RequestError,
    SearchError,
    StorageConflict,
)
from plumbline.index.archive import ArchiveLimits, open_archive
from plumbline.index.archive_source import Fetched
from plumbline.index.index_request import (
    IndexRequest,
    with_lease,
)
from plumbline.index.index_settings import IndexSettingsSetup
from plumbline.index.leases import LEASE_SECONDS, Busy, Handled, Lease, acquire, rescue
from plumbline.index.progress import ProgressReporter
from plumbline.index.registry import Registry
from plumbline.index.run import IndexRun, RunParts, RunSummary
from plumbline.index.snapshots import Snapshots
from plumbline.index.writer import Pace

# Raised whenever records change for the same source, so that an unchanged archive is read again.
RECORDS_VERSION = 1


class Archives(Protocol):
    """Where archives come from; see ``archive_source``."""

    def fetch(self, request: IndexRequest, last_key: str | None, file: BinaryIO) -> Fetched:
        """The request's archive into ``file``."""

    def remaining_archives(self, key: str) -> list[str]:
        """The archives that lie beside ``key`` now."""


class Queue(Protocol):
    """The queue that the indexer reads. Raises ``StorageUnavailable``."""

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message to the queue's end."""


class Refresher(Protocol):
    """Looks for repositories whose branch has moved; see ``refresh``."""

    def refresh(self, request: IndexRequest, remaining_seconds: Callable[[], float]) -> int:
        """Send a request for each; how many there were."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The indexer's limits. AWS stops a loop through a queue after about 16 hops."""

    max_hops: int = 12
    archive: ArchiveLimits = field(default_factory=ArchiveLimits)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended. ``retry_after`` (seconds) asks for the message to be seen again then;
    without it the message is done. ``error`` is one that an operator should see, with its cause.
    """

    status: Literal["completed", "unchanged", "continued", "deleted", "waiting", "failed", "retry"]
    reason: str | None = None
    retry_after: int | None = None
    summary: RunSummary | None = None
    error: PlumblineError | None = None


class Indexer:
    """Carries out index requests. One object a process: it remembers that settings were written."""

    def __init__(
        self,
        *,
        parts: RunParts,
        registry: Registry,
        archives: Archives,
        queue: Queue,
        refresher: Refresher,
        clock: Callable[[], datetime],
        settings: IndexSettings | None = None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parts, self._registry, self._archives = parts, registry, archives
        self._queue, self._refresher, self._clock = queue, refresher, clock
        self._settings = settings or IndexSettings()
        self._sleep, self._monotonic = sleep, monotonic
        self._index_settings = IndexSettingsSetup()

    def handle(
        self,
        request: IndexRequest,
        remaining_seconds: Callable[[], float],
        *,
        last_try: bool = False,
    ) -> Outcome:
        """Carry out one request, and say in the registry how it went.

        An error that the repository's owner can mend, or that no retry mends, is told there and is
        no exception. A retryable one is an outcome with ``retry_after``, on the last try a failure.
        ``StorageUnavailable`` leaves this method if the registry itself does not answer; a defect
        leaves it as it is, after it was told.
        """
        if request.action == "refresh":
            if request.hop > self._settings.max_hops:
                return Outcome("failed", "there are too many repositories for one schedule")
            sent = self._refresher.refresh(request, remaining_seconds)
            return Outcome("completed", f"{sent} repositories have moved")
        lease = acquire(self._registry, request, self._clock)
        if isinstance(lease, Handled):
            if self._registry.known(request.url):
                rescue(self._registry, request.url, self._queue.send, self._clock)
            return Outcome("unchanged", lease.reason)
        if isinstance(lease, Busy):
            if lease.recorded:
                return Outcome("waiting", "another run will send it again at its end")
            return Outcome("retry", "the same event is being worked on", lease.retry_after)
        released = False
        try:
            work = self._delete if request.action == "delete" else self._index
            outcome = work(lease, request, remaining_seconds)
            released = outcome.status == "continued"
        except PlumblineError as exc:
            outcome = self._failed(lease, exc, last_try=last_try)
        except Exception:
            lease.fail(
                "failed", "Something went wrong in the indexer; its log says what.", handled=False
            )
            raise
        finally:
            if not released:
                lease.release(self._queue.send)
        return outcome

    def _index(
        self, lease: Lease, request: IndexRequest, remaining: Callable[[], float]
    ) -> Outcome:
        if request.hop > self._settings.max_hops:
            raise RepositoryError(
                "The repository is too large to be indexed in the time there is; leave parts of it "
                "out of the archive."
            )
        reporter = ProgressReporter(lease, self._monotonic)
        self._index_settings.setup_index_settings(self._parts.index)
        with TemporaryFile() as scratch:
            file = cast(BinaryIO, scratch)
            fetched = self._archives.fetch(request, lease.entry.archive_key, file)
            reporter.tick()
            if self._unchanged(lease, request, fetched):
                return self._complete(lease, fetched, None)
            uploaded = lease.repository.name if fetched.key else None
            archive = open_archive(file, self._settings.archive, repository=uploaded)
            commit = archive.commit or fetched.commit or request.commit
            # A branch's archive is known by its commit, and only once it is open.
            fetched = replace(fetched, commit=commit, identity=fetched.identity or commit or "")
            if self._unchanged(lease, request, fetched):
                return self._complete(lease, fetched, None)
            run_id = request.run_id or uuid.uuid4().hex
            run = IndexRun(
                self._parts,
                lease.repository,
                run_id=run_id,
                hop=request.hop,
                commit=commit,
                identity=fetched.identity,
                force=request.force,
                pace=Pace(remaining, self._sleep, self._monotonic, reporter.tick),
            )
            if not run.execute(archive, reporter.report):
                self._continue_later(lease, request, fetched, run_id)
                return Outcome("continued", summary=run.summary)
        # Readers may still hold links into the commit before.
        kept = (lease.repository.commit_sha, commit)
        Snapshots(self._parts.snapshots).keep_only(lease.repository.number, kept)
        return self._complete(lease, fetched, run.summary)

    def _continue_later(
        self, lease: Lease, request: IndexRequest, fetched: Fetched, run_id: str
    ) -> None:
        onward = with_lease(request, run_id=run_id, lease=lease.hand_over())
        if fetched.key is None and fetched.commit:
            # The branch may move meanwhile; the saved place is in this commit's archive.
            onward = replace(onward, commit=fetched.commit)
        self._queue.send(onward.message())

    def _unchanged(self, lease: Lease, request: IndexRequest, fetched: Fetched) -> bool:
        return (
            not request.force
            and request.hop == 0
            and lease.repository.indexed_at is not None
            and bool(fetched.identity)
            and lease.entry.archive_etag == _identity(fetched)
        )

    def _complete(self, lease: Lease, fetched: Fetched, summary: RunSummary | None) -> Outcome:
        """The registry's last word on a run; without a summary the index stood already."""
        changes: dict[str, object] = {}
        if summary is not None:
            changes = {
                "branch": fetched.ref,
                "commit_sha": fetched.commit,
                "counts_by_type": dict(summary.by_type),
                "counts_by_language": dict(summary.by_language),
                "files_skipped": dict(summary.skipped),
            }
        lease.complete(changes, archive_key=fetched.key, archive_etag=_identity(fetched))
        if summary is None:
            return Outcome("unchanged", "the index is of this very archive")
        return Outcome("completed", summary=summary)

    def _delete(
        self, lease: Lease, request: IndexRequest, _remaining: Callable[[], float]
    ) -> Outcome:
        """Delete a repository, unless another archive of it is still in the bucket.

        The task is not waited for: Algolia applies an index's tasks in order.
        """
        if request.archive and self._archives.remaining_archives(request.archive.key):
            lease.keep()
            return Outcome("unchanged", "another archive of the repository is in the bucket")
        number = lease.repository.number
        self._parts.index.delete_by(f"repository_id={number}")
        self._parts.manifests.delete(number)
        Snapshots(self._parts.snapshots).keep_only(number, ())
        lease.delete()
        return Outcome("deleted")

    def _failed(self, lease: Lease, error: PlumblineError, *, last_try: bool) -> Outcome:
        if isinstance(error, StorageConflict):
            # The registry's entry is another run's now. Whether ours is still to be done, or was
            # done by that one, is seen when the message comes again.
            return Outcome("retry", error.message, int(LEASE_SECONDS), error=error)
        reason = _reason(error)
        if isinstance(error, RepositoryError | RequestError) and (last_try or not error.retryable):
            lease.fail("failed", reason, handled=True)
            return Outcome("failed", reason)
        if error.retryable and not last_try:
            lease.fail("pending", f"{reason} It is tried again.", handled=False)
        else:
            # Its message goes to the dead-letter queue, where an operator sees it.
            lease.fail("failed", reason, handled=False)
        return Outcome("retry", reason, _retry_after(error), error=error)


def _identity(fetched: Fetched) -> str | None:
    return f"{fetched.identity}:{RECORDS_VERSION}" if fetched.identity else None


def _retry_after(error: PlumblineError) -> int:
    given = getattr(error, "retry_after", None)
    return int(given) if given else 30


def _reason(error: PlumblineError) -> str:
    if isinstance(error, SearchError) and not error.retryable:
        status = getattr(error, "upstream_status", None)
        if status in (401, 403):
            return "Algolia refused the key; check that it may write to the index."
        return "Algolia refused to take the records; the indexer's log says why."
    if isinstance(error, SearchError):
        return "Algolia did not answer."
    if isinstance(error, ConfigurationError):
        return "The indexer is not set up; its log says what is missing."
    return error.message
