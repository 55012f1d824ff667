"""Tar archives as a stream: plain, gzip, and Zstandard where a library for it is there."""

from __future__ import annotations

import gzip
import importlib
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from plumbline.errors import ArchiveRefused
from plumbline.index.addresses import is_commit
from plumbline.index.archive import ArchiveLimits, Entry

_BROKEN = "The tar archive is broken or only half there; upload it again."
_BLOCK = 512
_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_ZSTD_LIBRARIES = ("compression.zstd", "backports.zstd", "zstandard")


class TarArchive:
    """A tar in a seekable file, unpacked from the start on each pass and held nowhere."""

    def __init__(self, file: BinaryIO, limits: ArchiveLimits) -> None:
        self._file, self._limits = file, limits
        self.commit: str | None = None

    def entries(self) -> Iterator[Entry]:
        """Every entry to the end mark; what follows it is unpacked too, so that it is whole."""
        for entry, _ in self._walk(read=False):
            yield entry

    def read(self) -> Iterator[tuple[Entry, bytes]]:
        """Every entry with its bytes."""
        yield from self._walk(read=True)

    def _walk(self, *, read: bool) -> Iterator[tuple[Entry, bytes]]:
        self._file.seek(0)
        with _refused():
            stream = _Bounded(*_unpacked(self._file), self._limits.total_bytes)
            archive = tarfile.open(  # noqa: SIM115 - it owns nothing but the stream
                fileobj=cast(BinaryIO, stream),
                mode="r|",
                tarinfo=_bounded_headers(self._limits.header_bytes),
                encoding="utf-8",
                errors="surrogateescape",
            )
            while (info := archive.next()) is not None:
                # tarfile keeps every member it has seen; memory is bounded by the largest file.
                vars(archive)["members"].clear()
                if info.isdir():
                    continue
                # A sparse file's size is of its holes; the bytes that are there are counted below.
                size = 0 if info.issparse() else max(0, info.size)
                entry = Entry(info.name, size, self._problem(info))
                data = b""
                if read and not entry.skipped:
                    data = _content(archive, info)
                yield entry, data
            comment = archive.pax_headers.get("comment", "")
            self.commit = comment if is_commit(comment) else None
            if not stream.ended_with_zeros():
                raise tarfile.ReadError("no end mark")

    def _problem(self, info: tarfile.TarInfo) -> str | None:
        if info.issym():
            return "symbolic link"
        if info.islnk():
            return "hard link"
        if info.issparse():
            return "sparse file"
        if not info.isreg():
            return "not a regular file"
        if info.size > self._limits.member_bytes:
            return "too large"
        return None


class _Bounded:
    """Counts what is unpacked: a bomb in a skipped member or after the end mark counts too."""

    def __init__(self, source: BinaryIO, failure: type[Exception], limit: int) -> None:
        self._source, self._failure = source, failure
        self._limit = self._left = limit
        self._tail = b""

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            raise ValueError("a bounded stream is read in pieces")
        try:
            data = self._source.read(size)
        except self._failure as exc:
            raise tarfile.ReadError("cannot be unpacked") from exc
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveRefused(f"The archive unpacks to more than {self._limit:,} bytes.")
        self._tail = (self._tail + data)[-_BLOCK:] if len(data) < _BLOCK else data[-_BLOCK:]
        return data

    def ended_with_zeros(self) -> bool:
        """Read to the end: whether the archive's last block is the end mark's."""
        while self.read(64 * 1024):
            pass
        return self._tail == bytes(_BLOCK)


def _bounded_headers(limit: int) -> type[tarfile.TarInfo]:
    """TarInfo that refuses extended headers over ``limit``: tarfile reads them whole."""

    class BoundedTarInfo(tarfile.TarInfo):
        def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
            if self.type in _EXTENDED and not 0 <= self.size <= limit:
                raise ArchiveRefused("A header in the tar archive is too large.")
            return cast(
                tarfile.TarInfo,
                super()._proc_member(archive),  # type: ignore[misc]
            )

    return BoundedTarInfo


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    source = archive.extractfile(info)
    data = source.read() if source else b""
    if len(data) != info.size:
        raise tarfile.ReadError("a member is cut short")
    return data


def _unpacked(file: BinaryIO) -> tuple[BinaryIO, type[Exception]]:
    """The unpacked stream, and what its library raises for broken bytes."""
    head = file.read(4)
    file.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb")), zlib.error
    if head == b"\x28\xb5\x2f\xfd":
        return _zstd(file)
    return file, OSError


def _zstd(file: BinaryIO) -> tuple[BinaryIO, type[Exception]]:
    for name in _ZSTD_LIBRARIES:
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            # 128 MiB: what the zstd tool itself unpacks without being asked to.
            unpacker = library.ZstdDecompressor(max_window_size=2**27)
            stream = unpacker.stream_reader(file, read_across_frames=True)
        else:
            stream = library.ZstdFile(file, "rb")
        return cast(BinaryIO, stream), library.ZstdError
    raise ArchiveRefused("tar.zst needs a Zstandard library here; send a tar.gz or a zip.")


@contextmanager
def _refused() -> Iterator[None]:
    """What reading a hostile tar can raise, as ``ArchiveRefused``."""
    try:
        yield
    except (
        tarfile.TarError,
        EOFError,
        OSError,
        ValueError,
        # A chain of extended headers makes tarfile call itself.
        RecursionError,
        OverflowError,
    ) as exc:
        raise ArchiveRefused(_BROKEN) from exc
