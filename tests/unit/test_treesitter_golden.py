"""Every language's hard shapes, compared entity by entity with what a reader should find.

``golden/<language>.<suffix>`` is the source, ``golden/<source's name>.expected`` what it holds, an
entity a line. ``PLUMBLINE_WRITE_GOLDEN=1`` writes the expected files anew, to be read in the diff.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from plumbline.index.entities import Entity
from plumbline.index.parsing.treesitter import parse_source

GOLDEN = Path(__file__).parent / "golden"
SOURCES = sorted(path for path in GOLDEN.iterdir() if path.suffix != ".expected")


def shown(entity: Entity) -> str:
    """The entity on a line: lines, kind and name, signature, parameters, result, description."""
    parts = [
        f"{entity.line_start}-{entity.line_end} {entity.entity_type} {entity.kind_label}: "
        f"{entity.qualified_name}",
        entity.signature,
        "; ".join(entity.parameters),
        entity.return_type or "",
        entity.doc,
    ]
    return " | ".join(parts).rstrip(" |")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_finds_what_the_file_holds(path: Path) -> None:
    source = path.read_bytes()
    found = parse_source(path.stem, source, deadline=time.monotonic() + 20)
    lines = [shown(entity) for entity in found]
    expected = path.with_name(f"{path.name}.expected")
    if os.environ.get("PLUMBLINE_WRITE_GOLDEN"):
        expected.write_text("\n".join(lines) + "\n", "utf-8")
    assert lines == expected.read_text("utf-8").splitlines()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_names_and_bodies_are_of_the_lines(path: Path) -> None:
    lines = path.read_text("utf-8").split("\n")
    for entity in parse_source(path.stem, path.read_bytes(), deadline=time.monotonic() + 20):
        assert 1 <= entity.line_start <= entity.line_end <= len(lines)
        assert entity.qualified_name.endswith(entity.name)
        if entity.body:
            first = entity.body.split("\n", 1)[0]
            assert first in lines[entity.line_start - 1]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_line_ends_and_marks_move_nothing(path: Path) -> None:
    source = path.read_bytes()
    plain = parse_source(path.stem, source, deadline=time.monotonic() + 20)
    crlf = source.replace(b"\n", b"\r\n")
    found = parse_source(path.stem, crlf, deadline=time.monotonic() + 20)
    assert [(e.qualified_name, e.line_start, e.line_end, e.signature, e.doc) for e in found] == [
        (e.qualified_name, e.line_start, e.line_end, e.signature, e.doc) for e in plain
    ]
