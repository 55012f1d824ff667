"""A stream of any chunking, cut into paragraphs that can be audited and shown one by one.

A cut is made only where the text before and the text after mean the same apart as together: at a
blank line before a line that is not indented, outside fences and HTML blocks that blank lines do
not end, or, in a long plain paragraph, behind a sentence with nothing left open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONG_PARAGRAPH = 4096
LINES_TOGETHER = 512
HELD_HTML = 16 * 1024

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r(?!\Z))")
_ANY_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_FENCE = re.compile(r" {0,3}(?:(`{3,})(?=[^`\r\n]*[\r\n]|[^`\r\n]*\Z)|(~{3,}))")
_HTML = (
    (
        re.compile(r" {0,3}<(?:script|pre|style|textarea)(?=[\s>]|\Z)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile(r" {0,3}<!--"), re.compile(r"-->")),
    (re.compile(r" {0,3}<\?"), re.compile(r"\?>")),
    (re.compile(r" {0,3}<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r" {0,3}<![A-Za-z]"), re.compile(r">")),
)
_PLAIN_START = re.compile(r"[^\W\d_]|[\"'(“‘]")
_SENTENCE_END = re.compile(r"[.!?][\"')\]”’]*\s")


@dataclass(frozen=True, slots=True)
class Piece:
    """One paragraph with its separators. ``joint`` is the blank that a cut inside a paragraph was
    made at: empty for a piece that begins a block. ``fence`` says that it is one code fence."""

    text: str
    joint: str = ""
    fence: bool = False


class _Open:
    """What is open at the end of a run of lines: a fence or an HTML block."""

    __slots__ = ("closing", "fence")

    def __init__(self) -> None:
        self.fence = ""
        self.closing: re.Pattern[str] | None = None

    def read(self, line: str) -> None:
        """Takes one line in."""
        if self.fence:
            mark = self.fence[0]
            if re.fullmatch(rf" {{0,3}}{mark}{{{len(self.fence)},}}[ \t]*[\r\n]*", line):
                self.fence = ""
        elif self.closing is not None:
            if self.closing.search(line):
                self.closing = None
        elif match := _FENCE.match(line):
            self.fence = match[1] or match[2]
        elif "<" in line:
            for start, end in _HTML:
                if opening := start.match(line):
                    self.closing = None if end.search(line, opening.end()) else end
                    break

    def __bool__(self) -> bool:
        return bool(self.fence) or self.closing is not None


def leaves_open(text: str) -> bool:
    """Whether a fence or an HTML block that begins in the text would swallow what follows it."""
    if "```" not in text and "~~~" not in text and "<" not in text:
        return False
    state = _Open()
    for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text):
        state.read(line)
    return bool(state)


class ParagraphSplitter:
    """Cuts a stream into pieces whose concatenation is the stream."""

    def __init__(self) -> None:
        self._rest = ""
        self._lines: list[str] = []
        self._joined: list[str] = []
        self._size = 0
        self._open = _Open()
        self._blank = False
        self._content = False
        self._fence = False
        self._html_size = 0
        self._joint = ""
        self._try_at = LONG_PARAGRAPH
        self._incoming: list[str] = []
        self._incoming_size = 0

    def feed(self, text: str) -> Iterator[Piece]:
        """The pieces that the text completes."""
        # A line that never ends must not be copied for each token of it.
        self._incoming.append(text)
        self._incoming_size += len(text)
        held = self._size + len(self._rest) + self._incoming_size
        if "\n" not in text and "\r" not in text and held < self._try_at:
            yield from self._over()
            return
        self._rest += "".join(self._incoming)
        self._incoming.clear()
        self._incoming_size = 0
        position = 0
        while match := _LINE.match(self._rest, position):
            position = match.end()
            yield from self._take(match[0])
        self._rest = self._rest[position:]
        yield from self._over()
        if self._size + len(self._rest) >= self._try_at:
            yield from self._cut()

    def _over(self) -> Iterator[Piece]:
        """The piece, if the first letter of the next line is there and says that it is over.

        Waiting for the whole line would hold a paragraph back for as long as the next one takes.
        """
        if self._open or not (self._blank or (self._fence and self._content)):
            return
        first = self._rest[:1] or next(filter(None, self._incoming), "")[:1]
        if first and not first.isspace():
            yield self._release()

    def close(self) -> Iterator[Piece]:
        """The last pieces, whatever is still open in them."""
        self._rest += "".join(self._incoming)
        self._incoming.clear()
        for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", self._rest):
            if line:
                yield from self._take(line)
        self._rest = ""
        if self._size:
            yield self._release()

    def _take(self, line: str) -> Iterator[Piece]:
        if self._open:
            self._append(line)
            if self._open.closing is not None:
                self._html_size += len(line)
            self._open.read(line)
            if self._html_size > HELD_HTML:
                # It will go out as text, so what follows it is a block of its own.
                self._open = _Open()
                yield self._release()
            return
        if not line.strip():
            self._append(line)
            self._blank = self._content
            return
        if self._blank and line[0] not in " \t":
            yield self._release()
        elif self._fence and not self._open and self._content:
            # The fence is closed, and what follows needs no blank line to be another block.
            if line[0] not in " \t":
                yield self._release()
            else:
                self._fence = False
        self._blank = False
        if not self._content:
            self._fence = bool(_FENCE.match(line)) and not self._joint
        self._content = True
        self._html_size = 0
        self._append(line)
        self._open.read(line)

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line)
        if len(self._lines) >= LINES_TOGETHER:
            # Short lines take many times their length while they are strings of their own.
            self._joined.append("".join(self._lines))
            self._lines.clear()

    def _held(self) -> str:
        held = "".join((*self._joined, *self._lines))
        self._joined.clear()
        self._lines.clear()
        self._size = 0
        return held

    def _release(self) -> Piece:
        piece = Piece(self._held(), self._joint, self._fence)
        self._blank = self._content = self._fence = False
        self._joint = ""
        self._html_size = 0
        self._try_at = LONG_PARAGRAPH
        return piece

    def _cut(self) -> Iterator[Piece]:
        """A piece of a long paragraph, if there is a sentence behind which nothing is open."""
        self._try_at = max(2 * (self._size + len(self._rest)), LONG_PARAGRAPH)
        if self._open or self._blank or self._fence:
            return
        text = self._held() + self._rest
        at = _safe_cut(text, begun=bool(self._joint))
        if at == 0:
            self._lines.append(text[: len(text) - len(self._rest)])
            self._size = len(self._lines[0])
            return
        yield Piece(text[:at], self._joint)
        self._joint = "\n" if text[at - 1] in "\r\n" else " "
        self._rest = text[at:]
        self._content = False
        self._try_at = len(self._rest) + LONG_PARAGRAPH


def _safe_cut(text: str, *, begun: bool) -> int:
    """The end of the last sentence that can stand apart, or 0."""
    limit = len(text)
    for line in _ANY_LINE.finditer(text):
        first = line.start() == 0
        if "|" in line[0] or not (_PLAIN_START.match(line[0]) or (first and begun)):
            limit = line.start()
            break
    best = position = 0
    while position < limit:
        char = text[position]
        if char == "\\":
            position += 2
        elif char == "`":
            run = len(text) - len(text[position:].lstrip("`")) - position
            run = next((i for i in range(position, limit) if text[i] != "`"), limit) - position
            close = re.compile(rf"(?<!`)`{{{run}}}(?!`)").search(text, position + run, limit)
            if close is None:
                break
            position = close.end()
        elif char in "[<":
            end = _closing(text, position, limit)
            if end == 0:
                break
            position = end
        elif char in ".!?" and (match := _SENTENCE_END.match(text, position, limit)):
            position = best = match.end()
        else:
            position += 1
    return best


def _closing(text: str, start: int, limit: int) -> int:
    """Behind the bracket's partner and a destination that follows it, or 0 if it stays open."""
    if text[start] == "<":
        if start + 1 < limit and not (text[start + 1].isalpha() or text[start + 1] in "/!?"):
            return start + 1
        return text.find(">", start, limit) + 1
    depth = 0
    position = start
    while position < limit:
        char = text[position]
        if char == "\\":
            position += 1
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
            if depth == 0 and not (char == "]" and text[position + 1 : position + 2] in "(["):
                # A "(" or "[" may still come: only what follows tells that the link is over.
                return position + 1 if position + 1 < limit else 0
        elif char in "`<":
            return 0
        position += 1
    return 0
