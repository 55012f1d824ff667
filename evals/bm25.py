"""Plain BM25 over the same records: what the engine has to beat."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

K1, B = 1.2, 0.75
_WORD = re.compile(r"[a-z0-9]+")
SEARCHED = ("entity_name", "description", "content", "parameters", "file_path")


def words(text: str) -> list[str]:
    """Lower-case runs of letters and digits; an underscore separates."""
    return _WORD.findall(text.lower())


def record_text(record: Mapping[str, object]) -> str:
    """The attributes that the engine searches, as one text."""
    parts: list[str] = []
    for name in SEARCHED:
        value = record.get(name)
        parts += [str(item) for item in value] if isinstance(value, list) else [str(value or "")]
    return "\n".join(parts)


class Bm25:
    """Okapi BM25, k1 1.2 and b 0.75, no stop words, no stemming."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._lengths: list[int] = []
        for number, text in enumerate(texts):
            counts = Counter(words(text))
            self._lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self._postings.setdefault(word, []).append((number, count))
        self._mean = sum(self._lengths) / max(len(self._lengths), 1)

    def search(self, query: str, limit: int) -> list[int]:
        """The numbers of the best texts, best first; equal ones in their order."""
        scores: dict[int, float] = {}
        total = len(self._lengths)
        for word in words(query):
            postings = self._postings.get(word, ())
            weight = math.log(1 + (total - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                norm = K1 * (1 - B + B * self._lengths[number] / self._mean)
                gain = weight * count * (K1 + 1) / (count + norm)
                scores[number] = scores.get(number, 0.0) + gain
        best = heapq.nsmallest(limit, scores.items(), key=lambda item: (-item[1], item[0]))
        return [number for number, _ in best]
