"""One run over one archive: read, parse, make records, compare, write, delete what is stale.

Nothing is deleted before everything new is in the index, and what is unchanged is not sent.
Source: design, decision 12 and section 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plumbline.errors import RepositoryEmpty, SearchRefused
from plumbline.index.addresses import repository_host
from plumbline.index.archive import Member, RepositoryArchive
from plumbline.index.file_records import FileRecords, RecordMaker
from plumbline.index.git_attributes import FILE_NAME, GitAttributes
from plumbline.index.languages import is_binary
from plumbline.index.manifests import Manifest, Manifests
from plumbline.index.parse_pool import ParsePool, usual_workers, workers_that_pay
from plumbline.index.registry import Repository
from plumbline.index.snapshots import SnapshotStore, SnapshotWriter, snapshot_key
from plumbline.index.writer import IndexWriter, Pace, WritableIndex

# Under this the place is saved: a batch, its wait and the hand-over must fit.
SHORT_OF_TIME_SECONDS = 60.0
_SHARE_OF_READING = 0.9
# Beyond twice its budget a file is not slow but stuck: in what nothing but a kill can stop.
_GRACE_SECONDS = 5.0
_MAX_LISTED = 1000
_MAX_SHOWN = 50
_MAX_REASONS = 40


@dataclass(slots=True)
class RunSummary:
    """What a run did. ``listed`` names the skipped files as ``path: reason``, at most 1,000."""

    records: int = 0
    sent: int = 0
    deleted: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    by_language: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    listed: list[str] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        """Count a file that was not indexed, or not wholly. The kind is what precedes a colon."""
        kind = reason.partition(":")[0]
        if kind not in self.skipped and len(self.skipped) >= _MAX_REASONS:
            kind = "other"
        self.skipped[kind] += 1
        if len(self.listed) < _MAX_LISTED:
            self.listed.append(f"{path}: {reason}")

    def nothing_found(self) -> str:
        """Why there are no records, for the repository's owner."""
        told = (
            "The archive holds nothing that can be indexed: no code or documentation that is known"
        )
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.skipped.most_common(3))
        return f"{told} (files skipped: {reasons})." if reasons else f"{told}."

    def shown(self, listed: int = _MAX_SHOWN) -> dict[str, Any]:
        """The summary for a log line or an answer: of the skipped files the first few."""
        return {**self.saved(), "deleted": self.deleted, "listed": self.listed[:listed]}

    def saved(self) -> dict[str, Any]:
        """The summary as a saved place keeps it."""
        return {
            "records": self.records,
            "sent": self.sent,
            "by_type": dict(self.by_type),
            "by_language": dict(self.by_language),
            "skipped": dict(self.skipped),
            "listed": self.listed,
        }

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> RunSummary:
        """The summary out of a saved place."""
        return cls(
            records=int(saved["records"]),
            sent=int(saved["sent"]),
            by_type=Counter(saved["by_type"]),
            by_language=Counter(saved["by_language"]),
            skipped=Counter(saved["skipped"]),
            listed=list(saved["listed"]),
        )


@dataclass(frozen=True, slots=True)
class RunParts:
    """What a run works with. ``allowed_hosts`` are those whose addresses front matter may name.

    Files are read by ``workers`` processes where that pays; 1 means this one alone.
    """

    index: WritableIndex
    manifests: Manifests
    snapshots: SnapshotStore
    file_budget_seconds: float = 5.0
    workers: int = field(default_factory=usual_workers)
    allowed_hosts: Sequence[str] = ()


