"""Entity: what a parser yields, before it becomes a record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

EntityType = Literal["function", "class", "import", "doc_section", "terraform_block"]

MAX_BODY_LINES = 60
MAX_BODY_CHARS = 2000

# The end comes first in the pattern, so that the engine can look for it alone.
_SENTENCE_END = re.compile(
    r"[.!?](?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bcf\.)[\"')\]]*(?=\s)"
)
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_MAX_DOC_CHARS = 2000


class ParseTimeout(Exception):
    """The file's time budget ran out. It never leaves ``parse_file``."""


class Entity(NamedTuple):
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
    extra: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file's entities, or the reason that it has none (``skipped``); both when it is degraded."""

    path: str
    language: str | None
    entities: Sequence[Entity]
    skipped: str | None = None


def clip_body(text: str) -> str:
    """The text as far as an entity's ``body`` may reach: at most 60 lines and 2000 characters.

    Lines end at ``\\n`` alone. Carriage returns before it are dropped, as is trailing white space.
    """
    if len(text) <= MAX_BODY_CHARS and "\r" not in text and text.count("\n") < MAX_BODY_LINES:
        return text.rstrip()
    text = text[: MAX_BODY_CHARS * 4]
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n", MAX_BODY_LINES)
    if len(lines) > MAX_BODY_LINES:
        text = "\n".join(lines[:MAX_BODY_LINES])
    return text[:MAX_BODY_CHARS].rstrip()


def first_sentence(text: str) -> str:
    """The first sentence of a doc comment's text on one line; its first paragraph if it has none.

    Abbreviations ("e.g.", "i.e.") and version numbers end no sentence.
    """
    text = text[:_MAX_DOC_CHARS].strip()
    paragraph = _BLANK_LINE.split(text, maxsplit=1)[0]
    end = _SENTENCE_END.search(paragraph)
    return one_line(paragraph[: end.end()] if end else paragraph)


def one_line(text: str) -> str:
    """The text with every run of white space as one space, trimmed."""
    return " ".join(text.split())
