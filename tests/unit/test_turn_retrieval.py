"""Retrieval: entities, boosts, the ladder, and the one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import SearchUnavailable
from plumbline.instance import load_instance
from plumbline.turn.boosts import optional_filters, score_boosts
from plumbline.turn.customers import build_directory, load_customer_directory
from plumbline.turn.entities import Entity, match_values, spot_entities
from plumbline.turn.facets import FacetValues
from plumbline.turn.hits import source_from_hit
from plumbline.turn.ladder import cut_query
from plumbline.turn.retrieval import (
    RetrievalOptions,
    RetrievalResult,
    inject_pricing_if_needed,
    orchestrate_retrieval,
)

INSTANCE = load_instance("algolia-central")


class Index:
    """Answers each rung from ``answers`` by what its query asks for, and stops when told to."""

    def __init__(
        self, *answers: list[dict[str, Any]], facets: dict[str, Any] | None = None
    ) -> None:
        self.answers = answers
        self.facets = facets or {}
        self.calls: list[tuple[list[dict[str, Any]], str]] = []

    def multi_query(
        self, requests: Sequence[Mapping[str, object]], *, strategy: str = "none"
    ) -> list[dict[str, Any]]:
        self.calls.append(([dict(request) for request in requests], strategy))
        results: list[dict[str, Any]] = []
        for number, request in enumerate(requests):
            hits = self.answers[number] if number < len(self.answers) else []
            query_id = f"{number:032x}"
            results.append({"hits": hits, "facets": self.facets, "queryID": query_id})
            if strategy == "stopIfEnoughMatches" and len(hits) >= int(str(request["hitsPerPage"])):
                break
        return results

    @property
    def requests(self) -> list[dict[str, Any]]:
        [(requests, _)] = self.calls
        return requests


def hit(number: int, **fields: Any) -> dict[str, Any]:
    return {"objectID": str(number), "entity_name": f"f{number}", "content": "text", **fields}


def retrieve(
    index: Index, options: RetrievalOptions, facets: FacetValues | None = None
) -> RetrievalResult:
    return orchestrate_retrieval(
        options, index=index, facets=facets or FacetValues(), instance=INSTANCE
    )


def learned(**values: list[str]) -> FacetValues:
    facets = FacetValues()
    facets.learn([{"facets": {name: dict.fromkeys(each, 1) for name, each in values.items()}}])
    return facets


# --- the ladder


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


# --- the query


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


# --- entities and boosts


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
    scores = score_boosts(
        query="recommend for media",
        entities=("synonym",),
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


def test_boosts_never_enter_the_query_and_hold_on_every_rung() -> None:
    index = Index()
    options = RetrievalOptions("how do I start", signals={"industry": "retail"})
    result = retrieve(index, options, learned(industry_tag=["retail"]))
    for request in index.requests:
        assert request["query"] == "how do I start"
        assert request["optionalFilters"] == [["industry_tag:retail<score=6>"]]
    assert result.boosted == ("industry_tag:retail",)


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


def test_a_value_cannot_change_its_own_score_or_bury() -> None:
    scores = {Entity("customer", "a<score=99>"): 1, Entity("customer", "-b"): 70_000}
    assert optional_filters(scores) == [["customer:\\-b<score=65535>"]]


def test_a_filter_the_index_does_not_know_is_dropped_and_known_ones_are_written_its_way() -> None:
    index = Index()
    options = RetrievalOptions(
        "q", filters={"industry_tag": ["Retail"], "product_tag": ["Toaster"]}
    )
    retrieve(index, options, learned(industry_tag=["retail"], product_tag=["Recommend"]))
    assert index.requests[0]["filters"].endswith('AND industry_tag:"retail"')


# --- facets


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


# --- pricing


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


# --- hits


def test_a_code_hit_has_its_qualified_name_and_a_link_to_its_commit() -> None:
    source = source_from_hit(
        3,
        {
            "objectID": "1_a",
            "entity_type": "function",
            "entity_name": "reset",
            "description": "Python method: Session.reset — Start anew.",
            "content": "def reset(self): ...",
            "file_path": "src/session.py",
            "line_start": 10,
            "line_end": 12,
            "repository": "acme/shop",
            "repository_url": "https://github.com/acme/shop",
            "commit_sha": "abc123",
            "source_type": "code",
        },
    )
    assert source.n == 3
    assert source.title == "Session.reset (src/session.py)"
    assert source.url == "https://github.com/acme/shop/blob/abc123/src/session.py#L10-L12"
    assert source.repository == "acme/shop"
    assert source.content == "Python method: Session.reset — Start anew.\ndef reset(self): ..."


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"qualified_name": "A.b", "file_path": "x.py"}, "A.b (x.py)"),
        ({"description": "Go function: f", "entity_name": "f", "file_path": "f.go"}, "f (f.go)"),
        ({"description": "no label", "entity_name": "f", "file_path": "f.go"}, "f (f.go)"),
        (
            {"entity_type": "doc_section", "title": "Guide", "heading_path": ["Guide", "Install"]},
            "Guide > Install",
        ),
        (
            {"entity_type": "doc_section", "entity_name": "Install", "file_path": "README.md"},
            "Install (README.md)",
        ),
        ({"file_path": "x.py"}, "x.py"),
        ({"entity_name": "a\nb"}, "a b"),
        ({}, "Untitled"),
    ],
)
def test_titles(fields: dict[str, Any], title: str) -> None:
    assert source_from_hit(1, fields).title == title


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://docs.example.org/a", True),
        ("http://docs.example.org/a", True),
        ("javascript:alert(1)", False),
        ("//evil.example/", False),
        ("https://[::1", False),
        ("not an address", False),
        (7, False),
    ],
)
def test_a_record_keeps_only_a_web_address(url: object, kept: bool) -> None:
    source = source_from_hit(1, {"url": url})
    assert source.url == (url if kept else None)


@given(
    st.dictionaries(
        st.sampled_from(["title", "url", "entity_type", "heading_path", "line_start", "content"]),
        st.none() | st.text(max_size=20) | st.integers() | st.lists(st.text(max_size=5)),
    )
)
def test_any_hit_is_a_source(fields: dict[str, Any]) -> None:
    source = source_from_hit(1, fields)
    assert source.title
    assert isinstance(source.content, str)


# --- customers


def test_the_directory_keeps_one_address_a_customer() -> None:
    rows: list[dict[str, object]] = [
        {"customer": "Acme", "url": "https://www.algolia.com/blog/acme"},
        {"customer": "Acme", "url": "https://www.algolia.com/customers/acme/"},
        {"customer": "Under  Armour", "url": "https://www.algolia.com/customers/under-armour"},
        {"customer": "Plain", "url": "http://www.algolia.com/customers/plain"},
        {"customer": "", "url": "https://www.algolia.com/customers/x"},
        {"customer": 3, "url": "https://www.algolia.com/customers/x"},
        {"customer": "Bad", "url": "https://[::1"},
    ]
    assert build_directory(rows, instance=INSTANCE).urls == {
        "Acme": "https://www.algolia.com/customers/acme/",
        "Under Armour": "https://www.algolia.com/customers/under-armour",
    }


def test_the_directory_is_one_request_that_learns_the_facets_too() -> None:
    stories = [{"customer": "Acme", "url": "https://www.algolia.com/customers/acme"}]
    index = Index([], stories, facets={"industry_tag": {"retail": 4}})
    facets = FacetValues()
    directory = load_customer_directory(index, facets=facets, instance=INSTANCE)
    assert set(directory.urls) == {"Acme"}
    assert facets.values() == {"industry_tag": ("retail",)}
    assert (
        index.requests[1]["filters"] == '(source_type:"customer_story" OR source_type:"case_study")'
    )
