"""An embedding model for tests that knows a few synonyms, and engines over it."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from devstack.engine.engine import Engine

if TYPE_CHECKING:
    from devstack.engine.vectors import Floats

_CONCEPTS = (
    ("image", "picture", "photo", "photograph"),
    ("save", "store", "keep", "write", "persist"),
    ("retry", "again", "repeat", "backoff"),
    ("fetch", "download", "request", "server", "network"),
    ("parse", "read", "decode", "json"),
    ("user", "account", "member", "login"),
)
_AXES = {word: axis for axis, words in enumerate(_CONCEPTS) for word in words}
NEURAL_SETTINGS: Mapping[str, Any] = {
    "searchableAttributes": ["entity_name", "description"],
    "attributesForFaceting": ["language", "filterOnly(repository_id)"],
    "camelCaseAttributes": ["entity_name"],
    "mode": "neuralSearch",
}


class ConceptModel:
    """Words of one concept lie on one axis; the last axis is what every text has.

    ``texts`` is what was embedded. While ``gate`` is not set, embedding waits; a text with
    "unreadable" in it fails.
    """

    def __init__(self, name: str = "concepts") -> None:
        self.name, self.dimensions = name, len(_CONCEPTS) + 1
        self.texts: list[str] = []
        self.questions: list[str] = []
        self.gate = threading.Event()
        self.gate.set()

    def passages(self, texts: Sequence[str]) -> Floats:
        self.gate.wait(30)
        if any("unreadable" in text for text in texts):
            raise ValueError("unreadable")
        self.texts += texts
        return self._vectors(texts)

    def query(self, text: str) -> Floats:
        self.questions.append(text)
        vector: Floats = self._vectors([text])[0]
        return vector

    def _vectors(self, texts: Sequence[str]) -> Floats:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[-1] = 0.5
            for word in re.findall(r"[a-z]+", text.lower()):
                if word in _AXES:
                    row[_AXES[word]] += 1
        unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def add(engine: Engine, *records: Mapping[str, Any]) -> int:
    """Writes records to the index "i": the task."""
    requests = [{"action": "addObject", "body": dict(one)} for one in records]
    return engine.batch("i", requests)[0]


def settle(engine: Engine) -> None:
    """Waits until every record is found by its vector."""
    assert engine._embeddings is not None
    assert engine._embeddings.settle(20)


def record(number: int, name: str, description: str = "", **more: object) -> dict[str, Any]:
    return {
        "objectID": str(number),
        "entity_name": name,
        "description": description,
        "language": "python",
        "repository_id": 1,
        **more,
    }


def neural_engine(
    *records: Mapping[str, Any], model: ConceptModel | None = None, **settings: object
) -> Engine:
    """An engine in neural mode whose records are embedded."""
    engine = Engine(embedder=model or ConceptModel())
    engine.set_settings("i", {**NEURAL_SETTINGS, **settings})
    add(engine, *records)
    settle(engine)
    return engine
