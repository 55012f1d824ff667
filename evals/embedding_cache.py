"""Vectors kept on disk by model and text, so that no evaluation embeds a text twice."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from devstack.engine.embedder import Embedder

if TYPE_CHECKING:
    from devstack.engine.embedder import Vectors

FOLDER = Path("build", "embeddings")
_BATCH = 64


class CachedEmbedder:
    """An embedder that asks another one only for the texts that it has not seen yet."""

    def __init__(self, inner: Embedder, folder: Path = FOLDER) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._inner = inner
        self.name, self.dimensions = inner.name, inner.dimensions
        # Questions and records come from different threads.
        self._lock = threading.Lock()
        self._kept = sqlite3.connect(
            folder / f"{inner.name}.sqlite3", timeout=60, check_same_thread=False
        )
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB)")
        # What this process embedded itself, and how long that took.
        self.embedded, self.seconds = 0, 0.0

    def passages(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        return self._vectors("passage", texts)

    def query(self, text: str) -> Vectors:
        """The vector of a question."""
        found: Vectors = self._vectors("query", [text])[0]
        return found

    def _vectors(self, kind: str, texts: Sequence[str]) -> Vectors:
        # It comes with the models: without the extra this module can still be imported.
        import numpy as np

        keys = [hashlib.sha256(f"{kind}:{text}".encode()).hexdigest() for text in texts]
        found = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        missing: list[int] = []
        for place, key in enumerate(keys):
            with self._lock:
                row = self._kept.execute(
                    "SELECT vector FROM vectors WHERE key = ?", (key,)
                ).fetchone()
            if row is None:
                missing.append(place)
            else:
                found[place] = np.frombuffer(row[0], dtype=np.float32)
        for start in range(0, len(missing), _BATCH):
            places = missing[start : start + _BATCH]
            begun = time.perf_counter()
            fresh = (
                self._inner.passages([texts[place] for place in places])
                if kind == "passage"
                else np.stack([self._inner.query(texts[place]) for place in places])
            )
            self.seconds += time.perf_counter() - begun
            self.embedded += len(places)
            found[places] = fresh
            rows = [(keys[p], v.tobytes()) for p, v in zip(places, fresh, strict=True)]
            with self._lock:
                self._kept.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
                self._kept.commit()
        return found