class IndexRun:
    """One run, or one part of it: ``run_id`` is the same through all continuations.

    ``identity`` says which archive it is of; a saved place of another is not used.
    """

    def __init__(
        self,
        parts: RunParts,
        repository: Repository,
        *,
        run_id: str,
        hop: int,
        commit: str | None,
        identity: str,
        force: bool,
        pace: Pace,
    ) -> None:
        self._parts, self._repository, self._pace = parts, repository, pace
        self._run_id, self._commit, self._force = run_id, commit, force
        self._identity = f"{identity}:{commit}"
        self._allowed_hosts = (*parts.allowed_hosts, repository_host(repository.url))
        self._base = Manifest(repository.number)
        self._now = Manifest(repository.number)
        self._position = 0
        self._writer = IndexWriter(
            parts.index,
            parts.manifests,
            number=repository.number,
            run=f"{run_id}-{hop:03d}",
            pace=pace,
        )
        self.summary = RunSummary()

    def execute(self, archive: RepositoryArchive, report: Callable[[float], None]) -> bool:
        """Index the archive; False if time ran short and the place is saved.

        ``report`` is told the progress, from 0 to 1, after every member. Raises ``SearchError``,
        ``StorageUnavailable`` and ``RepositoryEmpty``; the index stands in each case, and the next
        run mends what this one left.
        """
        self._base = self._standing()
        self._resume()
        with SnapshotWriter() as snapshot:
            members = max(1, archive.members)
            with self._pool(archive) as pool:
                files = pool.read(self._kept(archive, snapshot))
                for done, (member, found) in enumerate(files, start=1):
                    if done > self._position:
                        self._index(member, found)
                        report(done / members * _SHARE_OF_READING)
                        if self._short_of_time():
                            self._save_place(done)
                            return False
            if not len(self._now):
                raise RepositoryEmpty(self.summary.nothing_found())
            self._writer.flush()
            self._writer.settle()
            self._forget_refused()
            report(0.93)
            key = snapshot_key(self._repository.number, self._commit)
            snapshot.upload(self._parts.snapshots, key)
        report(0.96)
        self._writer.delete(self._base.missing_from(self._now))
        self._count_written()
        number = self._repository.number
        self._parts.manifests.save_summary(number, self.summary.shown(_MAX_LISTED))
        self._parts.manifests.save(self._now)
        self._parts.manifests.drop_places(number)
        return True

    def _pool(self, archive: RepositoryArchive) -> ParsePool:
        budget = self._parts.file_budget_seconds
        make = RecordMaker(
            repository_id=self._repository.number,
            repository=self._repository.name,
            repository_url=self._repository.url,
            commit_sha=self._commit,
            budget_seconds=budget,
            allowed_hosts=self._allowed_hosts,
        )
        workers = workers_that_pay(self._parts.workers, archive.total_bytes)
        return ParsePool(make, workers=workers, limit_seconds=budget * 2 + _GRACE_SECONDS)

    def _kept(
        self, archive: RepositoryArchive, snapshot: SnapshotWriter
    ) -> Iterator[tuple[Member, bool]]:
        """Every member, its text kept in the snapshot, and whether this part is to read it."""
        attributes = GitAttributes()
        for done, member in enumerate(archive.read(), start=1):
            if member.skipped is None and not is_binary(member.data):
                snapshot.add(member.path, member.data)
                if member.path.rpartition("/")[2] == FILE_NAME:
                    attributes.add(member.path, member.data)
            marked = member.skipped or attributes.reason(member.path)
            yield Member(member.path, skipped=marked) if marked else member, done > self._position

    def _index(self, member: Member, found: FileRecords | None) -> None:
        skipped = member.skipped if found is None else found.skipped
        if skipped is not None:
            self.summary.skip(member.path, skipped)
        for record, digest in found.records if found else ():
            object_id = str(record["objectID"])
            self._now.add(object_id, digest)
            self.summary.records += 1
            self.summary.by_type[str(record["entity_type"])] += 1
            self.summary.by_language[str(record["language"])] += 1
            if self._force or not self._base.holds(object_id, digest):
                self._writer.add(record)

    def _standing(self) -> Manifest:
        """What the index holds: of the manifest, or if that is lost, of the index itself."""
        number = self._repository.number
        manifest = self._parts.manifests.load(number)
        if manifest is not None:
            return manifest
        manifest = Manifest(number)
        params = {"filters": f"repository_id={number}", "attributesToRetrieve": ["objectID"]}
        try:
            manifest.doubt(str(hit["objectID"]) for hit in self._parts.index.browse(params))
        except SearchRefused as exc:
            if exc.upstream_status != 404:
                raise
        manifest.doubt(self._parts.manifests.journaled(number))
        return manifest

    def _resume(self) -> None:
        saved = self._parts.manifests.load_place(self._repository.number, self._run_id)
        if saved is None:
            return
        place, so_far = saved
        if place.get("identity") != self._identity:
            return
        self._position = int(str(place["position"]))
        self._now = so_far
        self.summary = RunSummary.restored(place["summary"])  # type: ignore[arg-type]

    def _short_of_time(self) -> bool:
        return self._pace.remaining() < SHORT_OF_TIME_SECONDS

    def _save_place(self, position: int) -> None:
        self._writer.flush()
        self._writer.settle()
        self._forget_refused()
        self._count_written()
        place = {
            "identity": self._identity,
            "position": position,
            "summary": self.summary.saved(),
        }
        self._parts.manifests.save_place(self._repository.number, self._run_id, place, self._now)

    def _forget_refused(self) -> None:
        for object_id in self._writer.written.refused:
            self._now.discard(object_id)
            self.summary.skip(object_id, "record refused by Algolia")

    def _count_written(self) -> None:
        self.summary.sent += self._writer.written.sent
        self.summary.deleted += self._writer.written.deleted
