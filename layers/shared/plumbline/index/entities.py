"""Entity: what a parser yields, before it becomes a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

EntityType = Literal["function", "class", "import", "doc_section", "terraform_block"]

MAX_BODY_LINES = 60
MAX_BODY_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing a reader could ask for.

    ``name`` is the bare name, ``qualified_name`` is ``Class.name`` for a method. ``kind_label`` is
    the language's word for it ("Python method"). Lines are 1-based and inclusive. ``body`` is the
    source text, at most 60 lines and 2000 characters. ``doc`` is the doc comment's first sentence
    or line. ``extra`` holds the fields beside file 002's, such as ``heading_path`` or ``url``.
    """

    entity_type: EntityType
    name: str
    qualified_name: str
    kind_label: str
    line_start: int
    line_end: int
    signature: str
    body: str = ""
    doc: str = ""
    parameters: Sequence[str] = ()
    return_type: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file's entities, or the reason that it has none (``skipped``); both when it is degraded."""

    path: str
    language: str | None
    entities: Sequence[Entity]
    skipped: str | None = None
