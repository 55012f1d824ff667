"""Where renderers are known to read a text differently: what is looked for to escape it."""

from __future__ import annotations

import re

from plumbline.audit.regions import Region, Span, Survey

MAX_OPEN_BRACKETS = 200

_STRAY = re.compile(r"//|www\.|\]\(|\]:|<[A-Za-z/!?]|@\w", re.IGNORECASE)
_DELIMITER_ROW = re.compile(
    r"^[ \t]*(?:\|[ \t]*:?-+:?[ \t]*|:?-+:?[ \t]*\|)[-:| \t]*$", re.MULTILINE
)
_FOOTNOTE = re.compile(r"^[ \t]*\[\^[^\]\n]*\]:", re.MULTILINE)


def read_alike(text: str) -> bool:
    """Whether renderers can be trusted to see the same blocks, and to see them in time."""
    # For JavaScript's "." these two end a line, and with it a heading.
    if "\u2028" in text or "\u2029" in text:
        return False
    return _open_brackets(text) <= MAX_OPEN_BRACKETS


def _open_brackets(text: str) -> int:
    """How many brackets are open at most: what a link parser's time depends on."""
    if text.count("[") <= MAX_OPEN_BRACKETS:
        return 0
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]]", text):
        depth = depth + 1 if bracket == "[" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def hidden_structure(region: Region) -> bool:
    """Whether other renderers see a table or a footnote here, and its code would fall apart."""
    if region.cell:
        return False
    for span in region.spans:
        inside = region.content[span.start : span.end]
        if "|" in inside and _DELIMITER_ROW.search(region.content):
            return True
        if "\n" in inside and _FOOTNOTE.search(region.content):
            return True
        if span.kind == "code" and "](" in inside and _in_brackets(region, span):
            return True
    return False


def _in_brackets(region: Region, code: Span) -> bool:
    """Whether a bracket is open before the code: some look for its end before they see code."""
    before = region.free_text()[: code.start]
    return before.count("[") > before.count("]") or any(
        span.kind in ("link", "image") and span.start < code.start < span.end
        for span in region.spans
    )


def stray_text(seen: Survey) -> bool:
    """Whether text that no renderer should show as text looks like a link all the same."""
    covered = [*seen.html, *seen.code]
    covered.extend((d.start, d.end) for d in seen.definitions)
    for region in seen.regions:
        if hidden_structure(region):
            return True
        covered.extend(region.source_ranges(0, len(region.content)))
    position = 0
    for start, end in sorted(covered):
        if start > position and _STRAY.search(seen.text, position, start):
            return True
        position = max(position, end)
    return bool(_STRAY.search(seen.text, position))
