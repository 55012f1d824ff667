"""What of a record an embedding model reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from devstack.engine.documents import facet_text, leaves, value_at
from devstack.engine.settings import Settings
from devstack.engine.tokens import camel_parts

# A model reads a few hundred tokens at the most, and its time grows with them.
MAX_CHARS = 400
# Where a record stands, if it says so: words that its own text leaves out. Algolia's training
# chooses the attributes of its vectors itself; which ones it takes is not published.
_CONTEXT = ("qualified_name", "heading_path")
_JOINED = re.compile(r"[^\W_]+")


def embedded_text(record: Mapping[str, Any], settings: Settings) -> str:
    """Where the record stands, then the searchable attributes in their order, as running text cut
    to ``MAX_CHARS``. Names (attributes of ``camelCaseAttributes``) are read as their words.
    """
    searched = (
        [name for name in record if name != "objectID"]
        if settings.searchable is None
        else [one.name for one in settings.searchable]
    )
    parts: list[str] = []
    room = MAX_CHARS
    for name in (*_CONTEXT, *(name for name in searched if name not in _CONTEXT)):
        texts = [facet_text(leaf) for leaf in leaves(value_at(record, name))]
        if name in settings.camel_case or name in _CONTEXT:
            texts = [_as_words(text) for text in texts]
        # Indentation says nothing and costs tokens.
        part = " ".join(" ".join(texts).split())
        if part:
            parts.append(part[:room])
            room -= len(part) + 1
        if room <= 0:
            break
    return "\n".join(parts)


def _as_words(name: str) -> str:
    return " ".join(
        part.lower() if part.istitle() else part
        for word in _JOINED.findall(name)
        for part in camel_parts(word)
    )
