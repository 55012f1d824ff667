"""Lines of kept snapshots, numbered as the parsers number them."""

from __future__ import annotations

import codecs
from typing import Protocol

from plumbline.errors import NotFound
from plumbline.index.registry import Repository

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY_HEAD_BYTES = 8_000


class SnapshotFiles(Protocol):
    """The files of kept snapshots."""

    def read_file(self, number: int, commit: str | None, path: str) -> bytes | None:
        """The file as it was at the commit, None where there is none; ``StorageUnavailable``."""
        ...


class SnapshotLines:
    """Reads lines of files. A line ends at a line feed alone, as the parsers count."""

    def __init__(self, files: SnapshotFiles) -> None:
        self._files = files

    def read_lines(
        self, repository: Repository, commit: str | None, path: str, start: int, end: int
    ) -> str:
        """Lines ``start`` to ``end`` (1-based, inclusive) with their ends, fewer at the file's end.

        ``NotFound`` where the snapshot has no such file, or one that is not text.
        """
        data = self._files.read_file(repository.number, commit, path)
        if data is None:
            raise NotFound(
                f"{path} is not in the kept snapshot of {repository.name}; search for its name."
            )
        lines = _decoded(data, path).split("\n")
        taken = "\n".join(lines[start - 1 : end])
        return f"{taken}\n" if end < len(lines) else taken


def _decoded(data: bytes, path: str) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if b"\0" in data[:_BINARY_HEAD_BYTES]:
        raise NotFound(f"{path} is not a text file.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
