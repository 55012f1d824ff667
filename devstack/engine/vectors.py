"""Vectors in memory: one append-only table an engine, and what a snapshot sees of it.

Imported only where an embedding model is: numpy comes with the extra ``neural``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devstack.engine.embedder import Embedder

_KEPT_MASKS = 32
_KEPT_QUERIES = 256
Floats = NDArray[np.float32]


class VectorTable:
    """Vectors by key, float32 of the precision that is kept on disk (float16).

    One writer at a time. Rows are only ever added, so what a reader holds never changes.
    """

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._matrix = np.empty((256, dimensions), dtype=np.float32)
        self._rows: dict[bytes, int] = {}

    def __contains__(self, key: bytes) -> bool:
        return key in self._rows

    def add(self, vectors: Iterable[tuple[bytes, bytes]]) -> None:
        """Adds vectors by key, each as ``stored`` made it; a known key stays as it is."""
        for key, stored in vectors:
            if key in self._rows:
                continue
            row = len(self._rows)
            if row == len(self._matrix):
                grown = np.empty((2 * row, self._dimensions), dtype=np.float32)
                grown[:row] = self._matrix
                self._matrix = grown
            self._matrix[row] = np.frombuffer(stored, dtype=np.float16)
            self._rows[key] = row

    def view(self, keys: Iterable[tuple[int, bytes]], embedder: Embedder) -> VectorView:
        """The documents (number, key) that have a vector, in the order given."""
        known = [(number, self._rows[key]) for number, key in keys if key in self._rows]
        pairs = np.array(known, dtype=np.int64).reshape(-1, 2)
        return VectorView(pairs[:, 0], pairs[:, 1], self._matrix[: len(self._rows)], embedder)


def stored(vectors: Floats) -> list[bytes]:
    """Each vector as it is kept: float16, half the bytes, no difference in the ranking's order
    beyond the third decimal of a similarity.
    """
    return [vector.tobytes() for vector in vectors.astype(np.float16)]


@dataclass(frozen=True, eq=False)
class VectorView:
    """The vectors of one published state: ``numbers[i]`` has the vector ``matrix[rows[i]]``."""

    numbers: NDArray[np.int64]
    rows: NDArray[np.int64]
    matrix: Floats
    embedder: Embedder
    _masks: dict[Hashable, NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    def nearest(
        self, query: Floats, limit: int, allowed: NDArray[np.bool_] | None
    ) -> list[tuple[int, float]]:
        """The documents nearest to a vector with their similarity, best first; equal ones in the
        order in which they were written.
        """
        similar = (self.matrix @ query)[self.rows]
        places = np.arange(len(similar)) if allowed is None else np.flatnonzero(allowed)
        if len(places) > limit:
            # Everything as near as the last that is wanted, so that equal ones keep their order.
            least = np.partition(similar[places], len(places) - limit)[len(places) - limit]
            places = places[similar[places] >= least]
        order = places[np.argsort(-similar[places], kind="stable")][:limit]
        return [(int(self.numbers[at]), float(similar[at])) for at in order]

    def mask(self, filters: Hashable, numbers: Any) -> NDArray[np.bool_]:
        """Which documents ``numbers()`` names, remembered by the filters that it stands for."""
        known = self._masks.get(filters)
        if known is None:
            known = np.isin(self.numbers, np.array(numbers(), dtype=np.int64))
            if len(self._masks) >= _KEPT_MASKS:
                self._masks.clear()
            self._masks[filters] = known
        return known


class RememberingEmbedder:
    """An embedder that remembers the last questions: pages and refinements ask the same again."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name, self.dimensions = inner.name, inner.dimensions
        self._queries: dict[str, Floats] = {}

    def passages(self, texts: Sequence[str]) -> Floats:
        """One row a text."""
        return self._inner.passages(texts)

    def query(self, text: str) -> Floats:
        """The vector of a question."""
        known = self._queries.get(text)
        if known is None:
            if len(self._queries) >= _KEPT_QUERIES:
                self._queries.clear()
            known = self._queries[text] = self._inner.query(text)
        return known
