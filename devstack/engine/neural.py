"""Keyword results and the nearest vectors as one list: the embedded stand-in for NeuralSearch.

Algolia publishes that it merges both and names the three scores, not how it computes them. Here
the keyword score is the share of the query's words that a record has, each weighed by its rarity;
the semantic score is its similarity, from the farthest of the nearest (0) to the nearest (1).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tantivy

from devstack.engine.candidates import CandidateQuery
from devstack.engine.documents import Document
from devstack.engine.filters import Filter
from devstack.engine.query_words import QueryWord
from devstack.engine.ranking import RankedDocument, Ranker
from devstack.engine.text_index import Snapshot
from devstack.engine.vectors import VectorView

# So many of each list are merged, whatever page is asked: pages of one search fit together.
MERGED = 100


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a hit answers: by its words, by its vector, and both; from 0 to 1."""

    keyword: float
    semantic: float
    neural: float


@dataclass(frozen=True)
class UnionQuery:
    """The keyword query, or one of the documents that only their vectors brought."""

    keywords: CandidateQuery
    numbers: Sequence[int]

    def query(self) -> tantivy.Query:
        """The query itself, for counting facets."""
        if not self.numbers:
            return self.keywords.query()
        should = tantivy.Occur.Should
        return tantivy.Query.boolean_query(
            [
                (should, self.keywords.query()),
                (should, _numbered(self.keywords.snapshot, self.numbers)),
            ]
        )


@dataclass(frozen=True)
class Merged:
    """One list, how many there are in all, the query of all of them, and the scores by number."""

    ranked: Sequence[RankedDocument]
    total: int
    query: UnionQuery
    scores: dict[int, Scores]


def merge(
    snapshot: Snapshot,
    vectors: VectorView,
    question: str,
    keywords: tuple[Sequence[RankedDocument], int, CandidateQuery],
    ranker: Ranker,
    filters: Sequence[Filter],
) -> Merged:
    """Merges the best of both lists; what else the keywords found follows in its own order. What
    the query names, word for word, leads.

    ``filters`` hold for both lists, and optional filters lift hits of either, by one word at most
    (Algolia's ``usePositionalSemanticRanking`` lets them reach vector results).
    """
    ranked, total, query = keywords
    allowed = vectors.mask(tuple(filters), lambda: _numbers(snapshot, filters)) if filters else None
    near = vectors.nearest(vectors.embedder.query(question), MERGED, allowed)
    by_number = {one.document.number: one for one in ranked}
    head = {one.document.number: one for one in ranked[:MERGED]}
    for number, _ in near:
        if number not in head:
            head[number] = by_number.get(number) or ranker.rank(snapshot.documents[number])
    fresh = [number for number, _ in near if number not in by_number]
    if total > len(ranked) and fresh:
        # Some of them the keywords found too, too far down to be among those ranked.
        found = _which_match(query, fresh)
        fresh = [number for number in fresh if number not in found]
    weights = _weights(snapshot, query.words)
    # What the keyword search did not find has no words, even if it has some of those required.
    points = {
        number: 0.0 if number in fresh else _points(one.document, query.words, weights)
        for number, one in head.items()
    }
    scores = _scores(head.values(), points, sum(weights), dict(near), query.words)
    # Sorting is stable: of equal scores the keywords' order holds.
    merged = sorted(head.values(), key=lambda one: -scores[one.document.number].neural)
    tail = [one for one in ranked[MERGED:] if one.document.number not in scores]
    return Merged([*merged, *tail], total + len(fresh), UnionQuery(query, fresh), scores)


def _weights(snapshot: Snapshot, words: Sequence[QueryWord]) -> list[float]:
    """What each word of the query tells: much where few records have it, as BM25 weighs words."""
    frequency, total = snapshot.vocabulary.words.frequency, len(snapshot.documents)
    weights = []
    for word in words:
        having = min(sum(frequency[number] for number in word.singles), total)
        weights.append(word.count * math.log(1 + (total - having + 0.5) / (having + 0.5)))
    return weights


