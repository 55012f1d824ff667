"""Nesting: how deep a text's brackets go, measured before a parser has to find out."""

from __future__ import annotations

import re
from itertools import accumulate
from operator import sub

_OPENING = b"([{"
_CLOSING = b")]}"
_OTHERS = bytes(set(range(256)) - set(_OPENING + _CLOSING))
_STEP = {**dict.fromkeys(_OPENING, 1), **dict.fromkeys(_CLOSING, -1)}
_ANGLES = bytes(set(range(256)) - set(b"<>;{}"))
_STATEMENT_END = re.compile(rb"[;{}]+")
# A chain of calls nests as well, one in the next; some grammars take n * n steps for it.
_CHAIN = re.compile(rb"(?:\.\s*\w+\s*){20,}")

MAX_DEPTH = 5000
# Type arguments that never close cost a parser memory as well: 8,000 of them a gigabyte.
MAX_ANGLES = 1000
MAX_LINKS = 3000


def nested_too_deep(source: bytes, limit: int = MAX_DEPTH) -> bool:
    """Do more than ``limit`` brackets lie open at one place, or 1,000 ``<`` in one statement?

    What strings and comments hold counts too; no text that people write comes near the limit. A
    parser that recovers from n open brackets takes n * n steps and cannot be cancelled meanwhile
    (200,000 take a minute). Source: design, section 6.
    """
    if source.count(b"<") > MAX_ANGLES:
        statements = _STATEMENT_END.split(source.translate(None, _ANGLES))
        if max(part.count(b"<") - part.count(b">") for part in statements) > MAX_ANGLES:
            return True
    if source.count(b".") > MAX_LINKS:
        chains = (chain[0].count(b".") for chain in _CHAIN.finditer(source))
        if max(chains, default=0) > MAX_LINKS:
            return True
    if sum(map(source.count, (b"(", b"[", b"{"))) <= limit:
        return False
    depths = list(accumulate(map(_STEP.__getitem__, source.translate(None, _OTHERS))))
    lowest = accumulate(depths, min, initial=0)
    return bool(max(map(sub, depths, lowest)) > limit)
