"""What a block of Markdown holds, by position: regions of text, and the constructs in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

BLANK = "\x00"
"""Stands for each character that is no running text (a real NUL is replaced when parsing)."""

SpanKind = Literal["link", "image", "autolink", "html", "code"]
References = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Span:
    """One construct inside an inline region; positions count in the region's content."""

    kind: SpanKind
    start: int
    end: int
    label_start: int
    label_end: int
    href: str = ""
    text: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """The content of one paragraph, heading or cell, and where it lies in the source.

    ``pieces`` are ``(content_start, content_end, source_start)``, in order; what lies between two
    of them is a line's prefix or a table's escape.
    """

    content: str
    pieces: tuple[tuple[int, int, int], ...]
    spans: tuple[Span, ...]
    texts: tuple[str, ...]
    cell: bool = False

    def source_ranges(self, start: int, end: int) -> list[tuple[int, int]]:
        """The source ranges that hold the content from ``start`` to ``end``."""
        ranges = []
        for low, high, source in self.pieces:
            a, b = max(start, low), min(end, high)
            if a < b:
                ranges.append((source + a - low, source + b - low))
        return ranges

    def source_at(self, position: int) -> int:
        """The source position of a content position (which may be the content's end)."""
        index = max(0, bisect_right(self.pieces, position, key=lambda piece: piece[0]) - 1)
        low, high, source = self.pieces[index]
        return source + min(position, high) - low

    def free_text(self, *, labels: bool = True) -> str:
        """The content with code, HTML, autolinks and link destinations blanked out.

        Newlines and lengths stay. With ``labels`` false, link labels are blanked too.
        """
        chars: list[str] | None = None
        for span in self.spans:
            chars = chars if chars is not None else list(self.content)
            holes = (
                ((span.start, span.label_start), (span.label_end, span.end))
                if labels and span.kind in ("link", "image")
                else ((span.start, span.end),)
            )
            for a, b in holes:
                # A blank outside HTML would end an address that renderers read on; a tag ends it.
                chars[a:b] = [BLANK] * (b - a)
                if span.kind in ("html", "autolink"):
                    chars[a] = "<"
        return self.content if chars is None else "".join(chars)


@dataclass(frozen=True, slots=True)
class Definition:
    """A link reference definition: its label, destination and source range (whole lines)."""

    label: str
    href: str
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Survey:
    """A block as a renderer sees it. ``html`` and ``code`` are source ranges of whole blocks."""

    text: str
    regions: tuple[Region, ...]
    definitions: tuple[Definition, ...]
    html: tuple[tuple[int, int], ...]
    code: tuple[tuple[int, int], ...]

    def code_ranges(self) -> list[tuple[int, int]]:
        """All source ranges of code: blocks and spans."""
        ranges = list(self.code)
        for region in self.regions:
            for span in region.spans:
                if span.kind == "code":
                    ranges.extend(region.source_ranges(span.start, span.end))
        return ranges


class TooComplex(Exception):
    """The block cannot be surveyed faithfully; it goes out escaped."""


def line_starts(text: str) -> list[int]:
    """Where each line begins, and where the text ends."""
    starts = [0]
    position = text.find("\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    starts.append(len(text))
    return starts


def line_pieces(
    content: str, first: int, text: str, lines: list[int]
) -> tuple[tuple[int, int, int], ...]:
    """The pieces of a paragraph or heading, whose lines are found again in the source."""
    pieces = []
    position = 0
    for index, line in enumerate(content.split("\n")):
        low = lines[first + index]
        high = lines[first + index + 1]
        at = text.rfind(line, low, high)
        skipped = 0
        if at < 0:
            # A tab that straddles the block's indent was turned into blanks.
            stripped = line.lstrip()
            skipped = len(line) - len(stripped)
            at = text.rfind(stripped, low, high)
            if at < 0:
                raise TooComplex
        pieces.append((position + skipped, position + len(line) + 1, at))
        position += len(line) + 1
    low, high, at = pieces[-1]
    pieces[-1] = (low, high - 1, at)
    return tuple(pieces)


def cell_pieces(
    content: str, row: int, text: str, lines: list[int], cursors: dict[int, int]
) -> tuple[tuple[int, int, int], ...]:
    """The pieces of a cell, whose escaped pipes its content holds without their backslashes."""
    raw = content.replace("|", "\\|")
    at = text.find(raw, cursors.get(row, lines[row]), lines[row + 1])
    if at < 0:
        raise TooComplex
    cursors[row] = at + len(raw)
    pieces = []
    position = 0
    for part in content.split("|"):
        # The pipe itself goes with the part before it; its backslash lies between the pieces.
        pieces.append((position, position + len(part), at))
        position += len(part)
        at += len(part) + 1
        pieces.append((position, position + 1, at))
        position += 1
        at += 1
    pieces.pop()
    return tuple(pieces)
