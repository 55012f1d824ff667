"""Which specialist, if any, should take over, and why.

One scored function over the instance's evidence, instead of three layers. Source: seed 000,
determineHandoffTarget (F-027); design, decision 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from plumbline.instance import Instance
from plumbline.turn.events import HandoffProposal
from plumbline.turn.phrases import first_phrase
from plumbline.turn.plain_text import plain_text
from plumbline.turn.session import PendingHandoff, SessionState, SignalValue, values_of

_KNOWN = " (what is known: "


@dataclass(frozen=True, slots=True)
class HandoffDecision:
    """The best target, or None below the threshold; every score, and the winner's evidence."""

    target: str | None
    scores: Mapping[str, int]
    evidence: tuple[str, ...]
    margin: int


def determine_handoff_target(
    session_state: SessionState, query: str, *, instance: Instance
) -> HandoffDecision:
    """Score each specialist; the highest that reaches the threshold wins, none on a tie.

    Each rule counts once. A target that the reader has declined is not proposed again.
    Source: seed 000, determineHandoffTarget; design, decision 7.
    """
    scores: dict[str, int] = {}
    evidence: dict[str, tuple[str, ...]] = {}
    for target, rules in instance.handoff.targets.items():
        hits = [
            rule
            for rule in rules
            if first_phrase(
                query if rule.signal is None else _text(session_state.signals.get(rule.signal)),
                rule.words,
            )
        ]
        # The profile alone proves no wish: something in the question must speak for it too.
        asked = any(rule.signal is None for rule in hits)
        scores[target] = sum(rule.weight for rule in hits) if asked else 0
        evidence[target] = tuple(dict.fromkeys(rule.because for rule in hits))
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    open_to = [item for item in ranked if item[0] not in session_state.declined_handoffs]
    if not open_to or open_to[0][1] < instance.handoff.threshold:
        return HandoffDecision(None, scores, (), 0)
    target, best = open_to[0]
    margin = best - max((score for name, score in ranked if name != target), default=0)
    if margin <= 0:
        return HandoffDecision(None, scores, (), margin)
    return HandoffDecision(target, scores, evidence[target], margin)


def propose_handoff(
    session_state: SessionState, query: str, decision: HandoffDecision, *, instance: Instance
) -> PendingHandoff | None:
    """The proposal for a decision that has a target; nothing is handed over by it.

    While a proposal to the same specialist waits, no second one is made.
    """
    pending = session_state.pending_handoff
    if decision.target is None or (pending and pending.target == decision.target):
        return None
    persona = instance.personas[decision.target]
    because = " and ".join(decision.evidence[:3])
    reason = f"{persona.name}, {persona.title.lower()}, could take this further: {because}."
    return PendingHandoff(
        target=decision.target,
        reason=plain_text(reason),
        expanded_question=expand_question(session_state, query, instance=instance),
        evidence=decision.evidence,
        turn=session_state.turn_count + 1,
    )


def expand_question(session_state: SessionState, query: str, *, instance: Instance) -> str:
    """The question with what is known of the reader, as the specialist gets it.

    Plain text, at most 500 characters, the question first. Source: seed 000, expandedQuestion.
    """
    known = [
        f"{spec.label.lower()}: {_text(session_state.signals[name])}"
        for name, spec in instance.signals.items()
        if session_state.signals.get(name)
    ]
    question = plain_text(query, 300)
    if not known:
        return question
    return plain_text(f"{question}{_KNOWN}{'; '.join(known)})")


def refresh_proposal(state: SessionState, *, instance: Instance) -> SessionState:
    """The state with the waiting proposal's question as what is known now would make it."""
    pending = state.pending_handoff
    if pending is None:
        return state
    question = pending.expanded_question.partition(_KNOWN)[0]
    expanded = expand_question(state, question, instance=instance)
    return replace(state, pending_handoff=replace(pending, expanded_question=expanded))


def proposal_event(pending: PendingHandoff) -> HandoffProposal:
    """The ``handoff_proposal`` event."""
    return HandoffProposal(pending.target, pending.reason, pending.expanded_question)


def accept_handoff(state: SessionState) -> SessionState:
    """The state after a consent: the proposal's target speaks, and nothing is pending."""
    pending = state.pending_handoff
    if pending is None:
        return state
    return replace(state, active_persona=pending.target, pending_handoff=None)


def decline_handoff(state: SessionState) -> SessionState:
    """The state after a no: the proposal goes, and is not made again."""
    pending = state.pending_handoff
    if pending is None:
        return state
    declined = tuple(dict.fromkeys((*state.declined_handoffs, pending.target)))
    return replace(state, pending_handoff=None, declined_handoffs=declined)


def _text(value: SignalValue | None) -> str:
    return ", ".join(values_of(value))
