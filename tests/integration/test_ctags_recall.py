"""Every function and class that Universal Ctags names in real sources is an entity of ours too.

The sources are third-party code that happens to be on the machine: what the environment installed,
headers, what lies in ``build/sources``, or the folder of unpacked packages that
``PLUMBLINE_SOURCES`` names instead.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from plumbline.index.entities import Entity
from plumbline.index.parsing.treesitter import parse_source

MAX_FILES = 60
MAX_FILE_BYTES = 120_000
MAX_BYTES = 1_500_000
MIN_NAMES = 40

ROOT = Path(__file__).resolve().parents[2]
LOOKED_IN = (
    ROOT / "build" / "sources",
    Path(sys.prefix),
    Path("/usr/include"),
    Path("/usr/lib"),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """What is compared of a language: which files, which of ctags' kinds, what must be found."""

    ctags: str
    suffixes: tuple[str, ...]
    kinds: frozenset[str]
    recall: float


_ASSIGNED_FUNCTION = re.compile(r"\s*=\s*(?:async\s*)?(?:function\b|\(|\w+\s*=>|\$/)")

LANGUAGES: Mapping[str, Compared] = {
    "python": Compared("Python", (".py",), frozenset({"function", "member", "class"}), 0.99),
    "javascript": Compared(
        "JavaScript",
        (".js", ".mjs", ".cjs"),
        frozenset({"function", "class", "method", "generator", "getter", "setter"}),
        0.99,
    ),
    "typescript": Compared(
        "TypeScript",
        (".ts",),
        frozenset(
            {"function", "class", "interface", "enum", "method", "namespace", "alias", "generator"}
        ),
        0.99,
    ),
    "go": Compared(
        "Go",
        (".go",),
        frozenset({"func", "struct", "interface", "type", "talias", "methodSpec"}),
        0.99,
    ),
    "rust": Compared(
        "Rust",
        (".rs",),
        frozenset(
            {"function", "method", "struct", "enum", "interface", "typedef", "module", "macro"}
        ),
        0.99,
    ),
    "java": Compared(
        "Java",
        (".java",),
        frozenset({"class", "interface", "enum", "annotation", "method"}),
        0.99,
    ),
    "csharp": Compared(
        "C#",
        (".cs",),
        frozenset({"class", "enum", "interface", "method", "struct"}),
        0.98,
    ),
    "ruby": Compared(
        "Ruby", (".rb",), frozenset({"class", "method", "module", "singletonMethod"}), 0.98
    ),
    "php": Compared("PHP", (".php",), frozenset({"class", "interface", "function", "trait"}), 0.98),
    "bash": Compared("Sh", (".sh",), frozenset({"function"}), 0.85),
    "kotlin": Compared(
        "Kotlin", (".kt",), frozenset({"interface", "class", "object", "method", "typealias"}), 0.95
    ),
    "c": Compared(
        "C", (".c",), frozenset({"function", "struct", "union", "enum", "typedef"}), 0.97
    ),
    "cpp": Compared(
        "C++",
        (".cc", ".cpp", ".cxx", ".hpp"),
        frozenset({"function", "class", "struct", "union", "enum"}),
        0.95,
    ),
}


@cache
def paths_by_suffix(folders: tuple[Path, ...]) -> Mapping[str, list[Path]]:
    """Every regular file below the folders whose suffix one of the languages has."""
    wanted = {suffix for compared in LANGUAGES.values() for suffix in compared.suffixes}
    found: dict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                suffix = os.path.splitext(name)[1]
                if suffix in wanted and not name.endswith((".min.js", ".d.ts")):
                    found[suffix].append(Path(root, name))
    return found


