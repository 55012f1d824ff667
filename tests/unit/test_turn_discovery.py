"""Discovery: decision 6's rules, the question, refusals, the dossier."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.instance import load_instance
from plumbline.turn.brain_output import BrainOutput
from plumbline.turn.discovery import (
    analyze_discovery_state,
    detect_asked_signal,
    detect_refusal,
    discovery_instructions,
    generate_dossier_summary,
    record_refusal,
    select_discovery_question,
)
from plumbline.turn.session import SIGNALS, SessionState, locked_signals, update_session_state

INSTANCE = load_instance("algolia-central")
NEW = SessionState.new("s")


def knowing(*names: str, **fields: Any) -> SessionState:
    values = {name: ["x"] if name == "architecture_concepts" else "x" for name in names}
    return update_session_state(NEW, {**values, **fields})


@pytest.mark.parametrize(
    ("known", "turn", "qualified", "accelerated"),
    [
        ((), 1, False, False),
        (("stack", "scale", "role"), 1, False, False),
        (("stack", "scale", "pain"), 1, True, True),
        (("stack", "scale", "product"), 2, True, True),
        (("stack", "pain"), 2, False, False),
        (("stack", "pain"), 3, True, False),
        (("stack", "role"), 3, True, False),
        (("stack", "role"), 7, True, False),
        (("pain",), 9, False, False),
        (SIGNALS, 1, True, True),
    ],
)
def test_qualified(known: tuple[str, ...], turn: int, qualified: bool, accelerated: bool) -> None:
    analysis = analyze_discovery_state(knowing(*known), (), "hello", turn, "ae")
    assert analysis.is_qualified is qualified
    assert analysis.is_accelerated is accelerated
    assert analysis.show_discovery_ui is not qualified
    assert set(analysis.locked_signals) == set(known)


def test_a_denied_value_qualifies_nobody() -> None:
    state = knowing("stack", "scale", "pain", denied={"pain": ("x",)})
    assert not analyze_discovery_state(state, (), "hello", 1, "ae").is_qualified


@pytest.mark.parametrize(
    ("questions", "refusals", "fatigued"),
    [(0, 0, False), (2, 1, False), (3, 0, True), (0, 2, True), (5, 5, True)],
)
def test_fatigue(questions: int, refusals: int, fatigued: bool) -> None:
    state = knowing(asked_signals=SIGNALS[:questions], refusals=refusals)
    analysis = analyze_discovery_state(state, (), "hello", 1, "ae")
    assert analysis.is_fatigue_reached is fatigued
    assert analysis.show_discovery_ui is not fatigued
    assert analysis.is_strict_discovery is not fatigued


@pytest.mark.parametrize(
    ("turn", "intent", "strict"),
    [(1, "ae", True), (2, "ae", True), (3, "ae", False), (1, "technical", False)],
)
def test_strict(turn: int, intent: str, strict: bool) -> None:
    assert analyze_discovery_state(NEW, (), "hello", turn, intent).is_strict_discovery is strict


def test_no_question_is_asked_twice() -> None:
    asked: list[str] = []
    while question := select_discovery_question(
        analyze_discovery_state(NEW, asked, "hello", 1, "ae"), INSTANCE
    ):
        assert question.field not in asked
        asked.append(question.field)
    assert sorted(asked) == sorted(SIGNALS)


def test_known_fields_are_not_asked_for() -> None:
    analysis = analyze_discovery_state(knowing("pain", "stack"), ("product",), "hello", 1, "ae")
    assert not {"pain", "stack", "product"} & set(analysis.available_fields)


def test_a_question_has_the_instances_words_and_chips_that_answer_it() -> None:
    question = select_discovery_question(
        analyze_discovery_state(NEW, (), "hello", 1, "ae"), INSTANCE
    )
    assert question is not None
    assert question.field == "pain"
    assert question.question == "What bothers you most about your search today?"
    assert question.chips[0] == {
        "label": "Poor relevance",
        "field": "pain",
        "value": "poor relevance",
    }


@pytest.mark.parametrize(
    ("field", "text", "asked"),
    [
        ("scale", "How big is your catalogue?", "scale"),
        ("pain", "What hurts?", "pain"),
        ("stack", "What is it built with?", "pain"),
        (None, "How are you?", "pain"),
    ],
)
def test_the_extractors_question_only_for_a_field_that_may_be_asked(
    field: str | None, text: str, asked: str
) -> None:
    analysis = analyze_discovery_state(knowing("stack"), (), "hello", 1, "ae")
    brain = BrainOutput("q", "q", discovery_question=text, discovery_field=field)
    question = select_discovery_question(analysis, INSTANCE, brain)
    assert question is not None
    assert question.field == asked
    assert (question.question == text) is (field == asked)
    assert all(chip["field"] == asked for chip in question.chips)


def test_a_question_is_plain_text() -> None:
    analysis = analyze_discovery_state(NEW, (), "hello", 1, "ae")
    text = "Is it <b>slow</b>? [See](https://evil.example/)"
    brain = BrainOutput("q", "q", discovery_question=text, discovery_field="pain")
    question = select_discovery_question(analysis, INSTANCE, brain)
    assert question is not None
    assert question.question == "Is it slow ? See"


def test_the_prompt_asks_only_in_strict_discovery() -> None:
    strict = analyze_discovery_state(NEW, (), "hello", 1, "ae")
    later = analyze_discovery_state(NEW, (), "hello", 4, "ae")
    question = select_discovery_question(strict, INSTANCE)
    assert question is not None
    assert question.question in discovery_instructions(strict, question)
    assert "no question" in discovery_instructions(later, question)
    assert "no question" in discovery_instructions(strict, None)


@pytest.mark.parametrize(
    ("query", "refuses"),
    [
        ("skip", True),
        ("Skip it!", True),
        ("just answer the question please", True),
        ("I'd rather not say", True),
        ("Stop asking me that. No more questions.", True),
        ("how do I skip a test?", False),
        ("Does it skip hidden files", False),
        ("what is a comment", False),
        ("", False),
    ],
)
def test_refusals(query: str, refuses: bool) -> None:
    assert detect_refusal(query, INSTANCE) is refuses


def test_refusals_are_counted() -> None:
    assert record_refusal(record_refusal(NEW)).refusals == 2


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        ("It ranks. What bothers you most about your search today?", "pain"),
        ("It ranks.\n\nHow large is your catalogue?", "scale"),
        ("Which industry are you in? Then I can say more.", "industry"),
        ("How does scale matter? It depends.", None),
        ("It ranks by scale.", None),
        ("", None),
    ],
)
def test_a_question_that_the_model_put_itself_is_noticed(content: str, asked: str | None) -> None:
    assert detect_asked_signal(content, SIGNALS, INSTANCE) == asked


def test_dossier() -> None:
    state = update_session_state(
        NEW,
        {
            "stack": "React",
            "architecture_concepts": ["facets", "rules"],
            "brand": "[Acme](https://evil.example/)",
        },
    )
    dossier = generate_dossier_summary(state, locked_signals(state), instance=INSTANCE)
    assert dossier == "- **Stack:** React\n- **Brand:** Acme\n- **Concepts:** facets, rules"
    assert generate_dossier_summary(NEW, (), instance=INSTANCE) == ""


def test_a_dossier_is_bounded() -> None:
    state = update_session_state(NEW, dict.fromkeys(SIGNALS[:-1], "word " * 30))
    dossier = generate_dossier_summary(state, locked_signals(state), instance=INSTANCE)
    assert len(dossier) <= 500
    assert dossier.count("\n") >= 2
