"""The tree-sitter engine: one query a language, its captures sorted, scopes kept on a stack."""

from __future__ import annotations

import time

from tree_sitter import Node, QueryCursor

from plumbline.index.entities import (
    MAX_BODY_CHARS,
    MAX_BODY_LINES,
    Entity,
    EntityType,
    ParseTimeout,
    clip_body,
    one_line,
)
from plumbline.index.parsing import terraform
from plumbline.index.parsing.bounded_parse import parse_until
from plumbline.index.parsing.definitions import (
    Definition,
    parameters_of,
    parents_of,
    signature_of,
    text_of,
)
from plumbline.index.parsing.doc_comments import comment_before, describe
from plumbline.index.parsing.grammars import LoadedGrammar, load
from plumbline.index.parsing.nesting import nested_too_deep

_QUERY_BYTES = 131072
_MAX_NAME = 500
_MAX_PREFIX = 80
_MAX_BODY_BYTES = 8000
_BODY_BYTES = 3000
_CHECK_EVERY = 256
_FUNCTIONS = frozenset(
    {
        "function",
        "method",
        "constructor",
        "destructor",
        "macro",
        "function declaration",
        "extension function",
        "operator",
        "indexer",
        "subscript",
    }
)
_NOT_TYPES = _FUNCTIONS | {"namespace", "module", "namespace scope"}
# What encloses nothing that could be named by it.
_CLOSED = frozenset({"typedef", "function declaration"})

Match = tuple[int, int, int, int, dict[str, list[Node]]]


def parse_source(language: str, source: bytes, *, deadline: float) -> list[Entity]:
    """Return the entities of ``source``, in the order in which they begin.

    ``deadline`` is on ``time.monotonic``'s clock and bounds parsing, the query and what follows.
    Raises ParseTimeout when it passes or the nesting shows that it would, and KeyError for a
    language that has no grammar. Damaged code gives what could be recognised. Source: design,
    section 6.
    """
    if nested_too_deep(source):
        raise ParseTimeout("nested too deep to parse in the file's budget")
    grammar = load(language)
    prepare = grammar.spec.prepare
    text = prepare(source) if prepare else source
    # Some scanners take NUL for the end of the text, over and over.
    tree = parse_until(grammar, text.replace(b"\0", b" "), deadline)
    if language == "terraform":
        return terraform.entities(tree.root_node, source, deadline=deadline)
    return _Collector(grammar, source, deadline).entities(tree.root_node)


