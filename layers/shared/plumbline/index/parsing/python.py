"""Python through the standard library's ``ast``; tree-sitter when this Python cannot read it."""

from __future__ import annotations

import ast
import re
import threading
import time
import warnings
from collections.abc import Iterator, Sequence

from plumbline.index.entities import (
    MAX_BODY_LINES,
    Entity,
    ParseTimeout,
    clip_body,
    one_line,
)
from plumbline.index.parsing.lines import split_lines
from plumbline.index.parsing.python_syntax import (
    Located,
    PythonDefinition,
    docstring_sentence,
    header_parts,
    nested_statements,
)

_Scope = tuple[str, bool]  # qualified name with its dot, and whether it is a class

_COMMENT = re.compile(r"#[^\n]*")
_CHECK_EVERY = 256
# Warning filters belong to the process: threads that change them take turns.
_WARNINGS = threading.Lock()
# Statements that hold no other.
_SIMPLE = frozenset({ast.Expr, ast.Return, ast.Pass, ast.Raise, ast.Assert, ast.AugAssign})
# ast cannot be stopped, and takes up to 600 bytes of memory for a byte of source.
_MAX_AST_CHARS = 256_000


class InvalidPython(Exception):
    """This Python's ``ast`` does not read the text; the message is a short reason with a line."""


def parse_python(text: str, *, deadline: float) -> list[Entity]:
    """Functions, methods, classes and imports of a module, in source order.

    Lines count ``\\n`` alone; a range starts at the first decorator. Raises
    ``InvalidPython``, and ``ParseTimeout`` once ``time.monotonic()`` passes ``deadline``.
    """
    module = _parse(text)
    if time.monotonic() > deadline:
        raise ParseTimeout
    try:
        return _Reader(text, deadline).read(module)
    except (RecursionError, MemoryError) as error:
        raise InvalidPython("too deeply nested for Python's parser") from error


def parse_python_or_recover(text: str, *, deadline: float) -> tuple[Sequence[Entity], str | None]:
    """A Python text's entities; beside them the reason when tree-sitter had to read it instead.

    Python 2, templates and half-written files still give their definitions. A text of more than
    256,000 characters goes to tree-sitter at once. Raises ``ParseTimeout``.
    """
    if len(text) > _MAX_AST_CHARS:
        return parse_with_grammar("python", text, deadline), None
    try:
        return parse_python(text, deadline=deadline), None
    except InvalidPython as error:
        return parse_with_grammar("python", text, deadline), f"syntax error: {error}"


def parse_with_grammar(grammar: str, text: str, deadline: float) -> Sequence[Entity]:
    """A text's entities through tree-sitter. The grammars are imported when first needed: a
    repository of Python and Markdown never pays for them. Raises ``ParseTimeout``.
    """
    from plumbline.index.parsing.treesitter import parse_source

    found = parse_source(grammar, text.encode("utf-8", "replace"), deadline=deadline)
    return [entity for entity in found if entity.name]  # damaged code has nameless pieces


def _parse(text: str) -> ast.Module:
    try:
        with _WARNINGS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        at = f" (line {error.lineno})" if error.lineno else ""
        raise InvalidPython(f"{one_line(str(error.msg))}{at}") from error
    except (RecursionError, MemoryError) as error:
        raise InvalidPython("too deeply nested for Python's parser") from error
    except (ValueError, OverflowError) as error:
        raise InvalidPython(one_line(str(error)) or type(error).__name__) from error


