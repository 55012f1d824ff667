"""Neural mode: keywords and vectors as one list."""

from __future__ import annotations

from typing import Any

import pytest

from devstack.engine.embedded_text import MAX_CHARS, embedded_text
from devstack.engine.engine import Engine
from devstack.engine.settings import Settings
from tests.engine_world import ids
from tests.neural_world import NEURAL_SETTINGS, ConceptModel, add, neural_engine, record, settle

pytest.importorskip("numpy", reason="neural mode needs the extra `neural`")

WORLD = (
    record(1, "saveImage", "Writes a picture to disk"),
    record(2, "parse_config", "Reads settings from a file", language="go", repository_id=2),
    record(3, "RetryPolicy", "Calls the server again after a failure", repository_id=2),
    record(4, "get_user_by_id", "Looks a member up"),
    record(5, "thumbnail", "Makes a photo smaller", language="go"),
)


def answer(engine: Engine, query: str, **parameters: object) -> dict[str, Any]:
    return engine.search("i", {"query": query, "removeWordsIfNoResults": "none", **parameters})


def test_a_record_without_the_words_is_found_by_their_meaning() -> None:
    engine = neural_engine(*WORLD)
    found = answer(engine, "store a photograph")
    assert found["hits"][0]["objectID"] == "1"
    assert found["nbHits"] == len(WORLD)
    assert answer(engine, "store a photograph", mode="keywordSearch")["nbHits"] == 0


@pytest.mark.parametrize("settings", [{"mode": "keywordSearch"}, {"mode": None}])
def test_without_the_mode_a_model_changes_nothing(settings: dict[str, Any]) -> None:
    model = ConceptModel()
    engine = neural_engine(*WORLD, model=model, **settings)
    found = answer(engine, "store a photograph", getRankingInfo=True)
    assert found["nbHits"] == 0
    assert model.texts == []
    assert model.questions == []


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("saveImage", "1"),
        ("thumbnail", "5"),
        ("thumbnial", "5"),
        ("get_user_by_id", "4"),
        ("RetryPolicy", "3"),
        ("RetryPolcy", "3"),
    ],
)
def test_a_name_is_answered_by_the_keywords_alone(typed: str, first: str) -> None:
    model = ConceptModel()
    engine = neural_engine(*WORLD, model=model)
    by_keywords = ids(engine, typed, mode="keywordSearch")
    assert by_keywords[0] == first
    assert ids(engine, typed) == by_keywords
    assert model.questions == []


def test_a_name_typed_as_words_leads() -> None:
    engine = neural_engine(
        record(1, "UserPhoto", "Of whom it is"),
        record(2, "image", "A picture: a user photo of an account, a photograph of a member"),
        record(3, "UserPhotograph", "Account"),
    )
    assert ids(engine, "account picture")[0] == "2"
    hits = answer(engine, "user photo", getRankingInfo=True)["hits"]
    assert hits[0]["objectID"] == "1"
    assert hits[0]["_rankingInfo"]["neuralScore"] == 1
    assert {hit["objectID"] for hit in hits} == {"1", "2", "3"}


def test_a_name_that_no_record_has_is_answered_by_its_meaning() -> None:
    engine = neural_engine(*WORLD)
    assert ids(engine, "photograph")[:2] == ["5", "1"]


@pytest.mark.parametrize(
    ("restriction", "allowed"),
    [
        ({"filters": "language:go"}, {"2", "5"}),
        ({"filters": "repository_id=2 AND language:python"}, {"3"}),
        ({"facetFilters": [["language:-go"]]}, {"1", "3", "4"}),
        ({"numericFilters": ["repository_id<2"]}, {"1", "4", "5"}),
        ({"filters": "language:rust"}, set()),
    ],
)
def test_filters_hold_for_vectors(restriction: dict[str, Any], allowed: set[str]) -> None:
    engine = neural_engine(*WORLD)
    for _ in range(2):
        found = answer(engine, "store a photograph", **restriction)
        assert {hit["objectID"] for hit in found["hits"]} == allowed
        assert found["nbHits"] == len(allowed)


def test_a_filter_sees_records_that_came_after_its_last_use() -> None:
    engine = neural_engine(*WORLD)
    assert len(ids(engine, "store a photograph", filters="language:go")) == 2
    add(engine, record(6, "keep_picture", language="go"))
    settle(engine)
    assert ids(engine, "store a photograph", filters="language:go")[0] == "6"


