"""reStructuredText: sections by their underlines, in one pass over the lines.

docutils is not used: it is slow, and its include and raw directives read files.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import PurePosixPath

from plumbline.index.entities import Entity, ParseTimeout, one_line
from plumbline.index.parsing.lines import split_lines
from plumbline.index.parsing.sections import Heading, Page, page_sections

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1*\Z")
_ROLE = re.compile(r":[\w:+.-]+:`([^`]*)`")
_TARGET = re.compile(r"`([^`]*?)\s*<[^<>`]*>`_{0,2}")
_MARKUP = re.compile(
    r"``([^`]+)``|`([^`]+)`_{0,2}|\*\*([^*]+)\*\*|(?<!\w)\*([^*\s][^*]*)\*|\|([^|\s][^|]*)\|_{0,2}"
)
_NOT_PROSE = (".. ", "..", ":", "+-", "| ", ">>> ", "__ ")
_TABLE_RULE = re.compile(r"[=\-+| ]+\Z")
_SHORTEST_RULE = 4
_MAX_TEXT_CHARS = 1000
_CHECK_EVERY = 2048


def parse_restructuredtext(text: str, *, path: str, deadline: float) -> list[Entity]:
    """One ``doc_section`` a title, and one for the text before the first.

    A title's level is the order in which its style (character, with or without an overline) first
    appears. Raises ``ParseTimeout``.
    """
    lines, numbers = split_lines(text)
    headings = _titles(lines, deadline)
    starts = [0, *(heading.line for heading in headings)]
    ends = [*starts[1:], len(lines)]
    summaries = [_summary(lines, start, end) for start, end in zip(starts, ends, strict=True)]
    page = Page(
        lines=lines,
        numbers=numbers,
        kind_label="reStructuredText section",
        title=headings[0].text if headings else PurePosixPath(path).stem,
        first_line=_first_prose(lines, ends[0]),
    )
    return page_sections(page, headings, summaries, deadline=deadline)


def plain_text(markup: str) -> str:
    """Inline markup as a reader sees it: without roles, targets, emphasis and code marks."""
    text = markup[:_MAX_TEXT_CHARS]
    if "`" in text:
        text = _TARGET.sub(r"\1", _ROLE.sub(_role_text, text))
    return one_line(_MARKUP.sub(lambda found: next(filter(None, found.groups()), ""), text))


def _role_text(found: re.Match[str]) -> str:
    text = found.group(1)
    before, opening, _ = text.partition("<")
    if opening and before.strip():
        return before.strip()
    return text.lstrip("~!")


def _titles(lines: Sequence[str], deadline: float) -> list[Heading]:
    found: list[Heading] = []
    styles: list[tuple[str, bool]] = []
    index, count = 0, len(lines)
    while index < count:
        if index % _CHECK_EVERY == 0 and time.monotonic() > deadline:
            raise ParseTimeout
        title = _title_at(lines, index)
        if title is None:
            index += 1
            continue
        style, heading_text, used = title
        if style not in styles:
            styles.append(style)
        found.append(
            Heading(
                line=index,
                level=styles.index(style) + 1,
                text=plain_text(heading_text) or "Untitled",
                written=heading_text,
            )
        )
        index += used
    return found


def _title_at(lines: Sequence[str], index: int) -> tuple[tuple[str, bool], str, int] | None:
    """The style, the text and the number of lines of a title that begins here."""
    line = lines[index].rstrip()
    if not line or not _begins_block(lines, index):
        return None
    below = lines[index + 1].rstrip() if index + 1 < len(lines) else ""
    if _RULE.match(line):
        under = lines[index + 2].rstrip() if index + 2 < len(lines) else ""
        if below.strip() and line == under and not _RULE.match(below):
            return (line[0], True), below.strip(), 3
        return None
    if not _RULE.match(below) or line[0].isspace() or below == "::" or below == "..":
        return None
    if len(below) < len(line) and len(below) < _SHORTEST_RULE:
        return None
    return (below[0], False), line, 2


def _begins_block(lines: Sequence[str], index: int) -> bool:
    above = lines[index - 1].rstrip() if index else ""
    return not above or above.startswith("..") or _RULE.match(above) is not None


def _first_prose(lines: Sequence[str], end: int) -> int:
    """Where running text begins: labels, comments and what is indented under them are none."""
    for index in range(end):
        line = lines[index]
        if line.strip() and not line[0].isspace() and not line.startswith(".."):
            return index
    return end


def _summary(lines: Sequence[str], start: int, end: int) -> str:
    """The first paragraph of running text between two lines, of which the first may be a title."""
    title = _title_at(lines, start)
    start += title[2] if title else 0
    paragraph: list[str] = []
    starts_block = True
    for line in lines[start : min(end, start + 200)]:
        text = line.rstrip()
        if not text:
            if paragraph:
                break
            starts_block = True
        elif paragraph or (
            starts_block
            and not text[0].isspace()
            and not text.startswith(_NOT_PROSE)
            and not _TABLE_RULE.match(text)
        ):
            paragraph.append(text)
        else:
            starts_block = False
    return plain_text(" ".join(paragraph))