def _points(document: Document, words: Sequence[QueryWord], weights: Sequence[float]) -> float:
    """The weights of the words that a document has; a typo takes half, a second one more."""
    having = set(document.words)
    points = 0.0
    for word, weight in zip(words, weights, strict=True):
        typos = [word.singles[number].typos for number in having & word.singles.keys()]
        typos += [phrase.match.typos for phrase in word.phrases if having.issuperset(phrase.words)]
        if typos:
            points += weight / (1 + min(typos))
    return points


def _scores(
    head: Collection[RankedDocument],
    points: Mapping[int, float],
    most: float,
    near: Mapping[int, float],
    words: Sequence[QueryWord],
) -> dict[int, Scores]:
    filters = [one.filters for one in head]
    lowest, spread = min(filters, default=0), max(filters, default=0) - min(filters, default=0)
    if spread:
        # The best filter score brings as much as a word does on average.
        worth = most / max(len(words), 1) or 1.0
        most += worth
        points = {
            one.document.number: points[one.document.number]
            + worth * (one.filters - lowest) / spread
            for one in head
        }
    most = most or 1.0
    farthest, nearest = min(near.values(), default=0.0), max(near.values(), default=0.0)
    scores: dict[int, Scores] = {}
    for one in head:
        number = one.document.number
        keyword, semantic = points[number] / most, 0.0
        if number in near:
            semantic = (
                (near[number] - farthest) / (nearest - farthest) if nearest > farthest else 1.0
            )
        # Equal weights: a record that has every word is never behind one that has none.
        neural = (keyword + semantic) / 2
        scores[number] = Scores(keyword, semantic, 1.0 if _is_named(one, words) else neural)
    return scores


def _is_named(one: RankedDocument, words: Sequence[QueryWord]) -> bool:
    """Whether the first attribute begins with all the words, none of them optional: "user service"
    is the name of ``UserService``.
    """
    count = sum(word.count for word in words)
    return (
        not any(word.optional for word in words)
        and one.typos == 0
        and one.exact == count
        and one.proximity == len(words) - 1
        and one.attribute == 0
    )


def question_of(query: str, words: Sequence[QueryWord], snapshot: Snapshot) -> str:
    """The query as a model reads it: no word twice, and the beginning of a word made whole by the
    commonest word of the index that begins so. Keyword queries repeat words for their weight and
    cut them to stems; a model knows neither.
    """
    vocabulary = snapshot.vocabulary
    frequency, texts = vocabulary.words.frequency, vocabulary.words.texts
    whole: dict[str, str] = {}
    for word in words:
        if not word.prefix or not word.optional or vocabulary.number(word.text) is not None:
            continue
        best = max(vocabulary.prefixed(word.text), key=lambda n: frequency[n], default=None)
        if best is not None and frequency[best]:
            whole[word.text] = texts[best]
    return " ".join(dict.fromkeys(whole.get(word.lower(), word) for word in query.split()))


def _numbers(snapshot: Snapshot, filters: Sequence[Filter]) -> list[int]:
    return [one.number for one in CandidateQuery(snapshot, (), (), filters).everything()]


def _numbered(snapshot: Snapshot, numbers: Sequence[int]) -> tantivy.Query:
    return tantivy.Query.boolean_query(
        [
            (tantivy.Occur.Should, tantivy.Query.term_query(snapshot.schema, "number", number))
            for number in numbers
        ]
    )


def _which_match(query: CandidateQuery, numbers: Sequence[int]) -> set[int]:
    must = tantivy.Occur.Must
    both = tantivy.Query.boolean_query(
        [(must, query.query()), (must, _numbered(query.snapshot, numbers))]
    )
    result = query.snapshot.searcher.search(both, len(numbers), count=False)
    addresses = [address for _, address in result.hits]
    values: Sequence[Any] = query.snapshot.searcher.fast_field_values("number", addresses)
    return {int(value) for value in values if value is not None}
