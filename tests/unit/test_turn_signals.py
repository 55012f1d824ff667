"""Extraction and merge, with extractors that misbehave."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import GenerationBlocked, GenerationInterrupted, ModelUnavailable
from plumbline.instance import load_instance
from plumbline.turn.brain_output import BRAIN_SCHEMA, BrainOutput, parse_brain_output
from plumbline.turn.language_model import (
    Extraction,
    ExtractionRequest,
    Finish,
    GenerationRequest,
    Message,
    TextDelta,
    Usage,
)
from plumbline.turn.pushback import apply_pushback, detect_pushback
from plumbline.turn.session import SIGNALS, SessionState, update_session_state
from plumbline.turn.signals import (
    detect_chip_answer,
    extract_signals,
    merge_signals,
    signal_changes,
)

INSTANCE = load_instance("algolia-central")


class Extractor:
    """A language model that answers one text, or raises."""

    name = "double"

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.requests: list[ExtractionRequest] = []

    def extract(self, request: ExtractionRequest) -> Extraction:
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return Extraction(self.answer, Usage(10, 5))

    def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
        raise NotImplementedError


def answer(signals: dict[str, Any], **fields: Any) -> str:
    every: dict[str, Any] = {**dict.fromkeys(SIGNALS), "architecture_concepts": []}
    whole: dict[str, Any] = {
        "intent": "ae",
        "onion_signals": every | signals,
        "entities": [],
        "search_query": "",
        "keyword_query": "",
        "discovery_question": None,
        "filters": {},
    }
    return json.dumps(whole | fields)


def extracted(model: Extractor, query: str, state: SessionState | None = None) -> BrainOutput:
    return extract_signals(
        query,
        state or SessionState.new("s"),
        model=model,
        history=[Message("user", "earlier")],
        today=date(2026, 11, 29),
        deadline=10.0,
        instance=INSTANCE,
    )


def merged(state: SessionState, query: str, signals: dict[str, Any]) -> SessionState:
    """A whole turn: pushback first, then what the extractor says."""
    state = apply_pushback(state, detect_pushback(query, state, instance=INSTANCE))
    brain = parse_brain_output(answer(signals), query)
    return merge_signals(state, brain, query, instance=INSTANCE)


def knowing(**signals: Any) -> SessionState:
    return update_session_state(SessionState.new("s"), signals)


def test_what_a_good_extractor_says() -> None:
    model = Extractor(
        answer(
            {"stack": "React", "architecture_concepts": ["federated search"]},
            intent="technical",
            entities=["Recommend"],
            search_query="How do I use Recommend with React?",
            keyword_query="recommend react",
            discovery_question="How many records do you have?",
            discovery_field="scale",
            filters={"product_tag": ["Recommend"], "colour": ["red"]},
        )
    )
    brain = extracted(model, "how with react?")
    assert brain.intent == "technical"
    assert brain.onion_signals == {"stack": "React", "architecture_concepts": ("federated search",)}
    assert brain.entities == ("Recommend",)
    assert brain.search_query == "How do I use Recommend with React?"
    assert brain.keyword_query == "recommend react"
    assert brain.discovery_field == "scale"
    assert brain.filters == {"product_tag": ("Recommend",)}
    assert brain.usage == Usage(10, 5)
    assert not brain.failed


def test_the_prompt_carries_the_profile_what_was_denied_and_the_date() -> None:
    model = Extractor(answer({}))
    state = update_session_state(knowing(stack="React"), {"denied": {"industry": ("retail",)}})
    extracted(model, "hello", state)
    [request] = model.requests
    assert "2026-11-29" in request.system_prompt
    assert 'CURRENT USER PROFILE: {"stack": "React"}' in request.system_prompt
    assert 'DENIED: {"industry": ["retail"]}' in request.system_prompt
    assert request.schema == BRAIN_SCHEMA
    assert request.query == "hello"
    assert request.history == [Message("user", "earlier")]
    for line in request.system_prompt.splitlines():
        assert line.startswith("SIGNAL EXTRACTION: ")


def test_the_schema_is_json_and_names_every_signal() -> None:
    schema = json.loads(json.dumps(BRAIN_SCHEMA))
    assert set(schema["properties"]["onion_signals"]["properties"]) == set(SIGNALS)


@pytest.mark.parametrize(
    "failure",
    [
        ModelUnavailable("down"),
        GenerationBlocked("blocked"),
        GenerationInterrupted("cut"),
        "",
        "not json",
        "null",
        "[]",
        '"text"',
        "{}",
        '{"onion_signals": null}',
        '{"onion_signals": ["React"]}',
        answer({"stack": "React"})[:-20],
        "```json\n" + answer({"stack": "React"}) + "\n```",
        '{"onion_signals":' + '{"stack":' * 5_000,
        answer({"stack": "x" * 70_000}),
    ],
    ids=str,
)
def test_any_failure_gives_the_safe_fallback(failure: str | Exception) -> None:
    brain = extracted(Extractor(failure), "how do I index?")
    assert brain.failed
    assert brain.onion_signals == {}
    assert brain.intent is None
    assert brain.search_query == brain.keyword_query == "how do I index?"
    state = knowing(stack="React")
    assert merge_signals(state, brain, "how do I index?", instance=INSTANCE) == state


def test_a_cut_off_extraction_still_counts_its_tokens() -> None:
    assert extracted(Extractor("{"), "q").usage == Usage(10, 5)


@pytest.mark.parametrize("label", ["Poor relevance", "poor relevance", " Poor  relevance. "])
def test_a_chip_needs_no_model(label: str) -> None:
    model = Extractor(RuntimeError("must not be asked"))
    assert detect_chip_answer(label, INSTANCE) is not None
    state = merge_signals(SessionState.new("s"), extracted(model, label), label, instance=INSTANCE)
    assert state.signals == {"pain": "poor relevance"}
    assert model.requests == []


def test_a_chip_of_many_values_and_a_chip_that_was_denied_before() -> None:
    state = update_session_state(
        knowing(architecture_concepts=["facets"]), {"denied": {"pain": ("poor relevance",)}}
    )
    for label in ("Federated search", "Poor relevance"):
        brain = extracted(Extractor(RuntimeError()), label, state)
        state = merge_signals(state, brain, label, instance=INSTANCE)
    assert state.signals["architecture_concepts"] == ("facets", "federated search")
    assert state.signals["pain"] == "poor relevance"
    assert state.denied == {}


@pytest.mark.parametrize("query", ["poor relevance in my shop", "", "poor", "relevance poor"])
def test_what_is_no_chip(query: str) -> None:
    assert detect_chip_answer(query, INSTANCE) is None


CONCEPTS = "architecture_concepts"
FACETS = {CONCEPTS: ["facets"]}
SWAP = "We don't use React, we use Vue"
REACT, VUE = {"stack": "React"}, {"stack": "Vue"}
RETAIL = {"industry": "retail"}
# What is known, the reader's words, what the extractor says, and what is known then.
MERGES: dict[str, tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]] = {
    "a null never erases": (REACT, "hello", {"stack": None}, REACT),
    "an absent signal never erases": (REACT, "hello", {}, REACT),
    "a first value is believed": ({}, "50 shops", {"scale": "50 shops"}, {"scale": "50 shops"}),
    "a change needs words": (REACT, "hello", VUE, REACT),
    "a change with words": (REACT, "we use Vue", VUE, VUE),
    "a negated word is none": (REACT, "we don't use Vue", VUE, REACT),
    "the same, written otherwise": (REACT, "react!", {"stack": "REACT "}, REACT),
    "a denied value stays out": (REACT, "we don't use React", REACT, {}),
    "denied, no other is guessed": (RETAIL, "we are not a retailer", {"industry": "health"}, {}),
    "denied and corrected at once": (REACT, SWAP, VUE, VUE),
    "concepts add up": (FACETS, "q", {CONCEPTS: ["rules"]}, {CONCEPTS: ("facets", "rules")}),
    "concepts never shrink": (FACETS, "q", {CONCEPTS: []}, {CONCEPTS: ("facets",)}),
    "a list for one": ({}, "q", {"stack": ["React", "Vue"]}, {}),
    "a list of one": ({}, "q", {"stack": ["React"]}, REACT),
    "a text for many": ({}, "q", {CONCEPTS: "facets"}, {CONCEPTS: ("facets",)}),
    "a list in a list": ({}, "q", {CONCEPTS: [["facets"], None, 3]}, {}),
    "a number": ({}, "q", {"scale": 7}, {}),
    "an object": ({}, "q", {"stack": {"name": "React"}}, {}),
    "placeholders": (REACT, "q", {"stack": "null", "scale": "N/A", "role": "unknown"}, REACT),
    "unknown signals": ({}, "q", {"shoe_size": "44"}, {}),
    "markup and links go": (
        {},
        "q",
        {"brand": "**[Acme](https://e.example/)**"},
        {"brand": "Acme"},
    ),
    "nothing but a link": ({}, "q", {"brand": "https://evil.example/x"}, {}),
    "too long": ({}, "q", {"brand": "word " * 100}, {"brand": "word " * 23 + "word…"}),
}


@pytest.mark.parametrize(("known", "query", "said", "after"), MERGES.values(), ids=MERGES.keys())
def test_merge(
    known: dict[str, Any], query: str, said: dict[str, Any], after: dict[str, Any]
) -> None:
    assert merged(knowing(**known), query, said).signals == after


def test_a_denied_value_comes_back_only_when_the_reader_says_it() -> None:
    state = merged(knowing(stack="React"), "I never said we use React", {"stack": "React"})
    for query in ("how do I index?", "and with filters?", "why would you think we use React?"):
        state = merged(state, query, {"stack": "React"})
        assert "stack" not in state.signals
        assert state.denied["stack"] == ("React",)
    state = merged(state, "All right, we do use React", {"stack": "React"})
    assert state.signals["stack"] == "React"
    assert state.denied == {}


def test_a_denied_concept_comes_back_only_when_said() -> None:
    state = knowing(architecture_concepts=["vector search"])
    said = {"architecture_concepts": ["vector search", "rules"]}
    state = merged(state, "We don't need vector search", said)
    # Until the reader speaks of concepts again, the extractor's guesses at them are not believed.
    assert "architecture_concepts" not in state.signals
    state = merged(state, "we want rules", said)
    assert state.signals["architecture_concepts"] == ("rules",)


def test_changes_are_named() -> None:
    before = knowing(stack="React", role="lead", pain="slow")
    after = knowing(stack="Vue", role="lead", scale="1M")
    assert signal_changes(before, after) == (("stack", "scale"), ("pain",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*BRAIN_SCHEMA["properties"]]), JSON))  # type: ignore[misc]
def test_any_json_is_an_output_or_a_refusal(raw: dict[str, Any]) -> None:
    try:
        brain = parse_brain_output(json.dumps(raw), "q")
    except ValueError:
        return
    state = merge_signals(knowing(stack="React"), brain, "q", instance=INSTANCE)
    assert state.signals["stack"] == "React"
    _only_known_kinds(list(state.signals.values()))


def _only_known_kinds(values: Sequence[object]) -> None:
    for value in values:
        assert isinstance(value, str | tuple)


@given(JSON)
def test_any_signals_are_survived(raw: object) -> None:
    signals = dict.fromkeys(SIGNALS, raw)
    brain = parse_brain_output(json.dumps({"onion_signals": signals}), "q")
    assert set(brain.onion_signals) <= set(SIGNALS)
