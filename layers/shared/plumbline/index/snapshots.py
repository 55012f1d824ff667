"""The exact text of the indexed commit: one zip in the bucket, read with ranged requests.

Source: design, section 6: ``snapshots/<repository_id>/<commit>.zip``.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from tempfile import TemporaryFile
from typing import IO, BinaryIO, Protocol

from plumbline.errors import StorageUnavailable

_BLOCK_BYTES = 128 * 1024
_KEPT_BLOCKS = 32
_EPOCH = (1980, 1, 1, 0, 0, 0)


class SnapshotStore(Protocol):
    """Large objects of the bucket. Raises ``StorageUnavailable``."""

    def upload(self, key: str, file: BinaryIO) -> None:
        """Write a file from its beginning; it is there whole or not at all."""

    def size(self, key: str) -> int | None:
        """The object's size in bytes; None if there is none."""

    def read_range(self, key: str, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to, not including, ``end``."""

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with ``prefix``."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects."""


def snapshot_key(number: int, commit: str | None) -> str:
    """Where a repository's snapshot lies; an archive that names no commit has one all the same."""
    return f"snapshots/{number}/{commit or 'uncommitted'}.zip"


class SnapshotWriter(AbstractContextManager["SnapshotWriter"]):
    """Collects the files of a run in scratch space. Use as a context manager."""

    def __init__(self) -> None:
        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=3)

    def add(self, path: str, data: bytes) -> None:
        """Add one file, byte for byte."""
        # One time for all: equal trees give equal zips.
        info = zipfile.ZipInfo(path, _EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, data, compresslevel=3)

    def upload(self, store: SnapshotStore, key: str) -> None:
        """Finish the zip and keep it."""
        self._zip.close()
        self._file.seek(0)
        store.upload(key, self._file)  # type: ignore[arg-type]

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()


class Snapshots:
    """Reads files of snapshots without fetching the whole of them."""

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store

    def read_file(self, number: int, commit: str | None, path: str) -> bytes | None:
        """The file as it was at the indexed commit; None if the snapshot or the file is not there.

        ``StorageUnavailable`` if the bucket cannot be read or the snapshot is broken.
        """
        with_zip = self._open(number, commit)
        if with_zip is None:
            return None
        with with_zip as snapshot:
            try:
                return snapshot.read(path)
            except KeyError:
                return None
            except (zipfile.BadZipFile, zlib.error, EOFError) as exc:
                raise StorageUnavailable("The snapshot cannot be read; index again.") from exc

    def paths(self, number: int, commit: str | None) -> list[str]:
        """The paths of a snapshot, in the archive's order; none where there is no snapshot."""
        with_zip = self._open(number, commit)
        if with_zip is None:
            return []
        with with_zip as snapshot:
            return snapshot.namelist()

    def keep_only(self, number: int, commits: Iterable[str | None]) -> None:
        """Delete the repository's other snapshots."""
        kept = {snapshot_key(number, commit) for commit in commits}
        found = self._store.keys(f"snapshots/{number}/")
        self._store.delete([key for key in found if key not in kept])

    def _open(self, number: int, commit: str | None) -> zipfile.ZipFile | None:
        key = snapshot_key(number, commit)
        size = self._store.size(key)
        if size is None:
            return None
        try:
            return zipfile.ZipFile(io.BufferedReader(_Ranged(self._store, key, size), 4096))
        except zipfile.BadZipFile as exc:
            raise StorageUnavailable("The snapshot cannot be read; index again.") from exc


class _Ranged(io.RawIOBase):
    """A seekable file over ranged reads, in blocks; the last few are kept."""

    def __init__(self, store: SnapshotStore, key: str, size: int) -> None:
        self._store, self._key, self._size = store, key, size
        self._at = 0
        self._blocks: dict[int, bytes] = {}

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError("seek before the beginning")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        number, within = divmod(self._at, _BLOCK_BYTES)
        block = self._block(number)
        piece = block[within : within + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            start = number * _BLOCK_BYTES
            if start >= self._size:
                return b""
            while len(self._blocks) >= _KEPT_BLOCKS:
                self._blocks.pop(next(iter(self._blocks)))
            end = min(start + _BLOCK_BYTES, self._size)
            self._blocks[number] = self._store.read_range(self._key, start, end)
        return self._blocks[number]
