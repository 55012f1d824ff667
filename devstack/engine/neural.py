"""Keyword results and the nearest vectors as one list: the embedded stand-in for NeuralSearch.

Algolia publishes that it merges both and names the three scores, not how it computes them. Here
both lists score by rank (reciprocal rank fusion, Cormack, Clarke and Buettcher 2009), which needs
no scale that both would share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tantivy

from devstack.engine.candidates import CandidateQuery
from devstack.engine.filters import Filter
from devstack.engine.query_words import QueryWord
from devstack.engine.ranking import RankedDocument, Ranker
from devstack.engine.text_index import Snapshot
from devstack.engine.vectors import VectorView

# So many of each list are merged, whatever page is asked: pages of one search fit together.
MERGED = 100
# The constant of the paper.
_RANK_CONSTANT = 60
# What the best filter score is worth beside the whole range of the similarities.
_FILTER_SHARE = 0.25


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

    ``filters`` hold for both lists. Optional filters have ranked the keyword results already;
    vector results rise with their score (Algolia's ``usePositionalSemanticRanking``).
    """
    ranked, total, query = keywords
    allowed = vectors.mask(tuple(filters), lambda: _numbers(snapshot, filters)) if filters else None
    similar = vectors.nearest(vectors.embedder.query(question), MERGED, allowed)
    by_number = {one.document.number: one for one in ranked}
    near = [
        by_number.get(number) or ranker.rank(snapshot.documents[number]) for number, _ in similar
    ]
    near = _lifted(near, [similarity for _, similarity in similar])
    keyword = {one.document.number: _score(rank) for rank, one in enumerate(ranked[:MERGED], 1)}
    semantic = {one.document.number: _score(rank) for rank, one in enumerate(near, 1)}
    head = list({one.document.number: one for one in (*ranked[:MERGED], *near)}.values())
    named = {one.document.number for one in ranked[:MERGED] if _is_named(one, query.words)}
    scores = {
        number: Scores(
            keyword.get(number, 0.0),
            semantic.get(number, 0.0),
            1.0 if number in named else (keyword.get(number, 0.0) + semantic.get(number, 0.0)) / 2,
        )
        for number in (one.document.number for one in head)
    }
    # Sorting is stable: of equal scores the keywords' order holds.
    head.sort(key=lambda one: -scores[one.document.number].neural)
    tail = [one for one in ranked[MERGED:] if one.document.number not in scores]
    fresh = [number for number in semantic if number not in by_number]
    if total > len(ranked) and fresh:
        # Some of them the keywords found too, too far down to be among those ranked.
        found = _which_match(query, fresh)
        fresh = [number for number in fresh if number not in found]
    return Merged([*head, *tail], total + len(fresh), UnionQuery(query, fresh), scores)


def _score(rank: int) -> float:
    return (_RANK_CONSTANT + 1) / (_RANK_CONSTANT + rank)


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


def _lifted(near: list[RankedDocument], similarities: Sequence[float]) -> list[RankedDocument]:
    highest = max((one.filters for one in near), default=0)
    lowest = min((one.filters for one in near), default=0)
    if highest == lowest:
        return near
    span = (similarities[0] - similarities[-1]) or 1.0
    lift = _FILTER_SHARE * span / (highest - lowest)
    order = sorted(range(len(near)), key=lambda at: -(similarities[at] + lift * near[at].filters))
    return [near[at] for at in order]


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
