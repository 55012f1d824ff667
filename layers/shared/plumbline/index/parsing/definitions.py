"""Definition: one match of a query on its way to an entity, and how its text is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from plumbline.index.entities import one_line

MAX_SIGNATURE_BYTES = 2000
_MAX_TEXT_BYTES = 1000
_KEYWORD = re.compile(r"\A(?:extends|implements|with|permits|derives|is|:|<|->)\s*")
_CALL = re.compile(r"\([^()]*\)\Z")
_OPENING, _CLOSING = "([{<", ")]}>"


@dataclass(slots=True)
class Definition:
    """What is known of a definition: hooks may change any of it before it becomes an entity.

    ``node`` is its range, ``value`` the node that has parameters and a body (the function that a
    constant names). ``owner`` qualifies the name in place of the enclosing scope's own end
    (a receiver, ``A::``); a ``member`` belongs to the type around the function that it stands in.
    ``start`` and ``row`` (0-based) move up to a decorator or a keyword.
    """

    kind: str
    node: Node
    value: Node
    captures: dict[str, list[Node]]
    name: str
    start: int
    end: int
    row: int
    owner: str = ""
    member: bool = False
    signature_start: int = -1
    parameters: tuple[str, ...] | None = None
    result: str | None = None
    body: Node | None = None
    parents: list[str] = field(default_factory=list)
    doc: str = ""


def text_of(source: bytes, node: Node, limit: int = _MAX_TEXT_BYTES) -> str:
    """The node's text as it is written, at most ``limit`` bytes of it."""
    start = node.start_byte
    return source[start : min(node.end_byte, start + limit)].decode("utf-8", "replace")


def parameters_of(source: bytes, node: Node | None) -> tuple[str, ...]:
    """The parameters as they are written, one string each, white space collapsed."""
    if node is None or node.end_byte - node.start_byte <= 2:
        return ()
    return tuple(
        one_line(text_of(source, child))
        for child in node.named_children
        if not child.is_extra and not child.is_error
    )


def signature_of(source: bytes, start: int, end: int) -> str:
    """The definition on one line: no body, no leading decorators, attributes or annotations."""
    text = source[start : min(end, start + MAX_SIGNATURE_BYTES)].decode("utf-8", "replace")
    text = one_line(text)
    while text[:1] in ("@", "[") or text.startswith("#["):
        rest = _after_attribute(text)
        if not rest:
            break
        text = rest
    return text.rstrip(" {;,")


def _after_attribute(text: str) -> str:
    """What follows a leading ``@Name(…)``, ``[Name(…)]`` or ``#[name(…)]``; "" if nothing can."""
    if text.startswith("@interface"):
        return ""
    if text[0] == "@":
        word = re.match(r"@[\w.$:]+", text)
        if not word:
            return ""
        position = word.end()
        if not text.startswith("(", position) and not text.startswith(" (", position):
            return text[position:].lstrip()
        position = text.index("(", position)
    else:
        position = text.index("[")
    depth = 0
    for i in range(position, len(text)):
        if text[i] in "([":
            depth += 1
        elif text[i] in ")]":
            depth -= 1
            if not depth:
                return text[i + 1 :].lstrip()
    return ""


def split_top_level(text: str, separator: str = ",") -> list[str]:
    """The parts of ``text`` between separators that no bracket encloses, trimmed, none empty."""
    parts: list[str] = []
    depth = begin = 0
    for i, character in enumerate(text):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= not (character == ">" and text[i - 1] in "-=")
        elif character == separator and depth <= 0:
            parts.append(text[begin:i])
            begin = i + 1
    parts.append(text[begin:])
    return [part for part in (one_line(part) for part in parts) if part]


def parents_of(text: str) -> list[str]:
    """The types that an inheritance clause names, without its keyword and constructor calls."""
    text = _KEYWORD.sub("", one_line(text))
    parents: list[str] = []
    for part in split_top_level(text):
        for parent in re.split(r"\s+(?:extends|implements|with)\s+", part):
            parent = _CALL.sub("", parent).strip()
            if parent:
                parents.append(parent)
    return parents
