"""Grammars: which tree-sitter grammar, query and conventions each language is parsed with."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from tree_sitter import Language, Query


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a language is read.

    ``label`` is its name in ``kind_label``. ``queries`` are files of ``queries/``, joined. ``comments``
    says which markers open a comment. ``prefix`` matches the words that may stand before a
    definition's node on its own line and belong to it. ``parents`` are the child nodes of a class
    that name what it extends. ``results`` are the fields that may hold the return type.
    """

    label: str
    module: str
    queries: tuple[str, ...]
    factory: str = "language"
    comments: str = "slash"
    prefix: re.Pattern[bytes] | None = None
    parents: frozenset[str] = frozenset()
    results: tuple[str, ...] = ("return_type",)
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadedGrammar:
    """A grammar ready to parse: immutable, so threads may share it (a ``Parser`` may not be)."""

    spec: Grammar
    language: Language
    query: Query
    kinds: tuple[str, ...]


_EXPORTED = re.compile(rb"(?:(?:export|default|declare|const|let|var)\s+)+\Z")

GRAMMARS: Mapping[str, Grammar] = {
    "javascript": Grammar(
        label="JavaScript",
        module="tree_sitter_javascript",
        queries=("ecmascript", "javascript"),
        prefix=_EXPORTED,
        parents=frozenset({"class_heritage"}),
    ),
    "typescript": Grammar(
        label="TypeScript",
        module="tree_sitter_typescript",
        factory="language_typescript",
        queries=("ecmascript", "typescript"),
        prefix=_EXPORTED,
        parents=frozenset({"class_heritage", "extends_type_clause"}),
    ),
    "tsx": Grammar(
        label="TypeScript",
        module="tree_sitter_typescript",
        factory="language_tsx",
        queries=("ecmascript", "typescript"),
        prefix=_EXPORTED,
        parents=frozenset({"class_heritage", "extends_type_clause"}),
    ),
    "go": Grammar(
        label="Go",
        module="tree_sitter_go",
        queries=("go",),
        prefix=re.compile(rb"(?:type|var)\s+\Z"),
        results=("result",),
    ),
    "terraform": Grammar(
        label="Terraform",
        module="tree_sitter_hcl",
        queries=(),
        comments="any",
    ),
}


@cache
def load(language: str) -> LoadedGrammar:
    """Return ``language``'s grammar, imported and its query compiled on first use.

    Raises KeyError for a language that has none, ImportError when its package is missing.
    """
    spec = GRAMMARS[language]
    module = importlib.import_module(spec.module)
    grammar = Language(getattr(module, spec.factory)())
    folder = resources.files(__package__) / "queries"
    query = Query(
        grammar, "\n".join((folder / f"{q}.scm").read_text("utf-8") for q in spec.queries)
    )
    kinds = tuple(query.pattern_settings(i).get("kind") or "" for i in range(query.pattern_count))
    return LoadedGrammar(spec, grammar, query, kinds)