class _Collector:
    """Turns one file's matches into entities, in one pass over them in source order."""

    def __init__(self, grammar: LoadedGrammar, source: bytes, deadline: float) -> None:
        self._spec = grammar.spec
        self._query = grammar.query
        self._kinds = grammar.kinds
        self._refine = grammar.spec.refine
        self._source = source
        self._deadline = deadline
        # The open scopes, innermost last: where each ends, its qualified name, its kind.
        self._scopes: list[tuple[int, str, str]] = []
        self._lead: tuple[int, int, int] | None = None
        self._entities: list[Entity] = []

    def entities(self, root: Node) -> list[Entity]:
        seen: set[tuple[int, int, str]] = set()
        taken: set[tuple[int, int]] = set()
        for count, (start, minus_end, index, _, captures) in enumerate(self._matches(root)):
            if count % _CHECK_EVERY == 0 and time.monotonic() > self._deadline:
                raise ParseTimeout("reading the definitions took longer than the file's budget")
            kind = self._kinds[index]
            if kind == "lead":
                self._follow(captures["lead"][0], start, -minus_end)
                continue
            if (start, minus_end) in taken:
                continue
            definition = self._read(kind, captures, start, -minus_end)
            if definition is None:
                continue
            key = (start, minus_end, definition.name)
            if key in seen:
                continue
            seen.add(key)
            if definition.value is not definition.node:
                taken.add((definition.value.start_byte, -definition.value.end_byte))
            self._place(definition)
        return self._entities

    def _matches(self, root: Node) -> list[Match]:
        """Run the query, a slice of the file at a time, so that the deadline holds between them.

        The cursor's own progress callback would do, but it reads freed memory and crashes
        (tree-sitter 0.26.1). Matches that reach over a slice's edge come twice; one is dropped.
        """
        matches: list[Match] = []
        cursor = QueryCursor(self._query)
        size = len(self._source)
        for begin in range(0, max(size, 1), _QUERY_BYTES):
            if time.monotonic() > self._deadline:
                raise ParseTimeout("the query took longer than the file's budget")
            if size > _QUERY_BYTES:
                cursor.set_byte_range(begin, begin + _QUERY_BYTES)
            for index, captures in cursor.matches(root):
                nodes = captures["def"] if "def" in captures else captures["lead"]
                start, end = nodes[0].start_byte, nodes[-1].end_byte
                matches.append((start, -end, index, len(matches), captures))
        matches.sort()
        return matches

    def _follow(self, node: Node, start: int, end: int) -> None:
        """Remember a decorator or attribute; one that follows another extends it."""
        if self._lead and self._touches(self._lead[1], start):
            self._lead = (self._lead[0], end, self._lead[2])
        else:
            self._lead = (start, end, node.start_point[0])

    def _touches(self, end: int, start: int) -> bool:
        """Is there nothing but white space and comments between the two places?"""
        if not 0 <= start - end <= _MAX_BODY_BYTES:
            return False
        gap = self._source[end:start].strip()
        while gap.startswith((b"//", b"/*", b"#")):
            closing = b"*/" if gap.startswith(b"/*") else b"\n"
            gap = gap.partition(closing)[2].strip()
        return not gap

    def _read(
        self, kind: str, captures: dict[str, list[Node]], start: int, end: int
    ) -> Definition | None:
        node = captures["def"][0]
        value = captures["value"][0] if "value" in captures else node
        named = captures["name"][0] if "name" in captures else node.child_by_field_name("name")
        name = text_of(self._source, named, _MAX_NAME) if named is not None else ""
        definition = Definition(kind, node, value, captures, name, start, end, node.start_point[0])
        if self._refine is not None and not self._refine(definition, self._source):
            return None
        return definition if definition.name else None

    def _place(self, definition: Definition) -> None:
        """Qualify the definition by the scopes around it, open its own, and keep its entity."""
        scopes = self._scopes
        while scopes and scopes[-1][0] <= definition.start:
            scopes.pop()
        prefix, around = scopes[-1][1:] if scopes else ("", "")
        if definition.member:
            types = (name for _, name, kind in reversed(scopes) if kind not in _NOT_TYPES)
            prefix = next(types, prefix)
        name, kind = one_line(definition.name), definition.kind
        if kind == "function declaration" and around in _FUNCTIONS:
            return
        qualified = f"{definition.owner}.{name}" if definition.owner else name
        if kind == "import":
            self._keep(definition, name, name, "import")
            return
        if prefix and len(prefix) + len(qualified) < _MAX_NAME:
            qualified = f"{prefix}.{qualified}"
        if scopes and around not in _NOT_TYPES and kind in ("function", "function declaration"):
            kind = "method"
        if self._spec.named_constructors and kind == "method" and prefix.rpartition(".")[2] == name:
            kind = "constructor"
        if definition.scope:
            scope = f"{prefix}.{definition.scope}" if prefix else definition.scope
        else:
            scope = qualified
        if kind not in _CLOSED:
            scopes.append((definition.end, scope, kind))
        if kind not in ("scope", "namespace scope"):
            self._keep(definition, name, qualified, kind)

    def _keep(self, definition: Definition, name: str, qualified: str, kind: str) -> None:
        source, spec, value = self._source, self._spec, definition.value
        entity_type: EntityType = "class"
        parameters: tuple[str, ...] = definition.parameters or ()
        result = definition.result
        doc = text = ""
        body = None
        start = self._widen(definition)
        if kind == "import":
            entity_type = "import"
        else:
            if kind in _FUNCTIONS:
                entity_type = "function"
                if definition.parameters is None:
                    parameters = parameters_of(source, value.child_by_field_name("parameters"))
                if result is None:
                    result = self._result(value)
            elif not parameters:
                parameters = self._parents(definition)
            body = definition.body or value.child_by_field_name("body")
            comment = comment_before(source, start, spec.comments)
            if not comment and start != definition.signature_start:
                comment = comment_before(source, definition.signature_start, spec.comments)
            doc = definition.doc or (describe(comment) if comment else "")
            text = self._text(start, definition.end)
        signature = definition.signature or signature_of(
            source,
            definition.signature_start,
            definition.end if body is None else body.start_byte,
            spec.attribute,
            spec.comments,
        )
        first = definition.row + 1
        row, column = definition.node.end_point
        last = row + 1 if column else row
        # By position: names cost a third more, and there is one of these for each definition.
        self._entities.append(
            Entity(
                entity_type,
                name,
                qualified,
                f"{spec.label} {kind}",
                first,
                last if last > first else first,
                signature,
                text,
                doc,
                parameters,
                result,
            )
        )

    def _result(self, value: Node) -> str | None:
        for field in self._spec.results:
            returned = value.child_by_field_name(field)
            if returned is not None:
                return one_line(text_of(self._source, returned)).lstrip(":-> ")
        return None

    def _parents(self, definition: Definition) -> tuple[str, ...]:
        parents = list(definition.parents)
        if self._spec.parents and not parents:
            for child in definition.value.named_children:
                if child.type in self._spec.parents:
                    parents += parents_of(text_of(self._source, child))
        return tuple(parents)

    def _text(self, start: int, end: int) -> str:
        """The body's text, moved left by what its first line is indented."""
        source = self._source
        text = source[start : min(end, start + _BODY_BYTES)].decode("utf-8", "replace")
        if len(text) < MAX_BODY_CHARS and end - start > _BODY_BYTES:
            text = source[start : min(end, start + _MAX_BODY_BYTES)].decode("utf-8", "replace")
        if "\n" in text:
            indent = source[source.rfind(b"\n", 0, start) + 1 : start]
            if indent.isspace() and len(indent) < _MAX_PREFIX:
                text = text.replace("\n" + indent.decode("ascii", "replace"), "\n")
        if len(text) <= MAX_BODY_CHARS and text.count("\n") < MAX_BODY_LINES and "\r" not in text:
            return text.rstrip()
        return clip_body(text)

    def _widen(self, definition: Definition) -> int:
        """Move the start up to the words (``export``) and then the decorators before it."""
        source, start = self._source, definition.start
        if self._spec.prefix is not None and start:
            line = start - definition.node.start_point[1]
            before = source[line:start][-_MAX_PREFIX:]
            if before and not before.isspace():
                words = self._spec.prefix.search(before)
                if words:
                    definition.start = start = start - len(before) + words.start()
        definition.signature_start = start
        if self._lead and self._lead[1] <= start:
            if self._touches(self._lead[1], start):
                definition.start = start = self._lead[0]
                definition.row = self._lead[2]
                if self._spec.leads_signature:
                    definition.signature_start = start
            self._lead = None
        return start
