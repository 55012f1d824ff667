"""Signals taken back: the six kinds of seed 000, their contractions, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.instance import load_instance
from plumbline.turn.denials import affirmed_words
from plumbline.turn.evidence import is_evidenced
from plumbline.turn.pushback import apply_pushback, deny_signals, detect_pushback
from plumbline.turn.session import SIGNALS, SessionState, update_session_state

INSTANCE = load_instance("algolia-central")
STATE = update_session_state(
    SessionState.new("s"),
    {
        "stack": "React",
        "scale": "10M records",
        "role": "product manager",
        "pain": "poor relevance",
        "brand": "Acme",
        "industry": "retail",
        "product": "Recommend",
        "architecture_concepts": ["federated search", "vector search"],
    },
)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        # "I am not X"
        ("I am not a product manager", "role"),
        ("I'm not a product manager.", "role"),
        ("I’m not a product manager", "role"),
        ("Im not in retail", "industry"),
        ("I ain't a product manager", "role"),
        ("I am no retailer", "industry"),
        ("I don't work at Acme", "brand"),
        ("I do not use React", "stack"),
        # "we are not"
        ("We are not a retailer", "industry"),
        ("we're not retailers", "industry"),
        ("We aren't in that industry", "industry"),
        ("We do not have 10 million records", "scale"),
        ("we don't use React, we use Vue", "stack"),
        ("Our stack isn't React", "stack"),
        ("Our main stack is not React", "stack"),
        ("We no longer use React", "stack"),
        ("We are not using React anymore we use Vue", "stack"),
        ("We don't need vector search", "architecture_concepts"),
        # "I never said"
        ("I never said we use React", "stack"),
        ("I didn't say React", "stack"),
        ("We have never mentioned Acme", "brand"),
        ("I haven't said anything about our industry", "industry"),
        ("I did not tell you my role", "role"),
        # "that's wrong"
        ("You got our industry wrong", "industry"),
        ("React? That's wrong.", "stack"),
        ("That is not true about our scale", "scale"),
        ("It's incorrect that we're Acme", "brand"),
        ("thats wrong, the industry", "industry"),
        # "what makes you say"
        ("What makes you say we're in retail?", "industry"),
        ("what made you think I use React", "stack"),
        ("Whatever gave you the idea that we are Acme?", "brand"),
        # "why would you think"
        ("Why would you think our scale is that big?", "scale"),
        ("Why do you assume we use React?", "stack"),
        ("why'd you think we're Acme", "brand"),
        ("Why are you assuming it's retail?", "industry"),
    ],
)
def test_pushback_names_its_field(query: str, field: str) -> None:
    pushback = detect_pushback(query, STATE, instance=INSTANCE)
    assert pushback.contradicts_field == field
    assert 0.4 < pushback.denial_strength <= 1.0


@pytest.mark.parametrize(
    "query",
    [
        "How do I use React with Recommend?",
        "We use React",
        "We're not sure about our stack",
        "We are not only in retail",
        "We're not happy with React",
        "I'm not interested in federated search",
        "How do I not retry in React?",
        "not React but Vue",
        "What is wrong with this code?",
        "Why is React slow?",
        "We are not able to index 10M records",
        "I know that React is popular",
        "We need React",
        "Why would React do that?",
        "What makes React fast?",
        "Why do you say that React is slow in this benchmark?",
        "What makes you think that Recommend needs events at all?",
        "The docs say that React supports it but that's wrong in version 19",
        "",
    ],
)
def test_what_is_no_pushback(query: str) -> None:
    pushback = detect_pushback(query, STATE, instance=INSTANCE)
    assert pushback.contradicts_field is None
    assert apply_pushback(STATE, pushback) is STATE


@pytest.mark.parametrize("query", ["That's wrong", "You're wrong.", "I'm not a developer"])
def test_a_denial_that_names_nothing_known_is_weak(query: str) -> None:
    pushback = detect_pushback(query, STATE, instance=INSTANCE)
    assert pushback.contradicts_field is None
    assert 0 < pushback.denial_strength < 0.4


def test_nothing_locked_cannot_be_denied() -> None:
    empty = SessionState.new("s")
    for query in (
        "I never said we use React",
        "We are not a retailer",
        "You got our industry wrong",
    ):
        assert detect_pushback(query, empty, instance=INSTANCE).contradicts_field is None


def test_the_value_said_is_surer_than_the_fields_name() -> None:
    by_value = detect_pushback("I never said retail", STATE, instance=INSTANCE)
    by_name = detect_pushback("I never said my industry", STATE, instance=INSTANCE)
    assert by_value.denial_strength > by_name.denial_strength


def test_two_signals_in_one_message() -> None:
    pushback = detect_pushback(
        "We are not a retailer, and we don't use React", STATE, instance=INSTANCE
    )
    assert {c.field for c in pushback.contradictions} == {"industry", "stack"}


def test_a_denied_value_is_nulled_and_remembered() -> None:
    state = apply_pushback(STATE, detect_pushback("we don't use React", STATE, instance=INSTANCE))
    assert "stack" not in state.signals
    assert state.denied["stack"] == ("React",)
    assert state.signals["industry"] == "retail"


def test_one_of_several_concepts_goes_alone() -> None:
    pushback = detect_pushback("We don't need vector search", STATE, instance=INSTANCE)
    state = apply_pushback(STATE, pushback)
    assert state.signals["architecture_concepts"] == ("federated search",)
    assert state.denied["architecture_concepts"] == ("vector search",)


def test_by_click() -> None:
    state = deny_signals(STATE, ["stack", "architecture_concepts", "shoe size"])
    assert "stack" not in state.signals
    assert "architecture_concepts" not in state.signals
    assert state.denied["architecture_concepts"] == ("federated search", "vector search")
    assert deny_signals(state, ["stack"]).denied["stack"] == ("React",)


@given(st.text(max_size=300))
def test_any_text_is_survived(query: str) -> None:
    state = apply_pushback(STATE, detect_pushback(query, STATE, instance=INSTANCE))
    assert set(state.signals) <= set(SIGNALS)
    affirmed_words(query)


@pytest.mark.parametrize(
    ("value", "words", "there"),
    [
        ("React", "we use react", True),
        ("React", "we use Preact", False),
        ("retail", "we are a retailer", True),
        ("retailers", "in retail", True),
        ("e-commerce", "an ecommerce shop", True),
        ("ecommerce", "an e-commerce shop", True),
        ("e-commerce", "e commerce", True),
        ("PostgreSQL", "we run postgres", True),
        ("Java", "we write JavaScript", False),
        ("JavaScript", "java", False),
        ("10M records", "we have 10 million records", True),
        ("10M records", "we have 2 million records", False),
        ("10,000 skus", "10k SKUs", True),
        ("over 1M records", "a lot of records", False),
        ("C++", "we write C++", True),
        ("Next.js", "built on next.js", True),
        ("product manager", "I am a manager", True),
        ("head of engineering", "I am a designer", False),
        ("the company", "the company", False),
        ("", "anything", False),
    ],
)
def test_evidence(value: str, words: str, there: bool) -> None:
    assert is_evidenced(value, words) is there


@pytest.mark.parametrize(
    ("query", "value", "there"),
    [
        ("We don't use React, we use Vue", "Vue", True),
        ("We don't use React, we use Vue", "React", False),
        ("not React but Vue", "Vue", True),
        ("not React but Vue", "React", False),
        ("We use Vue instead of React", "React", False),
        ("We use Vue instead of React", "Vue", True),
        ("I never said we use React", "React", False),
        ("Why would you think we use React?", "React", False),
        ("That's wrong, we use Vue", "Vue", True),
        ("We moved from React to Vue", "Vue", True),
    ],
)
def test_only_affirmed_words_prove(query: str, value: str, there: bool) -> None:
    assert is_evidenced(value, affirmed_words(query)) is there
