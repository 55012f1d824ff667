"""Files that a repository marks for GitHub's Linguist as generated or vendored."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.index.git_attributes import GitAttributes
from tests.index_world import World, python_files


def reason(rules: str, path: str, *, at: str = ".gitattributes") -> str | None:
    attributes = GitAttributes()
    attributes.add(at, rules.encode())
    return attributes.reason(path)


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("*.gen.go linguist-generated", "a/b/x.gen.go", "generated"),
        ("*.gen.go linguist-generated=true", "x.gen.go", "generated"),
        ("*.gen.go linguist-generated", "x.go", None),
        ("*.gen.go text eol=lf linguist-generated -diff\r", "x.gen.go", "generated"),
        ("lib/** linguist-vendored", "lib/a/b.js", "vendored"),
        ("lib/* linguist-vendored", "lib/a/b.js", None),
        ("lib/* linguist-vendored", "lib/b.js", "vendored"),
        ("/lib/b.js linguist-vendored", "lib/b.js", "vendored"),
        ("/b.js linguist-vendored", "lib/b.js", None),
        ("b.js linguist-vendored", "lib/b.js", "vendored"),
        ("**/gen/*.py linguist-generated", "gen/a.py", "generated"),
        ("**/gen/*.py linguist-generated", "x/y/gen/a.py", "generated"),
        ("a/**/z.py linguist-generated", "a/z.py", "generated"),
        ("a/**/z.py linguist-generated", "a/b/c/z.py", "generated"),
        ("a/**/z.py linguist-generated", "b/a/z.py", None),
        ("* linguist-generated\nsrc/** -linguist-generated", "src/a.py", None),
        ("* linguist-generated\nsrc/** linguist-generated=false", "src/a.py", None),
        ("* linguist-generated\nsrc/** !linguist-generated", "src/a.py", None),
        ("src/** -linguist-generated\n* linguist-generated", "src/a.py", "generated"),
        ('"a b.py" linguist-generated', "a b.py", "generated"),
        ("[ab].py linguist-generated", "b.py", "generated"),
        ("# *.py linguist-generated", "a.py", None),
        ("[attr]made linguist-generated", "a.py", None),
        ("*.py linguist-documentation", "a.py", None),
        ("*.py\tlinguist-vendored", "a.py", "vendored"),
        ("linguist-generated", "a.py", None),
        ("", "a.py", None),
    ],
)
def test_rules(rules: str, path: str, expected: str | None) -> None:
    assert reason(rules, path) == expected


def test_a_folders_own_rules_hold_in_it_alone_and_win() -> None:
    attributes = GitAttributes()
    attributes.add("app/.gitattributes", b"*.py -linguist-generated\nx/*.js linguist-vendored")
    attributes.add(".gitattributes", b"*.py linguist-generated")
    assert attributes.reason("app/a.py") is None
    assert attributes.reason("a.py") == "generated"
    assert attributes.reason("app/x/a.js") == "vendored"
    assert attributes.reason("x/a.js") is None


def test_hostile_rules_take_no_time() -> None:
    attributes = GitAttributes()
    stars = "*a" * 60 + "b"
    attributes.add(".gitattributes", (f"{'**/' * 60}{stars} linguist-generated\n" * 9000).encode())
    begun = time.process_time()
    assert attributes.reason("/".join(["a" * 90] * 10)) is None
    assert time.process_time() - begun < 2


@given(st.binary(max_size=300), st.text(max_size=60))
def test_no_text_is_too_odd(rules: bytes, path: str) -> None:
    attributes = GitAttributes()
    attributes.add(".gitattributes", b"* linguist-generated\n" + rules)
    assert attributes.reason(path) in (None, "generated", "vendored")


def test_a_run_skips_what_is_marked_and_keeps_its_text() -> None:
    world = World()
    files: dict[str, str | bytes] = {
        ".gitattributes": "src/made.py linguist-generated\n/lib/** linguist-vendored\n",
        **python_files(["alpha", "made"]),
        "lib/other.py": "def other(): ...\n",
    }
    summary = world.handle(world.upload(files)).summary
    assert summary is not None
    assert world.index.names() == {"alpha"}
    assert summary.listed == [
        ".gitattributes: unsupported file type",
        "src/made.py: generated",
        "lib/other.py: vendored",
    ]
