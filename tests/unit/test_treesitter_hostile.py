"""Text that is out to hang, crash or blow up the parsers."""

from __future__ import annotations

import random
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.index.entities import Entity, ParseTimeout
from plumbline.index.parsing.grammars import GRAMMARS
from plumbline.index.parsing.nesting import MAX_ANGLES, MAX_DEPTH, nested_too_deep
from plumbline.index.parsing.treesitter import parse_source

GOLDEN = Path(__file__).parent / "golden"
BUDGET = 0.1
SLACK = 3.0


def parsed_in_time(language: str, source: bytes) -> list[Entity] | None:
    """The entities, None when the budget ran out; fails when it was passed by far."""
    started = time.monotonic()
    try:
        return parse_source(language, source, deadline=started + BUDGET)
    except ParseTimeout:
        return None
    finally:
        assert time.monotonic() - started < BUDGET + SLACK


@pytest.mark.parametrize("language", GRAMMARS)
@pytest.mark.parametrize(
    "source",
    [
        b"(" * 200_000,
        b"[" * 100_000,
        b"{" * 100_000,
        b"([{" * 60_000,
        b")" * 50_000 + b"(" * 50_000,
        b"a<" * 50_000,
        b"a.b" * 100_000,
        b"class AAA a<" * 900,
        b"class AAA (" * 4000,
        b"for ((" * 800 + b"\n",
        (b".a" * 2990 + b";") * 80,
        b"A" * 300_000,
        b"\0" * 50_000,
        random.Random(7).randbytes(100_000),
    ],
    ids=[
        "round",
        "square",
        "curly",
        "mixed",
        "after",
        "angle",
        "chain",
        "class",
        "macro",
        "loop",
        "links",
        "capitals",
        "nul",
        "random",
    ],
)
def test_stays_within_its_budget(language: str, source: bytes) -> None:
    parsed_in_time(language, source)


@pytest.mark.parametrize("language", ["javascript", "go", "terraform", "c"])
def test_a_line_of_two_megabytes_is_given_up_in_time(language: str) -> None:
    assert parsed_in_time(language, b"x = [" + b"1," * 1_000_000 + b"1]") is None


def test_the_budget_is_not_spent_on_what_was_over_before() -> None:
    with pytest.raises(ParseTimeout):
        parse_source("go", b"package a\n" + b"var b = c\n" * 200_000, deadline=time.monotonic())


def test_deeply_nested_functions_keep_their_names_short() -> None:
    source = "".join(f"function f{i}() {{" for i in range(4000)).encode() + b"}" * 4000
    found = parse_source("javascript", source, deadline=time.monotonic() + 20)
    assert len(found) == 4000
    assert max(len(entity.qualified_name) for entity in found) <= 500


@pytest.mark.parametrize(
    ("source", "deep"),
    [
        (b"(" * MAX_DEPTH + b")" * MAX_DEPTH, False),
        (b"(" * (MAX_DEPTH + 1), True),
        (b"()" * 100_000, False),
        (b"({" * 2000 + b"})" * 2000, False),
        (b"a < b;" * 10_000, False),
        (b"<p></p>" * 10_000, False),
        (b"a<" * (MAX_ANGLES + 1), True),
        (b"x.y();\n" * 10_000, False),
        (b"x" + b".y" * 4000, True),
    ],
)
def test_measures_nesting(source: bytes, deep: bool) -> None:
    assert nested_too_deep(source) is deep


def test_a_large_file_is_read_in_slices_without_a_seam() -> None:
    function = b"/** Does %d. */\nexport class C%d { m%d(a) { const f = () => { return 1 } } }\n"
    source = b"".join(function % (i, i, i) for i in range(6000))
    found = parse_source("javascript", source, deadline=time.monotonic() + 30)
    assert len(source) > 3 * 131072
    assert [e.qualified_name for e in found] == [
        name for i in range(6000) for name in (f"C{i}", f"C{i}.m{i}", f"C{i}.m{i}.f")
    ]
    assert all(found[3 * i].doc == f"Does {i}." for i in range(6000))


def test_a_file_is_let_go_of_after_it_was_read() -> None:
    source = b"package a\n" + b"var b = c // " + b"x" * 400_000 + b"\n"
    parse_source("go", source, deadline=time.monotonic() + 5)
    tracemalloc.start()
    try:
        for i in range(20):
            parse_source("go", source + str(i).encode(), deadline=time.monotonic() + 5)
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_threads_have_parsers_of_their_own() -> None:
    source = (GOLDEN / "typescript.ts").read_bytes() * 5
    expected = parse_source("typescript", source, deadline=time.monotonic() + 20)
    results: list[list[Entity]] = []

    def work() -> None:
        for _ in range(5):
            results.append(parse_source("typescript", source, deadline=time.monotonic() + 60))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 20


@st.composite
def mutations(draw: st.DrawFn) -> tuple[str, bytes]:
    """A golden file with pieces cut out, doubled, or overwritten."""
    path = draw(st.sampled_from(sorted(p for p in GOLDEN.iterdir() if p.suffix != ".expected")))
    source = path.read_bytes()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(source)))
        end = draw(st.integers(start, min(len(source), start + 200)))
        piece = draw(st.one_of(st.just(b""), st.binary(max_size=20), st.just(source[:100])))
        source = source[:start] + piece + source[end:]
    return path.stem, source


@given(mutations())
@settings(max_examples=150, deadline=None)
def test_damaged_files_give_entities_with_true_lines(case: tuple[str, bytes]) -> None:
    language, source = case
    lines = source.count(b"\n") + 1
    for entity in parse_source(language, source, deadline=time.monotonic() + 20):
        assert entity.name
        assert 1 <= entity.line_start <= entity.line_end <= lines
        assert len(entity.body) <= 2000
        assert "\n" not in entity.signature
