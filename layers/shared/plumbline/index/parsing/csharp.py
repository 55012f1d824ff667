"""C#: operators, indexers, finalizers and using directives."""

from __future__ import annotations

import re

from plumbline.index.entities import one_line
from plumbline.index.parsing.definitions import (
    Definition,
    split_top_level,
    text_of,
    without_comments,
)

_USING = re.compile(r"\A(?:global\s+)?using\s+(?:static\s+)?(?:unsafe\s+)?(?:\w+\s*=\s*)?")


def refine(definition: Definition, source: bytes) -> bool:
    """Name what has no name of its own, and split parameters at their commas."""
    kind, node = definition.kind, definition.node
    if kind == "import":
        definition.name = _USING.sub("", one_line(text_of(source, node))).rstrip("; ")
        return bool(definition.name)
    if kind == "destructor":
        definition.name = f"~{definition.name}"
    elif kind == "operator":
        definition.name = f"operator {definition.name}"
    elif kind == "indexer":
        definition.name = "this[]"
        definition.body = node.child_by_field_name("accessors") or node.child_by_field_name("value")
    # ``params int[] rest`` has no node of its own, so the text is what is split.
    parameters = node.child_by_field_name("parameters")
    if parameters is not None and kind != "delegate":
        definition.parameters = tuple(
            split_top_level(without_comments(text_of(source, parameters)[1:-1]))
        )
    return bool(definition.name)
