"""Zip archives, from a seekable file."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from plumbline.errors import ArchiveRefused
from plumbline.index.addresses import is_commit
from plumbline.index.archive import ArchiveLimits, Entry

_BROKEN = "The zip is broken or only half there; upload it again."
_LOCAL_HEADER_BYTES = 30
_PIECE_BYTES = 256 * 1024
_END_MARK = b"PK\x05\x06"
_END_BYTES = 22
_MAX_COMMENT_BYTES = 65_535
_UTF8_FLAG = 0x800
_ENCRYPTED_FLAG = 0x1
_FAILURES = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)


class ZipArchive:
    """A zip whose central directory was checked: sizes as declared are enforced when read."""

    def __init__(self, file: BinaryIO, limits: ArchiveLimits) -> None:
        self._limits = limits
        if _directory_bytes(file) > limits.directory_bytes:
            raise ArchiveRefused("The zip's directory is too large.")
        try:
            self._zip = zipfile.ZipFile(file)
        except _FAILURES as exc:
            raise ArchiveRefused(_BROKEN) from exc
        comment = self._zip.comment.decode("ascii", "replace").strip()
        self.commit = comment if is_commit(comment) else None

    def entries(self) -> Iterator[Entry]:
        """Every entry of the central directory; ``ArchiveRefused`` if two share bytes."""
        end = 0
        # Members that overlap unpack to far more than the archive has bytes for.
        for info in sorted(self._zip.infolist(), key=lambda info: info.header_offset):
            if info.header_offset < end:
                raise ArchiveRefused("Members of the zip overlap.")
            end = info.header_offset + _LOCAL_HEADER_BYTES + info.compress_size
        for info in self._zip.infolist():
            if not info.is_dir():
                yield self._entry(info)

    def read(self) -> Iterator[tuple[Entry, bytes]]:
        """Every entry with its bytes; one that cannot be unpacked is skipped as corrupt."""
        for info in self._zip.infolist():
            if info.is_dir():
                continue
            entry = self._entry(info)
            if entry.skipped:
                yield entry, b""
                continue
            try:
                data = self._content(info)
            except _FAILURES:
                yield Entry(entry.name, skipped="corrupt member"), b""
                continue
            yield entry, data

    def _content(self, info: zipfile.ZipInfo) -> bytes:
        # In pieces: reading at one go would unpack all that the packed bytes hold, and only then
        # cut it to the declared size.
        pieces = []
        with self._zip.open(info) as source:
            while piece := source.read(_PIECE_BYTES):
                pieces.append(piece)
        return b"".join(pieces)

    def _entry(self, info: zipfile.ZipInfo) -> Entry:
        return Entry(_name(info), info.file_size, self._problem(info))

    def _problem(self, info: zipfile.ZipInfo) -> str | None:
        mode = info.external_attr >> 16
        kind = stat.S_IFMT(mode)
        if kind == stat.S_IFLNK:
            return "symbolic link"
        if kind not in (0, stat.S_IFREG):
            return "not a regular file"
        if info.flag_bits & _ENCRYPTED_FLAG:
            return "encrypted"
        # The unpackers of the other methods cannot be stopped at a size.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return "compression method"
        if info.file_size > self._limits.member_bytes:
            return "too large"
        return None


def _directory_bytes(file: BinaryIO) -> int:
    """How long the directory says it is: zipfile holds it whole, so it is asked before."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_BYTES - _MAX_COMMENT_BYTES))
    tail = file.read()
    at = tail.rfind(_END_MARK)
    if at < 0 or len(tail) - at < _END_BYTES:
        return 0
    length, _, comment = struct.unpack_from("<LLH", tail, at + 12)
    if at + _END_BYTES + comment > len(tail):
        raise ArchiveRefused(_BROKEN)
    return int(length) if length != 0xFFFFFFFF else _zip64_directory_bytes(tail, at)


def _zip64_directory_bytes(tail: bytes, end: int) -> int:
    at = tail.rfind(b"PK\x06\x06", 0, end)
    if at < 0 or len(tail) - at < 56:
        return 0
    (length,) = struct.unpack_from("<Q", tail, at + 40)
    return int(length)


def _name(info: zipfile.ZipInfo) -> str:
    """The name as stored: zipfile reads names without the UTF-8 flag as cp437, git writes UTF-8."""
    name = info.orig_filename
    if info.flag_bits & _UTF8_FLAG:
        return name
    try:
        return name.encode("cp437").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return name
