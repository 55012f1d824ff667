"""Numbers as values: "4.5 million", "4,500,000" and "4.5M" are one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SCALES = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "mm": 1e6, "million": 1e6, "millions": 1e6,
    "b": 1e9, "bn": 1e9, "billion": 1e9, "billions": 1e9, "trillion": 1e12, "tn": 1e12,
    "hundred": 1e2, "dozen": 12.0,
}  # fmt: skip
_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "half": 0.5,
}  # fmt: skip
_MULTIPLES = {"double": 2, "doubled": 2, "doubling": 2, "twice": 2, "triple": 3, "tripled": 3,
              "tripling": 3, "quadrupled": 4, "quadruple": 4, "thrice": 3}  # fmt: skip
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun",
            "july jul", "august aug", "september sep sept", "october oct", "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_UNITS = {
    "%": "%", "percent": "%", "per cent": "%", "pct": "%", "percentage points": "%",
    "x": "x", "×": "x", "-fold": "x", "fold": "x", "times": "x",
    "ms": "ms", "millisecond": "ms", "milliseconds": "ms", "s": "s", "sec": "s", "secs": "s",
    "second": "s", "seconds": "s", "minute": "min", "minutes": "min", "min": "min",
    "mins": "min", "hour": "h", "hours": "h", "hrs": "h", "day": "d", "days": "d", "week": "w",
    "weeks": "w", "month": "mo", "months": "mo", "year": "y", "years": "y", "kb": "kb",
    "mb": "mb", "gb": "gb", "tb": "tb", "km": "km", "kg": "kg",
}  # fmt: skip
_CURRENCIES = {
    "$": "$", "usd": "$", "us$": "$", "dollar": "$", "dollars": "$", "€": "€", "eur": "€",
    "euro": "€", "euros": "€", "£": "£", "gbp": "£", "pound": "£", "pounds": "£", "¥": "¥",
    "yen": "¥", "jpy": "¥",
}  # fmt: skip

_DIGITS = r"\d{1,3}(?:[,\u00a0\u202f']\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?"
_WORD_NUMBER = "|".join(sorted(_WORDS, key=len, reverse=True))
_NUMBER = re.compile(
    r"(?<![\w.])(?:(?P<currency>US\$|[$€£¥]|USD|EUR|GBP)\s?)?"
    rf"(?P<number>{_DIGITS}|(?:{_WORD_NUMBER})(?:[- ](?:{_WORD_NUMBER}))?(?=\b))"
    r"(?:(?P<ordinal>st|nd|rd|th)\b)?"
    rf"(?:[\s-]?(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})(?![A-Za-z]))?"
    rf"(?:\s?-?(?P<unit>{'|'.join(re.escape(u) for u in sorted(_UNITS, key=len, reverse=True))}"
    r")(?![A-Za-z]))?"
    r"(?:\s?(?P<money>US\$|[€£¥$]|USD|EUR|GBP|dollars?|euros?|pounds?|yen)(?![A-Za-z]))?"
    r"(?:\s?\+)?",
    re.IGNORECASE,
)
_MULTIPLE = re.compile(rf"\b(?:{'|'.join(_MULTIPLES)})\b", re.IGNORECASE)
_MONTH_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    r"\b(?:(?P<iso>(?P<y1>\d{4})-(?P<m1>\d{2})-(?P<d1>\d{2}))"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m2>{_MONTH_NAMES})\.?,?\s+(?P<y2>\d{{4}})"
    rf"|(?P<m3>{_MONTH_NAMES})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}}))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Value:
    """One number in a text: its magnitude, its unit (``%``, ``x``, ``$``, ``ms``, ``date`` or
    empty), whether it was scaled ("million"), and where it stands."""

    magnitude: float
    unit: str
    start: int
    end: int
    text: str
    scaled: bool = False
    word: bool = False

    @property
    def key(self) -> tuple[str, float]:
        """What two equal values share."""
        return (self.unit, float(f"{self.magnitude:.9g}"))

    @property
    def metric(self) -> bool:
        """Whether it measures something, as a year, a version or a count in words does not."""
        if self.unit == "date":
            return False
        if self.unit or self.scaled:
            return True
        return not self.word and not (1900 <= self.magnitude <= 2100) and self.magnitude > 1


def values(text: str) -> Iterator[Value]:
    """Every number of the text as a value, in order."""
    taken: list[tuple[int, int]] = []
    for match in _DATE.finditer(text):
        year = match["y1"] or match["y2"] or match["y3"]
        month = match["m1"] or match["m2"] or match["m3"]
        day = match["d1"] or match["d2"] or match["d3"]
        number = int(month) if month.isdigit() else _MONTHS[month.lower()]
        taken.append(match.span())
        stamp = int(year) * 10000 + number * 100 + int(day)
        yield Value(stamp, "date", match.start(), match.end(), match[0])
    for match in _MULTIPLE.finditer(text):
        yield Value(
            _MULTIPLES[match[0].lower()], "x", match.start(), match.end(), match[0], word=True
        )
    for match in _NUMBER.finditer(text):
        if any(low < match.end() and match.start() < high for low, high in taken):
            continue
        if (value := _value(match)) is not None:
            yield value


def _value(match: re.Match[str]) -> Value | None:
    raw = match["number"]
    word = raw[0].isalpha()
    if word:
        parts = [_WORDS[part] for part in re.split(r"[- ]", raw.lower())]
        magnitude = float(sum(parts))
    else:
        magnitude = float(re.sub(r"[,\u00a0\u202f']", "", raw))
    scale = (match["scale"] or "").lower()
    money = (match["currency"] or match["money"] or "").lower()
    unit = _CURRENCIES.get(money, "") if money else _UNITS.get((match["unit"] or "").lower(), "")
    magnitude *= _SCALES.get(scale, 1.0)
    return Value(magnitude, unit, match.start(), match.end(), match[0].strip(), bool(scale), word)


@dataclass(frozen=True, slots=True)
class ValueSet:
    """The values of some texts, asked for one at a time."""

    keys: frozenset[tuple[str, float]]
    magnitudes: frozenset[float]

    @classmethod
    def of(cls, *texts: str) -> ValueSet:
        """The values of the texts."""
        keys = frozenset(value.key for text in texts for value in values(text))
        return cls(keys, frozenset(magnitude for _, magnitude in keys))

    def has(self, value: Value, *, strict: bool = True) -> bool:
        """Whether the value is among them. ``strict``: with the same unit, where it has one."""
        unit, magnitude = value.key
        if value.key in self.keys:
            return True
        return (not strict or not unit) and magnitude in self.magnitudes
