"""Where a request's archive comes from: the bucket, or the repository's host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from plumbline.errors import NotFound
from plumbline.index.addresses import archive_address, is_commit, repository_host
from plumbline.index.index_request import (
    IndexRequest,
)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of the bucket as it was read. Metadata names are lower case."""

    key: str
    etag: str
    metadata: Mapping[str, str]


class ArchiveBucket(Protocol):
    """The bucket that archives are dropped in. Raises ``StorageUnavailable``."""

    def download(self, key: str, file: BinaryIO, *, max_bytes: int) -> StoredObject | None:
        """Write the object to the file; None if it is gone. ``ArchiveRefused`` if it is larger."""

    def siblings(self, key: str) -> list[str]:
        """The keys in the same folder, deeper ones left out."""


class Downloads(Protocol):
    """What fetches an archive from its host; see ``download``."""

    def download(self, address: str, file: BinaryIO) -> int:
        """The body of an address into a file; how many bytes it had."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an archive in scratch space is: its ref and commit as far as they are told from
    outside, and ``identity``, equal for equal content and empty where that cannot be told.
    """

    identity: str
    ref: str | None = None
    commit: str | None = None
    key: str | None = None


class ArchiveSource:
    """Fetches archives to scratch space, of at most ``max_bytes``.

    A request without a ref, for a repository that was last indexed from the bucket, reads that
    archive again: it may be private, and its host would not give it. If that has expired it is
    fetched from a configured host.
    """

    def __init__(
        self,
        bucket: ArchiveBucket,
        downloader: Downloads,
        *,
        hosts: Sequence[str],
        max_bytes: int = 512 * 1024 * 1024,
    ) -> None:
        self._bucket, self._downloader = bucket, downloader
        self._hosts, self._max_bytes = tuple(hosts), max_bytes

    def fetch(self, request: IndexRequest, last_key: str | None, file: BinaryIO) -> Fetched:
        """The request's archive into ``file``. Raises ``RepositoryError``, ``RequestError`` (what
        was asked for is not there or not allowed) and ``StorageUnavailable``.
        """
        if request.archive is not None:
            return self._from_bucket(request.archive.key, file)
        if last_key is not None and request.ref is None and request.commit is None:
            try:
                return self._from_bucket(last_key, file)
            except NotFound:
                # It may have expired since; a public repository can still be fetched.
                if repository_host(request.url) not in self._hosts:
                    raise
        revision = request.commit or request.ref
        address = archive_address(request.url, revision, self._hosts)
        self._downloader.download(address, file)
        commit = revision if revision and is_commit(revision) else None
        return Fetched(identity=commit or "", ref=request.ref, commit=commit)

    def remaining_archives(self, key: str) -> list[str]:
        """The repository's archives that are in the bucket now."""
        return self._bucket.siblings(key)

    def _from_bucket(self, key: str, file: BinaryIO) -> Fetched:
        stored = self._bucket.download(key, file, max_bytes=self._max_bytes)
        if stored is None:
            raise NotFound("The archive is no longer in the bucket; upload it again.")
        commit = stored.metadata.get("commit", "").strip().lower()
        return Fetched(
            identity=stored.etag,
            ref=stored.metadata.get("ref", "").strip() or None,
            commit=commit if is_commit(commit) else None,
            key=key,
        )
