"""Embedding in the background: what is to be embedded, what is, and which tasks wait for it."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from devstack.engine.embedded_text import embedded_text
from devstack.engine.embedder import Embedder
from devstack.engine.journal import Journal
from devstack.engine.settings import Settings
from devstack.engine.vectors import Floats, RememberingEmbedder, VectorTable, VectorView, stored

_FIRST_BATCH, _LARGEST_BATCH = 8, 512
# A batch is sized to about this long: vectors become searchable batch by batch.
_SECONDS_A_BATCH = 1.0
_log = logging.getLogger(__name__)


class Embeddings:
    """The vectors of an engine, by the text that they were made of.

    A text is embedded once, however many records and indices have it, and is kept in the journal:
    a restart embeds nothing again. ``published`` is called, under ``lock``, after each batch.
    """

    def __init__(
        self,
        embedder: Embedder,
        journal: Journal,
        lock: threading.RLock,
        published: Callable[[], None],
    ) -> None:
        self.embedder = RememberingEmbedder(embedder)
        self._journal, self._lock, self._published = journal, lock, published
        self._table = VectorTable(embedder.dimensions)
        self._waiting: dict[bytes, tuple[str, set[int]]] = {}
        self._tasks: Counter[int] = Counter()
        self._change = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def load(self, keys: Set[bytes]) -> None:
        """Takes up the vectors that were kept for these keys and forgets the others."""
        kept = self._journal.vectors(self.embedder.name)
        self._table.add(one for one in kept if one[0] in keys)
        self._journal.drop_vectors(self.embedder.name, [key for key, _ in kept if key not in keys])
        self._published()

    def text(self, record: Mapping[str, Any], settings: Settings) -> tuple[bytes, str]:
        """The key of a record's vector, and the text to embed."""
        text = embedded_text(record, settings)
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest(), text

    def __contains__(self, key: bytes) -> bool:
        return key in self._table

    def view(self, keys: Mapping[int, bytes]) -> VectorView:
        """What a snapshot of these documents sees."""
        return self._table.view(keys.items(), self.embedder)

    def want(self, texts: Mapping[bytes, str], task: int) -> None:
        """Embeds these texts; ``task`` is pending until all of them are searchable."""
        with self._change:
            for key, text in texts.items():
                if key in self._table:
                    continue
                tasks = self._waiting.setdefault(key, (text, set()))[1]
                if task not in tasks:
                    tasks.add(task)
                    self._tasks[task] += 1
            if self._waiting and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)
                self._thread.start()
            self._change.notify_all()

    def pending(self, task: int) -> bool:
        """Whether records of this task still wait for their vectors."""
        with self._change:
            return self._tasks[task] > 0

    def settle(self, seconds: float) -> bool:
        """Waits until nothing is left to embed; whether that came within the time."""
        with self._change:
            return self._change.wait_for(lambda: not self._waiting, seconds)

    def close(self) -> None:
        """Ends the background thread; what was not embedded yet is at the next start."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _run(self) -> None:
        size = _FIRST_BATCH
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                batch = [(key, one[0]) for key, one in list(self._waiting.items())[:size]]
            begun = time.monotonic()
            vectors = self._embedded([text for _, text in batch])
            taken = time.monotonic() - begun
            keys = [key for key, _ in batch]
            fresh = list(zip(keys, stored(vectors), strict=True))
            with self._lock:
                if self._closed:
                    return
                try:
                    self._journal.keep_vectors(self.embedder.name, fresh)
                except sqlite3.Error:
                    _log.exception("Vectors could not be kept: a restart embeds them again.")
                self._table.add(fresh)
                self._published()
            with self._change:
                for key in keys:
                    for task in self._waiting.pop(key)[1]:
                        self._tasks[task] -= 1
                        if not self._tasks[task]:
                            del self._tasks[task]
                self._change.notify_all()
            if taken < _SECONDS_A_BATCH / 2:
                size = min(2 * size, _LARGEST_BATCH)
            elif taken > 2 * _SECONDS_A_BATCH:
                size = max(size // 2, 1)

    def _embedded(self, texts: Sequence[str]) -> Floats:
        """The vectors; a text that the model fails on gets none (zeros, near to nothing), so that
        its record is found by its words and its task does not wait for ever.
        """
        try:
            return self.embedder.passages(texts)
        except Exception:
            if len(texts) == 1:
                _log.exception("A record could not be embedded: it is found by keywords alone.")
                return np.zeros((1, self.embedder.dimensions), dtype=np.float32)
            return np.concatenate([self._embedded([text]) for text in texts])
