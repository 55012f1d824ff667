"""Markdown and MDX: block structure through markdown-it-py, front matter by hand."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from plumbline.index.entities import Entity, ParseTimeout, one_line
from plumbline.index.parsing.front_matter import read_front_matter
from plumbline.index.parsing.lines import split_lines
from plumbline.index.parsing.mdx import blank_code
from plumbline.index.parsing.sections import Heading, Page, page_sections, under

_INLINE = (
    (re.compile(r"\s*\{#[\w:.-]+\}\s*$"), ""),
    (re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s[^()]*)?\)|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->"), ""),
    (re.compile(r"(?<!`)(`++)(.+?)(?<!`)\1(?!`)"), r"\2"),
    (re.compile(r"(?<![\w*\\])(\*{1,3})(?=\S)([^*]+)(?<=\S)\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<![\w\\])(_{1,3})(?=\S)([^_]+)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)
_MAX_HEADING_CHARS = 1000
_CHECK_EVERY = 1024


def parse_markdown(
    text: str, *, path: str, deadline: float, allowed_hosts: Collection[str] = ()
) -> list[Entity]:
    """One ``doc_section`` a top-level heading, and one for the text before the first.

    ``path`` gives the title of a page without one, and says whether it is MDX. Headings in lists,
    quotes and code are no sections. Raises ``ParseTimeout``.
    """
    lines, numbers = split_lines(text.replace("\0", "\N{REPLACEMENT CHARACTER}"))
    joined = "\n".join(lines)
    front = read_front_matter(joined, allowed_hosts=allowed_hosts)
    is_mdx = path.lower().endswith(".mdx")
    first_line = min(front.line_count, len(lines))
    if is_mdx:
        lines[first_line:] = blank_code(lines[first_line:])
    tokens = block_tokens("\n".join(lines[first_line:]), is_mdx=is_mdx, deadline=deadline)
    headings, summaries = _outline(tokens, lines, first_line, deadline)
    page = Page(
        lines=lines,
        numbers=numbers,
        kind_label="Markdown section",
        title=front.title or _title(headings, path),
        description=front.description,
        first_line=first_line,
        heading_path=front.heading_path,
        fields=front.fields or ({"title": front.title} if front.title else None),
    )
    return page_sections(page, headings, summaries, deadline=deadline)


def parse_cell(
    source: str, *, title: str, outer: Sequence[tuple[int, str]], deadline: float
) -> tuple[list[Entity], list[tuple[int, str]]]:
    """The sections of one notebook cell under the headings that earlier cells left open, and the
    headings that it leaves open itself. Raises ``ParseTimeout``.
    """
    lines, numbers = split_lines(source.replace("\0", "\N{REPLACEMENT CHARACTER}"))
    tokens = block_tokens("\n".join(lines), is_mdx=False, deadline=deadline)
    headings, summaries = _outline(tokens, lines, 0, deadline)
    page = Page(lines, numbers, "Markdown section", title, outer=outer)
    path = list(outer)
    for heading in headings:
        path = under(path, heading)
    return page_sections(page, headings, summaries, deadline=deadline), path


def plain_text(markup: str) -> str:
    """Inline Markdown as a reader sees it: without emphasis, code marks, links, tags and ids."""
    text = markup[:_MAX_HEADING_CHARS]
    if any(mark in text for mark in "`*_[<{\\"):
        for pattern, replacement in _INLINE:
            text = pattern.sub(replacement, text)
    return one_line(text)


def block_tokens(text: str, *, is_mdx: bool = False, deadline: float = math.inf) -> list[Token]:
    """The page's blocks, without what is inside a paragraph. Raises ``ParseTimeout``."""
    return _parser(is_mdx).parse(text, {"deadline": deadline})


@cache
def _parser(is_mdx: bool) -> MarkdownIt:
    """Blocks alone: inline markup would double the time and says nothing of sections. MDX has no
    indented code.
    """
    parser = MarkdownIt("commonmark").disable(["inline", "text_join"])
    if is_mdx:
        parser.disable("code")
    # The first rule of each block, and of each line that may end one.
    ends = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("code", "deadline", _check_time, {"alt": ends})
    return parser


def _check_time(state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:
    if time.monotonic() > state.env["deadline"]:
        raise ParseTimeout
    return False


def _outline(
    tokens: list[Token], lines: list[str], first_line: int, deadline: float
) -> tuple[list[Heading], list[str]]:
    headings: list[Heading] = []
    summaries = [""]
    for index, token in enumerate(tokens):
        if index % _CHECK_EVERY == 0 and time.monotonic() > deadline:
            raise ParseTimeout
        if token.type == "heading_open" and token.level == 0 and token.map:
            line = token.map[0] + first_line
            text = plain_text(tokens[index + 1].content) or "Untitled"
            headings.append(Heading(line, int(token.tag[1]), text, lines[line].strip()))
            summaries.append("")
        elif token.type == "paragraph_open" and not summaries[-1]:
            summaries[-1] = _summary(tokens[index + 1].content)
    return headings, summaries


def _summary(markup: str) -> str:
    """A paragraph's text for a description; nothing for a row of badges or images."""
    text = plain_text(markup)
    return "" if markup.startswith(("[![", "![", "<")) and len(text) < 80 else text


def _title(headings: list[Heading], path: str) -> str:
    top = next((heading for heading in headings if heading.level == 1), None)
    if top is None and headings:
        top = headings[0]
    return top.text if top else PurePosixPath(path).stem