def files_of(language: str) -> list[Path]:
    """Real files of the language, the same ones each time, spread over the folders they are in."""
    named = os.environ.get("PLUMBLINE_SOURCES")
    found = paths_by_suffix((Path(named),) if named else LOOKED_IN)
    by_folder: dict[Path, list[Path]] = defaultdict(list)
    for suffix in LANGUAGES[language].suffixes:
        for path in found.get(suffix, ()):
            by_folder[path.parent].append(path)
    ordered = [sorted(by_folder[folder]) for folder in sorted(by_folder)]
    spread = [files[i] for i in range(6) for files in ordered if i < len(files)]
    chosen: list[Path] = []
    total = 0
    for path in spread[:: max(1, len(spread) // MAX_FILES)]:
        if path.is_symlink() or not path.is_file():
            continue
        size = path.stat().st_size
        if 0 < size <= MAX_FILE_BYTES and total + size <= MAX_BYTES and len(chosen) < MAX_FILES:
            chosen.append(path)
            total += size
    return chosen


@dataclass(frozen=True, slots=True)
class Tag:
    """A definition that ctags names."""

    path: Path
    name: str
    line: int
    kind: str
    pattern: str


def tags_of(language: str, files: Sequence[Path]) -> list[Tag]:
    """What ctags finds in the files, of the kinds that are compared."""
    compared = LANGUAGES[language]
    run = subprocess.run(
        [
            "ctags",
            "--output-format=json",
            "--fields=+nKzxe",
            "--extras=-{anonymous}",
            f"--language-force={compared.ctags}",
            "-L",
            "-",
            "-f",
            "-",
        ],
        input="\n".join(map(str, files)),
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=60,
    )
    tags = []
    for line in run.stdout.split("\n"):
        if not line.endswith("}"):
            continue
        tag = json.loads(line, strict=False)
        if tag.get("kind") in compared.kinds:
            found = Tag(
                Path(tag["path"]), tag["name"], tag["line"], tag["kind"], tag.get("pattern", "")
            )
            if not _excepted(language, found):
                tags.append(found)
    return tags


def _excepted(language: str, tag: Tag) -> bool:
    """Is it something that ctags calls a function or class, and that nobody defines there?

    JavaScript: every object literal, every name that ``.prototype`` or ``new`` follows and every
    ``catch (e)`` that is assigned to is a "class", as is the ``exports`` that a named class is
    assigned to; a name that holds the *result* of a function that is called on the spot is a
    "function"; whatever follows ``.prototype.`` is a "method", even where it is only called or is
    given another one's name. C++: a test case's macro is its name. C#: explicit
    implementations keep their interface, type parameters pass for the class. TypeScript: each name
    of ``import { type A, type B }`` is an alias. Kotlin: every lambda
    and its parameters are "methods", a companion without a name is called Companion. Bash: arrays
    are functions.
    """
    if language == "kotlin":
        declared = re.search(rf"\bfun\b[^(]*\b{re.escape(tag.name)}`? *\(", tag.pattern)
        return tag.name == "Companion" or (tag.kind == "method" and declared is None)
    if language == "csharp":
        return "." in tag.name or f"<{tag.name}>" in tag.pattern
    if language == "bash":
        return tag.name.endswith("=")
    if language == "typescript" and tag.kind == "alias":
        return (
            re.search(rf"\btype {re.escape(tag.name)}(?: as \w+)? *[,}}]", tag.pattern) is not None
        )
    if language == "cpp":
        return tag.name.startswith("TEST") or "PB_DS_" in tag.pattern
    if language == "javascript":
        if tag.kind == "class":
            wanted = r"\bclass\b(?! (?!extends\b)\w)" if tag.name == "exports" else r"\bclass\b"
            return re.search(wanted, tag.pattern) is None
        reached = re.search(rf"\.prototype\.{re.escape(tag.name)}\b(.*)", tag.pattern)
        if reached:
            return _ASSIGNED_FUNCTION.match(reached[1]) is None
        return re.search(r"= *(\\?/\*.*\*\\?/)? *\(+ *function", tag.pattern) is not None
    return False


def _plain(name: str) -> str:
    """The name as both sides spell it: ``#private`` without its mark, operators without spaces."""
    return name.lstrip("#").replace(" ", "")


def read_all(language: str, files: Sequence[Path]) -> dict[Path, dict[str, list[Entity]]]:
    """The entities of each file by their plain name."""
    entities: dict[Path, dict[str, list[Entity]]] = {}
    for path in files:
        named: dict[str, list[Entity]] = defaultdict(list)
        for entity in parse_source(language, path.read_bytes(), deadline=time.monotonic() + 20):
            named[_plain(entity.name)].append(entity)
        entities[path] = named
    return entities


def answer(tag: Tag, entities: Mapping[Path, Mapping[str, Sequence[Entity]]]) -> Entity | None:
    """The entity of the tag's name whose range holds the tag's line, the innermost if several."""
    around = [
        entity
        for entity in entities[tag.path].get(_plain(tag.name), ())
        if entity.line_start <= tag.line <= entity.line_end
    ]
    return max(around, key=lambda entity: entity.line_start, default=None)


def starts_there(tag: Tag, entity: Entity) -> bool:
    """Does the range begin at the tag's line, or at what decorates or opens the definition?"""
    if entity.line_start == tag.line:
        return True
    lines = tag.path.read_bytes().split(b"\n")
    first = lines[entity.line_start - 1].strip()
    last = lines[tag.line - 2].strip()
    return first.startswith((b"@", b"#[", b"export")) or not last.endswith((b";", b"}", b"{"))


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_names_what_ctags_names(language: str) -> None:
    if shutil.which("ctags") is None:
        pytest.skip("universal-ctags is not installed")
    files = files_of(language)
    tags = tags_of(language, files) if files else []
    if len(tags) < MIN_NAMES:
        pytest.skip(f"no {language} sources on this machine; PLUMBLINE_SOURCES may name a folder")
    entities = read_all(language, files)
    answers = {tag: answer(tag, entities) for tag in tags}
    lost = [tag for tag, entity in answers.items() if entity is None]
    recall = 1 - len(lost) / len(answers)
    assert recall >= LANGUAGES[language].recall, f"{recall:.2%} of {len(answers)}\n{_shown(lost)}"
    off = [tag for tag, entity in answers.items() if entity and not starts_there(tag, entity)]
    assert len(off) <= 0.01 * len(answers), f"ranges begin elsewhere:\n{_shown(off)}"


def _shown(tags: Sequence[Tag]) -> str:
    return "\n".join(f"{tag.path}:{tag.line} {tag.kind} {tag.name}" for tag in tags[:20])
