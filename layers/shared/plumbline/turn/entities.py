"""The index's own facet values in a reader's words: what a boost is made of.

Source: seed 003, "Decision"; design, decisions 1, 2 and 4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"\w+(?:['’]\w+)?|\+\+|#")

# What languages are called beside their name in the index.
_ALIASES = {
    ("c", "++"): "cpp",
    ("c", "#"): "csharp",
    ("golang",): "go",
    ("js",): "javascript",
    ("ts",): "typescript",
    ("py",): "python",
    ("hcl",): "terraform",
    ("rst",): "restructuredtext",
}
# Facet values that are everyday words or letters too: they need a capital or a cue.
_EVERYDAY = frozenset(
    ["bash", "basic", "c", "crystal", "d", "dart", "elm", "go", "julia", "nim", "r", "ruby"]
).union(["markdown", "notebook", "rust", "swift"])
_CUES = frozenset(["for", "from", "in", "into", "to", "use", "using", "via", "with"])
_AFTER_CUES = frozenset(
    ["api", "app", "client", "code", "library", "module", "project", "sdk", "service", "version"]
)
_NO_VALUES = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "by", "i", "in", "is", "it", "of", "on", "or"]
).union(["none", "null", "other", "the", "to"])


@dataclass(frozen=True, slots=True)
class Entity:
    """One facet value of the index, as the index writes it."""

    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class _Token:
    folded: str
    written: str


def spot_entities(text: str, known: Mapping[str, Sequence[str]]) -> tuple[Entity, ...]:
    """The facet values that occur in ``text`` as whole words, plural or not, longest first.

    ``known`` maps a facet attribute to its values. A value that is an everyday word too ("Go")
    counts only where it is written as a name, or after a cue ("in go").
    """
    tokens = _tokens(text)
    places = _places_by_stem(tokens)
    found: dict[Entity, int] = {}
    for attribute, values in known.items():
        for value in values:
            wanted = _stems(value)
            starts = _starts(wanted, tokens, places)
            if any(_names(tokens, start, len(wanted)) for start in starts):
                found[Entity(attribute, value)] = len(wanted)
    return tuple(sorted(found, key=lambda entity: (-found[entity], entity.attribute, entity.value)))


def match_values(text: str, values: Sequence[str]) -> tuple[str, ...]:
    """Of a facet's values, those that mean ``text`` (a signal's value, an extracted entity).

    The value's words stand in the text, or the text's words, two at least, stand in the value.
    """
    tokens = _tokens(text)
    stems = tuple(token.folded for token in tokens)
    places = _places_by_stem(tokens)
    return tuple(
        value
        for value in values
        if _starts(_stems(value), tokens, places) or _inside(stems, _stems(value))
    )


def _tokens(text: str) -> list[_Token]:
    written = _WORD.findall(text)
    tokens: list[_Token] = []
    position = 0
    while position < len(written):
        for alias, name in _ALIASES.items():
            part = tuple(word.casefold() for word in written[position : position + len(alias)])
            if part == alias:
                # An alias is never an everyday word, so it counts as written with a capital.
                tokens.append(_Token(name, name.upper()))
                position += len(alias)
                break
        else:
            word = written[position]
            if word not in ("++", "#"):
                tokens.extend(_Token(_stem(part), part) for part in word.split("_") if part)
            position += 1
    return tokens


@lru_cache(maxsize=16_384)
def _stems(value: str) -> tuple[str, ...]:
    """The value's words as they are compared; none for a value that says nothing."""
    stems = tuple(token.folded for token in _tokens(value))
    return () if len(stems) == 1 and stems[0] in _NO_VALUES else stems


def _stem(word: str) -> str:
    """The word without case and plural: enough to meet a facet value, no more."""
    folded = word.casefold()
    for ending in ("'s", "’s"):
        folded = folded.removesuffix(ending)
    if len(folded) > 4 and folded.endswith("ies"):
        return folded[:-3] + "y"
    if len(folded) > 3 and folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        return folded[:-1]
    return folded


def _places_by_stem(tokens: Sequence[_Token]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        places.setdefault(token.folded, []).append(place)
    return places


def _starts(
    wanted: tuple[str, ...], tokens: Sequence[_Token], places: Mapping[str, list[int]]
) -> list[int]:
    """Where the wanted words stand in a row."""
    if not wanted:
        return []
    return [
        start
        for start in places.get(wanted[0], ())
        if tuple(token.folded for token in tokens[start : start + len(wanted)]) == wanted
    ]


def _inside(stems: tuple[str, ...], value: tuple[str, ...]) -> bool:
    """Whether the text, two words at least, stands in the value."""
    size = len(stems)
    return size > 1 and any(
        value[start : start + size] == stems for start in range(len(value) - size + 1)
    )


def _names(tokens: Sequence[_Token], start: int, size: int) -> bool:
    """Whether the tokens there are meant as a name, not as an everyday word."""
    token = tokens[start]
    if size > 1 or token.folded not in _EVERYDAY:
        return True
    before = tokens[start - 1].folded if start else ""
    after = tokens[start + 1].folded if start + 1 < len(tokens) else ""
    capital = token.written[0].isupper()
    cued = before in _CUES or after in _AFTER_CUES
    if len(token.folded) == 1:
        # "c" and "r" are letters of every text: a capital and a cue, both.
        return capital and cued
    if before == "to" and not capital:
        return False
    return (capital and start > 0) or cued