class _Reader:
    """Walks the statements of a module (never its expressions) and slices its text."""

    def __init__(self, text: str, deadline: float) -> None:
        # ast counts "\r" as a line end, and its columns are offsets into UTF-8.
        self._lines, self._numbers = split_lines(text)
        self._ascii = text.isascii()
        self._deadline = deadline
        self._seen = 0

    def read(self, module: ast.Module) -> list[Entity]:
        found: list[Entity] = []
        stack: list[tuple[Iterator[ast.stmt], _Scope]] = [(iter(module.body), ("", False))]
        while stack:
            statements, scope = stack[-1]
            for statement in statements:
                kind = type(statement)
                if kind in _SIMPLE:
                    continue
                if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                    if isinstance(statement.value, ast.Lambda):
                        found.extend(self._named_lambda(statement, statement.value, scope))
                    continue
                self._tick()
                if isinstance(statement, PythonDefinition):
                    entity = self._definition(statement, scope)
                    found.append(entity)
                    inner = (f"{entity.qualified_name}.", kind is ast.ClassDef)
                    stack.append((iter(statement.body), inner))
                    break
                if isinstance(statement, (ast.Import, ast.ImportFrom)):
                    found.append(self._import(statement))
                else:
                    nested = nested_statements(statement)
                    if nested:
                        stack.append((iter(nested), scope))
                        break
            else:
                stack.pop()
        return found

    def _tick(self) -> None:
        self._seen += 1
        if self._seen % _CHECK_EVERY == 0 and time.monotonic() > self._deadline:
            raise ParseTimeout

    def _definition(self, node: PythonDefinition, scope: _Scope) -> Entity:
        prefix, in_class = scope
        first_line = node.lineno
        if node.decorator_list:
            first_line = min(first_line, *(item.lineno for item in node.decorator_list))
        last_line = node.end_lineno or node.lineno
        if isinstance(node, ast.ClassDef):
            kind, returns = "class", None
            parameters = [self._source(base) for base in node.bases]
        else:
            kind, returns = "method" if in_class else "function", node.returns
            parameters = self._parameters(node.args)
        return Entity(
            "class" if kind == "class" else "function",
            node.name,
            prefix + node.name,
            f"Python {kind}",
            self._numbers[first_line - 1],
            self._numbers[last_line - 1],
            self._signature(node),
            self._body(first_line, last_line),
            docstring_sentence(node),
            parameters,
            self._source(returns) if returns else None,
        )

    def _import(self, node: ast.Import | ast.ImportFrom) -> Entity:
        names = ", ".join(
            f"{alias.name} as {alias.asname}" if alias.asname else alias.name
            for alias in node.names
        )
        if isinstance(node, ast.Import):
            name = ", ".join(alias.name for alias in node.names)
            signature = f"import {names}"
        else:
            name = "." * node.level + (node.module or "")
            signature = f"from {name} import {names}"
        return Entity(
            entity_type="import",
            name=name,
            qualified_name=name,
            kind_label="Python import",
            line_start=self._number(node.lineno),
            line_end=self._number(node.end_lineno or node.lineno),
            signature=signature,
        )

    def _named_lambda(
        self, node: ast.Assign | ast.AnnAssign, value: ast.Lambda, scope: _Scope
    ) -> Iterator[Entity]:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                yield Entity(
                    entity_type="function",
                    name=target.id,
                    qualified_name=scope[0] + target.id,
                    kind_label="Python method" if scope[1] else "Python function",
                    line_start=self._number(node.lineno),
                    line_end=self._number(node.end_lineno or node.lineno),
                    signature=self._source(node),
                    body=self._body(node.lineno, node.end_lineno or node.lineno),
                    parameters=self._parameters(value.args),
                )

    def _parameters(self, arguments: ast.arguments) -> list[str]:
        positional = arguments.posonlyargs + arguments.args
        plain = len(positional) - len(arguments.defaults)
        found = [self._source(argument) for argument in positional[:plain]]
        found += map(self._parameter, positional[plain:], arguments.defaults)
        if arguments.vararg:
            found.append("*" + self._source(arguments.vararg))
        if arguments.kwonlyargs:
            found += map(self._parameter, arguments.kwonlyargs, arguments.kw_defaults)
        if arguments.kwarg:
            found.append("**" + self._source(arguments.kwarg))
        return found

    def _parameter(self, argument: ast.arg, default: ast.expr | None) -> str:
        if default is None:
            return self._source(argument)
        line, end = argument.end_lineno or 0, argument.end_col_offset or 0
        if argument.lineno == default.end_lineno:
            between = self._cut(line, end, default.col_offset)
            if between.strip() == "=":
                return self._cut(line, argument.col_offset, default.end_col_offset)
        equals = " = " if argument.annotation else "="
        return f"{self._source(argument)}{equals}{self._source(default)}"

    def _signature(self, node: PythonDefinition) -> str:
        """The header on one line: as written if it is on one, else joined from its parts."""
        line, column = node.lineno, node.col_offset
        for part in header_parts(node):
            if part.end_lineno != line:
                return self._joined_signature(node)
            if part.end_col_offset is not None and part.end_col_offset > column:
                column = part.end_col_offset
        rest = self._cut(line, column)
        if "#" in rest:
            rest = _COMMENT.sub("", rest)
        head, colon, _ = rest.partition(":")
        if colon:
            return one_line(self._cut(line, node.col_offset, column) + head + colon)
        return self._joined_signature(node)

    def _joined_signature(self, node: PythonDefinition) -> str:
        type_params = list(getattr(node, "type_params", ()))
        generics = ", ".join(map(self._source, type_params))
        name = f"{node.name}[{generics}]" if generics else node.name
        if isinstance(node, ast.ClassDef):
            parts = [self._source(item) for item in header_parts(node) if item not in type_params]
            return f"class {name}({', '.join(parts)}):" if parts else f"class {name}:"
        keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        returns = f" -> {self._source(node.returns)}" if node.returns else ""
        return f"{keyword} {name}({self._joined_parameters(node.args)}){returns}:"

    def _joined_parameters(self, arguments: ast.arguments) -> str:
        parts = self._parameters(arguments)
        if arguments.posonlyargs:
            parts.insert(len(arguments.posonlyargs), "/")
        if arguments.kwonlyargs and not arguments.vararg:
            after = len(arguments.posonlyargs) + len(arguments.args)
            parts.insert(after + bool(arguments.posonlyargs), "*")
        return ", ".join(parts)

    def _body(self, first_line: int, last_line: int) -> str:
        # One line more than a body may have, so that it is known to be cut.
        lines = self._lines[first_line - 1 : min(last_line, first_line + MAX_BODY_LINES)]
        text = "\n".join(lines)
        indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        if indent:
            text = text.removeprefix(indent).replace("\n" + indent, "\n")
        return clip_body(text)

    def _source(self, node: Located) -> str:
        """A piece as written; rebuilt when it spans lines, so that comments stay out."""
        if node.lineno == node.end_lineno:
            return self._cut(node.lineno, node.col_offset, node.end_col_offset)
        return one_line(ast.unparse(node))

    def _cut(self, line_number: int, start: int, end: int | None = None) -> str:
        line = self._lines[line_number - 1]
        if self._ascii or line.isascii():
            return line[start:end]
        return line.encode("utf-8", "surrogatepass")[start:end].decode("utf-8", "replace")

    def _number(self, line: int) -> int:
        return self._numbers[line - 1]
