"""Questions into query words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.search.query_building import MAX_QUERY_BYTES, build_query, build_typed_query


def words(question: str) -> set[str]:
    return set(build_query(question).optional_words)


@pytest.mark.parametrize("query", ["getUserById", "refresh_token", "pars", "user service", "  x "])
def test_names_and_fragments_go_as_they_are(query: str) -> None:
    built = build_query(query)
    assert built.query == " ".join(query.split())
    assert built.parameters() == {
        "query": built.query,
        "optionalWords": [],
        "queryType": "prefixLast",
        "minProximity": 1,
        "attributeCriteriaComputedBy": "best",
    }


def test_words_of_any_question_are_left_out_and_those_that_say_something_stay() -> None:
    assert words("How do I get all but the last item of a list in Python?") == {
        "get",
        "all",
        "last",
        "item",
        "list",
    }


def test_stems_stand_for_the_forms_of_a_word() -> None:
    assert words("where are the iterators created and validated") == {
        "iterator",
        "creat",
        "validat",
    }
    assert words("is the date valid here") == {"date", "valid"}
    assert words("stopping classes quickly please") == {"stop", "class", "quickl"}


def test_what_is_rare_counts_twice_and_a_code_name_three_times() -> None:
    built = build_query("what does `ensure_ascii` do to a string in DefaultJSONProvider.dumps()?")
    counts = {word: built.query.split().count(word) for word in built.optional_words}
    assert counts["ensure"] == counts["ascii"] == counts["defaultjsonprovider"] == 3
    assert counts["json"] == counts["provider"] == counts["dumps"] == 3
    assert counts["string"] == 1
    assert build_query("where is the snowman written").query.split().count("snowman") == 2
    assert "does" not in counts


def test_a_question_of_filler_alone_is_not_emptied() -> None:
    assert build_query("what is this for").query == "what is this for"


@given(st.text(max_size=3000))
def test_any_text_gives_a_query_that_fits(question: str) -> None:
    built = build_query(question)
    assert len(built.query.encode("utf-8", "surrogatepass")) <= MAX_QUERY_BYTES
    assert set(built.optional_words) <= set(built.query.split())
    assert build_query(question) == built


def test_a_long_question_loses_repeats_before_words() -> None:
    question = "how to " + " ".join(f"keyword{n}" for n in range(30))
    built = build_query(question)
    assert {f"keyword{n}" for n in range(30)} <= set(built.optional_words)
    assert len(built.query) <= MAX_QUERY_BYTES


def test_a_question_as_typed_goes_whole_and_requires_no_word() -> None:
    question = "  How do I  iterate a `CustomList` in Python? "
    built = build_typed_query(question)
    assert built.query == "How do I iterate a `CustomList` in Python?"
    asked = ("how", "do", "i", "iterate", "a", "customlist", "in", "python")
    assert built.optional_words == asked
    # Prefixes would keep the stop words.
    assert built.query_type == "prefixNone"
    assert len(build_typed_query("why " + "é" * 600).query.encode()) <= MAX_QUERY_BYTES


@pytest.mark.parametrize("name", ["getUserById", "user service", "pars"])
def test_a_name_as_typed_is_asked_for_as_any_name(name: str) -> None:
    assert build_typed_query(name) == build_query(name)
