"""Sections of a page: one entity a heading, whatever markup the page is written in."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plumbline.index.entities import MAX_BODY_LINES, Entity, ParseTimeout, clip_body, first_sentence

_MAX_DEPTH = 10
_CHECK_EVERY = 256


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at ``line`` (an index into the page's lines), ``written`` so, read as ``text``."""

    line: int
    level: int
    text: str
    written: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page's lines, their numbers, and what holds for each of its sections.

    Text starts at ``first_line``. ``outer`` are the headings, with their levels, that are open
    where the page begins: those of earlier cells in a notebook.
    """

    lines: Sequence[str]
    numbers: Sequence[int]
    kind_label: str
    title: str
    description: str = ""
    first_line: int = 0
    heading_path: tuple[str, ...] = ()
    outer: Sequence[tuple[int, str]] = ()
    fields: Mapping[str, object] | None = None


def page_sections(
    page: Page, headings: Sequence[Heading], summaries: Sequence[str], *, deadline: float
) -> list[Entity]:
    """One ``doc_section`` a heading, and one for text before the first; none for an empty page.

    ``summaries`` holds the first paragraph of the text before the first heading, then one for each
    heading. ``extra`` carries ``title``, ``heading_path`` (outermost first) and the page's fields.
    Raises ``ParseTimeout``.
    """
    found: list[Entity] = []
    first_heading = headings[0].line if headings else len(page.lines)
    path = list(page.outer)
    if _has_text(page.lines, page.first_line, first_heading):
        summary = page.description or summaries[0]
        span = (page.first_line, first_heading)
        name = path[-1][1] if path else page.title
        found.append(_section(page, name, _names(path), span, "", summary))
    elif not headings and (page.description or page.heading_path or page.fields):
        found.append(_section(page, page.title, (), (0, page.first_line), "", page.description))
    for index, heading in enumerate(headings):
        if index % _CHECK_EVERY == 0 and time.monotonic() > deadline:
            raise ParseTimeout
        path = under(path, heading)
        end = headings[index + 1].line if index + 1 < len(headings) else len(page.lines)
        summary = summaries[index + 1]
        if not found and page.description:
            summary = page.description
        span = (heading.line, end)
        found.append(_section(page, heading.text, _names(path), span, heading.written, summary))
    return found


def under(path: Sequence[tuple[int, str]], heading: Heading) -> list[tuple[int, str]]:
    """The open headings, outermost first, once this one has been read."""
    open_above = [entry for entry in path if entry[0] < heading.level]
    return [*open_above[: _MAX_DEPTH - 1], (heading.level, heading.text)]


def _names(path: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(name for _, name in path)


def _section(
    page: Page,
    name: str,
    path: tuple[str, ...],
    span: tuple[int, int],
    signature: str,
    summary: str,
) -> Entity:
    start, end = span
    while end > start + 1 and not page.lines[end - 1].strip():
        end -= 1
    while not signature and start < end - 1 and not page.lines[start].strip():
        start += 1
    return Entity(
        entity_type="doc_section",
        name=name,
        qualified_name=" > ".join(path) or name,
        kind_label=page.kind_label,
        line_start=page.numbers[start],
        line_end=page.numbers[max(end - 1, start)],
        signature=signature or page.title,
        body=clip_body("\n".join(page.lines[start : min(end, start + MAX_BODY_LINES)]).strip()),
        doc=first_sentence(summary),
        extra={
            **(page.fields or {}),
            "title": page.title,
            "heading_path": [*page.heading_path, *path],
        },
    )


def _has_text(lines: Sequence[str], start: int, end: int) -> bool:
    return any(lines[index].strip() for index in range(start, end))
