"""Ruby, PHP, Bash, and Python that ``ast`` refuses."""

from __future__ import annotations

import re

from tree_sitter import Node

from plumbline.index.entities import one_line
from plumbline.index.parsing.definitions import Definition, text_of
from plumbline.index.parsing.doc_comments import sentence

_RUBY_LOADS = frozenset({"require", "require_relative", "load", "autoload"})
_RUBY_FACTORIES = {"Struct": "new", "Class": "new", "Module": "new", "Data": "define"}
_HEADER_END = re.compile(r"\n|;|\s+end\Z|\Z")
_PHP_USE = re.compile(r"\Ause\s+(?:function\s+|const\s+)?")
_PHP_LOAD = re.compile(r"\A(?:include|require)(?:_once)?\s*\(?\s*")
_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
_PHP_ALIAS = re.compile(r"\s+as\s+\w+\Z")
_PYTHON_QUOTES = re.compile(r"\A[rRuUbB]*(\"\"\"|'''|\"|')(.*?)\1?\Z", re.S)


# for ((i = 0; i < $((n / 2)); i++)): the grammar loses the rest of the file over what is inside.
_BASH_FOR = re.compile(rb"(\bfor[ \t]*\(\()([^\n]{2,200}?)(\)\)[ \t]*(?=;|do\b|\r?$|#))", re.M)


def blank_bash_loops(source: bytes) -> bytes:
    """The source with arithmetic loop headers emptied, of the same length."""
    return _BASH_FOR.sub(lambda m: m[1] + b";;" + b" " * (len(m[2]) - 2) + m[3], source)


def refine_ruby(definition: Definition, source: bytes) -> bool:
    """Singleton methods belong to what they are defined on; ``Struct.new`` makes a class."""
    kind, captures = definition.kind, definition.captures
    callee = text_of(source, captures["callee"][0]) if "callee" in captures else ""
    receiver = text_of(source, captures["receiver"][0]) if "receiver" in captures else ""
    if kind == "import":
        definition.name = definition.name.strip("\"'")
        return callee in _RUBY_LOADS
    if kind == "define_method":
        if callee not in ("define_method", "define_singleton_method"):
            return False
        definition.kind, definition.name = "method", definition.name.strip(":\"'")
    elif callee:
        if _RUBY_FACTORIES.get(receiver) != callee:
            return False
        definition.parents = [receiver]
    elif receiver and receiver != "self":
        definition.owner = receiver.replace("::", ".")
    elif kind in ("class", "module"):
        scope, _, name = definition.name.rpartition("::")
        definition.owner, definition.name = scope.replace("::", "."), name
        parent = definition.node.child_by_field_name("superclass")
        if parent is not None:
            definition.parents = [one_line(text_of(source, parent)).removeprefix("<").strip()]
    elif kind == "function" and definition.name == "initialize":
        definition.kind = "constructor"
    if definition.value.child_by_field_name("body") is None and kind != "import":
        text = text_of(source, definition.node)
        parameters = definition.node.child_by_field_name("parameters")
        skip = parameters.end_byte - definition.start if parameters else 0
        ended = _HEADER_END.search(text, min(skip, len(text)))
        definition.signature = one_line(text[: ended.start()] if ended else text)
    return bool(definition.name)


def refine_php(definition: Definition, source: bytes) -> bool:
    """Names without their dollar sign; imports by path or full name."""
    if definition.kind == "import":
        text = one_line(text_of(source, definition.node)).rstrip("; ")
        if _PHP_LOAD.match(text):
            quoted = _QUOTED.search(text)
            definition.name = quoted[1] if quoted else _PHP_LOAD.sub("", text).rstrip(") ")
        else:
            definition.name = _PHP_ALIAS.sub("", _PHP_USE.sub("", text))
    definition.name = definition.name.lstrip("$&")
    if definition.name == "__construct":
        definition.kind = "constructor"
    return bool(definition.name)


def refine_bash(definition: Definition, source: bytes) -> bool:
    """``source file`` and ``. file`` are imports; no other command is anything."""
    if definition.kind == "import":
        if text_of(source, definition.captures["callee"][0]) not in (".", "source"):
            return False
        definition.name = definition.name.strip("\"'")
    return bool(definition.name)


def refine_python(definition: Definition, source: bytes) -> bool:
    """Bases without keywords, docstrings from the body, imports by module."""
    kind, node = definition.kind, definition.node
    if kind == "import":
        definition.name = _python_import(node, definition.name, source)
        return bool(definition.name)
    if kind == "class":
        bases = node.child_by_field_name("superclasses")
        if bases is not None:
            definition.parents = [
                one_line(text_of(source, base))
                for base in bases.named_children
                if base.type not in ("keyword_argument", "comment")
            ]
    body = definition.value.child_by_field_name("body") if definition.value is node else None
    if body is not None and body.named_child_count:
        first = body.named_child(0)
        if first is not None and first.type == "expression_statement" and first.named_child_count:
            first = first.named_child(0)
        if first is not None and first.type == "string":
            quoted = _PYTHON_QUOTES.match(text_of(source, first, 4000))
            definition.doc = sentence(quoted[2]) if quoted else ""
    return bool(definition.name)


def _python_import(node: Node, name: str, source: bytes) -> str:
    if node.type == "future_import_statement":
        return "__future__"
    if node.type == "import_from_statement":
        return one_line(name)
    names = []
    for child in node.children_by_field_name("name"):
        target = child.child_by_field_name("name") if child.type == "aliased_import" else child
        if target is not None:
            names.append(text_of(source, target))
    return ", ".join(names)
