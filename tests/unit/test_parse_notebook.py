"""Notebooks: cells, magics, kernels; outputs stay out."""

from __future__ import annotations

import json

import pytest

from plumbline.index.parsing.files import parse_file
from plumbline.index.parsing.notebook import without_magics


def notebook(*cells: tuple[str, object], **metadata: object) -> bytes:
    listed = [
        {"cell_type": kind, "source": source, "outputs": [{"data": "SECRET" * 9}], "metadata": {}}
        for kind, source in cells
    ]
    return json.dumps({"cells": listed, "metadata": metadata, "nbformat": 4}).encode()


PYTHON = {"kernelspec": {"name": "python3", "language": "python"}}


def test_code_and_sections_with_their_cell() -> None:
    data = notebook(
        ("markdown", ["# Study\n", "What it is. More.\n"]),
        (
            "code",
            "%matplotlib inline|!ls|df?|x = !ls|def load(a: int):|    %time a|    return a".replace(
                "|", "\n"
            ),
        ),
        ("markdown", "## Method\nHow."),
        ("raw", "def not_code(): pass"),
        ("code", "%%bash\ndef() { :; }"),
        ("code", "%%time\nclass K:\n    def m(self): pass"),
        ("markdown", "Afterword."),
        **PYTHON,
    )
    parsed = parse_file("study.ipynb", data)
    assert (parsed.language, parsed.skipped) == ("python", None)
    found = [
        (e.entity_type, e.qualified_name, e.extra["cell"], e.line_start, e.line_end)
        for e in parsed.entities
    ]
    assert found == [
        ("doc_section", "Study", 1, 1, 2),
        ("function", "load", 2, 5, 7),
        ("doc_section", "Study > Method", 3, 1, 2),
        ("class", "K", 6, 2, 3),
        ("function", "K.m", 6, 3, 3),
        ("doc_section", "Study > Method", 7, 1, 1),
    ]
    after = parsed.entities[-1]
    assert after.name == "Method"
    assert after.extra == {
        "title": "study",
        "heading_path": ["Study", "Method"],
        "cell": 7,
        "language": "markdown",
    }
    assert "SECRET" not in repr(parsed.entities)


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("%time f()", "pass"),
        ("  !pip install x", "  pass"),
        ("df??", "pass"),
        ("df.head?", "pass"),
        ("?df", "pass"),
        ("out = %sql SELECT 1", "out = None"),
        ("out, err = !ls", "out, err = None"),
        ("a = b % c", "a = b % c"),
        ("print('50%?')", "print('50%?')"),
        ("a != b", "a != b"),
        ("%%timeit\nf()", "pass\nf()"),
        ("%%html\n<p>", None),
        ("%%writefile a.py\ndef f(): pass", None),
    ],
)
def test_magics(source: str, python: str | None) -> None:
    assert without_magics(source) == python


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({}, "python"),
        ({"kernelspec": {"name": "python3"}}, "python"),
        ({"language_info": {"name": "python"}}, "python"),
        ({"kernelspec": {"name": "x", "language": "R"}}, "notebook"),
        ({"kernelspec": {"name": "ir"}}, "notebook"),
        ({"kernelspec": "nonsense"}, "python"),
    ],
)
def test_kernels(metadata: dict[str, object], language: str) -> None:
    parsed = parse_file("a.ipynb", notebook(("code", "def f(): pass"), **metadata))
    assert parsed.language == language
    assert [e.name for e in parsed.entities] == (["f"] if language == "python" else [])


def test_another_kernel_is_read_with_its_grammar() -> None:
    data = notebook(
        ("code", "function f() {}"), ("markdown", "# A"), kernelspec={"language": "JavaScript"}
    )
    parsed = parse_file("a.ipynb", data)
    assert parsed.language == "javascript"
    assert [e.name for e in parsed.entities] == ["f", "A"]


def test_a_broken_cell_costs_little() -> None:
    data = notebook(("code", "def f(): pass"), ("code", "print 'x'\ndef g(): pass"), **PYTHON)
    parsed = parse_file("a.ipynb", data)
    assert [e.name for e in parsed.entities] == ["f", "g"]
    assert parsed.skipped is not None
    assert parsed.skipped.startswith("syntax error: ")
    assert parsed.skipped.endswith(" in cell 2")


def test_format_3() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Title"]},
        {"cell_type": "code", "input": ["def f(): pass"]},
    ]
    parsed = parse_file("a.ipynb", json.dumps({"worksheets": [{"cells": cells}]}).encode())
    assert [e.name for e in parsed.entities] == ["Title", "f"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "syntax error: Expecting value (line 1)"),
        (b'{"cells": [\n', "syntax error: Expecting value (line 2)"),
        (b"[]", "syntax error: not a notebook"),
        (b"{}", "syntax error: no cells"),
        (b'{"cells": 1}', "syntax error: no cells"),
        (b"[" * 200_000, "syntax error: maximum recursion depth exceeded"),
        (b"<<<<<<< HEAD\n{}", "syntax error: Expecting value (line 1)"),
    ],
)
def test_what_is_no_notebook(data: bytes, reason: str) -> None:
    parsed = parse_file("a.ipynb", data)
    assert parsed.entities == ()
    assert parsed.skipped is not None
    assert parsed.skipped.startswith(reason)


@pytest.mark.parametrize(
    "cell",
    [
        None,
        1,
        {},
        {"cell_type": 1},
        {"cell_type": "code"},
        {"cell_type": "code", "source": 1},
        {"cell_type": "code", "source": [1, None, {}]},
        {"cell_type": "heading", "level": "x", "source": "a"},
        {"cell_type": "markdown", "source": "\ud800"},
    ],
)
def test_odd_cells_cost_only_themselves(cell: object) -> None:
    good = {"cell_type": "code", "source": "def f(): pass"}
    parsed = parse_file("a.ipynb", json.dumps({"cells": [cell, good]}).encode())
    assert "f" in [entity.name for entity in parsed.entities]
    assert all(entity.name.encode() for entity in parsed.entities)
