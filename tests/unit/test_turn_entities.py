"""Facet values: spotted, matched, scored and learned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.turn.boosts import named_entities, optional_filters, score_boosts
from plumbline.turn.entities import Entity, match_values, spot_entities
from plumbline.turn.facets import FacetValues
from plumbline.turn.retrieval import (
    RetrievalOptions,
)
from tests.turn_doubles import INSTANCE, Index, retrieve

KNOWN = {
    "language": ["go", "python", "c", "cpp", "csharp", "rust", "javascript"],
    "product_tag": ["AI Search", "Recommend", "search"],
    "industry_tag": ["retail", "B2B commerce", "media"],
    "customer": ["Under Armour", "a"],
    "feature_tag": ["typo-tolerance", "synonyms"],
}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("How do I use Recommend in Python?", {"Recommend", "python"}),
        ("Does AI search support synonym sets?", {"AI Search", "search", "synonyms"}),
        ("what does under armour do", {"Under Armour"}),
        ("how does typo tolerance rank", {"typo-tolerance"}),
        ("b2b commerce", {"B2B commerce"}),
        ("how do I go on", set()),
        ("an example in go", {"go"}),
        ("an example in Go", {"go"}),
        ("is there a golang client", {"go"}),
        ("Go is what we write", set()),
        ("the Go client", {"go"}),
        ("we go to production", set()),
        ("c++ or C#?", {"cpp", "csharp"}),
        ("JS and TS", {"javascript"}),
        ("a c compiler", set()),
        ("written in C", {"c"}),
        ("my rust bucket", set()),
        ("use rust", {"rust"}),
        ("recommendation", set()),
        ("", set()),
    ],
)
def test_spotted(text: str, values: set[str]) -> None:
    assert {entity.value for entity in spot_entities(text, KNOWN)} == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("retail", ("retail",)),
        ("online fashion retail", ("retail",)),
        ("RETAIL", ("retail",)),
        ("AI Search", ("AI Search", "search")),
        ("retailing", ()),
        ("", ()),
    ],
)
def test_matched(text: str, values: tuple[str, ...]) -> None:
    assert match_values(text, ["retail", "AI Search", "search"]) == values


@given(st.text(max_size=200))
def test_any_text_is_spotted_in(text: str) -> None:
    spot_entities(text, KNOWN)
    match_values(text, KNOWN["product_tag"])


def test_the_question_weighs_more_than_the_profile() -> None:
    named = named_entities("recommend for media", ("synonym",), KNOWN, INSTANCE)
    scores = score_boosts(
        named=named,
        signals={"stack": "Go", "architecture_concepts": ("typo tolerance",), "brand": "nobody"},
        known=KNOWN,
        instance=INSTANCE,
    )
    assert scores == {
        Entity("industry_tag", "media"): 12,
        Entity("product_tag", "Recommend"): 16,
        Entity("feature_tag", "synonyms"): 12,
        Entity("language", "go"): 4,
    }
    assert optional_filters(scores) == [
        ["feature_tag:synonyms<score=12>"],
        ["industry_tag:media<score=12>"],
        ["language:go<score=4>"],
        ["product_tag:Recommend<score=16>"],
    ]


def test_several_values_of_one_attribute_stand_in_one_group_best_first() -> None:
    scores = {Entity("customer", f"c{n}"): n for n in range(1, 9)}
    [group] = optional_filters(scores)
    assert group == [f"customer:c{n}<score={n}>" for n in (8, 7, 6, 5, 4)]


def test_a_value_cannot_change_its_own_score_or_bury() -> None:
    scores = {Entity("customer", "a<score=99>"): 1, Entity("customer", "-b"): 70_000}
    assert optional_filters(scores) == [["customer:\\-b<score=65535>"]]


def test_facets_are_learned_from_the_same_responses() -> None:
    facets = FacetValues()
    retrieve(Index(facets={"language": {"go": 3}, "customer": {}}), RetrievalOptions("q"), facets)
    assert facets.values() == {"language": ("go",)}


def test_a_value_is_kept_60_seconds_and_goes_when_something_newer_is_learned() -> None:
    now = [0.0]
    facets = FacetValues(clock=lambda: now[0])
    assert facets.stale()
    facets.learn([{"facets": {"language": {"go": 1}, "customer": {"Acme": 1}}}])
    now[0] = 60.0
    facets.learn([{"facets": {"language": {"rust": 1}}}])
    assert set(facets.values()["language"]) == {"go", "rust"}
    now[0] = 60.1
    facets.learn([{"facets": {"language": {"rust": 1}}}])
    assert facets.values()["language"] == ("rust",)
    assert facets.values()["customer"] == ("Acme",)
    assert not facets.stale()
    now[0] = 120.2
    assert facets.stale()


def test_facets_are_bounded() -> None:
    facets = FacetValues()
    facets.learn([{"facets": {"customer": {f"c{n}": 1 for n in range(5_000)}}}])
    facets.learn([{"facets": {"customer": {"x" * 500: 1}}}])
    assert len(facets.values()["customer"]) == 2_000
