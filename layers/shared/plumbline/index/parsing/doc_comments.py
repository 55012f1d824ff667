"""Doc comments: the comment before a definition, found in the text, and its first sentence."""

from __future__ import annotations

import re

from plumbline.index.entities import first_sentence, one_line

_LINE_MARKERS = {
    "slash": (b"//",),
    "hash": (b"#",),
    "any": (b"//", b"#"),
}
_MAX_LINES = 100
_MAX_GAP = 200
_MAX_BYTES = 2000

# Comments that speak to a tool, or only draw a line.
_DIRECTIVE = re.compile(
    r"\A(?:!/|-\*-|go:|\+build|nolint|NOLINT|eslint|tslint|jshint|jslint|jscs|istanbul|c8 |"
    r"v8 |@ts-|prettier-|biome-|rubocop|frozen_string_literal|encoding:|coding:|:nodoc|"
    r"clang-format|shellcheck|noinspection|region\b|endregion\b|swiftlint|phpcs|phpstan|psalm|type:|noqa|"
    r"pylint|tfsec|checkov|tflint|MARK:\s*-?\s*\Z|@formatter|CHECKSTYLE|NOSONAR|webpack|@__PURE__|#__PURE__|"
    r"\{@inherit|\W*\Z)"
)
# The first line of a doc generator's tags, after which no description follows.
_TAG = re.compile(r"[@\\]\w|:param\b|:returns?\b|-\s*(?:parameter|returns|throws)\b", re.I)
_LEADING_TAG = re.compile(r"[@\\](?:brief|short|summary|description|desc)\b\s*|[@\\]fn\b.*")
_LABELLED_LINK = re.compile(r"\{@link(?:plain)?\s+[^\s{}]+[\s|]+([^{}]+)\}")
_INLINE_TAG = re.compile(r"\{@\w+\s+([^{}]*)\}")
_XML_NAME = re.compile(r"<\w+\s+(?:cref|name|langword|href)=\"(?:[A-Z]:)?([^\"]*)\"\s*/>")
_MARKUP = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_SCALADOC = re.compile(r"\[\[(\S+?)(?:\s+([^\]]+))?\]\]")
_RUST_LINK = re.compile(r"\[(`[^`\]]+`|[^\[\]]+)\](?:\([^()\s]*\)|\[[^\[\]]*\])?")


def comment_before(source: bytes, start: int, style: str) -> str:
    """Return the raw comment that ends right before ``start``, ``""`` if there is none.

    Line comments must touch the definition; a block comment that opens with ``/**`` may be followed
    by one blank line. A comment behind code on its own line belongs to that code.
    """
    floor = max(0, start - _MAX_GAP)
    before = source[floor:start].rstrip()
    if not before or before[-1] in b"{};,":
        return ""
    end = floor + len(before)
    gap = source.count(b"\n", end, start)
    if before.endswith(b"*/") and style != "hash":
        opened = source.rfind(b"/*", 0, end - 2)
        if opened < 0 or gap > (2 if source.startswith(b"/**", opened) else 1):
            return ""
        line = source.rfind(b"\n", 0, opened) + 1
        if source[line:opened].strip():
            return ""
        return source[opened : min(end, opened + _MAX_BYTES)].decode("utf-8", "replace")
    if gap > 1:
        return ""
    return _line_comments(source, end, _LINE_MARKERS[style])


def _line_comments(source: bytes, end: int, markers: tuple[bytes, ...]) -> str:
    lines: list[str] = []
    while len(lines) < _MAX_LINES and end > 0:
        begin = source.rfind(b"\n", 0, end) + 1
        if end - begin > _MAX_BYTES:
            break
        line = source[begin:end].strip()
        if not line.startswith(markers):
            break
        lines.append(line.decode("utf-8", "replace"))
        end = begin - 1
    return "\n".join(reversed(lines))


def describe(comment: str) -> str:
    """Return the first sentence of a raw comment, without markers, tags or markup.

    Directives to tools, rulers and the tags of doc generators (``@param``) are left out.
    """
    if not comment:
        return ""
    block = comment.startswith("/*")
    if block:
        comment = comment[2:].removesuffix("*/").rstrip("*")
    kept: list[str] = []
    for line in comment.split("\n"):
        line = line.strip()
        if block:
            line = line.lstrip("*!").strip() if line[:1] in ("*", "!") else line
        else:
            line = line.lstrip("/#!").removeprefix("< ").lstrip()
        if not _keep_line(line, kept):
            break
    return _clean("\n".join(kept))


def sentence(text: str) -> str:
    """Return the first sentence of a docstring's text, markup stripped."""
    kept: list[str] = []
    for line in text.strip().split("\n"):
        if not _keep_line(line.strip(), kept):
            break
    return _clean("\n".join(kept))


def _keep_line(line: str, kept: list[str]) -> bool:
    """Add the line if it describes; False when the description's first sentence is over."""
    if not line or line in ("<summary>", "<p>"):
        return not kept
    if line[0] in "@\\:-":
        leading = _LEADING_TAG.match(line)
        if leading:
            line = line[leading.end() :]
            if not line:
                return True
        elif _TAG.match(line):
            return False
    # Directives begin in small letters but for these: most lines of prose need no pattern.
    if not (line[0].isupper() and line[0] not in "CMN") and _DIRECTIVE.match(line):
        return True
    kept.append(line)
    return line[-1] not in ".!?" and "</summary>" not in line


def _clean(text: str) -> str:
    if "<" in text:
        text = _MARKUP.sub("", _XML_NAME.sub(r"\1", text))
    if "**" in text:
        text = _BOLD.sub(r"\1", text)
    if "{@" in text:
        text = _INLINE_TAG.sub(r"\1", _LABELLED_LINK.sub(r"\1", text))
    if "[" in text:
        text = _SCALADOC.sub(lambda m: m[2] or m[1], text)
        text = _RUST_LINK.sub(r"\1", text)
    # Most sentences end where the text does: nothing to look for.
    if "\n" not in text and ". " not in text and "! " not in text and "? " not in text:
        return one_line(text)
    return first_sentence(text)
