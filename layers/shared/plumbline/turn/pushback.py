"""Where a reader takes a signal back; no model is asked.

Source: seed 000, detectPushback (F-026).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from plumbline.instance import Instance
from plumbline.turn.denials import Denial, find_denials
from plumbline.turn.evidence import ENOUGH_EVIDENCE, evidence_share
from plumbline.turn.phrases import contains_phrase, plain_words
from plumbline.turn.session import (
    MAX_DENIED_VALUES,
    SIGNALS,
    SessionState,
    is_denied,
    values_of,
)

_KEYWORD_SHARE = 0.7
_UNNAMED_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One signal that the reader takes back, the values meant, and how surely, from 0 to 1."""

    field: str
    values: tuple[str, ...]
    strength: float


@dataclass(frozen=True, slots=True)
class Pushback:
    """What a message takes back, strongest first; ``unnamed_strength`` where it names nothing."""

    contradictions: tuple[Contradiction, ...] = ()
    unnamed_strength: float = 0.0

    @property
    def contradicts_field(self) -> str | None:
        """The signal most surely denied, or None. Source: seed 000."""
        return self.contradictions[0].field if self.contradictions else None

    @property
    def denial_strength(self) -> float:
        """From 0 to 1. Source: seed 000."""
        return self.contradictions[0].strength if self.contradictions else self.unnamed_strength


def detect_pushback(query: str, state: SessionState, *, instance: Instance) -> Pushback:
    """The locked signals that this message denies.

    A signal is denied when its locked value, or a keyword of its field, stands in the denial.
    Source: seed 000, detectPushback.
    """
    denials = find_denials(plain_words(query))
    found: dict[str, Contradiction] = {}
    for denial in denials:
        for name in SIGNALS:
            contradiction = _contradiction(name, denial, state, instance)
            known = found.get(name)
            if contradiction and (known is None or known.strength < contradiction.strength):
                found[name] = contradiction
    unnamed = max((denial.strength for denial in denials), default=0.0) * _UNNAMED_SHARE
    ordered = sorted(found.values(), key=lambda c: (-c.strength, SIGNALS.index(c.field)))
    return Pushback(tuple(ordered), 0.0 if ordered else round(unnamed, 2))


def apply_pushback(state: SessionState, pushback: Pushback) -> SessionState:
    """The state with the denied values gone, and remembered as denied."""
    for contradiction in pushback.contradictions:
        state = _take_back(state, contradiction.field, contradiction.values)
    return state


def deny_signals(state: SessionState, names: Sequence[str]) -> SessionState:
    """The state after a pushback by click; names that are no signal are ignored."""
    for name in names:
        if name in SIGNALS:
            state = _take_back(state, name, values_of(state.signals.get(name)))
    return state


def _contradiction(
    name: str, denial: Denial, state: SessionState, instance: Instance
) -> Contradiction | None:
    values = values_of(state.signals.get(name))
    if not values:
        return None
    shares = {value: evidence_share(value, denial.denied) for value in values}
    # "We don't need vector search" leaves "federated search" alone.
    best = max(shares.values())
    if best >= ENOUGH_EVIDENCE:
        meant = tuple(value for value in values if shares[value] == best)
        return Contradiction(name, meant, denial.strength)
    keywords = instance.signal(name).keywords
    for keyword in keywords:
        # "We are not in that industry" means the field; "we are not a startup team" does not.
        needed = keyword if denial.names_field else rf"that {keyword}"
        if contains_phrase(denial.denied, needed):
            return Contradiction(name, values, round(denial.strength * _KEYWORD_SHARE, 2))
    return None


def _take_back(state: SessionState, name: str, values: Sequence[str]) -> SessionState:
    signals, denied = dict(state.signals), dict(state.denied)
    left = tuple(value for value in values_of(signals.get(name)) if value not in values)
    if left:
        signals[name] = left
    else:
        signals.pop(name, None)
    fresh = tuple(value for value in values if not is_denied(state, name, value))
    if fresh:
        denied[name] = (*denied.get(name, ()), *fresh)[-MAX_DENIED_VALUES:]
    return replace(state, signals=MappingProxyType(signals), denied=MappingProxyType(denied))
