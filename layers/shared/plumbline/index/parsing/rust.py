"""Rust: impl blocks, whose functions belong to the type that they are for."""

from __future__ import annotations

from plumbline.index.entities import one_line
from plumbline.index.parsing.definitions import Definition, bare_type, text_of


def refine(definition: Definition, source: bytes) -> bool:
    """Name impl blocks by their type, trait impls as ``Trait for Type``."""
    captures = definition.captures
    if definition.kind in ("scope", "trait impl"):
        definition.name = bare_type(definition.name)
        definition.scope = definition.name
        if "trait" in captures:
            trait = one_line(text_of(source, captures["trait"][0]))
            definition.parents = [trait]
            definition.name = f"{bare_type(trait)} for {definition.name}"
    elif definition.kind == "macro":
        definition.signature = f"macro_rules! {definition.name}"
    elif definition.kind == "import":
        definition.name = one_line(definition.name)
    return bool(definition.name)
