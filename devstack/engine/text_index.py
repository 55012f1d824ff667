"""What tantivy holds of an index, and the immutable snapshots that searches run on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import tantivy

from devstack.engine.documents import MAX_SLOTS, Document, IndexedText, Slots, SortValue
from devstack.engine.settings import Settings, SortKey
from devstack.engine.vocabulary import VocabularyView, Words

if TYPE_CHECKING:
    from devstack.engine.vectors import VectorView

MAX_FACETS = 32


@dataclass(frozen=True)
class Snapshot:
    """One published state of an index; nothing in it changes."""

    settings: Settings
    searcher: tantivy.Searcher
    schema: tantivy.Schema
    documents: Mapping[int, Document]
    slot_names: Sequence[str]
    slot_ranks: Sequence[int]
    slot_ordered: Sequence[bool]
    facet_fields: Mapping[str, str]
    vocabulary: VocabularyView
    facet_terms: Words
    numbers: Mapping[str, Sequence[float]]
    # None without an embedding model, and for an index in keyword mode.
    vectors: VectorView | None = None

    @cached_property
    def places_without_query(self) -> Mapping[int, int]:
        """Document number -> its place when no word and no filter score tells it from others."""
        keys = self.settings.sort_keys
        order = [int(name[5:]) for name in self.settings.criteria if name.startswith("sort:")]

        def key(document: Document) -> tuple[object, ...]:
            return (*(sort_key(document.sort_values[i], keys[i]) for i in order), document.number)

        ordered = sorted(self.documents.values(), key=key)
        return {document.number: place for place, document in enumerate(ordered)}

    def numbers_between(
        self, attribute: str, low: float, high: float, *, low_open: bool, high_open: bool
    ) -> Sequence[float]:
        """The distinct values of a numeric attribute within the bounds."""
        values = self.numbers.get(attribute, ())
        start = bisect_right(values, low) if low_open else bisect_left(values, low)
        stop = bisect_left(values, high) if high_open else bisect_right(values, high)
        return values[start:stop]


@dataclass(frozen=True, slots=True)
class _Reversed:
    text: str

    def __lt__(self, other: _Reversed) -> bool:
        return other.text < self.text


def sort_key(value: SortValue, key: SortKey) -> tuple[int, Any]:
    """A value as it sorts: numbers, then strings, then records without one, in either order."""
    if value is None:
        return 2, 0
    if isinstance(value, str):
        return 1, _Reversed(value) if key.descending else value
    return 0, -value if key.descending else value


class TextIndex:
    """The tantivy index of one set of settings. Writers serialise their own calls."""

    def __init__(self, settings: Settings) -> None:
        schema = tantivy.SchemaBuilder()
        schema.add_unsigned_field("number", indexed=True, fast=True)
        for slot in range(MAX_SLOTS):
            schema.add_text_field(f"s{slot}", tokenizer_name="whitespace", index_option="position")
        # Filters: "attribute NUL value" for facets, "attribute SOH number" for numbers.
        schema.add_text_field("terms", tokenizer_name="raw", index_option="basic")
        self.facet_fields = {
            attribute: f"f{i}" for i, attribute in enumerate(list(settings.facets)[:MAX_FACETS])
        }
        for name in self.facet_fields.values():
            schema.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
        self.schema = schema.build()
        self._index = tantivy.Index(self.schema)
        # The writer's own default of threads and heap would take 128 MB for every index.
        self._writer = self._index.writer(heap_size=16_000_000, num_threads=1)

    def put(self, indexed: IndexedText) -> None:
        """Adds a document; it is found after the next commit."""
        document = tantivy.Document()
        document.add_unsigned("number", indexed.document.number)
        for slot, text in indexed.texts.items():
            document.add_text(f"s{slot}", text)
        for term in indexed.terms:
            document.add_text("terms", term)
        for attribute, values in indexed.facet_values.items():
            field = self.facet_fields.get(attribute)
            for value in values if field else ():
                document.add_text(str(field), value)
        self._writer.add_document(document)

    def remove(self, number: int) -> None:
        """Removes a document at the next commit."""
        # delete_documents_by_term takes every int for a signed one, which no unsigned field holds.
        self._writer.delete_documents_by_query(
            tantivy.Query.term_query(self.schema, "number", number)
        )

    def commit(self) -> tantivy.Searcher:
        """Publishes what was put and removed; a searcher over exactly that."""
        self._writer.commit()
        self._index.reload()
        return self._index.searcher()

    def searcher(self) -> tantivy.Searcher:
        """A searcher over the last commit."""
        return self._index.searcher()


def slot_view(slots: Slots) -> tuple[Sequence[str], Sequence[int], Sequence[bool]]:
    """The slots as a snapshot keeps them."""
    return tuple(slots.names), tuple(slots.ranks), tuple(slots.ordered)
