"""C and C++: the name inside a declarator, ``A::b``, and macros that a parser cannot know."""

from __future__ import annotations

import re

from tree_sitter import Node

from plumbline.index.entities import one_line
from plumbline.index.parsing.definitions import Definition, parameters_of, text_of

_WRAPPERS = frozenset(
    {
        "pointer_declarator",
        "function_declarator",
        "parenthesized_declarator",
        "reference_declarator",
        "array_declarator",
        "attributed_declarator",
        "init_declarator",
        "pointer_type_declarator",
    }
)
_MAX_NESTING = 50
_NOT_NAMES = frozenset(
    {"if", "for", "while", "switch", "return", "sizeof", "catch", "defined", "do"}
)
_GTEST = re.compile(r"(?:TYPED_)?TEST(?:_[FP])?|BENCHMARK_[DF]")
_SCOPED_OPERATOR = re.compile(r"\A(.*?)(\boperator\b.*)\Z", re.S)
_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")

# Macros that stand where the grammar expects none: ``class EXPORT Name``, and lines of their own.
# They are blanked before parsing, byte for byte, so that every position stays.
_CLASS_MACROS = tuple(
    re.compile(
        keyword + rb"([ \t]+)((?:[A-Z_][A-Z0-9_]{2,}(?:[ \t]*\([^()\n]{0,200}\))?[ \t]+)+)"
        rb"(?=[A-Za-z_][\w:]*(?:<[^;{}\n]{0,200}>)?\s*(?:final\s*)?[:{])"
    )
    for keyword in (
        rb"class\b",
        rb"struct\b",
        rb"union\b",
    )  # one each: their letters are sought first
)
_LINE_MACRO = re.compile(
    rb"^(?=[ \t]*[A-Z_][A-Z0-9_]{2})(?:"
    # Alone on its line, or called there: Q_OBJECT, DEFINE_FLAG(int, depth, 1);
    rb"(?:[ \t]*[A-Z_][A-Z0-9_]{3,}|[A-Z_][A-Z0-9_]{2,}[ \t]?\((?:[^;{}\n]*\);?|[^;{}]{0,200}?\);))"
    rb"[ \t]*(?=\r?$)(?!\s*\{)"
    # Before a definition's type: LUA_API int lua_gettop (
    rb"|(?:[A-Z_][A-Z0-9_]{2,}(?:\([^()\n]*\))?[ \t]+)+(?=(?:(?:const|unsigned|struct)[ \t]+)*"
    rb"[A-Za-z_][\w:<>]*[ \t*&]+[\w:~]+[ \t]*\())",
    re.M,
)

_NOT_LINE_END = re.compile(rb"[^\r\n]")


def blank_macros(source: bytes) -> bytes:
    """The source as the parser is given it: of the same length, misleading macros blanked."""
    for pattern in _CLASS_MACROS:
        source = pattern.sub(_blank_second, source)
    return _LINE_MACRO.sub(_blank, source)


def _blank_second(match: re.Match[bytes]) -> bytes:
    return match[0][: match.end(1) - match.start()] + b" " * len(match[2])


def _blank(match: re.Match[bytes]) -> bytes:
    return _NOT_LINE_END.sub(b" ", match[0])


def refine(definition: Definition, source: bytes) -> bool:
    """Find the name, its scope and the parameters behind pointers, templates and ``A::``."""
    kind = definition.kind
    declarator = definition.captures.get("declarator")
    if kind == "import":
        definition.name = definition.name.strip('<>"')
    elif kind == "macro":
        definition.body = definition.node.child_by_field_name("value")
        definition.end -= source[definition.start : definition.end].endswith(b"\n")
    elif declarator:
        if source[max(0, definition.start - 7) : definition.start].startswith(b"friend"):
            return False
        if not _unwrap(definition, declarator[0], source):
            return False
        if kind == "typedef":
            _name_typedef(definition, source)
        else:
            _name_function(definition, source)
    else:
        scope, _, name = _without_arguments(definition.name).rpartition("::")
        definition.name, definition.owner = name.strip(), scope.replace("::", ".")
    return bool(definition.name) and definition.name not in _NOT_NAMES


