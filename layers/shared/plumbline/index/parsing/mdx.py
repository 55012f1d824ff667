"""MDX: the lines that are program, not prose, made blank so that every line keeps its number."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})(.*)$")
_MODULE_LINE = re.compile(
    r"^(?:import\s+(?:[\w*{\"']|type\s)|export\s+(?:default|const|let|var|function|class|async|\{|\*|type|interface))"
)
# Possessive: a line of unclosed tags costs one pass a tag, and such lines are not read at all.
_TAG = re.compile(
    r"</?(?:[A-Za-z][\w.:-]*+)?+"
    r"(?:\s(?:[^<>{}\"']++|\"[^\"]*+\"|'[^']*+'|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+)?+/?>"
)
_OPEN_TAG = re.compile(r"^\s*<[A-Z][\w.]*(?:\s[^>]*)?$")
_COMMENT = re.compile(r"\{/\*.*?\*/\}")
_EXPRESSION_LINE = re.compile(r"^\s*\{[^{}]*\}\s*$")
_MAX_TAG_LINES = 60
_MAX_LINE_CHARS = 4000


def blank_code(lines: Sequence[str]) -> list[str]:
    """The page's lines with imports, exports, JSX tags and comments taken out.

    Fenced code stays as it is. Text between tags stays; an import or export ends at a blank line.
    """
    kept: list[str] = []
    fence = ""
    in_module = False
    tag_lines = 0
    for line in lines:
        fence_line = _FENCE.match(line)
        if fence:
            kept.append(line)
            if (
                fence_line
                and fence_line.group(1).startswith(fence)
                and not fence_line.group(2).strip()
            ):
                fence = ""
        elif in_module:
            in_module = bool(line.strip())
            kept.append("")
        elif tag_lines:
            tag_lines = 0 if line.rstrip().endswith(">") or not line.strip() else tag_lines - 1
            kept.append("")
        elif fence_line:
            fence = fence_line.group(1)
            kept.append(line)
        elif _MODULE_LINE.match(line):
            in_module = True
            kept.append("")
        elif _OPEN_TAG.match(line):
            tag_lines = _MAX_TAG_LINES
            kept.append("")
        else:
            kept.append(_without_tags(line))
    return kept


def _without_tags(line: str) -> str:
    if len(line) > _MAX_LINE_CHARS:
        return line
    if "{" in line:
        line = _COMMENT.sub("", line)
        if _EXPRESSION_LINE.match(line):
            return ""
    if "<" not in line:
        return line
    stripped = _TAG.sub("", line)
    return stripped if stripped.strip() else ""
