"""Grammars: which tree-sitter grammar, query and conventions each language is parsed with."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from tree_sitter import Language, Query

from plumbline.index.parsing import (
    csharp,
    declarators,
    ecmascript,
    golang,
    jvm,
    rust,
    scripting,
    swift,
)
from plumbline.index.parsing.definitions import Definition


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a language is read.

    ``label`` is its name in ``kind_label``. ``queries`` are files of ``queries/``, joined.
    ``comments`` says which markers open a comment. ``prefix`` matches the words that may stand
    before a definition's node on its own line and belong to it. ``parents`` are the child nodes of
    a class that name what it extends. ``results`` are the fields that may hold the return type.
    ``attribute`` opens the annotations inside a definition that its signature leaves out.
    ``leads_signature`` says that what leads a definition (``template <T>``) belongs to it.
    ``refine`` is the language's hook: it mends a definition, or refuses it with False. ``prepare``
    changes the text that the parser sees, never its length. ``named_constructors`` says that a
    method named like its class is its constructor.
    """

    label: str
    module: str
    queries: tuple[str, ...]
    factory: str = "language"
    comments: str = "slash"
    prefix: re.Pattern[bytes] | None = None
    parents: frozenset[str] = frozenset()
    results: tuple[str, ...] = ("return_type",)
    attribute: str = ""
    refine: Callable[[Definition, bytes], bool] | None = None
    prepare: Callable[[bytes], bytes] | None = None
    leads_signature: bool = False
    named_constructors: bool = False


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
        refine=ecmascript.refine,
        module="tree_sitter_javascript",
        queries=("ecmascript", "javascript"),
        prefix=_EXPORTED,
        parents=frozenset({"class_heritage"}),
        attribute="@",
    ),
    "typescript": Grammar(
        label="TypeScript",
        refine=ecmascript.refine,
        module="tree_sitter_typescript",
        factory="language_typescript",
        queries=("ecmascript", "typescript"),
        prefix=_EXPORTED,
        parents=frozenset({"class_heritage", "extends_type_clause"}),
        attribute="@",
    ),
    "tsx": Grammar(
        label="TypeScript",
        refine=ecmascript.refine,
        module="tree_sitter_typescript",
        factory="language_tsx",
        queries=("ecmascript", "typescript"),
        prefix=_EXPORTED,
        parents=frozenset({"class_heritage", "extends_type_clause"}),
        attribute="@",
    ),
    "go": Grammar(
        label="Go",
        refine=golang.refine,
        module="tree_sitter_go",
        queries=("go",),
        prefix=re.compile(rb"(?:type|var)\s+\Z"),
        results=("result",),
    ),
    "rust": Grammar(
        label="Rust",
        refine=rust.refine,
        module="tree_sitter_rust",
        queries=("rust",),
        parents=frozenset({"trait_bounds"}),
    ),
    "java": Grammar(
        label="Java",
        refine=jvm.refine_java,
        module="tree_sitter_java",
        queries=("java",),
        parents=frozenset({"superclass", "super_interfaces", "extends_interfaces"}),
        results=("type",),
        attribute="@",
    ),
    "kotlin": Grammar(
        label="Kotlin",
        refine=jvm.refine_kotlin,
        module="tree_sitter_kotlin",
        queries=("kotlin",),
        attribute="@",
    ),
    "scala": Grammar(
        label="Scala",
        refine=jvm.refine_scala,
        module="tree_sitter_scala",
        queries=("scala",),
        parents=frozenset({"extends_clause"}),
        attribute="@",
    ),
    "csharp": Grammar(
        label="C#",
        refine=csharp.refine,
        module="tree_sitter_c_sharp",
        queries=("csharp",),
        parents=frozenset({"base_list"}),
        results=("returns", "type"),
        attribute="[",
    ),
    "swift": Grammar(
        label="Swift",
        refine=swift.refine,
        module="tree_sitter_swift",
        queries=("swift",),
        attribute="@",
    ),
    "ruby": Grammar(
        label="Ruby",
        refine=scripting.refine_ruby,
        module="tree_sitter_ruby",
        queries=("ruby",),
        comments="hash",
        prefix=re.compile(
            rb"(?:private|protected|public|module_function|private_class_method)\s+\Z"
        ),
    ),
    "php": Grammar(
        label="PHP",
        refine=scripting.refine_php,
        module="tree_sitter_php",
        factory="language_php",
        queries=("php",),
        comments="any",
        parents=frozenset({"base_clause", "class_interface_clause"}),
        attribute="#[",
    ),
    "bash": Grammar(
        label="Bash",
        refine=scripting.refine_bash,
        prepare=scripting.blank_bash_loops,
        module="tree_sitter_bash",
        queries=("bash",),
        comments="hash",
    ),
    "python": Grammar(
        label="Python",
        refine=scripting.refine_python,
        module="tree_sitter_python",
        queries=("python",),
        comments="hash",
    ),
    "c": Grammar(
        label="C",
        prepare=declarators.blank_macros,
        refine=declarators.refine,
        module="tree_sitter_c",
        queries=("c",),
        prefix=re.compile(
            rb"(?:(?:typedef|static|extern|inline|const|__extension__|"
            rb"[A-Z_][A-Z0-9_]{2,}(?:\([^()\n]*\))?)\s+)+\Z"
        ),
    ),
    "cpp": Grammar(
        label="C++",
        prepare=declarators.blank_macros,
        refine=declarators.refine,
        module="tree_sitter_cpp",
        queries=("c", "cpp"),
        parents=frozenset({"base_class_clause"}),
        attribute="[[",
        leads_signature=True,
        named_constructors=True,
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
