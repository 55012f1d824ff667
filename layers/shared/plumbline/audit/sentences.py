"""Sentences of a Markdown block, by position, so that one can go and the rest stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from plumbline.audit.markdown import Edit, apply_edits, edit_region, survey
from plumbline.audit.regions import BLANK, References, Region, TooComplex

_END = re.compile(r"[.!?…。！？]+[\"')\]*_”’\x00]*(?=\s|\Z)|\n(?=\s*\n)")
_ABBREVIATION = re.compile(
    r"\b(?:[Ee]\.g|[Ii]\.e|etc|vs|cf|approx|[Nn]o|[Ff]ig|[Mm]rs?|[Mm]s|[Dd]r|[Pp]rof|[Ii]nc|[Ll]td"
    r"|[Cc]o|[Cc]orp|[Ss]t|al|[Uu]\.[Ss]|[A-Z])\.\Z"
)
_CITATION = re.compile(r"[\d,; ]+")
_MARKER_LINE = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)]|#{1,6})?[ \t]*(?:[*_]{1,3})?[ \t]*\Z")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a region: its source and what a reader sees of it, code blanked out."""

    region: Region
    start: int
    end: int

    @property
    def source(self) -> str:
        """The Markdown of the sentence."""
        return self.region.content[self.start : self.end]

    @property
    def urls(self) -> list[str]:
        """The destinations of the links in it."""
        return [
            span.href
            for span in self.region.spans
            if span.kind in ("link", "autolink") and self.start <= span.start < self.end
        ]

    def visible(self, *, code: bool = True) -> str:
        """Its text without destinations, tags and emphasis marks; without code if asked."""
        chars = list(self.source)
        for span in self.region.spans:
            low, high = max(span.start, self.start), min(span.end, self.end)
            if low >= high:
                continue
            holes: tuple[tuple[int, int], ...]
            label = self.region.content[span.label_start : span.label_end]
            if span.kind in ("link", "image") and not _CITATION.fullmatch(label):
                holes = ((span.start, span.label_start), (span.label_end, span.end))
            elif span.kind == "code" and code:
                continue
            else:
                holes = ((span.start, span.end),)
            for a, b in holes:
                for i in range(max(a, self.start), min(b, self.end)):
                    chars[i - self.start] = ""
        return re.sub(r"[*_`\\]+", "", "".join(chars)).strip()


def sentences(text: str, references: References | None = None) -> Iterator[Sentence]:
    """The sentences of a block's paragraphs, items and cells, in order."""
    for region in survey(text, references).regions:
        free = region.free_text()
        start = 0
        for match in _END.finditer(free):
            if match[0][0] == "." and _ABBREVIATION.search(
                free[max(start, match.start() - 12) : match.start() + 1]
            ):
                continue
            if match.end() < len(free) and not _begins(free[match.end() :][:80]):
                continue
            yield Sentence(region, start, match.end())
            start = match.end()
            while start < len(free) and free[start] in " \t\n":
                start += 1
        if free[start:].strip():
            yield Sentence(region, start, len(free))


def _begins(rest: str) -> bool:
    """Whether a new sentence begins: not with a small letter, as after an abbreviation."""
    first = next((char for char in rest if char.isalnum() or char == BLANK), "")
    return not first.islower()


def without_sentences(
    text: str,
    unwanted: Callable[[Sentence], bool],
    references: References | None = None,
) -> tuple[str, int]:
    """The text without the unwanted sentences, and how many went.

    A list item, heading or cell that is emptied loses its marker too.
    """
    try:
        gone = [s for s in sentences(text, references) if unwanted(s)]
    except TooComplex:
        return text, 0
    edits: list[Edit] = []
    for sentence in gone:
        end = sentence.end
        content = sentence.region.content
        while end < len(content) and content[end] in " \t":
            end += 1
        start = sentence.start
        if end == len(content):
            while start > 0 and content[start - 1] in " \t\n":
                start -= 1
        for low, high, new in edit_region(sentence.region, start, end, ""):
            edits.append((_with_marker(text, low, high), high, new))
    return apply_edits(text, edits), len(gone)


def _with_marker(text: str, low: int, high: int) -> int:
    """The start of the line, if the removal leaves nothing but a marker on it."""
    line_start = text.rfind("\n", 0, low) + 1
    line_end = text.find("\n", high)
    rest = text[high : line_end if line_end >= 0 else len(text)]
    if rest.strip("*_ \t#") or not _MARKER_LINE.match(text[line_start:low]):
        return low
    return line_start