def _unwrap(definition: Definition, node: Node, source: bytes) -> bool:
    """Take name and parameters from the innermost declarators; False for a pointer variable."""
    function: Node | None = None
    through_pointer = False
    for _ in range(_MAX_NESTING):
        if node.type not in _WRAPPERS:
            break
        if node.type == "function_declarator":
            function, through_pointer = node, False
        elif node.type == "parenthesized_declarator":
            through_pointer = function is not None
        inner = node.child_by_field_name("declarator")
        if inner is None:
            named = [child for child in node.named_children if not child.is_extra]
            if not named:
                return False
            inner = named[-1]
        node = inner
    definition.name = one_line(text_of(source, node))
    if node.type == "operator_cast":
        definition.name = definition.name.partition("(")[0].strip()
        function = node.child_by_field_name("declarator")
    elif definition.kind != "typedef" and (function is None or through_pointer):
        return False
    if function is not None and definition.kind != "typedef":
        parameters = function.child_by_field_name("parameters")
        written = parameters_of(source, parameters)
        definition.parameters = () if written == ("void",) else written
        trailing = next(
            (c for c in function.named_children if c.type == "trailing_return_type"), None
        )
        if trailing is not None:
            definition.result = one_line(text_of(source, trailing)).removeprefix("->").strip()
    return True


def _name_typedef(definition: Definition, source: bytes) -> None:
    kind = definition.node.child_by_field_name("type")
    body = kind.child_by_field_name("body") if kind is not None else None
    if kind is not None and body is not None and kind.child_by_field_name("name") is None:
        definition.kind = kind.type.removesuffix("_specifier")
        words = source[definition.start : body.start_byte].decode("utf-8", "replace")
        definition.signature = one_line(f"{words} {definition.name}")


def _name_function(definition: Definition, source: bytes) -> None:
    name = definition.name
    operator = _SCOPED_OPERATOR.match(name)
    scope, last = (operator[1], operator[2]) if operator else (name, "")
    parts = [part.strip() for part in _without_arguments(scope).split("::")]
    if operator:
        parts[-1] = last
    parts = [part for part in parts if part]
    if not parts:
        definition.name = ""
        return
    definition.name = parts[-1]
    definition.owner = ".".join(parts[:-1])
    if definition.owner:
        definition.kind = "method"
    if definition.name.startswith("~"):
        definition.kind = "destructor"
    elif len(parts) > 1 and parts[-1] == parts[-2]:
        definition.kind = "constructor"
    elif _GTEST.fullmatch(definition.name) and len(definition.parameters or ()) == 2:
        definition.owner, definition.name = definition.parameters or ("", "")
        definition.parameters = ()
    if definition.node.type == "function_definition":
        initializers = [
            c for c in definition.node.named_children if c.type == "field_initializer_list"
        ]
        definition.body = initializers[0] if initializers else None
    if definition.result is None and definition.kind not in ("constructor", "destructor"):
        definition.result = _result(definition, source)


def _result(definition: Definition, source: bytes) -> str | None:
    """The return type with its qualifiers and pointers, as it is written before the name."""
    kind = definition.node.child_by_field_name("type")
    declarator = definition.captures["declarator"][0]
    if kind is None:
        return None
    text = text_of(source, kind)
    for child in definition.node.named_children:
        if child.start_byte >= declarator.start_byte:
            break
        if child.type == "type_qualifier":
            text = f"{text_of(source, child)} {text}"
        elif child.is_error and text.isupper():  # EXPORT int f(): the type came out as an error.
            text = text_of(source, child)
    marks = re.match(rb"[*&\s]*", source[declarator.start_byte : declarator.start_byte + 16])
    stars = b"".join(marks[0].split()).decode() if marks else ""
    return one_line(f"{text} {stars}".strip())


def _without_arguments(text: str) -> str:
    """The text without template arguments, nested ones included."""
    for _ in range(_MAX_NESTING):
        shorter = _TEMPLATE_ARGUMENTS.sub("", text)
        if shorter == text:
            break
        text = shorter
    return one_line(text)
