"""Filter grammar: what the documentation shows, what it refuses, and nothing that crashes."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devstack.engine.errors import BadRequest
from devstack.engine.filters import (
    Filter,
    Leaf,
    parse_facet_filters,
    parse_filters,
    parse_numeric_filters,
    parse_tag_filters,
)

A, B, C = Leaf("a", ":", "1"), Leaf("b", ":", "2"), Leaf("c", ":", "3")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("a:1", ((A,),)),
        ("a:1 AND b:2", ((A,), (B,))),
        ("a:1 AND (b:2 OR c:3)", ((A,), (B, C))),
        ("(a:1 OR b:2) AND c:3", ((A, B), (C,))),
        ("a:1 OR b:2 AND c:3", ((A, B), (C,))),
        ("NOT a:1", ((Leaf("a", ":", "1", negated=True),),)),
        ("a:1 OR NOT b:2", ((A, Leaf("b", ":", "2", negated=True)),)),
        ("price > 12.99", ((Leaf("price", ">", low=12.99),),)),
        ("price:5.99 TO 100", ((Leaf("price", "TO", low=5.99, high=100.0),),)),
        ("repository_id=12", ((Leaf("repository_id", "=", low=12.0),),)),
        ("n!=3 AND n<=-4", ((Leaf("n", "!=", low=3.0),), (Leaf("n", "<=", low=-4.0),))),
        ("_tags:published", ((Leaf("_tags", ":", "published"),),)),
        ("published", ((Leaf("_tags", ":", "published"),),)),
        ('category:"Book OR Film"', ((Leaf("category", ":", "Book OR Film"),),)),
        (r'a:"x\"y\\z"', ((Leaf("a", ":", 'x"y\\z'),),)),
        ('"content:en":"new book"', ((Leaf("content:en", ":", "new book"),),)),
        ("a:1<score=5>", ((Leaf("a", ":", "1", score=5),),)),
        (
            "a:1<score=2> OR b:2<score=3>",
            ((Leaf("a", ":", "1", score=2), Leaf("b", ":", "2", score=3)),),
        ),
    ],
)
def test_what_the_documentation_allows(text: str, expected: object) -> None:
    assert parse_filters(text) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a:1 OR (b:2 AND c:3)", ""),
        ("(a:1 AND (b:2 OR c:3))", "only (X OR Y) AND Z is allowed"),
        ("(a:1 AND b:2) OR c:3", "only (X OR Y) AND Z is allowed"),
        ("NOT (a:1 OR b:2)", "NOT is not allowed"),
        ("a:1 OR b=2", "Different types are not allowed in the same OR"),
        ("a:1 OR published", "Different types"),
        ("a:", "expected a value"),
        ("a:1 AND", "expected a filter"),
        ("AND a:1", "Unexpected token AND"),
        ("a:1 b:2", "Unexpected token b"),
        ("a=x", "expected a number"),
        ("a:1 TO x", "expected a number"),
        ('a:"open', "Unexpected token"),
        ("(a:1", "expected )"),
        (")", "Unexpected token )"),
        ("a:1<score=65536>", "score must be between"),
    ],
)
def test_what_the_documentation_refuses(text: str, complaint: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_filters(text)
    assert complaint in refused.value.message


@given(st.text(alphabet="ab:1<>=!()\"' \\ANDORTscore-", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    groups: Filter = ()
    with suppress(BadRequest):
        groups = parse_filters(text)
    assert all(len({leaf.kind for leaf in group}) == 1 for group in groups)


@given(st.text(min_size=1, max_size=30))
def test_an_escaped_value_stays_one_value(value: str) -> None:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_filters(f'language:"{escaped}"') == ((Leaf("language", ":", value),),)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a:1", "b:2"], ((A,), (B,))),
        ([["a:1", "b:2"], "c:3"], ((A, B), (C,))),
        ("a:1", ((A,),)),
        (["a:-1"], ((Leaf("a", ":", "1", negated=True),),)),
        (["a:\\-1"], ((Leaf("a", ":", "-1"),),)),
        (["url:https://x.org"], ((Leaf("url", ":", "https://x.org"),),)),
        (["a:1<score=7>"], ((Leaf("a", ":", "1", score=7),),)),
    ],
)
def test_facet_filters(value: object, expected: object) -> None:
    assert parse_facet_filters(value) == expected


@pytest.mark.parametrize("value", [7, {"a": 1}, ["a"], [["a:1", ["b:2"]]], [None], [":1"]])
def test_facet_filters_of_another_form_are_refused(value: object) -> None:
    with pytest.raises(BadRequest):
        parse_facet_filters(value)


def test_numeric_and_tag_filters() -> None:
    assert parse_numeric_filters(["price>10", ["n=1", "n=2"]]) == (
        (Leaf("price", ">", low=10.0),),
        (Leaf("n", "=", low=1.0), Leaf("n", "=", low=2.0)),
    )
    assert parse_tag_filters(["x", ["y", "-z"]]) == (
        (Leaf("_tags", ":", "x"),),
        (Leaf("_tags", ":", "y"), Leaf("_tags", ":", "z", negated=True)),
    )
    with pytest.raises(BadRequest):
        parse_numeric_filters(["language:python"])
