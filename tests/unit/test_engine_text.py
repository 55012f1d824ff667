"""Words of a text, plurals, highlights and snippets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devstack.engine.engine import Engine
from devstack.engine.english import inflections
from devstack.engine.tokens import camel_parts, split, words_of


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("getUserById", ["get", "User", "By", "Id"]),
        ("TestShallowWithState", ["Test", "Shallow", "With", "State"]),
        ("HTTPServer", ["HTTP", "Server"]),
        ("parseHTML5", ["parse", "HTML5"]),
        ("sha256Sum", ["sha256", "Sum"]),
        ("plain", ["plain"]),
        ("CONSTANT", ["CONSTANT"]),
        ("été", ["été"]),
    ],
)
def test_camel_parts(word: str, parts: list[str]) -> None:
    assert camel_parts(word) == parts


def test_words_split_at_everything_but_letters_and_digits() -> None:
    assert words_of("refresh_token(session, x2) -> str:") == [
        "refresh",
        "token",
        "session",
        "x2",
        "str",
    ]
    assert words_of("Déjà-vu ÉTÉ") == ["deja", "vu", "ete"]


def test_a_compound_stands_at_its_first_part() -> None:
    words = list(split("a getUser", camel_case=True))
    assert [(word.text, word.position, word.compound) for word in words] == [
        ("a", 0, False),
        ("getuser", 1, True),
        ("get", 1, False),
        ("user", 2, False),
    ]


@given(st.text(max_size=80), st.booleans())
def test_spans_are_ordered_and_inside(text: str, camel_case: bool) -> None:
    words = [word for word in split(text, camel_case=camel_case) if not word.compound]
    assert [word.position for word in words] == list(range(len(words)))
    assert all(0 <= word.start < word.end <= len(text) for word in words)
    assert all(a.end <= b.start for a, b in pairwise(words))
    if not camel_case:
        assert [word.text for word in words] == words_of(text)


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("parser", "parsers"),
        ("parsers", "parser"),
        ("query", "queries"),
        ("queries", "query"),
        ("box", "boxes"),
        ("boxes", "box"),
        ("class", "classes"),
        ("classes", "class"),
        ("children", "child"),
        ("index", "indices"),
        ("key", "keys"),
        ("cache", "caches"),
    ],
)
def test_inflections(word: str, form: str) -> None:
    assert form in inflections(word)


@pytest.mark.parametrize("word", ["is", "x", "sha256", "über1"])
def test_what_has_no_plural(word: str) -> None:
    assert inflections(word) == set()


def engine_of(record: dict[str, Any], **settings: object) -> Engine:
    engine = Engine()
    engine.set_settings("i", settings)
    engine.batch("i", [{"action": "addObject", "body": {"objectID": "1", **record}}])
    return engine


def hit(engine: Engine, query: str, **parameters: object) -> dict[str, Any]:
    (found,) = engine.search("i", {"query": query, **parameters})["hits"]
    assert isinstance(found, dict)
    return found


def test_highlights_mark_words_prefixes_typos_and_splits() -> None:
    engine = engine_of(
        {"name": "getUserById", "text": "Parses a <b>query</b>.", "n": 7, "list": ["query", "x"]},
        searchableAttributes=["name", "text", "n", "list"],
        camelCaseAttributes=["name"],
    )
    marks = {"highlightPreTag": "[", "highlightPostTag": "]"}
    found = hit(engine, "parses qu", **marks)["_highlightResult"]
    assert found["text"] == {
        "value": "[Parses] a <b>[qu]ery</b>.",
        "matchLevel": "full",
        "matchedWords": ["parses", "qu"],
        "fullyHighlighted": False,
    }
    assert found["list"][0]["matchLevel"] == "partial"
    assert found["list"][1] == {"value": "x", "matchLevel": "none", "matchedWords": []}
    assert found["n"] == {"value": "7", "matchLevel": "none", "matchedWords": []}
    assert "objectID" not in found
    name = hit(engine, "ById", **marks)["_highlightResult"]["name"]
    assert name["value"] == "getUser[By][Id]"
    whole = hit(engine, "getUserById", **marks)["_highlightResult"]["name"]
    assert (whole["value"], whole["fullyHighlighted"]) == ("[getUserById]", True)
    typo = hit(engine, "parzes", **marks)["_highlightResult"]["text"]
    assert typo["value"].startswith("[Parses] a")
    only = hit(engine, "query", attributesToHighlight=["list"], **marks)["_highlightResult"]
    assert list(only) == ["list"]
    assert "_highlightResult" not in hit(engine, "query", attributesToHighlight=[])
    cut = hit(engine, "query", restrictHighlightAndSnippetArrays=True)["_highlightResult"]
    assert len(cut["list"]) == 1


def test_snippets_show_the_words_around_the_match() -> None:
    text = " ".join(f"w{n}" for n in range(30)) + " needle " + " ".join("abcdefgh")
    engine = engine_of({"text": text}, searchableAttributes=["text"])
    found = hit(engine, "needle", attributesToSnippet=["text:5"])["_snippetResult"]["text"]
    assert found == {"value": "…w28 w29 <em>needle</em> a b…", "matchLevel": "full"}
    start = hit(engine, "w0 w1", attributesToSnippet=["*:3"], snippetEllipsisText="...")
    assert start["_snippetResult"]["text"]["value"] == "<em>w0</em> <em>w1</em> w2..."
    default = hit(engine, "", attributesToSnippet=["text"])["_snippetResult"]["text"]
    assert default == {"value": "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9…", "matchLevel": "none"}


def test_retrieved_attributes() -> None:
    engine = engine_of({"a": 1, "b": {"c": 2}, "d": 3}, unretrievableAttributes=["d"])
    quiet: dict[str, object] = {"attributesToHighlight": []}
    assert hit(engine, "", **quiet) == {"objectID": "1", "a": 1, "b": {"c": 2}}
    assert hit(engine, "", attributesToRetrieve=["a"], **quiet) == {"objectID": "1", "a": 1}
    assert hit(engine, "", attributesToRetrieve=["b.c"], **quiet) == {
        "objectID": "1",
        "b": {"c": 2},
    }
    assert hit(engine, "", attributesToRetrieve=["*", "-a"], **quiet) == {
        "objectID": "1",
        "b": {"c": 2},
    }
    assert hit(engine, "", attributesToRetrieve=[], **quiet) == {"objectID": "1"}
