"""What a reader says about the session itself, and what to say to it."""

from __future__ import annotations

from typing import NamedTuple

from plumbline.turn import fixed_answers
from plumbline.turn.consent import detect_consent
from plumbline.turn.discovery import detect_refusal, record_refusal
from plumbline.turn.handoff import decline_handoff, refresh_proposal
from plumbline.turn.progress import TurnProgress
from plumbline.turn.pushback import apply_pushback, deny_signals, detect_pushback

# "Just answer" in so few words is no question; in more it stands beside one.
_BARE_REFUSAL_WORDS = 3


class Reply(NamedTuple):
    """What to say to a reader who spoke of the session; ``is_all``: there is no question beside."""

    text: str = ""
    is_all: bool = False


def settle_session(progress: TurnProgress) -> Reply:
    """Take in what the reader says about the session: a no to a proposal, a value taken back by
    click or in words, a refusal to be asked. Source: seed 000, detectPushback; design, decision 5.
    """
    request, instance = progress.turn.request, progress.parts.instance
    state = progress.state
    reply = Reply()
    if request.consent is False:
        state = decline_handoff(state)
        reply = Reply(fixed_answers.declined())
    elif state.pending_handoff and detect_consent(request.query) is False:
        state = decline_handoff(state)
        reply = Reply(fixed_answers.declined(), is_all=True)
    if request.deny:
        state = deny_signals(state, request.deny)
        reply = Reply(fixed_answers.noted(request.deny, instance), reply.is_all)
    # The contradicted value goes before anything can be merged with it.
    state = apply_pushback(state, detect_pushback(request.query, state, instance=instance))
    if detect_refusal(request.query, instance):
        state = record_refusal(state)
        if len(request.query.split()) <= _BARE_REFUSAL_WORDS:
            reply = Reply(fixed_answers.declined(), is_all=True)
    if state.signals != progress.state.signals:
        state = refresh_proposal(state, instance=instance)
    progress.state = state
    return reply
