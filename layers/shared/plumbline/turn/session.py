"""SessionState: what a conversation has taught us, and which hash fields hold it.

Pure: the two Redis round trips are the gate's and the orchestrator's. Each concern has a hash
field of its own, so that concurrent turns do not lose each other's. Source: seed 000, "Session
State"; design, decision 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from plumbline.instance import MAVERICK, SIGNAL_NAMES

SIGNALS: tuple[str, ...] = SIGNAL_NAMES

# The one signal that holds several values.
MANY_VALUED = "architecture_concepts"

SignalValue = str | tuple[str, ...]

MAX_CONCEPTS = 12
MAX_DENIED_VALUES = 20
MAX_KNOWN_URLS = 100
MAX_URL_CHARS = 2_000
MAX_EXCHANGES = 6


@dataclass(frozen=True, slots=True)
class PendingHandoff:
    """A proposal that waits for the reader's consent. ``turn`` is the turn that made it."""

    target: str
    reason: str
    expanded_question: str
    evidence: tuple[str, ...] = ()
    turn: int = 0

    def public(self) -> dict[str, object]:
        """The proposal as the ``turn_snapshot`` and ``final`` events show it."""
        return {
            "target": self.target,
            "reason": self.reason,
            "expanded_question": self.expanded_question,
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier question and the audited answer that it got, both cut."""

    turn: int
    query: str
    answer: str


def _no_signals() -> Mapping[str, SignalValue]:
    return MappingProxyType({})


def _nothing_denied() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({})


def _no_urls() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SessionState:
    """One session between two turns. ``turn_count`` counts the turns that have ended.

    ``signals`` holds known values only; ``denied`` what the reader took back, per signal.
    ``known_urls`` maps each address that audited turns have shown to the turn that showed it last.
    ``stale_fields`` are hash fields that could not be read and go at the next write.
    """

    session_id: str
    version: int = 1
    turn_count: int = 0
    signals: Mapping[str, SignalValue] = field(default_factory=_no_signals)
    denied: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing_denied)
    asked_signals: tuple[str, ...] = ()
    active_persona: str = MAVERICK
    pending_handoff: PendingHandoff | None = None
    declined_handoffs: tuple[str, ...] = ()
    refusals: int = 0
    questions_asked: int = 0
    known_urls: Mapping[str, int] = field(default_factory=_no_urls)
    exchanges: tuple[Exchange, ...] = ()
    stale_fields: tuple[str, ...] = ()

    @classmethod
    def new(cls, session_id: str) -> SessionState:
        """A session that knows nothing yet."""
        return cls(session_id=session_id)

    @classmethod
    def from_hash(cls, session_id: str, raw: Mapping[str, str]) -> SessionState:
        """The session that these hash fields hold; what is corrupt or too large is left out."""
        # The hash's reader needs this class, so it cannot be imported before it.
        from plumbline.turn.session_hash import read_session

        return read_session(session_id, raw)

    def public_signals(self) -> dict[str, object]:
        """All eight signals for an event: text, a list for concepts, null where unknown."""
        return {name: _public(self.signals.get(name)) for name in SIGNALS}


def get_session_state(session_id: str, raw: Mapping[str, str] | None) -> SessionState:
    """The session in this hash, or a new one when there is none. Source: seed 000."""
    return SessionState.from_hash(session_id, raw) if raw else SessionState.new(session_id)


def update_session_state(state: SessionState, updates: Mapping[str, object]) -> SessionState:
    """The state with a partial update merged in, by ``SessionState``'s own field names.

    A signal's own name stands for it, with None or an empty value to clear it. Raises
    ``ValueError`` for a name that is neither. Source: seed 000, updateSessionState.
    """
    signals = dict(state.signals)
    fields: dict[str, object] = {}
    for name, value in updates.items():
        if name in SIGNALS:
            if value:
                signals[name] = _signal_value(name, value)
            else:
                signals.pop(name, None)
        elif name in SessionState.__dataclass_fields__ and name not in ("session_id", "signals"):
            fields[name] = value
        else:
            raise ValueError(f"{name!r} is no field of a session")
    return replace(state, signals=MappingProxyType(signals), **fields)  # type: ignore[arg-type]


def count_locked_signals(state: SessionState) -> int:
    """How many of the eight are known; a denied value does not count. Source: seed 000."""
    return len(locked_signals(state))


def locked_signals(state: SessionState) -> tuple[str, ...]:
    """The names of the known signals, in the seeds' order."""
    return tuple(
        name
        for name in SIGNALS
        if state.signals.get(name) and not _all_denied(state, name, state.signals[name])
    )


def add_asked_signal(state: SessionState, signal: str) -> SessionState:
    """The state after this question was put: it is never put again. Source: seed 000."""
    if signal not in SIGNALS:
        raise ValueError(f"{signal!r} is no signal")
    if signal in state.asked_signals:
        return state
    return replace(
        state,
        asked_signals=(*state.asked_signals, signal),
        questions_asked=state.questions_asked + 1,
    )


def reset_session_state(state: SessionState) -> SessionState:
    """The session as it was before its first turn; its id stays. Source: seed 000."""
    return SessionState.new(state.session_id)


def is_first_turn(
    state: SessionState,
    history: Sequence[object] | None,
    *,
    consent: bool | None = None,
    trigger: str | None = None,
) -> bool:
    """Whether the session starts anew: no turn is stored, or the reader sent an empty history.

    An absent history (None) never resets, nor does a turn that answers a proposal.
    Source: design, "HTTP".
    """
    if state.turn_count == 0:
        return True
    return history is not None and not history and consent is None and trigger is None


def end_turn(
    state: SessionState, query: str, answer: str, urls: Sequence[str] = ()
) -> SessionState:
    """The state after a turn: one more turn, its exchange and the addresses that it showed."""
    turn = state.turn_count + 1
    known = dict(state.known_urls)
    known.update((url, turn) for url in urls if len(url) <= MAX_URL_CHARS)
    newest = sorted(known.items(), key=lambda item: item[1])[-MAX_KNOWN_URLS:]
    exchanges = state.exchanges
    if query or answer:
        exchanges = (*exchanges, Exchange(turn, query, answer))
    return replace(
        state,
        turn_count=turn,
        known_urls=MappingProxyType(dict(newest)),
        exchanges=exchanges[-MAX_EXCHANGES:],
    )


def values_of(value: SignalValue | None) -> tuple[str, ...]:
    """A signal's values, whether it holds one, several or none."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def value_key(value: str) -> str:
    """A signal's value as it is compared: folded, and only its letters and digits count."""
    return " ".join("".join(c if c.isalnum() else " " for c in value.casefold()).split())


def is_denied(state: SessionState, name: str, value: str) -> bool:
    """Whether the reader took this value back."""
    key = value_key(value)
    return any(value_key(denied) == key for denied in state.denied.get(name, ()))


def _all_denied(state: SessionState, name: str, value: SignalValue) -> bool:
    return all(is_denied(state, name, each) for each in values_of(value))


def _signal_value(name: str, value: object) -> SignalValue:
    if name != MANY_VALUED:
        if not isinstance(value, str):
            raise ValueError(f"the signal {name!r} is text")
        return value
    values = (value,) if isinstance(value, str) else tuple(str(each) for each in _listed(value))
    return tuple(dict.fromkeys(values))[:MAX_CONCEPTS]


def _listed(value: object) -> Sequence[object]:
    if not isinstance(value, Sequence):
        raise ValueError(f"the signal {MANY_VALUED!r} is a list of texts")
    return value


def _public(value: SignalValue | None) -> object:
    return list(value) if isinstance(value, tuple) else value
