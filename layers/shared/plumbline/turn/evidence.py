"""Whether a value stands in the reader's words. Source: design, decision 5."""

from __future__ import annotations

import itertools
import re

_WORD = re.compile(r"[^\W_]+(?:[.+#-][^\W_]+)*[+#]*")
_NUMBER = re.compile(r"(\d[\d,' ]*(?:\.\d+)?)\s*(k|m|b|bn|thousand|million|billion)?(?!\w)")
_MAGNITUDES = {"k": 3, "thousand": 3, "m": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}
# Words that say nothing of a value by themselves.
_EMPTY = frozenset(
    ["a", "about", "an", "and", "at", "based", "by", "company", "for", "from", "in", "less"]
).union(["more", "of", "on", "or", "our", "over", "than", "the", "to", "under", "with"])
ENOUGH_EVIDENCE = 0.5
_SHORTEST_STEM = 4
_STEM_SHARE = 0.6


def is_evidenced(value: str, words: str) -> bool:
    """Whether at least half of the value's telling words, and all its numbers, are in ``words``.

    Words meet when they are equal or share a stem ("retail", "retailer"); numbers by what they
    are worth ("10M", "10 million").
    """
    return evidence_share(value, words) >= ENOUGH_EVIDENCE


def evidence_share(value: str, words: str) -> float:
    """How much of the value's telling words is in ``words``, from 0 to 1.

    0 where a number of the value is not said.
    """
    groups = _groups(value)
    spoken = _spoken(words)
    met = [_is_spoken(group, spoken) for group in groups]
    numbers = [hit for group, hit in zip(groups, met, strict=True) if group[0].startswith("#")]
    return sum(met) / len(met) if met and all(numbers) else 0.0


def _groups(value: str) -> list[list[str]]:
    """The value's telling words; a hyphenated one is a group of its joined form and its parts."""
    return [group for group in map(_forms, _words(value)) if group[0] not in _EMPTY]


def _words(text: str) -> list[str]:
    folded = text.casefold().replace("’", "'")
    return [word.removesuffix("'s") for word in _WORD.findall(_NUMBER.sub(_worth, folded))]


def _worth(match: re.Match[str]) -> str:
    digits = re.sub(r"[,' ]", "", match.group(1))
    power = _MAGNITUDES.get(match.group(2) or "", 0)
    try:
        # Letters, so that the word pattern keeps it in one piece.
        return f" number{int(float(digits) * 10**power)} "
    except (ValueError, OverflowError):
        return match.group()


def _forms(word: str) -> list[str]:
    if re.fullmatch(r"number\d+", word):
        return ["#" + word.removeprefix("number")]
    joined = re.sub(r"[.-]", "", word)
    parts = [part for part in re.split(r"[.-]", word) if part]
    return [joined, *(parts if len(parts) > 1 else ())]


def _spoken(text: str) -> set[str]:
    words = _words(text)
    spoken = {form for word in words for form in _forms(word)}
    # "e commerce" is "e-commerce" too.
    spoken.update(first + second for first, second in itertools.pairwise(words))
    return spoken


def _is_spoken(group: list[str], spoken: set[str]) -> bool:
    joined, parts = group[0], group[1:]
    if _meets(joined, spoken):
        return True
    return bool(parts) and all(_meets(part, spoken) for part in parts)


def _meets(word: str, spoken: set[str]) -> bool:
    return word in spoken or any(_same_stem(word, other) for other in spoken)


def _same_stem(word: str, other: str) -> bool:
    if word.startswith("#") or other.startswith("#"):
        return False
    short, long = sorted((_stem(word), _stem(other)), key=len)
    if short == long:
        return True
    if len(short) < _SHORTEST_STEM or not long.startswith(short):
        return False
    return len(short) / len(long) >= _STEM_SHARE


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
