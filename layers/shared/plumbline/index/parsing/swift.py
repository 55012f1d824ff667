"""Swift: one node for every kind of type, parameters and results without a node."""

from __future__ import annotations

import re

from plumbline.index.entities import one_line
from plumbline.index.parsing.definitions import (
    Definition,
    matching_bracket,
    split_top_level,
    text_of,
    without_comments,
)

_MAX_HEADER = 2000
_NAMES = {"constructor": "init", "destructor": "deinit", "subscript": "subscript"}
_WHERE = re.compile(r"\bwhere\b|\{")


def refine(definition: Definition, source: bytes) -> bool:
    """Tell structs, enums, actors and extensions apart; read parameters from the header's text."""
    kind, node = definition.kind, definition.node
    if kind == "import":
        definition.name = one_line(definition.name)
        return bool(definition.name)
    if kind == "class":
        keyword = node.child_by_field_name("declaration_kind")
        definition.kind = keyword.type if keyword is not None else kind
        named = definition.name.partition("<")[0].strip()
        definition.owner, _, definition.name = named.rpartition(".")
    if kind in ("class", "protocol"):
        definition.parents = [
            one_line(text_of(source, child))
            for child in node.named_children
            if child.type == "inheritance_specifier"
        ]
        return bool(definition.name)
    definition.name = _NAMES.get(kind, definition.name)
    if kind != "type alias" and definition.value is node:
        _read_header(definition, source)
    return bool(definition.name)


def _read_header(definition: Definition, source: bytes) -> None:
    node = definition.node
    named = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if definition.kind == "subscript":
        accessors = [child for child in node.named_children if child.type == "computed_property"]
        definition.body = body = accessors[0] if accessors else body
    start = node.start_byte
    if named is not None and definition.kind not in _NAMES:
        start = named.end_byte
    else:
        keyword = source.find(definition.name.encode(), start, node.end_byte)
        start = keyword + len(definition.name) if keyword >= 0 else start
    end = min(body.start_byte if body else node.end_byte, start + _MAX_HEADER)
    header = source[start:end].decode("utf-8", "replace")
    opened = header.find("(", matching_bracket(header, 0) + 1 if header.startswith("<") else 0)
    if opened < 0:
        return
    closed = matching_bracket(header, opened)
    definition.parameters = tuple(split_top_level(without_comments(header[opened + 1 : closed])))
    _, arrow, result = header[closed + 1 :].partition("->")
    if arrow:
        definition.result = one_line(_WHERE.split(result, maxsplit=1)[0])
