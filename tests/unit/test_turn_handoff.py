"""Which specialist, why, and what the reader says to it."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.instance import load_instance
from plumbline.turn.consent import detect_consent
from plumbline.turn.handoff import (
    accept_handoff,
    decline_handoff,
    determine_handoff_target,
    expand_question,
    proposal_event,
    propose_handoff,
)
from plumbline.turn.session import PendingHandoff, SessionState, update_session_state

INSTANCE = load_instance("algolia-central")
NEW = SessionState.new("s")


@pytest.mark.parametrize(
    ("query", "signals", "target"),
    [
        ("Can you walk me through implementing it on Shopify?", {}, "elena"),
        ("We want a proof of concept integration", {}, "elena"),
        ("How do we migrate and integrate?", {}, "elena"),
        ("Which architecture scales to high availability?", {}, "bruno"),
        ("What are the trade-offs for security and compliance?", {}, "bruno"),
        ("How does throughput behave?", {"scale": "over 1M records"}, "bruno"),
        ("How does throughput behave?", {}, None),
        ("What is a facet?", {}, None),
        ("What is a facet?", {"scale": "over 1M records", "role": "architect"}, None),
        ("", {"scale": "over 1M records"}, None),
        # As much for the one as for the other: nobody is proposed.
        ("Implementation and a demo, at scale and compliance", {}, None),
    ],
)
def test_target(query: str, signals: dict[str, Any], target: str | None) -> None:
    state = update_session_state(NEW, signals)
    assert determine_handoff_target(state, query, instance=INSTANCE).target == target


def test_words_count_once_a_rule_and_whole() -> None:
    decision = determine_handoff_target(NEW, "scale scale scaling rescale", instance=INSTANCE)
    assert decision.scores["bruno"] == 3
    assert determine_handoff_target(NEW, "democracy", instance=INSTANCE).scores["elena"] == 0


def test_the_proposal_carries_its_evidence_and_the_expanded_question() -> None:
    state = update_session_state(NEW, {"scale": "over 1M records", "turn_count": 3})
    query = "Which architecture for this throughput?"
    decision = determine_handoff_target(state, query, instance=INSTANCE)
    pending = propose_handoff(state, query, decision, instance=INSTANCE)
    assert pending is not None
    assert pending.target == "bruno"
    assert pending.turn == 4
    assert pending.evidence == (
        "you are weighing a design",
        "it is about scale",
        "you run at scale",
    )
    assert all(evidence in pending.reason for evidence in pending.evidence)
    assert pending.expanded_question == f"{query} (what is known: scale: over 1M records)"
    event = proposal_event(pending)
    assert (event.target, event.reason) == (pending.target, pending.reason)


def test_a_proposal_is_plain_text_and_bounded() -> None:
    state = update_session_state(NEW, {"brand": "x " * 60, "pain": "y " * 60, "stack": "z " * 60})
    query = "Architecture at scale? ![x](https://evil.example/) " + "word " * 400
    decision = determine_handoff_target(state, query, instance=INSTANCE)
    pending = propose_handoff(state, query, decision, instance=INSTANCE)
    assert pending is not None
    assert "evil" not in pending.expanded_question
    assert len(pending.expanded_question) <= 500
    assert pending.expanded_question.startswith("Architecture at scale?")


def test_nothing_is_proposed_twice_nor_after_a_no() -> None:
    query = "Which architecture at scale?"
    decision = determine_handoff_target(NEW, query, instance=INSTANCE)
    pending = propose_handoff(NEW, query, decision, instance=INSTANCE)
    waiting = update_session_state(NEW, {"pending_handoff": pending})
    assert propose_handoff(waiting, query, decision, instance=INSTANCE) is None
    declined = decline_handoff(waiting)
    assert declined.pending_handoff is None
    assert determine_handoff_target(declined, query, instance=INSTANCE).target is None
    assert decline_handoff(declined) is declined


def test_consent_gives_the_word_to_the_target() -> None:
    pending = PendingHandoff("elena", "r", "q")
    state = accept_handoff(update_session_state(NEW, {"pending_handoff": pending}))
    assert state.active_persona == "elena"
    assert state.pending_handoff is None
    assert accept_handoff(state) is state


@pytest.mark.parametrize(
    ("query", "consent"),
    [
        ("yes", True),
        ("Yes, please.", True),
        ("go ahead!", True),
        ("OK", True),
        ("no", False),
        ("No, thanks", False),
        ("not now", False),
        ("yes but how does it work?", None),
        ("no idea what that means", None),
        ("okay so what is a facet", None),
        ("", None),
    ],
)
def test_consent_in_words_is_the_whole_message(query: str, consent: bool | None) -> None:
    assert detect_consent(query) is consent


def test_an_expanded_question_of_somebody_unknown_is_the_question() -> None:
    assert expand_question(NEW, "How?", instance=INSTANCE) == "How?"
