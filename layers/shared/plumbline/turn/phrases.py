"""Phrases in a reader's words: whole words, any case, any apostrophe."""

from __future__ import annotations

import re
from functools import lru_cache

# "I’m" is typed in many ways; one form is compared.
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'", "＇": "'"})


def plain_words(text: str) -> str:
    """The text folded, with plain apostrophes and single spaces."""
    return " ".join(text.translate(_APOSTROPHES).casefold().split())


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether ``phrase`` stands in ``text`` between word boundaries."""
    return _pattern(phrase).search(plain_words(text)) is not None


def first_phrase(text: str, phrases: tuple[str, ...]) -> str | None:
    """The first of ``phrases`` that stands in ``text``."""
    words = plain_words(text)
    return next((phrase for phrase in phrases if _pattern(phrase).search(words)), None)


@lru_cache(maxsize=2_048)
def _pattern(phrase: str) -> re.Pattern[str]:
    words = re.escape(plain_words(phrase)).replace(r"\ ", r"[\s-]+")
    return re.compile(rf"(?<!\w){words}(?!\w)")
