"""Lines out of snapshots: numbering, encodings, what is not text."""

from __future__ import annotations

import pytest

from plumbline.errors import NotFound
from plumbline.search.snapshot_lines import SnapshotLines
from tests.search_doubles import FLASK, SHA


class Files:
    def __init__(self, data: bytes | None) -> None:
        self.data = data
        self.asked: list[tuple[int, str | None, str]] = []

    def read_file(self, number: int, commit: str | None, path: str) -> bytes | None:
        self.asked.append((number, commit, path))
        return self.data


def read(data: bytes | None, start: int, end: int) -> str:
    return SnapshotLines(Files(data)).read_lines(FLASK, SHA, "a.py", start, end)


@pytest.mark.parametrize(
    ("data", "start", "end", "lines"),
    [
        (b"a\nb\nc\n", 1, 2, "a\nb\n"),
        (b"a\nb\nc\n", 2, 9, "b\nc\n"),
        (b"a\nb\nc", 3, 3, "c"),
        (b"a\nb\nc", 1, 3, "a\nb\nc"),
        (b"a\n\n", 2, 2, "\n"),
        (b"a\n", 2, 2, ""),
        (b"a\n", 9, 12, ""),
        (b"", 1, 5, ""),
        # Form feeds, lone carriage returns and Unicode's separators do not end a line.
        ("a\x0cb\rc\u2028d\x85e\nf".encode(), 1, 1, "a\x0cb\rc\u2028d\x85e\n"),
        (b"a\r\nb\r\n", 2, 2, "b\r\n"),
    ],
)
def test_lines_are_counted_by_line_feeds(data: bytes, start: int, end: int, lines: str) -> None:
    assert read(data, start, end) == lines


@pytest.mark.parametrize(
    "data",
    [
        "größe\n".encode(),
        "größe\n".encode("utf-8-sig"),
        "größe\n".encode("utf-16"),
        "größe\n".encode("cp1252"),
    ],
)
def test_encodings_are_told_apart(data: bytes) -> None:
    assert read(data, 1, 1) == "größe\n"


@pytest.mark.parametrize("data", [None, b"\x7fELF\x00\x00"])
def test_what_is_no_text_file_is_not_found(data: bytes | None) -> None:
    with pytest.raises(NotFound, match=r"a\.py is not"):
        read(data, 1, 1)


def test_the_snapshot_asked_is_the_repositorys_at_the_commit() -> None:
    files = Files(b"a\n")
    SnapshotLines(files).read_lines(FLASK, None, "a.py", 1, 1)
    assert files.asked == [(12, None, "a.py")]
