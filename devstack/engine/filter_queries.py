"""Filters as tantivy queries, and as scores of a single document."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tantivy

from devstack.engine.documents import Document, facet_term, number_term, numbers_in
from devstack.engine.filters import Filter, Leaf
from devstack.engine.text_index import Snapshot

_MUST, _SHOULD, _NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


def leaf_query(snapshot: Snapshot, leaf: Leaf) -> tantivy.Query:
    """The documents for which the leaf holds, negation included."""
    query = _positive(snapshot, leaf)
    if leaf.negated:
        query = tantivy.Query.boolean_query([(_MUST, tantivy.Query.all_query()), (_NOT, query)])
    return query


def filter_clauses(
    snapshot: Snapshot, filters: Sequence[Filter]
) -> list[tuple[tantivy.Occur, tantivy.Query]]:
    """The clauses that all must hold, none of which adds to a score."""
    clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
    for group in (group for one in filters for group in one):
        if len(group) == 1 and group[0].negated:
            clauses.append((_NOT, _positive(snapshot, group[0])))
            continue
        queries = [leaf_query(snapshot, leaf) for leaf in group]
        query = (
            queries[0]
            if len(queries) == 1
            else tantivy.Query.boolean_query([(_SHOULD, one) for one in queries])
        )
        clauses.append((_MUST, tantivy.Query.const_score_query(query, 0.0)))
    return clauses


def _positive(snapshot: Snapshot, leaf: Leaf) -> tantivy.Query:
    if leaf.operator == ":":
        terms = [facet_term(leaf.attribute, leaf.value)]
    else:
        terms = [number_term(leaf.attribute, value) for value in _numbers(snapshot, leaf)]
    if not terms:
        return tantivy.Query.empty_query()
    if len(terms) == 1:
        return tantivy.Query.term_query(snapshot.schema, "terms", terms[0], "basic")
    return tantivy.Query.term_set_query(snapshot.schema, "terms", terms)


def _numbers(snapshot: Snapshot, leaf: Leaf) -> Sequence[float]:
    low, high, low_open, high_open = bounds(leaf)
    if leaf.operator == "!=":
        return [
            value
            for value in snapshot.numbers.get(leaf.attribute, ())
            if round(value, 3) != round(leaf.low, 3)
        ]
    if leaf.operator == "=":
        return [leaf.low]
    return snapshot.numbers_between(
        leaf.attribute, low, high, low_open=low_open, high_open=high_open
    )


def bounds(leaf: Leaf) -> tuple[float, float, bool, bool]:
    """The interval of a numeric leaf: low, high, low open, high open."""
    match leaf.operator:
        case "<":
            return -math.inf, leaf.low, False, True
        case "<=":
            return -math.inf, leaf.low, False, False
        case ">":
            return leaf.low, math.inf, True, False
        case ">=":
            return leaf.low, math.inf, False, False
        case "TO":
            return leaf.low, leaf.high, False, False
        case _:
            return leaf.low, leaf.low, False, False


class FilterScorer:
    """The Filters criterion: AND elements add up, an OR group counts its best, or all of them
    with ``sumOrFiltersScores``. Source: facts, "Semantics", optionalFilters.

    A negated leaf scores when it does not match, so that its matches fall behind.
    """

    def __init__(self, snapshot: Snapshot, filters: Sequence[Filter], *, sum_or: bool) -> None:
        self._groups = [
            [(leaf, snapshot.facet_terms.get(facet_term(leaf.attribute, leaf.value))) for leaf in g]
            for one in filters
            for g in one
        ]
        self._sum_or = sum_or

    def score(self, document: Document) -> int:
        """The document's score, 0 where nothing holds."""
        total = 0
        for group in self._groups:
            scores = [leaf.score for leaf, term in group if self._holds(document, leaf, term)]
            total += (sum(scores) if self._sum_or else max(scores)) if scores else 0
        return total

    def _holds(self, document: Document, leaf: Leaf, term: int | None) -> bool:
        if leaf.operator == ":":
            return (term is not None and term in document.facets) is not leaf.negated
        low, high, low_open, high_open = bounds(leaf)
        holds = any(
            (value > low if low_open else value >= low)
            and (value < high if high_open else value <= high)
            for attribute, value in numbers_in(document.record())
            if attribute == leaf.attribute
        )
        return holds is not (leaf.negated or leaf.operator == "!=")
