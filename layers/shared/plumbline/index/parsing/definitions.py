"""Definition: one match of a query on its way to an entity, and how its text is read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from plumbline.index.entities import one_line

MAX_SIGNATURE_BYTES = 2000
_MAX_TEXT_BYTES = 1000
_KEYWORD = re.compile(r"\A(?:extends|implements|with|permits|derives|is|:|<|->)\s*")
_CALL = re.compile(r"\([^()]*\)\Z")
_ACCESS = re.compile(r"\A(?:(?:public|private|protected|virtual)\s+)+")
_JOINT = re.compile(r"\s+(?:extends|implements|with)\s+")
# What may stand before a type's path: &'a mut, *const, dyn.
_REFERENCE = re.compile(r"\A(?:&|\*|'\w+|mut\b|const\b|dyn\b|\s)+")
_PATH = re.compile(r"\A[\w:.]+")
_STRING = r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`)"
_SLASH_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_HASH_COMMENT = re.compile(_STRING + r"|(?<!\S)#(?!\[)[^\n]*", re.S)
# What line breaks inside brackets leave behind: "( a", "b, )".
_LOOSE_START = re.compile(r"([(\[]) ")
_LOOSE_END = re.compile(r",? ([)\]])")
# What makes a comma between parameters doubtful: brackets, strings, comments.
_NESTED = re.compile(rb"[(\[{<\"'`/#|]")
_PARENTHESIS = ord("(")
_OPENING, _CLOSING = "([{<", ")]}>"


class Definition:
    """What is known of a definition: hooks may change any of it before it becomes an entity.

    ``node`` is its range, ``value`` the node that has parameters and a body (the function that a
    constant names). ``owner`` qualifies the name inside the enclosing scope (a receiver, ``A::``);
    a ``member`` belongs to the type around the function that it stands in. ``scope`` is what its
    own members are qualified by, if not its name. ``start`` and ``row`` (0-based) move up to a
    decorator or a keyword. None means "read it from the node"; ``signature`` replaces the text.
    """

    # On the class, so that only what a hook changes is written: most definitions need none of it.
    owner: str = ""
    member: bool = False
    parameters: tuple[str, ...] | None = None
    result: str | None = None
    body: Node | None = None
    parents: Sequence[str] = ()
    doc: str = ""
    scope: str = ""
    signature: str = ""

    def __init__(
        self,
        kind: str,
        node: Node,
        value: Node,
        captures: dict[str, list[Node]],
        name: str,
        start: int,
        end: int,
        row: int,
    ) -> None:
        self.kind, self.node, self.value, self.captures = kind, node, value, captures
        self.name, self.start, self.end, self.row = name, start, end, row
        self.signature_start = start


def text_of(source: bytes, node: Node, limit: int = _MAX_TEXT_BYTES) -> str:
    """The node's text as it is written, at most ``limit`` bytes of it."""
    start = node.start_byte
    return source[start : min(node.end_byte, start + limit)].decode("utf-8", "replace")


def parameters_of(source: bytes, node: Node | None) -> tuple[str, ...]:
    """The parameters as they are written, one string each, white space collapsed."""
    if node is None:
        return ()
    start, end = node.start_byte, node.end_byte
    if end - start <= 2:
        return ()
    inner = source[start + 1 : end - 1]
    if inner.isalnum():
        return (inner.decode(),)
    if source[start] == _PARENTHESIS and len(inner) < _MAX_TEXT_BYTES and not _NESTED.search(inner):
        parts = inner.decode("utf-8", "replace").split(",")
        return tuple(part for part in (" ".join(part.split()) for part in parts) if part)
    return tuple(
        one_line(text_of(source, child))
        for child in node.named_children
        if not child.is_extra and not child.is_error
    )


def signature_of(
    source: bytes, start: int, end: int, attribute: str = "", comments: str = "slash"
) -> str:
    """The definition on one line: no body, no comments, none of what ``attribute`` opens."""
    raw = source[start : min(end, start + MAX_SIGNATURE_BYTES)].decode("utf-8", "replace")
    text = one_line(without_comments(raw, comments))
    if "\n" in raw:
        text = _LOOSE_END.sub(r"\1", _LOOSE_START.sub(r"\1", text))
    while attribute and text.startswith(attribute):
        rest = _after_attribute(text)
        if not rest:
            break
        text = rest
    return text.rstrip(" {;,=")


def without_comments(text: str, style: str = "slash") -> str:
    """The text with a space for each comment; what strings hold stays."""
    if style != "hash" and ("//" in text or "/*" in text):
        text = _SLASH_COMMENT.sub(lambda m: m[1] or " ", text)
    if style != "slash" and "#" in text:
        text = _HASH_COMMENT.sub(lambda m: m[1] or " ", text)
    return text


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


def matching_bracket(text: str, opened: int) -> int:
    """Where the bracket that opens at ``opened`` closes; the text's end if it never does."""
    depth = 0
    for i in range(opened, len(text)):
        if text[i] in _OPENING:
            depth += 1
        elif text[i] in _CLOSING and not (text[i] == ">" and text[i - 1] in "-="):
            depth -= 1
            if not depth:
                return i
    return len(text)


def bare_type(text: str) -> str:
    """The type's own name: no reference, path or generics; other shapes as they are written."""
    text = _REFERENCE.sub("", one_line(text))
    path = _PATH.match(text)
    return re.split(r"::|\.", path[0].rstrip(":."))[-1] if path else text


def split_top_level(text: str, separator: str = ",") -> list[str]:
    """The parts of ``text`` between separators that no bracket encloses, trimmed, none empty."""
    parts: list[str] = []
    depth = begin = 0
    for i, character in enumerate(text):
        if character in _OPENING:
            depth += 1
        elif character == separator and depth <= 0:
            parts.append(text[begin:i])
            begin = i + 1
        elif character in _CLOSING:
            depth -= not (character == ">" and text[i - 1] in "-=")
    parts.append(text[begin:])
    return [part for part in (one_line(part) for part in parts) if part]


def parents_of(text: str) -> list[str]:
    """The types that an inheritance clause names, without its keyword and constructor calls."""
    text = _KEYWORD.sub("", one_line(text))
    parents: list[str] = []
    for part in split_top_level(text):
        for word in _JOINT.split(part):
            for bound in split_top_level(word, "+"):
                parent = _CALL.sub("", _ACCESS.sub("", bound)).strip()
                if parent:
                    parents.append(parent)
    return parents
