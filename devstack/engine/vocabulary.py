"""The distinct words of an index: numbers for them, and the words near a given one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import tantivy

# A typo in a long-tailed vocabulary can be near hundreds of words; the most frequent of them are
# kept, which bounds a query's size.
MAX_NEAR = 60
_PREFIX_END = "\U0010ffff"


class Words(dict[str, int]):
    """Word -> number, handing out the next number on first sight. Numbers are never reused.

    Readers share it with the writer: it only grows, and a word without records matches none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.frequency: list[int] = []

    def __missing__(self, word: str) -> int:
        number = len(self.texts)
        self.texts.append(word)
        self.frequency.append(0)
        self[word] = number
        return number


class Vocabulary:
    """The words of an index with a tantivy index over them, for prefixes and typos."""

    def __init__(self) -> None:
        self.words = Words()
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("word", tokenizer_name="raw", index_option="basic")
        schema.add_unsigned_field("number", fast=True)
        self._schema = schema.build()
        self._index = tantivy.Index(self._schema)
        self._writer = self._index.writer(heap_size=15_000_000, num_threads=1)
        self._published = 0
        self._view = VocabularyView(self.words, [], self._schema, self._index.searcher())

    def publish(self) -> VocabularyView:
        """A view that includes every word added so far."""
        texts = self.words.texts
        fresh = texts[self._published :]
        if fresh:
            for number, word in enumerate(fresh, self._published):
                document = tantivy.Document()
                document.add_text("word", word)
                document.add_unsigned("number", number)
                self._writer.add_document(document)
            self._writer.commit()
            self._index.reload()
            self._published += len(fresh)
            self._view = VocabularyView(
                self.words,
                # Sorting a sorted list with a sorted tail is a merge.
                sorted(self._view.in_order + sorted(fresh)),
                self._schema,
                self._index.searcher(),
            )
        return self._view


@dataclass(frozen=True)
class VocabularyView:
    """The vocabulary as one snapshot of the index sees it."""

    words: Words
    in_order: list[str]
    schema: tantivy.Schema
    searcher: tantivy.Searcher

    def number(self, word: str) -> int | None:
        """The word's number, or None where no record ever had it."""
        return self.words.get(word)

    def prefixed(self, prefix: str) -> list[int]:
        """The numbers of the words that begin so, the prefix itself included."""
        low = bisect_left(self.in_order, prefix)
        high = bisect_left(self.in_order, prefix + _PREFIX_END, low)
        words = self.words
        return [words[word] for word in self.in_order[low:high]]

    def near(self, word: str, edits: int, *, prefix: bool) -> dict[int, int]:
        """The words within so many edits, none excluded: number -> edits, commonest first.

        An edit is an insertion, a deletion, a substitution or a transposition of neighbours.
        """
        found: dict[int, int] = {}
        for distance in range(1, edits + 1):
            query = tantivy.Query.fuzzy_term_query(
                self.schema, "word", word, distance, True, prefix
            )
            hits = self.searcher.search(query, 2000, count=False).hits
            addresses = [address for _, address in hits]
            for number in self.searcher.fast_field_values("number", addresses):
                if isinstance(number, int):
                    found.setdefault(number, distance)
        return found

    def commonest(self, numbers: Iterable[int], limit: int = MAX_NEAR) -> list[int]:
        """The words that most records have, at most ``limit`` of them."""
        frequency = self.words.frequency
        return sorted(numbers, key=lambda number: -frequency[number])[:limit]
