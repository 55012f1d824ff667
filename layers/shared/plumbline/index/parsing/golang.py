"""Go: receivers, shared parameter types, embedded types."""

from __future__ import annotations

import re

from tree_sitter import Node

from plumbline.index.entities import one_line
from plumbline.index.parsing.definitions import Definition, text_of

_TYPE_NAME = re.compile(r"\w+")


def refine(definition: Definition, source: bytes) -> bool:
    """Qualify methods by their receiver's type and split ``a, b int`` into two parameters."""
    captures = definition.captures
    if definition.kind == "import":
        definition.name = definition.name.strip('"`')
        return bool(definition.name)
    receiver = captures.get("receiver")
    if receiver:
        named = _TYPE_NAME.search(text_of(source, receiver[0]))
        definition.owner = named[0] if named else ""
    parameters = definition.value.child_by_field_name("parameters")
    if parameters is not None:
        definition.parameters = _parameters(parameters, source)
    elif "type" in captures:
        definition.body, definition.parents = _embedded(captures["type"][0], source)
    return True


def _parameters(node: Node, source: bytes) -> tuple[str, ...]:
    if node.end_byte - node.start_byte <= 2:
        return ()
    parameters: list[str] = []
    for child in node.named_children:
        if child.is_extra or child.is_error:
            continue
        names = child.children_by_field_name("name")
        if len(names) > 1:
            end = names[-1].end_byte
            kind = one_line(source[end : child.end_byte].decode("utf-8", "replace"))
            parameters.extend(f"{text_of(source, name)} {kind}" for name in names)
        else:
            parameters.append(one_line(text_of(source, child)))
    return tuple(parameters)


def _embedded(node: Node, source: bytes) -> tuple[Node | None, list[str]]:
    """The struct's or interface's braces, and the types that it embeds."""
    fields = node
    if node.type == "struct_type":
        lists = node.named_children
        fields = lists[0] if lists else node
    parents = [
        one_line(text_of(source, child))
        for child in fields.named_children
        if child.type == "type_elem"
        or (child.type == "field_declaration" and child.child_by_field_name("name") is None)
    ]
    if fields is not node:
        return fields, parents
    brace = next((child for child in node.children if child.type == "{"), None)
    return brace, parents
