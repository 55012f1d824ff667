"""One index: its settings, its documents, and the snapshot that searches see."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from devstack.engine.documents import Document, Slots, build
from devstack.engine.settings import REINDEXING, Settings
from devstack.engine.text_index import Snapshot, TextIndex, slot_view
from devstack.engine.vocabulary import Vocabulary, Words

if TYPE_CHECKING:
    from devstack.engine.embeddings import Embeddings
    from devstack.engine.vectors import VectorView

NEURAL = "neuralSearch"


class SearchIndex:
    """Documents under one set of settings. Writers serialise themselves; ``snapshot`` is safe
    to read from any thread, and each write is seen whole or not at all.
    """

    def __init__(
        self, name: str, settings: Settings, created: str, embeddings: Embeddings | None = None
    ) -> None:
        self.name = name
        self._embeddings = embeddings
        self.created = created
        self.updated = created
        self._next = 0
        self._lock = threading.RLock()
        self._numbers_by_id: dict[str, int] = {}
        self._documents: dict[int, Document] = {}
        self._snapshot: Snapshot
        self._reset(settings)

    def _reset(self, settings: Settings) -> None:
        self.settings = settings
        self._slots = Slots(settings)
        self._vocabulary = Vocabulary()
        self._facet_terms = Words()
        self._numbers: dict[str, list[float]] = {}
        self._seen_numbers: dict[str, set[float]] = {}
        self._text = TextIndex(settings)
        self._numbers_by_id = {}
        self._documents = {}
        self._vector_keys: dict[int, bytes] = {}
        self._publish()

    @property
    def snapshot(self) -> Snapshot:
        """The last published state."""
        return self._snapshot

    def __len__(self) -> int:
        return len(self._documents)

    def record(self, object_id: str) -> dict[str, Any] | None:
        """The record of an objectID, or None."""
        with self._lock:
            number = self._numbers_by_id.get(object_id)
            return None if number is None else self._documents[number].record()

    def object_ids(self) -> list[str]:
        """Every objectID, in the order in which the records came."""
        return [self._documents[number].object_id for number in sorted(self._documents)]

    def bytes_held(self) -> int:
        """The size of the records as they are kept."""
        return sum(len(document.body) for document in self.snapshot.documents.values())

    def apply(
        self, records: Mapping[str, Mapping[str, Any] | None], *, cleared: bool = False
    ) -> None:
        """Writes records (None deletes one) and publishes them together."""
        with self._lock:
            if cleared:
                self._reset_documents(records.items())
                return
            for object_id, record in records.items():
                self._put(object_id, record)
            self._publish()

    def configure(self, settings: Settings) -> None:
        """Takes new settings; the documents are built anew where these change how."""
        with self._lock:
            changed = {
                name
                for name in settings.given.keys() | self.settings.given.keys()
                if settings.given.get(name) != self.settings.given.get(name)
            }
            if changed & REINDEXING:
                documents = [self._documents[number] for number in sorted(self._documents)]
                self.settings = settings
                self._reset_documents((one.object_id, one.record()) for one in documents)
            else:
                self.settings = settings
                self._publish()

    @property
    def next_number(self) -> int:
        """The number that the next document gets."""
        return self._next

    def vector_keys(self) -> set[bytes]:
        """The keys of every record's vector, there or not."""
        with self._lock:
            return set(self._vector_keys.values())

    def without_vector(self, since: int = 0) -> dict[bytes, str]:
        """The texts of the documents from a number on whose vectors are not there, by their keys;
        none in keyword mode.
        """
        if self._embeddings is None or self.settings.get("mode") != NEURAL:
            return {}
        with self._lock:
            return dict(
                self._embeddings.text(self._documents[number].record(), self.settings)
                for number, key in self._vector_keys.items()
                if number >= since and key not in self._embeddings
            )

    def publish_vectors(self) -> None:
        """Makes vectors searchable that were added since the last write."""
        with self._lock:
            self._snapshot = replace(self.snapshot, vectors=self._vector_view())

    def _reset_documents(self, records: Iterable[tuple[str, Mapping[str, Any] | None]]) -> None:
        """A new index beside the old one, which answers until the new one is whole."""
        fresh = SearchIndex(self.name, self.settings, self.created, self._embeddings)
        for object_id, record in records:
            fresh._put(object_id, record)
        fresh._publish()
        for name in [
            "_slots",
            "_vocabulary",
            "_facet_terms",
            "_numbers",
            "_seen_numbers",
            "_text",
            "_numbers_by_id",
            "_documents",
            "_vector_keys",
            "_next",
        ]:
            setattr(self, name, getattr(fresh, name))
        self._snapshot = fresh.snapshot

    def _put(self, object_id: str, record: Mapping[str, Any] | None) -> None:
        old = self._numbers_by_id.pop(object_id, None)
        if old is not None:
            self._text.remove(old)
            gone = self._documents.pop(old)
            self._vector_keys.pop(old, None)
            frequency = self._vocabulary.words.frequency
            for word in set(gone.words):
                frequency[word] -= 1
        if record is None:
            return
        indexed = build(
            self._next,
            object_id,
            record,
            self.settings,
            self._slots,
            self._vocabulary.words,
            self._facet_terms,
        )
        self._next += 1
        self._numbers_by_id[object_id] = indexed.document.number
        self._documents[indexed.document.number] = indexed.document
        if self._embeddings is not None:
            self._vector_keys[indexed.document.number] = self._embeddings.text(
                record, self.settings
            )[0]
        for attribute, value in indexed.numbers:
            self._seen_numbers.setdefault(attribute, set()).add(value)
        self._text.put(indexed)

    def _publish(self) -> None:
        searcher = self._text.commit()
        for attribute, seen in self._seen_numbers.items():
            if len(seen) != len(self._numbers.get(attribute, ())):
                # A new list: searches under way keep the one they have.
                self._numbers[attribute] = sorted(seen)
        names, ranks, ordered = slot_view(self._slots)
        self._snapshot = Snapshot(
            settings=self.settings,
            searcher=searcher,
            schema=self._text.schema,
            documents=dict(self._documents),
            slot_names=names,
            slot_ranks=ranks,
            slot_ordered=ordered,
            facet_fields=self._text.facet_fields,
            vocabulary=self._vocabulary.publish(),
            facet_terms=self._facet_terms,
            numbers=dict(self._numbers),
            vectors=self._vector_view(),
        )

    def _vector_view(self) -> VectorView | None:
        if self._embeddings is None or self.settings.get("mode") != NEURAL:
            return None
        return self._embeddings.view(self._vector_keys)
