"""Java, Kotlin and Scala: imports by full name, extension functions, kinds of class."""

from __future__ import annotations

import re

from tree_sitter import Node

from plumbline.index.entities import one_line
from plumbline.index.parsing.definitions import (
    Definition,
    bare_type,
    parameters_of,
    split_top_level,
    text_of,
    without_comments,
)

_IMPORT = re.compile(r"\A(?:import\s+)?(?:static\s+)?")
_ALIAS = re.compile(r"\s+as\s+\w+\Z")
_KOTLIN_KIND = re.compile(
    r"\b(data class|enum class|annotation class|sealed class|value class|fun interface|"
    r"sealed interface|interface|class)\b"
)
_KOTLIN_BODIES = frozenset({"function_body", "class_body", "enum_class_body"})
_RECEIVER = re.compile(r"\bfun\b(.*)\.\s*\Z", re.S)
_DELEGATE = re.compile(r"\s+by\s+.*\Z", re.S)


def refine_java(definition: Definition, source: bytes) -> bool:
    """Name an import by what it brings."""
    if definition.kind == "import":
        _name_import(definition, source)
    return bool(definition.name)


def refine_kotlin(definition: Definition, source: bytes) -> bool:
    """Read what the grammar gives no field for; qualify extension functions by their receiver."""
    kind, node = definition.kind, definition.node
    if kind == "import":
        _name_import(definition, source)
        return True
    parameters: Node | None = None
    for child in definition.value.named_children:
        if child.type in _KOTLIN_BODIES:
            definition.body = child
        elif child.type == "function_value_parameters":
            parameters = child
        elif child.type == "delegation_specifiers":
            parents = split_top_level(text_of(source, child))
            definition.parents = [_DELEGATE.sub("", parent).partition("(")[0] for parent in parents]
    if kind == "constructor":
        definition.name = "constructor"
    elif kind == "class":
        header = source[
            node.start_byte : definition.body.start_byte if definition.body else node.end_byte
        ]
        word = _KOTLIN_KIND.search(header[:1000].decode("utf-8", "replace"))
        definition.kind = word[1].removesuffix(" class") if word else kind
        definition.kind = {"data": "data class", "sealed": "class", "value": "class"}.get(
            definition.kind, definition.kind
        )
        definition.kind = definition.kind.removeprefix("fun ").removeprefix("sealed ")
    if parameters is not None:
        _read_kotlin_function(definition, parameters, source)
    return bool(definition.name)


def _read_kotlin_function(definition: Definition, parameters: Node, source: bytes) -> None:
    written = text_of(source, parameters)
    definition.parameters = tuple(split_top_level(without_comments(written[1:-1])))
    end = definition.body.start_byte if definition.body else definition.value.end_byte
    tail = source[parameters.end_byte : end].decode("utf-8", "replace").strip()
    if tail.startswith(":") and definition.kind != "constructor":
        definition.result = one_line(tail[1:].partition(" where ")[0].rstrip("= "))
    named = definition.node.child_by_field_name("name")
    if named is not None:
        head = source[definition.start : named.start_byte].decode("utf-8", "replace")
        receiver = _RECEIVER.search(head)
        if receiver:
            text = receiver[1].strip()
            if text.startswith("<"):
                text = split_top_level(text[1:], ">")[-1] if ">" in text else text
            definition.owner = bare_type(text.rstrip("?"))
            definition.kind = "extension function"


def refine_scala(definition: Definition, source: bytes) -> bool:
    """Tell case classes apart, name givens and constructors, join parameter lists."""
    kind, node = definition.kind, definition.node
    if kind == "import":
        _name_import(definition, source)
    elif kind == "scope":
        definition.name = bare_type(definition.name)
    elif kind == "given":
        if not definition.name:
            named = node.child_by_field_name("return_type")
            definition.name = "given " + one_line(text_of(source, named)) if named else ""
    elif kind in ("class", "object"):
        if node.children and any(child.type == "case" for child in node.children[:4]):
            definition.kind = f"case {kind}"
    elif kind == "function":
        if definition.name == "this":
            definition.kind = "constructor"
        found: list[str] = []
        for group in definition.value.children_by_field_name("parameters"):
            if group.type != "type_parameters":
                found.extend(parameters_of(source, group))
        definition.parameters = tuple(found)
    return bool(definition.name)


def _name_import(definition: Definition, source: bytes) -> None:
    text = one_line(text_of(source, definition.node)).rstrip("; ")
    definition.name = _ALIAS.sub("", _IMPORT.sub("", text))