def test_facets_count_what_only_vectors_found() -> None:
    engine = neural_engine(*WORLD)
    found = answer(engine, "picture disk", facets=["language"])
    assert found["nbHits"] == len(WORLD)
    assert found["facets"] == {"language": {"python": 3, "go": 2}}


def test_optional_filters_lift_vectors() -> None:
    engine = neural_engine(record(1, "a", "photo"), record(2, "b", "photo", language="go"))
    assert ids(engine, "some picture") == ["1", "2"]
    assert ids(engine, "some picture", optionalFilters=["language:go<score=9>"]) == ["2", "1"]
    assert ids(engine, "some picture", optionalFilters=["language:-python"]) == ["2", "1"]


def test_pages_of_one_search_fit_together() -> None:
    many = [
        record(n, f"helper{n}", "writes the log" if n % 2 else "a picture of it", rank=n)
        for n in range(260)
    ]
    engine = neural_engine(*many)
    seen: list[str] = []
    totals = set()
    for page in range(20):
        found = answer(engine, "writes the photo", optionalWords="writes the photo", page=page)
        seen += [hit["objectID"] for hit in found["hits"]]
        totals.add((found["nbHits"], found["nbPages"]))
    assert len(totals) == 1
    total, pages = totals.pop()
    assert len(seen) == len(set(seen)) == total
    assert pages == -(-total // 20)
    # Every keyword hit, and the hundred nearest vectors.
    assert total == 130 + 100


def test_the_three_scores() -> None:
    engine = neural_engine(*WORLD)
    hits = answer(engine, "picture disk", getRankingInfo=True)["hits"]
    scores = [hit["_rankingInfo"] for hit in hits]
    assert hits[0]["objectID"] == "1"
    assert scores[0]["keywordScore"] == 1
    # A photo made smaller is nearer to "picture disk" than one that is written to a disk.
    assert scores[0]["semanticScore"] < scores[1]["semanticScore"] == 1
    neural = [one["neuralScore"] for one in scores]
    assert neural == sorted(neural, reverse=True)
    assert all(one["keywordScore"] == 0 for one in scores[1:])
    assert [one["neuralScore"] for one in scores] == pytest.approx(
        [(one["keywordScore"] + one["semanticScore"]) / 2 for one in scores], abs=1e-5
    )


def test_distinct_holds_for_the_whole_list() -> None:
    engine = neural_engine(*WORLD, attributeForDistinct="language")
    found = answer(engine, "store a photograph", distinct=True)
    assert [hit["language"] for hit in found["hits"]] == ["python", "go"]
    assert found["nbHits"] == 2


def test_no_words_no_vectors() -> None:
    model = ConceptModel()
    engine = neural_engine(*WORLD, model=model)
    assert answer(engine, "")["nbHits"] == len(WORLD)
    assert answer(engine, "   ")["nbHits"] == len(WORLD)
    assert model.questions == []


def test_the_model_reads_whole_words_once_each() -> None:
    model = ConceptModel()
    engine = neural_engine(*WORLD, model=model)
    query = "pict pict disk disk nowhere"
    answer(engine, query, queryType="prefixAll", optionalWords=query)
    assert model.questions == ["picture disk nowhere"]
    answer(engine, query, queryType="prefixAll", optionalWords=query, page=1)
    assert len(model.questions) == 1
    answer(engine, "Which pict is saved?")
    assert model.questions[1:] == ["Which pict is saved?"]


def test_deletions_take_no_vector_for_a_match() -> None:
    engine = neural_engine(*WORLD)
    engine.delete_by("i", {"query": "store a photograph", "filters": "language:go"})
    assert sorted(ids(engine, "store a photograph")) == ["1", "3", "4"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"entity_name": "getUserById"}, "get user by id"),
        ({"entity_name": "a_b", "description": "x\n   y\t z"}, "a b\nx y z"),
        (
            {"entity_name": "run", "qualified_name": "App.run", "description": "d"},
            "app run\nrun\nd",
        ),
        ({"heading_path": ["Guide", "Setup"], "entity_name": "s"}, "guide setup\ns"),
        ({"entity_name": None, "description": ["one", 2, {"k": "three"}]}, "one 2 three"),
        ({"other": "unsearched"}, ""),
        ({"description": "x" * 999}, "x" * MAX_CHARS),
    ],
)
def test_what_of_a_record_is_embedded(given: dict[str, Any], text: str) -> None:
    settings = Settings.of({k: v for k, v in NEURAL_SETTINGS.items() if k != "mode"})
    assert embedded_text(given, settings) == text
