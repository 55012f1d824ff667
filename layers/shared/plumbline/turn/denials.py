"""What a message denies, as spans of its words.

Source: seed 000, detectPushback, "Patterns matched".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from plumbline.turn.phrases import plain_words

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
_FIRST_PERSON = re.compile(r"\b(?:i|im|me|my|we|us|our|ours)\b")
_FEW_WORDS = 4


@dataclass(frozen=True, slots=True)
class Denial:
    """A denial: ``denied`` are the words that it is about; ``start`` and ``end`` its place.

    ``names_field``: a field's name alone is enough to say what is meant.
    """

    kind: Kind
    strength: float
    start: int
    end: int
    denied: str
    names_field: bool


def affirmed_words(query: str) -> str:
    """The message without what it denies: the only words that can prove a value."""
    text = plain_words(query)
    for denial in sorted(find_denials(text, hedged=True), key=lambda denial: -denial.start):
        text = text[: denial.start] + " . " + text[denial.end :]
    return _NEGATED.sub(" ", text)


def find_denials(text: str, *, hedged: bool = False) -> list[Denial]:
    """The denials in plain words. With ``hedged`` also "I'm not sure", which denies no profile."""
    found: list[Denial] = []
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
                found.append(Denial(kind, strength, match.start(), end, denied, False))
            elif kind == "that_is_wrong":
                end = _end(_CLAUSE_END, text, match.end())
                start = _sentence_start(text, match.start())
                whole = text[start : _end(_SENTENCE_END, text, match.end())]
                if not _is_about_reader(whole):
                    continue
                found.append(Denial(kind, strength, match.start(), end, whole, True))
            else:
                end = _end(_SENTENCE_END, text, match.end())
                denied = text[match.end() : end]
                if kind != "i_never_said" and not _is_about_reader(denied):
                    continue
                found.append(Denial(kind, strength, match.start(), end, denied, True))
    return found


def _is_about_reader(denied: str) -> bool:
    """Whether it speaks of the reader: "why do you say that React is slow here" does not."""
    return len(denied.split()) <= _FEW_WORDS or _FIRST_PERSON.search(denied) is not None


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.search(text, start)
    return match.start() if match else len(text)


def _sentence_start(text: str, position: int) -> int:
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, position)]
    # "React? That's wrong." denies what the sentence before it named.
    return ends[-2] if len(ends) > 1 else 0
