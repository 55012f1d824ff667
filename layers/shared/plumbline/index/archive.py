"""Reading an archive of a repository, safely and one member at a time.

Nothing is extracted: a member's bytes go from the archive to the caller's memory. Names, links,
sizes and counts are believed to be hostile. Source: design, section 6; facts on parsing, kinds 11,
12, 15 and 16.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from plumbline.errors import ArchiveRefused

_DRIVE = re.compile(r"[A-Za-z]:")
_COMMIT_ENDING = re.compile(r"-[0-9a-f]{7,64}$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CLUTTER = frozenset({"__MACOSX", ".DS_Store"})
_MAX_NAME_BYTES = 1000


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may hold. ``ratio`` is unpacked to packed size, of the whole archive, and
    counts from ``ratio_from_bytes`` on: small archives of text reach high ratios honestly.
    """

    members: int = 200_000
    member_bytes: int = 16 * 1024 * 1024
    total_bytes: int = 4 * 1024**3
    ratio: int = 200
    ratio_from_bytes: int = 64 * 1024 * 1024
    header_bytes: int = 64 * 1024
    directory_bytes: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an archive: its path inside the repository, and its bytes or why it has none.

    For a skipped one the path is the member's name as far as it can be printed.
    """

    path: str
    data: bytes = b""
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry before it is read: the name as stored, and why it will be skipped, if so."""

    name: str
    size: int = 0
    skipped: str | None = None


class OpenArchive(Protocol):
    """What a format must do; see ``zip_archive`` and ``tar_archive``."""

    @property
    def commit(self) -> str | None:
        """The commit that git wrote into the archive; known after ``entries`` ran."""

    def entries(self) -> Iterator[Entry]:
        """Every entry, to the archive's end; raises ``ArchiveRefused`` for a broken archive."""

    def read(self) -> Iterator[tuple[Entry, bytes]]:
        """Every entry again, in the same order, with the bytes of those that are not skipped."""


class RepositoryArchive:
    """A whole, checked archive: how many members it has, its commit, and its members.

    The check reads to the archive's end before anything is handed out, so a bomb or half an upload
    is refused while the index is still untouched. ``repository`` is as for ``open_archive``.
    Raises ``ArchiveRefused``.
    """

    def __init__(
        self,
        archive: OpenArchive,
        *,
        packed_bytes: int,
        limits: ArchiveLimits,
        repository: str | None,
    ) -> None:
        self._archive = archive
        self._limits = limits
        self._repository = repository
        self.members = 0
        self.total_bytes = 0
        self._root: str | None = None
        self._check(packed_bytes)
        self.commit = archive.commit

    def read(self) -> Iterator[Member]:
        """Every member in the archive's order, the folder that holds them all left out.

        Clutter of operating systems and folders are no members. A path comes once: the first.
        """
        seen: set[bytes] = set()
        for entry, data in self._archive.read():
            if _is_clutter(entry.name):
                continue
            path, problem = safe_path(entry.name)
            if self._root and path.startswith(self._root):
                path = path[len(self._root) :]
            if problem is None and entry.skipped is None:
                key = path.encode()
                if key in seen:
                    problem = "duplicate member"
                seen.add(key)
            problem = problem or entry.skipped
            yield Member(path, b"" if problem else data, problem)

    def _check(self, packed_bytes: int) -> None:
        limits = self._limits
        roots: set[str] = set()
        for entry in self._archive.entries():
            self.members += 1
            self.total_bytes += entry.size
            if self.members > limits.members:
                raise ArchiveRefused(f"The archive holds more than {limits.members:,} members.")
            if self.total_bytes > limits.total_bytes:
                raise ArchiveRefused(
                    f"The archive unpacks to more than {limits.total_bytes:,} bytes."
                )
            if (
                self.total_bytes > limits.ratio_from_bytes
                and self.total_bytes > limits.ratio * packed_bytes
            ):
                raise ArchiveRefused(
                    f"The archive unpacks to more than {limits.ratio} times its size."
                )
            path, problem = safe_path(entry.name)
            if problem is None and not _is_clutter(entry.name) and len(roots) < 2:
                head, slash, _ = path.partition("/")
                roots.add(head if slash else "")
        root = roots.pop() if len(roots) == 1 else ""
        if root and (self._repository is None or is_checkout(root, self._repository)):
            self._root = f"{root}/"


def open_archive(
    file: BinaryIO, limits: ArchiveLimits | None = None, *, repository: str | None = None
) -> RepositoryArchive:
    """The archive in a seekable file, told by its first bytes: zip, tar, tar.gz or tar.zst.

    A folder that holds everything is left out of the paths; with ``repository`` (``owner/name``)
    only if it is called like a checkout of it, for ``src`` may be all that a repository has.
    Raises ``ArchiveRefused`` for anything else and for an archive that breaks a safety rule.
    """
    from plumbline.index.tar_archive import TarArchive
    from plumbline.index.zip_archive import ZipArchive

    limits = limits or ArchiveLimits()
    packed = file.seek(0, 2)
    file.seek(0)
    head = file.read(512)
    file.seek(0)
    archive: OpenArchive
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        archive = ZipArchive(file, limits)
    elif head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")) or head[257:262] == b"ustar":
        archive = TarArchive(file, limits)
    else:
        raise ArchiveRefused("This is no archive; send a zip, a tar.gz or a tar.zst.")
    return RepositoryArchive(archive, packed_bytes=packed, limits=limits, repository=repository)


def is_checkout(folder: str, repository: str) -> bool:
    """Whether a folder is called as hosts and git call a checkout: ``name``, ``name-<ref>``,
    ``owner-name-<commit>``.
    """
    words = re.escape(repository.rpartition("/")[2].lower())
    named = re.search(rf"(?:^|-){words}(?:$|-)", folder.lower()) is not None
    return named or _COMMIT_ENDING.search(folder) is not None


def safe_path(name: str) -> tuple[str, str | None]:
    """A member's path with ``/`` between its parts, and why it must not be used, if so."""
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        return _printable(name), "name is not UTF-8"
    if _CONTROL.search(name):
        return _printable(name), "control character in the name"
    if len(encoded) > _MAX_NAME_BYTES:
        return name[:200], "name too long"
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        return name, "absolute path"
    # A backslash is a separator to some tools and a letter to others; no two readers agree.
    if "\\" in name:
        return name, "backslash in the name"
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        return name, "path leads out of the archive"
    if not parts:
        return name, "empty name"
    return "/".join(parts), None


def _is_clutter(name: str) -> bool:
    parts = name.split("/")
    return not _CLUTTER.isdisjoint(parts) or parts[-1].startswith("._")


def _printable(name: str) -> str:
    text = name[:200].encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
