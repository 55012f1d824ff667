"""Retrieval: the ladder, the one request, boosts and pricing in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import SearchUnavailable
from plumbline.turn.ladder import cut_query
from plumbline.turn.retrieval import (
    RetrievalOptions,
    inject_pricing_if_needed,
    seat_plain_hits,
)
from tests.turn_doubles import INSTANCE, Index, hit, learned, retrieve


def test_one_request_with_the_parameters_of_seed_002() -> None:
    index = Index([hit(1)])
    result = retrieve(index, RetrievalOptions("where is the store created"))
    [(requests, strategy)] = index.calls
    assert strategy == "stopIfEnoughMatches"
    assert result.searches == 1
    for request in requests:
        assert request["removeStopWords"] is True
        assert request["ignorePlurals"] is True
        assert request["queryLanguages"] == ["en"]
        assert request["clickAnalytics"] is True
        assert request["attributesToHighlight"] == []
        assert request["filters"] == 'NOT entity_type:"import"'
        assert request["analyticsTags"] == ["persona:maverick"]


def test_words_are_optional_on_the_last_rung_only() -> None:
    index = Index()
    retrieve(index, RetrievalOptions("reset_session store", filters={"source_type": ["docs"]}))
    first, second, last = index.requests
    for request in (first, second):
        assert "optionalWords" not in request
        assert request["removeWordsIfNoResults"] == "none"
        assert request["query"] == "reset_session store"
    assert last["removeWordsIfNoResults"] == "allOptional"
    assert last["optionalWords"]
    assert set(last["query"].split()) <= {"reset_session", "store"}


def test_the_whole_question_goes_first_and_its_telling_words_last() -> None:
    question = "How do I reset the session?"
    index = Index()
    result = retrieve(index, RetrievalOptions(question))
    relaxed, fallback = index.requests
    assert relaxed["query"] == result.searched == question
    words = set(fallback["query"].split())
    assert len(words) == 2
    assert all("reset".startswith(word) or "session".startswith(word) for word in words)
    assert set(fallback["optionalWords"]) == words


def test_the_rungs_hold_what_they_should() -> None:
    index = Index()
    retrieve(
        index,
        RetrievalOptions(
            "and for Go?",
            search_query="How is a session reset in Go?",
            keyword_query="session reset",
            filters={"product_tag": ["a", "b"], "source_type": ["docs"], "colour": ["red"]},
            repository=12,
            language="go",
            source_type_filters=("code",),
        ),
    )
    reader = (
        'repository_id=12 AND language:"go" AND NOT entity_type:"import" AND source_type:"code"'
    )
    filtered, relaxed, fallback, nearest = index.requests
    assert filtered["query"] == relaxed["query"] == "How is a session reset in Go?"
    assert (
        filtered["filters"]
        == f'{reader} AND source_type:"docs" AND (product_tag:"a" OR product_tag:"b")'
    )
    assert relaxed["filters"] == fallback["filters"] == reader
    assert "session reset" in fallback["query"]
    assert nearest["filters"] == 'NOT entity_type:"import"'


def test_the_readers_language_comes_before_the_extractors() -> None:
    index = Index()
    options = RetrievalOptions("q", language="go", filters={"language": ["rust"]})
    retrieve(index, options)
    assert not any("rust" in request["filters"] for request in index.requests)


@pytest.mark.parametrize(
    "value", ['x" OR entity_type:"import', 'a\\" OR language:"b', "\\", '"', 'x") OR (a:"b']
)
def test_a_value_cannot_leave_its_quotes(value: str) -> None:
    index = Index()
    retrieve(index, RetrievalOptions("q", language=value, filters={"customer": [value]}))
    for request in index.requests:
        text = request["filters"].replace("\\\\", "").replace('\\"', "")
        outside = "".join(text.split('"')[::2])
        assert text.count('"') % 2 == 0
        assert " OR " not in outside


def test_hits_are_merged_by_id_in_rung_order() -> None:
    index = Index([hit(1), hit(2)], [hit(2), hit(3)], [hit(3), hit(1), hit(4)])
    result = retrieve(index, RetrievalOptions("q", filters={"source_type": ["docs"]}))
    assert [source.title for source in result.sources] == ["f1", "f2", "f3", "f4"]
    assert [source.n for source in result.sources] == [1, 2, 3, 4]
    assert result.object_ids == ("1", "2", "3", "4")
    assert result.strategy == "filtered"
    assert result.query_id == f"{0:032x}"


@pytest.mark.parametrize(
    ("answers", "strategy"),
    [
        (([hit(1)], [hit(2)], [hit(3)]), "filtered"),
        (([], [hit(2)], [hit(3)]), "relaxed"),
        (([], [], [hit(3)]), "fallback"),
        (([], [], []), "none"),
    ],
)
def test_the_strategy_is_the_rung_of_the_first_source(
    answers: tuple[list[dict[str, Any]], ...], strategy: str
) -> None:
    result = retrieve(Index(*answers), RetrievalOptions("q", filters={"source_type": ["docs"]}))
    assert result.strategy == strategy


def test_a_filled_page_ends_the_ladder() -> None:
    index = Index([hit(n) for n in range(8)], [hit(9)])
    result = retrieve(index, RetrievalOptions("q"))
    assert [source.title for source in result.sources] == [f"f{n}" for n in range(8)]


def test_no_more_than_match_count() -> None:
    index = Index([hit(n) for n in range(2)], [hit(n) for n in range(10, 13)])
    result = retrieve(index, RetrievalOptions("q", match_count=3))
    assert len(result.sources) == 3
    assert {request["hitsPerPage"] for request in index.requests} == {3}


def test_nothing_found_says_what_is_nearest_elsewhere() -> None:
    index = Index([], [], [hit(7), hit(8)])
    result = retrieve(index, RetrievalOptions("how now", language="go"))
    assert result.sources == ()
    assert result.strategy == "none"
    assert [source.title for source in result.nearest] == ["f7", "f8"]
    assert result.searched == "how now"


def test_nearest_is_no_source() -> None:
    index = Index([hit(1)], [], [hit(7)])
    result = retrieve(index, RetrievalOptions("q", language="go"))
    assert [source.title for source in result.sources] == ["f1"]
    assert result.nearest == ()


def test_search_errors_are_the_callers() -> None:
    class Down(Index):
        def multi_query(self, *args: object, **kwargs: object) -> list[dict[str, Any]]:
            raise SearchUnavailable("down")

    with pytest.raises(SearchUnavailable):
        retrieve(Down(), RetrievalOptions("q"))


@pytest.mark.parametrize("answer", [{}, {"hits": None}, {"hits": [None, "x"]}, {"hits": [{}]}])
def test_a_malformed_answer_is_survived(answer: dict[str, Any]) -> None:
    class Odd(Index):
        def multi_query(self, *args: object, **kwargs: object) -> list[dict[str, Any]]:
            return [answer, {"hits": [hit(1)], "facets": {"language": ["go"]}, "queryID": 3}]

    result = retrieve(Odd(), RetrievalOptions("q"))
    assert "f1" in [source.title for source in result.sources]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("short  words\n", "short words"),
        ("a" * 512, "a" * 512),
        ("a" * 512 + " b", "a" * 512),
        ("a" * 600, "a" * 512),
        ("word " * 200, ("word " * 102).strip()),
        ("é" * 300, "é" * 256),
        ("", ""),
    ],
)
def test_a_long_question_is_cut_at_a_word(text: str, cut: str) -> None:
    assert cut_query(text) == cut


@given(st.text(max_size=800))
def test_a_cut_query_fits_and_is_a_prefix(text: str) -> None:
    cut = cut_query(text)
    assert len(cut.encode()) <= 512
    assert " ".join(text.encode("utf-8", "ignore").decode().split()).startswith(cut)


def test_a_question_over_512_bytes_is_sent_cut_and_never_refused() -> None:
    index = Index()
    retrieve(index, RetrievalOptions("wörter " * 300))
    assert all(len(request["query"].encode()) <= 512 for request in index.requests)


def test_boosts_never_enter_the_query_and_hold_on_every_rung_of_the_ladder() -> None:
    index = Index()
    options = RetrievalOptions("how do I start", signals={"industry": "retail"})
    result = retrieve(index, options, learned(industry_tag=["retail"]))
    relaxed, fallback, plain = index.requests
    assert relaxed["query"] == "how do I start"
    assert fallback["query"] == "start"
    for request in (relaxed, fallback):
        assert request["optionalFilters"] == [["industry_tag:retail<score=6>"]]
    assert "optionalFilters" not in plain
    assert result.boosted == ("industry_tag:retail",)


def test_what_the_profile_lifts_leaves_seats_for_what_it_does_not() -> None:
    boosted = [hit(n) for n in range(8)]
    index = Index(boosted, [], [hit(90), hit(1), hit(91)])
    options = RetrievalOptions("how do I start", signals={"industry": "retail"})
    result = retrieve(index, options, learned(industry_tag=["retail"]))
    titles = [source.title for source in result.sources]
    assert titles == ["f0", "f1", "f90", "f2", "f3", "f91", "f4", "f5"]
    assert index.calls[0][1] == "none"


def test_what_the_question_names_needs_no_seats_beside_it() -> None:
    index = Index([hit(n) for n in range(8)])
    facets = learned(industry_tag=["retail", "media"])
    options = RetrievalOptions("search for media", signals={"industry": "retail"})
    result = retrieve(index, options, facets)
    assert index.calls[0][1] == "stopIfEnoughMatches"
    assert result.boosted == ("industry_tag:media",)
    assert len(index.requests) == 2


@pytest.mark.parametrize(
    ("boosted", "plain", "seated"),
    [
        ([1, 2, 3], [], [1, 2, 3]),
        ([], [1, 2], [1, 2]),
        ([1, 2, 3, 4], [1, 2], [1, 2, 3, 4]),
        ([1, 2, 3, 4], [5, 3, 6], [1, 2, 5, 3, 4, 6]),
        ([1], [5, 6, 7], [1, 5, 6, 7]),
        ([], [], []),
    ],
)
def test_seating(boosted: list[int], plain: list[int], seated: list[int]) -> None:
    hits = seat_plain_hits([hit(n) for n in boosted], [hit(n) for n in plain])
    assert [int(each["objectID"]) for each in hits] == seated


def test_a_value_that_the_index_does_not_have_is_not_boosted() -> None:
    index = Index()
    options = RetrievalOptions("q", signals={"industry": "mining"}, entities=("gold",))
    result = retrieve(index, options, learned(industry_tag=["retail"]))
    assert "optionalFilters" not in index.requests[0]
    assert result.boosted == ()


def test_the_readers_own_language_is_not_boosted_too() -> None:
    index = Index()
    retrieve(index, RetrievalOptions("in python", language="python"), learned(language=["python"]))
    assert "optionalFilters" not in index.requests[0]


def test_a_filter_the_index_does_not_know_is_dropped_and_known_ones_are_written_its_way() -> None:
    index = Index()
    options = RetrievalOptions(
        "q", filters={"industry_tag": ["Retail"], "product_tag": ["Toaster"]}
    )
    retrieve(index, options, learned(industry_tag=["retail"], product_tag=["Recommend"]))
    assert index.requests[0]["filters"].endswith('AND industry_tag:"retail"')


@pytest.mark.parametrize("query", ["What does it cost?", "does it work at scale", "Pricing"])
def test_pricing_sources_come_in_the_same_request(query: str) -> None:
    index = Index([hit(n) for n in range(8)], [], [hit(90), hit(3)])
    result = retrieve(index, RetrievalOptions(query))
    [(requests, strategy)] = index.calls
    assert strategy == "none"
    assert requests[2]["filters"] == (
        'NOT entity_type:"import" AND (source_type:"pricing" OR feature_tag:"pricing" '
        'OR product_tag:"pricing")'
    )
    assert [source.title for source in result.sources][:5] == ["f0", "f1", "f2", "f90", "f3"]
    assert len(result.sources) == 9


def test_concepts_of_the_profile_count_too_and_other_questions_ask_for_no_pricing() -> None:
    index = Index()
    retrieve(index, RetrievalOptions("q", signals={"architecture_concepts": ("pricing",)}))
    assert len(index.requests) == 3
    other = Index()
    retrieve(other, RetrievalOptions("what is a facet"))
    assert len(other.requests) == 2


def test_injection_by_seed_000s_name() -> None:
    chunks, priced = [hit(1), hit(2)], [hit(2), hit(9)]
    injected = inject_pricing_if_needed("the price?", (), chunks, priced, instance=INSTANCE)
    assert injected == [hit(1), hit(2), hit(9)]
    assert inject_pricing_if_needed("facets?", (), chunks, priced, instance=INSTANCE) == chunks


@pytest.mark.parametrize(
    ("question", "strict"),
    [
        ("What does raise_for_status do?", "raise_for_status"),
        ("How does `Session.send` use get_adapter()?", "Session.send get_adapter"),
        ("How does should_strip_auth work?", "should_strip_auth"),
        ("How are redirects followed?", "How are redirects followed?"),
        ("How do I turn on TaskConfig for a mounted server?",) * 2,
        ("reset_session store", "reset_session store"),
    ],
)
def test_a_sentence_about_code_is_searched_by_the_codes_name(question: str, strict: str) -> None:
    index = Index()
    retrieve(index, RetrievalOptions(question))
    assert index.requests[0]["query"] == strict
