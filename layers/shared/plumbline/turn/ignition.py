"""The start of a turn: who answers it, and the event that says so before anything else loads."""

from __future__ import annotations

from collections.abc import Callable, Generator

from plumbline.instance import MAVERICK, Instance
from plumbline.turn.consent import detect_consent
from plumbline.turn.events import Event, PipelineStep, Pulse, error_event
from plumbline.turn.parts import TurnInput, TurnParts
from plumbline.turn.personas import is_specialist, normalize_persona_id, validate_persona
from plumbline.turn.session import (
    SessionState,
    get_session_state,
    is_first_turn,
    reset_session_state,
)
from plumbline.turn.stream import note_failure


def ignite(
    turn: TurnInput, instance: Instance, load_parts: Callable[[], TurnParts]
) -> Generator[Event, None, None]:
    """Run a turn: consent -> specialist, a specialist's persona -> specialist, else the maverick.

    Whatever the turn is run with loads after ``pulse``, ``load_parts``'s vendors too: the reader
    knows by then that the turn exists. Source: seed 000, handler; design, section 3.
    """
    request = turn.request
    stored = get_session_state(turn.admission.session_id, turn.admission.session)
    anew = is_first_turn(stored, request.history, consent=request.consent, trigger=request.trigger)
    state = reset_session_state(stored) if anew else stored
    persona, accepted = _who_answers(turn, state, instance)
    yield Pulse(turn.turn_id, state.session_id, turn.request_id, persona)
    yield PipelineStep("admit", "done", turn.timings.elapsed())

    from plumbline.turn.conclusion import record_failure
    from plumbline.turn.orchestrator import ignite_maverick, ignite_specialist
    from plumbline.turn.progress import TurnProgress

    progress = TurnProgress(turn, stored, load_parts(), state)
    try:
        if accepted or is_specialist(persona, instance=instance):
            yield from ignite_specialist(progress, persona, accepted=accepted)
        else:
            yield from ignite_maverick(progress)
    except Exception as exc:
        # The turn is kept as failed, so that whoever asks for it later is not told to wait.
        note_failure(turn.turn_id, exc)
        yield from record_failure(progress, error_event(exc))


def _who_answers(turn: TurnInput, state: SessionState, instance: Instance) -> tuple[str, bool]:
    """The persona, and whether the reader accepts the proposal that waits."""
    request, pending = turn.request, state.pending_handoff
    if pending is not None:
        said = request.consent if request.consent is not None else detect_consent(request.query)
        if said:
            return pending.target, True
    if request.consent is False:
        return MAVERICK, False
    if request.persona is None and request.consent is None:
        return validate_persona(state.active_persona, instance=instance), False
    return normalize_persona_id(request.persona, instance=instance), False
