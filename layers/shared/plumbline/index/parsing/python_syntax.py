"""What is asked of ``ast``'s nodes: parts of a header, nested statements, docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from plumbline.index.entities import first_sentence

PythonDefinition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Located = ast.expr | ast.arg | ast.keyword | ast.stmt


def header_parts(node: PythonDefinition) -> Iterator[Located]:
    """What stands between a definition's name and its colon."""
    yield from getattr(node, "type_params", ())
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from node.keywords
        return
    arguments = node.args
    yield from arguments.posonlyargs
    yield from arguments.args
    yield from arguments.kwonlyargs
    yield from arguments.defaults
    for optional in (arguments.vararg, arguments.kwarg, node.returns, *arguments.kw_defaults):
        if optional is not None:
            yield optional


def nested_statements(statement: ast.stmt) -> list[ast.stmt]:
    """The statements that a compound statement other than a definition holds, in order."""
    if isinstance(statement, ast.Match):
        return [inner for case in statement.cases for inner in case.body]
    body = getattr(statement, "body", None)
    if not isinstance(body, list):
        return []
    nested = list(body)
    for handler in getattr(statement, "handlers", ()):
        nested += handler.body
    nested += getattr(statement, "orelse", ())
    nested += getattr(statement, "finalbody", ())
    return nested


def docstring_sentence(node: PythonDefinition) -> str:
    """The first sentence of the definition's docstring; "" without one."""
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        value = first.value.value
        return first_sentence(value) if isinstance(value, str) else ""
    return ""
