"""What a message says of its reader, and what of it is believed.

Source: seed 000, extractSignals, detectChipAnswer; design, decision 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType

from plumbline.errors import ModelError
from plumbline.instance import Instance, SignalName
from plumbline.turn.brain_output import (
    BRAIN_SCHEMA,
    BrainOutput,
    fallback_output,
    parse_brain_output,
)
from plumbline.turn.brain_prompt import get_brain_prompt, profile_block
from plumbline.turn.denials import affirmed_words
from plumbline.turn.evidence import is_evidenced
from plumbline.turn.language_model import ExtractionRequest, LanguageModel, Message
from plumbline.turn.session import (
    MANY_VALUED,
    MAX_CONCEPTS,
    SIGNALS,
    SessionState,
    SignalValue,
    is_denied,
    value_key,
    values_of,
)


@dataclass(frozen=True, slots=True)
class ChipAnswer:
    """A discovery chip that was clicked: the signal and its value."""

    field: SignalName
    value: str


def detect_chip_answer(query: str, instance: Instance) -> ChipAnswer | None:
    """The chip whose label this message is, whole. Source: seed 000, CHIP_SIGNAL_MAP."""
    found = instance.chip_map().get(" ".join(query.split()).rstrip(".!").casefold())
    return ChipAnswer(*found) if found else None


def extract_signals(
    query: str,
    state: SessionState,
    *,
    model: LanguageModel,
    history: Sequence[Message],
    today: date,
    deadline: float,
    instance: Instance,
) -> BrainOutput:
    """What the model makes of the message; a chip's answer needs no model.

    Any failure, cut-off or malformed JSON gives the safe fallback, whose ``failed`` is True.
    ``deadline`` is on ``time.monotonic``'s clock. Source: seed 000, extractSignals.
    """
    chip = detect_chip_answer(query, instance)
    if chip is not None:
        value: SignalValue = (chip.value,) if chip.field == MANY_VALUED else chip.value
        return BrainOutput(query, chip.value, onion_signals=MappingProxyType({chip.field: value}))
    request = ExtractionRequest(
        system_prompt=f"{get_brain_prompt(today)}\n{profile_block(state, instance)}",
        query=query,
        history=history,
        schema=BRAIN_SCHEMA,
        deadline=deadline,
    )
    try:
        extraction = model.extract(request)
    except ModelError:
        return fallback_output(query)
    try:
        return parse_brain_output(extraction.text, query, usage=extraction.usage)
    except ValueError:
        return fallback_output(query, usage=extraction.usage)


def merge_signals(
    state: SessionState, brain: BrainOutput, query: str, *, instance: Instance
) -> SessionState:
    """The state after this message. ``state`` is the one whose pushback was applied already.

    A value that is absent never erases. A denied value comes back only when the reader says it.
    A value that changes, or follows a denial, must stand in the reader's own words. A chip's
    answer is the reader's word. Source: design, decision 5 (F-026).
    """
    chip = detect_chip_answer(query, instance)
    words = affirmed_words(query)
    signals, denied = dict(state.signals), dict(state.denied)
    for name in SIGNALS:
        for value in values_of(brain.onion_signals.get(name)):
            said = is_evidenced(value, words) or (chip is not None and chip.value == value)
            if is_denied(state, name, value):
                if not said:
                    continue
                key = value_key(value)
                left = tuple(old for old in denied.get(name, ()) if value_key(old) != key)
                denied[name] = left
            known = values_of(signals.get(name))
            if value_key(value) in (value_key(old) for old in known):
                continue
            if name == MANY_VALUED:
                if said or not denied.get(name):
                    signals[name] = (*known, value)[-MAX_CONCEPTS:]
            elif said or (not known and not denied.get(name)):
                signals[name] = value
    return replace(
        state,
        signals=MappingProxyType(signals),
        denied=MappingProxyType({name: values for name, values in denied.items() if values}),
    )


def signal_changes(
    before: SessionState, after: SessionState
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The signals that have another value now, and those that have none any more."""
    changed = tuple(
        name
        for name in SIGNALS
        if name in after.signals and after.signals[name] != before.signals.get(name)
    )
    cleared = tuple(
        name for name in SIGNALS if name in before.signals and name not in after.signals
    )
    return changed, cleared
