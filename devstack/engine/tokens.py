"""Text into words, as Algolia splits it: separators, lower case, no diacritics, camelCase."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Every character that is neither letter nor digit separates, the underscore included; letters of
# scripts that write without spaces come out as one word a run (Algolia segments CJK by dictionary).
_WORD = re.compile(r"[^\W_]+")
# getUserById -> get User By Id; HTTPServer -> HTTP Server; sha256Sum -> sha256 Sum.
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|[^\W_a-zA-Z]+|[A-Z]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: normalised, with its position in words and its span in characters."""

    text: str
    position: int
    start: int
    end: int
    # The whole of a camelCase word whose parts stand at this and the following positions.
    compound: bool = False


def normalise(word: str) -> str:
    """Lower case without diacritics. Algolia's ``keepDiacriticsOnCharacters`` is left at none."""
    lowered = word.lower()
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFKD", lowered)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def camel_parts(word: str) -> list[str]:
    """The parts of a camelCase word in their own case; a plain word is its only part."""
    if word.islower() or not word.isascii():
        return [word]
    parts = _CAMEL_PART.findall(word)
    return parts if "".join(parts) == word else [word]


def words_of(text: str) -> list[str]:
    """The normalised words of a text, camelCase left whole: the fast path of indexing."""
    if text.isascii():
        return _WORD.findall(text.lower())
    return [normalise(word) for word in _WORD.findall(text)]


def split(text: str, *, camel_case: bool = False) -> Iterator[Word]:
    """The words of a text with their places.

    With ``camel_case`` a compound yields itself at its first part's position and then its parts:
    getUserById is found as a whole and by any part. Algolia's documentation says only that the
    parts match; that the whole still matches too is what its users see.
    """
    position = 0
    for match in _WORD.finditer(text):
        raw, start = match.group(), match.start()
        parts = camel_parts(raw) if camel_case else [raw]
        if len(parts) > 1:
            yield Word(normalise(raw), position, start, match.end(), compound=True)
        for part in parts:
            yield Word(normalise(part), position, start, start + len(part))
            position += 1
            start += len(part)
