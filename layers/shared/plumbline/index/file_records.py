"""One file's bytes become its records and their hashes: the work that processes share out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plumbline.index.parsing.files import parse_file
from plumbline.index.records import Record, build_documents, content_hash


@dataclass(frozen=True, slots=True)
class FileRecords:
    """A file's records, each beside its content hash, and why it has none or too few."""

    skipped: str | None = None
    records: Sequence[tuple[Record, str]] = ()


@dataclass(frozen=True, slots=True)
class RecordMaker:
    """Makes the records of one repository's files at one commit. Pure; never raises for a file."""

    repository_id: int
    repository: str
    repository_url: str
    commit_sha: str | None
    budget_seconds: float
    allowed_hosts: Sequence[str]

    def __call__(self, path: str, data: bytes) -> FileRecords:
        """The records of one file, in the order of its entities."""
        parsed = parse_file(
            path, data, budget_seconds=self.budget_seconds, allowed_hosts=self.allowed_hosts
        )
        records = build_documents(
            parsed,
            repository_id=self.repository_id,
            repository=self.repository,
            repository_url=self.repository_url,
            commit_sha=self.commit_sha,
        )
        return FileRecords(parsed.skipped, [(record, content_hash(record)) for record in records])
