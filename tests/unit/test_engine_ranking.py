"""The criteria one by one, by the documentation's own examples and by those of seed 002."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine_world import CODE_SETTINGS, engine_of, ids, info, texts

# Algolia, "Prefix searching": the table of its page.
SENTENCES = (
    "Let’s play Jenga tomorrow.",
    "Check out the fighter jets flying over my town!",
    "Beef jerky is a great source of protein.",
    "Jack and Jill went up the hill.",
    "Jacqueline bought me a jet black iPhone.",
)


@pytest.mark.parametrize(
    ("query", "last", "every", "none"),
    [
        ("j", "12345", "12345", ""),
        ("je b", "", "35", ""),
        ("jet b", "5", "5", ""),
        ("jet black", "5", "5", "5"),
    ],
)
def test_prefixes(query: str, last: str, every: str, none: str) -> None:
    engine = texts(*SENTENCES)
    assert sorted(ids(engine, query, queryType="prefixLast")) == list(last)
    assert sorted(ids(engine, query, queryType="prefixAll")) == list(every)
    assert sorted(ids(engine, query, queryType="prefixNone")) == list(none)


def test_the_two_examples_of_seed_002() -> None:
    engine = engine_of(
        CODE_SETTINGS,
        {"objectID": "go", "entity_name": "TestShallowWithState", "content": "func"},
        {"objectID": "js", "entity_name": "getUserById", "content": "function"},
    )
    assert ids(engine, "WithState") == ["go"]
    assert [ids(engine, query) for query in ("user", "ById", "getUserById")] == [["js"]] * 3
    assert ids(engine, "get_user_by_id") == ["js"]
    assert ids(engine, "userbyid") == []
    assert ids(engine, "UserById") == ["js"]


def test_a_tie_goes_to_source_before_tests_then_to_classes() -> None:
    def record(name: str, is_test: bool, weight: int) -> dict[str, Any]:
        return {
            "objectID": name,
            "entity_name": "UserService",
            "is_test": is_test,
            "rank_weight": weight,
        }

    engine = engine_of(
        CODE_SETTINGS,
        record("test", True, 3),
        record("import", False, 0),
        record("function", False, 2),
        record("class", False, 3),
    )
    assert ids(engine, "UserService") == ["class", "function", "import", "test"]
    assert ids(engine, "") == ["class", "function", "import", "test"]


def test_typos_by_length_and_first_letter() -> None:
    engine = texts("cat", "parser", "organization")
    assert ids(engine, "cot") == []
    assert info(engine, "parsre")["2"]["nbTypos"] == 1
    assert ids(engine, "prarsre") == []
    assert info(engine, "orgenizatoin")["3"]["nbTypos"] == 2
    assert info(engine, "tarser")["2"]["nbTypos"] == 2
    assert info(engine, "urganization")["3"]["nbTypos"] == 2
    assert info(engine, "urgenization")["3"]["nbTypos"] == 3
    assert ids(engine, "urgenizatoin") == []
    assert ids(engine, "parsre", typoTolerance=False) == []
    assert ids(engine, "parsre", minWordSizefor1Typo=7) == []


def test_fewer_typos_come_first_and_min_and_strict_cut() -> None:
    engine = texts("statistical", "statistic", "statistics", "statictixs")
    whole = {"queryType": "prefixNone"}
    found = info(engine, "statistics", **whole)
    assert list(found) == ["3", "2", "1", "4"]
    assert [one["nbTypos"] for one in found.values()] == [0, 1, 2, 2]
    assert ids(engine, "statistics", typoTolerance="min", **whole) == ["3"]
    assert ids(engine, "statistics", typoTolerance="strict", **whole) == ["3", "2"]


# Algolia, "Splitting and concatenation".
def test_splitting_and_concatenation() -> None:
    engine = texts("Katherine Johnson", "James Earl Jones", "dataframe")
    assert ids(engine, "katherinejohnson") == ["1"]
    assert ids(engine, "jamesearljones") == []
    assert ids(engine, "data frame") == ["3"]
    assert ids(engine, "katherinejohnson", typoTolerance=False) == []


def test_all_words_must_match_unless_they_are_optional() -> None:
    engine = texts("phone case", "phone", "case")
    assert ids(engine, "phone case") == ["1"]
    assert ids(engine, "phone case", optionalWords=["case"]) == ["1", "2"]
    assert ids(engine, "phone case", optionalWords=["phone case"]) == ["1", "2", "3"]
    words = info(engine, "phone case", optionalWords="phone case")
    assert [words[one]["words"] for one in "123"] == [2, 1, 1]


@pytest.mark.parametrize(
    ("form", "query", "expected"),
    [
        ("none", "red green blue", []),
        ("lastWords", "red green blue", ["1"]),
        ("firstWords", "blue green red", ["1"]),
        ("lastWords", "blue red green", []),
        ("allOptional", "blue red green", ["1", "2"]),
        ("firstWords", "a b c d e f g h red", []),
    ],
)
def test_words_are_removed_when_nothing_matches(form: str, query: str, expected: list[str]) -> None:
    engine = texts("red green", "red")
    assert ids(engine, query, removeWordsIfNoResults=form) == expected


def test_stop_words_and_plurals() -> None:
    engine = texts("record", "what is a record", "children", "parser")
    english = {"removeStopWords": True, "queryLanguages": ["en"]}
    assert sorted(ids(engine, "what is a record", **english)) == ["1", "2"]
    assert ids(engine, "what is a record", removeStopWords=False) == ["2"]
    assert ids(engine, "what is a record", removeStopWords=["fr"]) == ["2"]
    # A stop word that is still being typed stays, and a query of stop words alone too.
    assert ids(engine, "record wha", **english) == ["2"]
    assert ids(engine, "what is", **english) == ["2"]
    assert ids(engine, "parsers", typoTolerance=False) == []
    assert ids(engine, "parsers", ignorePlurals=True, typoTolerance=False) == ["4"]
    assert ids(engine, "child x", ignorePlurals=["en"], optionalWords="x") == ["3"]
    assert info(engine, "parsers", ignorePlurals=True)["4"]["nbExactWords"] == 1


def test_optional_filters_rank_and_never_remove() -> None:
    engine = engine_of(
        {"attributesForFaceting": ["brand", "kind"]},
        {"objectID": "1", "t": "x", "brand": "Apple", "kind": "phone"},
        {"objectID": "2", "t": "x", "brand": "Google", "kind": "phone"},
        {"objectID": "3", "t": "x", "brand": "Other", "kind": "tablet"},
        {"objectID": "4", "t": "x"},
    )

    def scores(filters: object, **more: object) -> dict[str, int]:
        found = info(engine, "x", optionalFilters=filters, **more)
        return {one: found[one]["filters"] for one in sorted(found)}

    assert scores(["brand:Apple<score=3>", "kind:phone<score=2>"]) == {
        "1": 5,
        "2": 2,
        "3": 0,
        "4": 0,
    }
    group = [["brand:Apple<score=3>", "kind:phone<score=2>"]]
    assert scores(group) == {"1": 3, "2": 2, "3": 0, "4": 0}
    assert scores(group, sumOrFiltersScores=True) == {"1": 5, "2": 2, "3": 0, "4": 0}
    assert ids(engine, "x", optionalFilters=["brand:-Apple"])[-1] == "1"
    assert ids(engine, "x", optionalFilters=["brand:google"])[0] == "2"
    assert ids(engine, "", optionalFilters=["brand:Other"])[0] == "3"


def test_filters_rank_below_typos_and_words_and_above_proximity() -> None:
    engine = engine_of(
        {"searchableAttributes": ["t"], "attributesForFaceting": ["k"]},
        {"objectID": "typo", "t": "parsre tool", "k": "boosted"},
        {"objectID": "far", "t": "parser of the big tool", "k": "boosted"},
        {"objectID": "near", "t": "parser tool", "k": "plain"},
    )
    assert ids(engine, "parser tool") == ["near", "far", "typo"]
    assert ids(engine, "parser tool", optionalFilters=["k:boosted"]) == ["far", "near", "typo"]


def test_proximity_then_attribute_then_exact() -> None:
    engine = engine_of(
        {"searchableAttributes": ["title", "body"]},
        {"objectID": "apart", "title": "dog and some more food", "body": ""},
        {"objectID": "body", "title": "x", "body": "dog food"},
        {"objectID": "title", "title": "dog food", "body": ""},
        {"objectID": "late", "title": "the dog food", "body": ""},
        {"objectID": "turned", "title": "food dog", "body": ""},
        {"objectID": "prefix", "title": "dog foods", "body": ""},
    )
    assert ids(engine, "dog food") == ["title", "prefix", "late", "body", "turned", "apart"]
    found = info(engine, "dog food")
    assert [found[one]["proximityDistance"] for one in ("title", "turned", "apart")] == [1, 2, 4]
    assert found["late"]["firstMatchedWord"] == 1
    assert found["body"]["firstMatchedWord"] == 1000
    assert [found[one]["nbExactWords"] for one in ("title", "prefix")] == [2, 1]
    wide = info(engine, "dog food", minProximity=7)
    assert {found["proximityDistance"] for found in wide.values()} == {7}


def test_first_matched_word_counts_from_nought() -> None:
    engine = engine_of(
        {"searchableAttributes": ["a", "b", "c", "unordered(d)"]},
        {"objectID": "1", "a": "x", "b": "x", "c": "one word", "d": "so many words"},
    )
    assert info(engine, "word")["1"]["firstMatchedWord"] == 2001
    assert info(engine, "many")["1"]["firstMatchedWord"] == 3000


def test_the_attribute_criterion_may_sum() -> None:
    engine = engine_of(
        {"searchableAttributes": ["name", "body"]},
        {"objectID": "one", "name": "alpha", "body": "x x x x x x beta"},
        {"objectID": "both", "name": "x y beta alpha", "body": ""},
    )
    query = {"minProximity": 7, "queryType": "prefixNone"}
    assert ids(engine, "alpha beta", **query)[0] == "both"
    assert ids(engine, "alpha beta", attributeCriteriaComputedBy="sum", **query)[0] == "both"
    found = info(engine, "alpha beta", attributeCriteriaComputedBy="sum", **query)
    assert (found["both"]["firstMatchedWord"], found["one"]["firstMatchedWord"]) == (5, 1006)


@pytest.mark.parametrize(
    ("rule", "whole", "part"), [("attribute", 1, 0), ("none", 0, 0), ("word", 1, 1)]
)
def test_exact_on_a_single_word(rule: str, whole: int, part: int) -> None:
    engine = engine_of(
        {"searchableAttributes": ["name"], "camelCaseAttributes": ["name"]},
        {"objectID": "whole", "name": "state"},
        {"objectID": "part", "name": "getState"},
        {"objectID": "list", "name": ["other words", "state"]},
    )
    found = info(engine, "state", exactOnSingleWordQuery=rule)
    assert [found[one]["nbExactWords"] for one in ("whole", "list", "part")] == [whole, whole, part]
    compound = info(engine, "getstate", exactOnSingleWordQuery=rule)
    assert compound["part"]["nbExactWords"] == whole


def test_the_ranking_may_be_reordered_and_sorted_by_an_attribute() -> None:
    settings = {"searchableAttributes": ["t"], "ranking": ["desc(date)", "typo", "words"]}
    engine = engine_of(
        settings,
        {"objectID": "old", "t": "word", "date": 1},
        {"objectID": "new", "t": "wrod", "date": 9},
        {"objectID": "undated", "t": "word"},
    )
    assert ids(engine, "word") == ["new", "old", "undated"]
