"""Doc comments: the comment before a definition, found in the text, and its first sentence."""

from __future__ import annotations

import re

from plumbline.index.entities import first_sentence

_LINE_MARKERS = {
    "slash": (b"//",),
    "hash": (b"#",),
    "any": (b"//", b"#"),
}
_MAX_LINES = 100
_MAX_BYTES = 8000

# Comments that speak to a tool, or only draw a line.
_DIRECTIVE = re.compile(
    r"\A(?:!/|-\*-|go:|\+build|nolint|NOLINT|eslint|tslint|jshint|jslint|jscs|istanbul|c8 |"
    r"v8 |@ts-|prettier-|biome-|rubocop|frozen_string_literal|encoding:|coding:|:nodoc|clang-format|"
    r"shellcheck|noinspection|region\b|endregion\b|swiftlint|phpcs|phpstan|psalm|type:|noqa|pylint|"
    r"tfsec|checkov|tflint|MARK:\s*-?\s*\Z|@formatter|CHECKSTYLE|NOSONAR|webpack|@__PURE__|#__PURE__|"
    r"\W*\Z)"
)
# Where the description of a doc comment ends and its tags begin.
_TAG = re.compile(
    r"^\s*(?:[@\\]\w|:param\b|:return|-\s*(?:parameter|returns|throws)\b)", re.M | re.I
)
_LEADING_TAG = re.compile(r"\A\s*[@\\](?:brief|short|summary|description|desc|fn\b[^\n]*)\s*")
_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.S)
_INLINE_TAG = re.compile(r"\{@\w+\s+([^{}]*)\}")
_XML_NAME = re.compile(r"<\w+\s+(?:cref|name|langword|href)=\"(?:[A-Z]:)?([^\"]*)\"\s*/>")
_MARKUP = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")
_SCALADOC = re.compile(r"\[\[(\S+?)(?:\s+([^\]]+))?\]\]")
_RUST_LINK = re.compile(r"\[(`[^`\]]+`|[^\[\]]+)\](?:\([^()\s]*\)|\[[^\[\]]*\])?")
_BLOCK_EDGE = re.compile(r"\A/\*+!?<?|\*+/\Z")
_BLOCK_LINE = re.compile(r"^[^\S\n]*\*(?!\*)[^\S\n]?", re.M)
_LINE_EDGE = re.compile(r"^\s*(?://[/!]?<?|#+)[^\S\n]?", re.M)


def comment_before(source: bytes, start: int, style: str) -> str:
    """Return the raw comment that ends right before ``start``, ``""`` if there is none.

    Line comments must touch the definition; a block comment that opens with ``/**`` may be followed
    by one blank line. A comment behind code on its own line belongs to that code.
    """
    floor = max(0, start - 400)
    before = source[floor:start].rstrip()
    if not before:
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
    if comment.startswith("/*"):
        text = _BLOCK_LINE.sub("", _BLOCK_EDGE.sub("", comment))
    else:
        text = _LINE_EDGE.sub("", comment)
    return sentence(text)


def sentence(text: str) -> str:
    """Return the first sentence of a doc comment's or docstring's text, markup stripped."""
    kept = [
        line
        for line in text.strip().split("\n")
        if not line.strip() or not _DIRECTIVE.match(line.strip())
    ]
    text = "\n".join(kept).strip()
    summary = _SUMMARY.search(text)
    if summary:
        text = summary[1].strip()
    text = _LEADING_TAG.sub("", text)
    tag = _TAG.search(text)
    if tag:
        text = text[: tag.start()]
    if "<" in text:
        text = _MARKUP.sub("", _XML_NAME.sub(r"\1", text))
    if "{@" in text:
        text = _INLINE_TAG.sub(r"\1", text)
    if "[" in text:
        text = _SCALADOC.sub(lambda m: m[2] or m[1], text)
        text = _RUST_LINK.sub(r"\1", text)
    return first_sentence(text.strip())
