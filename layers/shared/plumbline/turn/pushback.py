"""Where a reader takes a signal back; no model is asked.

Source: seed 000, detectPushback (F-026).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from plumbline.instance import Instance
from plumbline.turn.evidence import ENOUGH_EVIDENCE, evidence_share
from plumbline.turn.phrases import contains_phrase, plain_words
from plumbline.turn.session import MAX_DENIED_VALUES, SIGNALS, SessionState, SignalValue, is_denied

Kind = Literal[
    "i_am_not", "we_are_not", "i_never_said", "that_is_wrong", "what_makes_you_say", "why_think"
]

# The six kinds of seed 000, with their contractions, as typed with and without apostrophes.
_KINDS: tuple[tuple[Kind, float, re.Pattern[str]], ...] = (
    (
        "i_never_said",
        1.0,
        re.compile(
            r"\b(?:i|we)(?:'ve| have)? (?:never|did not|didn'?t|haven'?t|have not|don'?t|do not)"
            r"(?: (?:ever|once|actually|even|recall|remember))*"
            r" (?:said|saying|say|mention(?:ed|ing)?|told you|tell you|claim(?:ed)?|stated?)\b"
        ),
    ),
    (
        "what_makes_you_say",
        0.6,
        re.compile(
            r"\bwhat(?:ever)?(?:'s| is|'d| would)? (?:makes?|made|making|gave|gives) you"
            r" (?:to )?(?:say|saying|think|believe|assume|conclude|the idea|the impression)\b"
        ),
    ),
    (
        "why_think",
        0.6,
        re.compile(
            r"\bwhy(?:'d| would| do| did| should| are| were)? (?:you|u)"
            r" (?:even |ever )?(?:think|thinking|say|saying|assume|assuming|believe|conclude)\b"
        ),
    ),
    (
        "that_is_wrong",
        0.7,
        re.compile(
            r"\b(?:that'?s|that is|that was|this is|it'?s|it is|you'?re|you are|you were)"
            r" (?:just |simply |completely |totally |all |plain )?"
            r"(?:wrong|incorrect|false|mistaken|untrue|inaccurate|not (?:right|correct|true|so))\b"
            r"|\b(?:that|this|it) (?:isn'?t|wasn'?t|is not|was not|ain'?t)"
            r" (?:right|correct|true|so)\b"
            r"|\byou (?:got|have|'ve got) (?:that|it|this|me|us|(?:my|our) \w+) wrong\b"
        ),
    ),
    (
        "we_are_not",
        0.9,
        re.compile(
            r"\b(?:we(?:'re| are)? not?|we aren'?t|we were never"
            r"|were not(?= (?:a|an|in|on|using)\b)"
            r"|we (?:do not|don'?t|no longer|never) (?:even |actually |really )?"
            r"(?:use|have|run|sell|work (?:in|with|on|at)|build|operate|need)"
            r"|(?:my|our|the) (?:\w+ ){1,3}(?:is not|isn'?t|are not|aren'?t))\b"
        ),
    ),
    (
        "i_am_not",
        0.9,
        re.compile(
            r"\b(?:i(?:'m| am) not?|im not|i ain'?t|i was never"
            r"|i (?:do not|don'?t|no longer|never) (?:even |actually |really )?"
            r"(?:use|have|run|sell|work (?:in|with|on|at|as)|build|manage|need))\b"
        ),
    ),
)
# After these, "I am not" denies no profile: "we're not sure", "I'm not happy with our stack".
_HEDGES = re.compile(
    r"\s*(?:quite |really |entirely |fully |yet |even |at all |so |too |that |very )*"
    r"(?:sure|certain|clear|able|happy|satisfied|only|just|merely|convinced|aware|familiar|opposed"
    r"|against|interested|going|ready|looking|trying|asking|saying|done|there|getting|seeing|sold"
    r"|finding|having|impressed|comfortable|confident|fond|new to|good|great|allowed|supposed)\b"
)
_SENTENCE_END = re.compile(r"[.!?;\n](?=\s|$)")
# Where a new statement begins inside a sentence, what was denied ends.
_CLAUSE_END = re.compile(
    r"[,;:!?\n]|\.(?=\s|$)|\bbut\b|\binstead\b|\brather\b|--|—"
    r"|\b(?:and )?(?:we|i)(?:'re|'m| are| am| use| run| have| work| sell)\b"
)
_NEGATED = re.compile(
    r"\b(?:not|never|no longer|instead of|rather than|without)\b(?:(?!\bbut\b)[^,.;:!?])*"
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


@dataclass(frozen=True, slots=True)
class _Denial:
    kind: Kind
    strength: float
    start: int
    end: int
    denied: str
    names_field: bool


def detect_pushback(query: str, state: SessionState, *, instance: Instance) -> Pushback:
    """The locked signals that this message denies.

    A signal is denied when its locked value, or a keyword of its field, stands in the denial.
    Source: seed 000, detectPushback.
    """
    denials = _denials(plain_words(query))
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


def affirmed_words(query: str) -> str:
    """The message without what it denies: the only words that can prove a value."""
    text = plain_words(query)
    for denial in sorted(_denials(text, hedged=True), key=lambda denial: -denial.start):
        text = text[: denial.start] + " . " + text[denial.end :]
    return _NEGATED.sub(" ", text)


def apply_pushback(state: SessionState, pushback: Pushback) -> SessionState:
    """The state with the denied values gone, and remembered as denied."""
    for contradiction in pushback.contradictions:
        state = _take_back(state, contradiction.field, contradiction.values)
    return state


def deny_signals(state: SessionState, names: Sequence[str]) -> SessionState:
    """The state after a pushback by click; names that are no signal are ignored."""
    for name in names:
        if name in SIGNALS:
            state = _take_back(state, name, _values(state.signals.get(name)))
    return state


def _contradiction(
    name: str, denial: _Denial, state: SessionState, instance: Instance
) -> Contradiction | None:
    values = _values(state.signals.get(name))
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


def _denials(text: str, *, hedged: bool = False) -> list[_Denial]:
    found: list[_Denial] = []
    for kind, strength, pattern in _KINDS:
        for match in pattern.finditer(text):
            if any(match.start() < other.end and other.start < match.end() for other in found):
                continue
            if kind in ("i_am_not", "we_are_not"):
                if _HEDGES.match(text, match.end()) and not hedged:
                    continue
                end = _end(_CLAUSE_END, text, match.end())
                # "Our stack is not React": the field may stand before the denial.
                denied = text[match.start() : end]
                found.append(_Denial(kind, strength, match.start(), end, denied, False))
            elif kind == "that_is_wrong":
                end = _end(_CLAUSE_END, text, match.end())
                start = _sentence_start(text, match.start())
                whole = text[start : _end(_SENTENCE_END, text, match.end())]
                found.append(_Denial(kind, strength, match.start(), end, whole, True))
            else:
                end = _end(_SENTENCE_END, text, match.end())
                denied = text[match.end() : end]
                found.append(_Denial(kind, strength, match.start(), end, denied, True))
    return found


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.search(text, start)
    return match.start() if match else len(text)


def _sentence_start(text: str, position: int) -> int:
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, position)]
    # "React? That's wrong." denies what the sentence before it named.
    return ends[-2] if len(ends) > 1 else 0


def _take_back(state: SessionState, name: str, values: Sequence[str]) -> SessionState:
    signals, denied = dict(state.signals), dict(state.denied)
    left = tuple(value for value in _values(signals.get(name)) if value not in values)
    if left:
        signals[name] = left
    else:
        signals.pop(name, None)
    fresh = tuple(value for value in values if not is_denied(state, name, value))
    if fresh:
        denied[name] = (*denied.get(name, ()), *fresh)[-MAX_DENIED_VALUES:]
    return replace(state, signals=MappingProxyType(signals), denied=MappingProxyType(denied))


def _values(value: SignalValue | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value
