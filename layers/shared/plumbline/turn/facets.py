"""The facet values that the index really has, learned from its own responses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

SECONDS_KEPT = 60.0
MAX_VALUES_PER_ATTRIBUTE = 2_000
_MAX_VALUE_CHARS = 200


class FacetValues:
    """Values by attribute, shared by the turns of one process; safe between threads.

    A value is current for 60 s after it was last seen, and goes when something newer is learned of
    its attribute. Until then it is still served: a boost on a value that is gone changes nothing,
    and a quiet process would otherwise never boost. Source: seed 000, fetchGoldenMap.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, dict[str, float]] = {}
        self._lock = threading.Lock()

    def learn(self, results: Iterable[Mapping[str, object]]) -> None:
        """Take the ``facets`` of these search results in."""
        now = self._clock()
        with self._lock:
            for result in results:
                facets = result.get("facets")
                if not isinstance(facets, Mapping):
                    continue
                for attribute, counts in facets.items():
                    if isinstance(attribute, str) and isinstance(counts, Mapping) and counts:
                        self._learn(attribute, counts, now)

    def values(self) -> Mapping[str, tuple[str, ...]]:
        """Every attribute's values, newest first."""
        with self._lock:
            return {
                attribute: tuple(sorted(seen, key=lambda value: (-seen[value], value)))
                for attribute, seen in self._seen.items()
            }

    def stale(self) -> bool:
        """Whether nothing was learned for 60 s, so that a refresh off the turn's path pays."""
        with self._lock:
            newest = max((max(seen.values()) for seen in self._seen.values()), default=None)
            return newest is None or self._clock() - newest > SECONDS_KEPT

    def _learn(self, attribute: str, counts: Mapping[object, object], now: float) -> None:
        seen = self._seen.setdefault(attribute, {})
        for value in counts:
            if isinstance(value, str) and 0 < len(value) <= _MAX_VALUE_CHARS:
                seen[value] = now
        kept = sorted(seen.items(), key=lambda item: -item[1])[:MAX_VALUES_PER_ATTRIBUTE]
        self._seen[attribute] = {v: at for v, at in kept if now - at <= SECONDS_KEPT}
