"""Jupyter notebooks: code cells as code, Markdown cells as sections, outputs left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from plumbline.index.entities import Entity, one_line
from plumbline.index.parsing.markdown import parse_cell
from plumbline.index.parsing.python import parse_python_or_recover, parse_with_grammar

_KERNEL_LANGUAGES = {
    "python": "python",
    "ipython": "python",
    "scala": "scala",
    "kotlin": "kotlin",
    "bash": "bash",
    "javascript": "javascript",
    "typescript": "typescript",
    "ruby": "ruby",
    "go": "go",
    "rust": "rust",
    "java": "java",
    "swift": "swift",
    "php": "php",
    "c#": "csharp",
    "c++": "cpp",
}
_KERNEL_NAMES = (("kernelspec", "language"), ("language_info", "name"), ("kernelspec", "name"))
_PYTHON_CELL_MAGICS = frozenset(
    {"%%time", "%%timeit", "%%capture", "%%prun", "%%python", "%%python3", "%%memit", "%%snakeviz"}
)
_MAGIC_LINE = re.compile(r"^([ \t]*)(?:[%!?].*|[\w.]+[ \t]*\?{1,2}[ \t]*)$")
_MAGIC_VALUE = re.compile(r"^([ \t]*[\w., \t]+=[ \t]*)[%!].*$")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell by its number, from 1; ``kind`` is code or markdown."""

    number: int
    kind: str
    source: str


class InvalidNotebook(Exception):
    """Not a notebook; the message is a short reason."""


def parse_notebook(
    text: str, *, path: str, deadline: float
) -> tuple[str, list[Entity], str | None]:
    """The kernel's language ("notebook" for one without a parser), the entities, and a reason if
    some are missing.

    Lines count within the cell, and ``extra["cell"]`` is the cell's number: the lines of the JSON
    mean nothing to a reader. Headings nest across cells. Raises ``InvalidNotebook`` and
    ``ParseTimeout``.
    """
    document = _load(text)
    language = _kernel_language(document)
    cells = list(_cells(document))
    title = PurePosixPath(path).stem
    outer: list[tuple[int, str]] = []
    entities: list[Entity] = []
    reason: str | None = None
    for cell in cells:
        found: Sequence[Entity]
        if cell.kind == "markdown":
            found, outer = parse_cell(cell.source, title=title, outer=outer, deadline=deadline)
            extra: dict[str, object] = {"cell": cell.number, "language": "markdown"}
        else:
            found, problem = _code(cell.source, language, deadline)
            extra = {"cell": cell.number}
            if problem and not reason:
                reason = f"{problem} in cell {cell.number}"
        entities += [entity._replace(extra={**entity.extra, **extra}) for entity in found]
    return language, entities, reason


def without_magics(source: str) -> str | None:
    """A cell's Python with IPython's magics, shell lines and ``name?`` replaced line for line.

    None for a cell whose first line hands it to another language, such as ``%%bash``.
    """
    lines = source.split("\n")
    first = lines[0].split()[:1]
    if first and first[0].startswith("%%") and first[0] not in _PYTHON_CELL_MAGICS:
        return None
    return "\n".join(_without_magic(line) for line in lines)


def _without_magic(line: str) -> str:
    if not any(mark in line for mark in "%!?"):
        return line
    magic = _MAGIC_LINE.match(line)
    if magic:
        return f"{magic.group(1)}pass"
    value = _MAGIC_VALUE.match(line)
    return f"{value.group(1)}None" if value else line


def _code(source: str, language: str, deadline: float) -> tuple[Sequence[Entity], str | None]:
    if language == "notebook":
        return (), None
    if language != "python":
        return parse_with_grammar(language, source, deadline), None
    python = without_magics(source)
    return parse_python_or_recover(python, deadline=deadline) if python is not None else ((), None)


def _load(text: str) -> Mapping[str, object]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidNotebook(f"{error.msg} (line {error.lineno})") from error
    except (ValueError, RecursionError) as error:
        raise InvalidNotebook(one_line(str(error))[:100]) from error
    if not isinstance(document, dict):
        raise InvalidNotebook("not a notebook")
    return document


def _cells(document: Mapping[str, object]) -> Iterator[Cell]:
    listed = document.get("cells")
    if not isinstance(listed, list):
        # Format 3 kept cells in worksheets and called their text "input".
        sheets = document.get("worksheets")
        first = sheets[0] if isinstance(sheets, list) and sheets else None
        listed = first.get("cells") if isinstance(first, dict) else None
    if not isinstance(listed, list):
        raise InvalidNotebook("no cells")
    for number, cell in enumerate(listed, start=1):
        if not isinstance(cell, dict):
            continue
        kind = str(cell.get("cell_type"))
        source = _source(cell.get("source", cell.get("input")))
        if kind == "heading":
            level = cell.get("level")
            marks = "#" * min(max(level, 1), 6) if isinstance(level, int) else "#"
            kind, source = "markdown", f"{marks} {source}"
        if kind in ("code", "markdown") and source.strip():
            yield Cell(number, kind, source)


def _source(value: object) -> str:
    parts = value if isinstance(value, list) else [value]
    text = "".join(part for part in parts if isinstance(part, str))
    return text.encode("utf-8", "replace").decode()


def _kernel_language(document: Mapping[str, object]) -> str:
    """The parser for the kernel's language; Python when the notebook names no kernel."""
    metadata = document.get("metadata")
    for section, key in _KERNEL_NAMES:
        described = metadata.get(section) if isinstance(metadata, dict) else None
        name = described.get(key) if isinstance(described, dict) else None
        if isinstance(name, str) and name:
            return _KERNEL_LANGUAGES.get(name.lower().rstrip("0123456789."), "notebook")
    return "python"
