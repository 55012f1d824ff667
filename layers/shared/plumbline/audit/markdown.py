"""Every link, image, piece of HTML and piece of code in a block of Markdown, by position.

markdown-it-py reads; nothing is rendered back from its tree. Each construct is found with its
place in the source, and an edit replaces exactly that place, so all other bytes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, autolink, backtick, html_inline, image, link

from plumbline.audit.regions import (
    Definition,
    References,
    Region,
    Span,
    SpanKind,
    Survey,
    TooComplex,
    cell_pieces,
    line_pieces,
    line_starts,
)

MAX_NESTING = 60


@dataclass(slots=True)
class _Log:
    spans: list[Span] = field(default_factory=list)


_RULES: Mapping[str, tuple[SpanKind, Callable[[StateInline, bool], bool]]] = {
    "link": ("link", link),
    "image": ("image", image),
    "autolink": ("autolink", autolink),
    "html_inline": ("html", html_inline),
    "backticks": ("code", backtick),
}
_TOKENS: Mapping[SpanKind, str] = {
    "link": "link_open",
    "image": "image",
    "autolink": "link_open",
    "html": "html_inline",
    "code": "code_inline",
}


def _recorded(
    kind: SpanKind, rule: Callable[[StateInline, bool], bool]
) -> Callable[[StateInline, bool], bool]:
    """The rule, noting in ``env`` where it matched."""

    def recording(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        log: _Log = state.env["log"]
        mark = len(log.spans)
        if not rule(state, silent):
            return False
        if silent:
            return True
        token = next((t for t in state.tokens[before:] if t.type == _TOKENS[kind]), None)
        if token is None:
            return True
        end, low, high = state.pos, start, state.pos
        if kind in ("link", "image"):
            opening = start if kind == "link" else start + 1
            low = opening + 1
            high = state.md.helpers.parseLinkLabel(state, opening, kind == "link")
            state.pos = end
        if kind == "image":
            # Its label was parsed as a document of its own, with positions of its own.
            del log.spans[mark:]
        href = token.attrs.get("src" if kind == "image" else "href", "")
        title = token.attrs.get("title", "")
        log.spans.append(Span(kind, start, end, low, high, str(href), token.content, str(title)))
        return True

    return recording


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(
        ["table", "strikethrough"]
    )
    reader.disable("inline")
    for name, (kind, rule) in _RULES.items():
        reader.inline.ruler.at(name, _recorded(kind, rule))
    # Renderers differ in what they refuse to link, so here everything that looks like a link is.
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return reader


_READER = _reader()


def survey(text: str, references: References | None = None) -> Survey:
    """What the block holds; ``references`` are the definitions that earlier blocks gave.

    Line ends must be ``\\n``. Raises ``TooComplex`` where positions cannot be told.
    """
    if "\r" in text:
        raise TooComplex
    env: MutableMapping[str, Any] = {"references": dict(references or {})}
    try:
        tokens = _READER.parse(text, env)
        lines = line_starts(text)
        regions: list[Region] = []
        html: list[tuple[int, int]] = []
        code: list[tuple[int, int]] = []
        cursors: dict[int, int] = {}
        previous = ""
        for token in tokens:
            if token.map is not None and token.type in ("html_block", "fence", "code_block"):
                bounds = (lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)])
                (html if token.type == "html_block" else code).append(bounds)
            elif token.type == "inline" and token.map is not None and token.content:
                cell = previous in ("th_open", "td_open")
                regions.append(_region(token.content, token.map, text, lines, cell, cursors, env))
            previous = token.type
    except RecursionError as exc:
        raise TooComplex from exc
    return Survey(text, tuple(regions), tuple(_definitions(env, lines)), tuple(html), tuple(code))


def _definitions(env: Mapping[str, Any], lines: list[int]) -> Iterator[Definition]:
    entries = [{"label": k, **v} for k, v in env["references"].items() if "map" in v]
    for entry in (*entries, *env.get("duplicate_refs", ())):
        first, last = entry["map"]
        yield Definition(
            entry["label"],
            entry["href"],
            entry["title"],
            lines[first],
            lines[min(last, len(lines) - 1)],
        )


def _region(
    content: str,
    line_range: list[int],
    text: str,
    lines: list[int],
    cell: bool,
    cursors: dict[int, int],
    env: MutableMapping[str, Any],
) -> Region:
    first = line_range[0]
    pieces = (
        cell_pieces(content, first, text, lines, cursors)
        if cell
        else line_pieces(content, first, text, lines)
    )
    log = env["log"] = _Log()
    children: list[Any] = []
    _READER.inline.parse(content, _READER, env, children)
    if any(token.level >= MAX_NESTING - 1 for token in children):
        raise TooComplex
    return Region(content, pieces, tuple(log.spans), tuple(_texts(children)), cell)


def _texts(children: Iterable[Any]) -> Iterator[str]:
    """The text outside links, joined where a renderer joins it before it looks for addresses."""
    joined = ""
    depth = 0
    for token in children:
        depth += (token.type == "link_open") - (token.type == "link_close")
        if token.type == "text" and depth == 0:
            joined += token.content
        elif joined and token.type != "text":
            yield joined
            joined = ""
    if joined:
        yield joined


Edit = tuple[int, int, str]


def edit_region(region: Region, start: int, end: int, replacement: str) -> list[Edit]:
    """The source edits that put ``replacement`` in the place of a range of the content."""
    if region.cell:
        replacement = re.sub(r"\\?\|", r"\\|", replacement).replace("\n", " ")
    ranges = region.source_ranges(start, end)
    if not ranges:
        at = region.source_at(start)
        return [(at, at, replacement)] if replacement else []
    # What lies between two pieces is a line's prefix or an escape, and goes with them.
    return [(ranges[0][0], ranges[-1][1], replacement)]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made; of two that overlap the earlier and longer one wins."""
    parts: list[str] = []
    position = 0
    for start, end, replacement in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if start < position:
            continue
        parts.append(text[position:start])
        parts.append(replacement)
        position = end
    parts.append(text[position:])
    return "".join(parts)


def code_span(text: str) -> str:
    """The text as a code span that no renderer ends early."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fenced(text: str) -> str:
    """The block as a code fence: shown as it was written, and never rendered."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    ticks = "`" * (longest + 1)
    body = text.rstrip("\n")
    tail = text[len(body) :] or "\n"
    return f"{ticks}text\n{body}\n{ticks}{tail}"
