"""JavaScript and TypeScript: names behind assignments, exports and quotes."""

from __future__ import annotations

import re

from plumbline.index.parsing.definitions import Definition, text_of

_DOTTED = re.compile(r"[\w$]+(?:\.[\w$#]+)*\Z")
_EXPORTS = re.compile(r"(?:module\.exports|exports)(?:\.|\Z)")

_WRAPPERS = frozenset(
    {
        "memo",
        "forwardRef",
        "observer",
        "lazy",
        "cache",
        "useCallback",
        "debounce",
        "throttle",
        "memoize",
        "once",
        "promisify",
        "asyncHandler",
    }
)


def refine(definition: Definition, source: bytes) -> bool:
    """Name the definition as a reader would; False drops it."""
    kind = definition.kind
    if kind == "import":
        return _name_import(definition, source)
    if kind == "wrapped function":
        wrapper = text_of(source, definition.captures["wrapper"][0])
        definition.kind = "function"
        return wrapper.rpartition(".")[2] in _WRAPPERS
    if kind.startswith("default "):
        definition.kind = kind.removeprefix("default ")
        named = definition.value.child_by_field_name("name")
        definition.name = text_of(source, named) if named else "default"
        return True
    name = definition.name or ("new" if definition.kind == "constructor" else "")
    if name[:1] in "\"'`":
        name = name.strip("\"'`")
    definition.name = name
    if definition.node.type == "assignment_expression":
        return _name_assignment(definition, source)
    if name == "constructor" and kind == "method":
        definition.kind = "constructor"
    if definition.parameters is None and definition.value.type == "arrow_function":
        single = definition.value.child_by_field_name("parameter")
        if single:
            definition.parameters = (text_of(source, single),)
    return bool(name)


def _name_assignment(definition: Definition, source: bytes) -> bool:
    """``exports.f`` is f, ``C.prototype.m`` is C.m, ``this.f`` is f of whatever encloses it."""
    left = definition.name
    named = definition.value.child_by_field_name("name")
    if not _DOTTED.match(left):
        target = definition.captures["name"][0].child_by_field_name("property")
        if target is None:
            return False
        definition.name = text_of(source, target)
        return True
    left = left.replace(".prototype.", ".").removesuffix(".prototype")
    bare = _EXPORTS.sub("", left).removeprefix("this.")
    if not bare:
        if definition.kind == "scope":
            return False
        definition.name = text_of(source, named) if named else "exports"
        definition.owner = "" if named else "module"
        return True
    definition.member = left.startswith("this.")
    definition.owner, _, definition.name = bare.rpartition(".")
    if definition.kind == "function" and (definition.owner or definition.member):
        definition.kind = "method"
    return True


def _name_import(definition: Definition, source: bytes) -> bool:
    callee = definition.captures.get("callee")
    if callee and text_of(source, callee[0]) not in ("require", "import"):
        return False
    if not definition.name:
        target = definition.node.child_by_field_name("source")
        if target is None:
            return False
        definition.name = text_of(source, target)
    definition.name = definition.name.strip("\"'`")
    return bool(definition.name)
