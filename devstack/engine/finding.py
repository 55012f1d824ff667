"""What one search finds: the words of the query, the filters, and in neural mode the vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from devstack.engine.candidates import CandidateQuery
from devstack.engine.errors import BadRequest
from devstack.engine.filter_queries import FilterScorer
from devstack.engine.filters import (
    Filter,
    parse_facet_filters,
    parse_filters,
    parse_numeric_filters,
    parse_tag_filters,
)
from devstack.engine.parameters import SearchParameters
from devstack.engine.query_words import QueryWord, Token, expand, tokens_of
from devstack.engine.ranking import RankedDocument, Ranker
from devstack.engine.text_index import Snapshot

if TYPE_CHECKING:
    from devstack.engine.neural import Scores, UnionQuery

FIRST_WORDS_REMOVED = 5


@dataclass(frozen=True)
class Found:
    """The documents of one search in order, and how many there are in all."""

    ranked: Sequence[RankedDocument]
    total: int
    words: Sequence[QueryWord]
    query: CandidateQuery | UnionQuery
    # By document number, in neural mode.
    scores: Mapping[int, Scores] = field(default_factory=dict)


def all_filters(parameters: SearchParameters) -> list[Filter]:
    """Everything that restricts the search, parsed."""
    found = [parse_filters(parameters.get("filters", ""))]
    for name, parse in (
        ("facetFilters", parse_facet_filters),
        ("numericFilters", parse_numeric_filters),
        ("tagFilters", parse_tag_filters),
    ):
        value = parameters.values.get(name)
        if value is not None:
            found.append(parse(value))
    return [one for one in found if one]


def searched_slots(snapshot: Snapshot, parameters: SearchParameters) -> list[int]:
    """The slots to search: all, or those of ``restrictSearchableAttributes``."""
    names = parameters.get("restrictSearchableAttributes", [])
    if not names:
        return list(range(len(snapshot.slot_names)))
    unknown = [name for name in names if name not in snapshot.slot_names]
    if unknown and snapshot.settings.searchable is not None:
        raise BadRequest(
            f"Attribute {unknown[0]} is not in searchableAttributes: "
            "restrictSearchableAttributes may only name some of those"
        )
    return [slot for slot, name in enumerate(snapshot.slot_names) if name in names]


def find(snapshot: Snapshot, parameters: SearchParameters, wanted: int) -> Found:
    """Ranks what matches; where nothing does, drops words as ``removeWordsIfNoResults`` says."""
    filters = all_filters(parameters)
    optional = parameters.values.get("optionalFilters")
    boosts = [parse_facet_filters(optional, "optionalFilters")] if optional is not None else []
    scored = [one for one in filters if any(leaf.score != 1 for group in one for leaf in group)]
    scorer = None
    if boosts or scored:
        scorer = FilterScorer(
            snapshot, [*boosts, *scored], sum_or=parameters.flag("sumOrFiltersScores")
        )
    slots = searched_slots(snapshot, parameters)
    tokens = tokens_of(parameters)
    attempt = _Attempt(snapshot, parameters, slots, filters, [*boosts, *scored], scorer, wanted)
    found = attempt.run(tokens)
    if found.total == 0 and tokens:
        for fewer in _fewer_words(tokens, parameters):
            found = attempt.run(fewer)
            if found.total:
                break
    if snapshot.vectors is not None and parameters.get("mode", "neuralSearch") == "neuralSearch":
        return attempt.with_vectors(found)
    return found


def _fewer_words(tokens: Sequence[Token], parameters: SearchParameters) -> list[list[Token]]:
    match parameters.get("removeWordsIfNoResults", "none"):
        case "lastWords":
            return [list(tokens[:end]) for end in range(len(tokens) - 1, 0, -1)]
        case "firstWords":
            # Source: facts, "Semantics": at most five words are taken away from the front.
            most = min(len(tokens) - 1, FIRST_WORDS_REMOVED)
            return [list(tokens[start:]) for start in range(1, most + 1)]
        case "allOptional":
            return [[replace(token, optional=True) for token in tokens]]
        case _:
            return []


@dataclass(frozen=True)
class _Attempt:
    snapshot: Snapshot
    parameters: SearchParameters
    slots: Sequence[int]
    filters: Sequence[Filter]
    boosts: Sequence[Filter]
    scorer: FilterScorer | None
    wanted: int

    def run(self, tokens: Sequence[Token]) -> Found:
        words = expand(tokens, self.parameters, self.snapshot.vocabulary)
        query = CandidateQuery(self.snapshot, words, self.slots, self.filters, self.boosts)
        if any(not word.optional and not word.answerable for word in words):
            return Found((), 0, words, query)
        ranker = self._ranker(words)
        distinct = self.parameters.distinct(self.snapshot.settings)
        # Without words nothing but filters and custom ranking orders, and with groups or a typo
        # limit the total depends on every match: then all of them are ranked.
        tolerance = self.parameters.get("typoTolerance", "true")
        if not words or distinct or tolerance in ("min", "strict"):
            ranked = ranker.ranked(query.everything())
            if words and tolerance in ("min", "strict"):
                ranked = _fewest_typos(ranked, 1 if tolerance == "min" else 2)
            if distinct:
                ranked = _grouped(ranked, distinct)
            return Found(ranked, len(ranked), words, query)
        candidates = query.best(self.wanted)
        return Found(ranker.ranked(candidates.documents), candidates.total, words, query)

    def _ranker(self, words: Sequence[QueryWord]) -> Ranker:
        score = self.scorer.score if self.scorer else None
        return Ranker(self.snapshot, words, self.slots, self.parameters, score)

    def with_vectors(self, found: Found) -> Found:
        """The keyword results merged with the nearest vectors.

        One word that records have is a name or a part of one: its keyword results stand alone.
        """
        vectors, typed = self.snapshot.vectors, self.parameters.query.split()
        keywords = found.query
        if vectors is None or not isinstance(keywords, CandidateQuery) or not typed:
            return found
        if len(typed) == 1 and found.total:
            return found
        # numpy comes with the embedding model, and only then.
        from devstack.engine import neural

        merged = neural.merge(
            self.snapshot,
            vectors,
            neural.question_of(self.parameters.query, found.words, self.snapshot),
            (found.ranked, found.total, keywords),
            self._ranker(found.words),
            self.filters,
        )
        ranked, total = merged.ranked, merged.total
        if distinct := self.parameters.distinct(self.snapshot.settings):
            ranked = _grouped(ranked, distinct)
            total = len(ranked)
        return Found(ranked, total, found.words, merged.query, merged.scores)


def _fewest_typos(ranked: Sequence[RankedDocument], kinds: int) -> list[RankedDocument]:
    counts = sorted({one.typos for one in ranked})[:kinds]
    return [one for one in ranked if one.typos in counts]


def _grouped(ranked: Sequence[RankedDocument], size: int) -> list[RankedDocument]:
    """The best ``size`` documents of each group; documents without a group all stay."""
    seen: dict[str, int] = {}
    kept = []
    for one in ranked:
        group = one.document.group
        if group is not None:
            seen[group] = seen.get(group, 0) + 1
            if seen[group] > size:
                continue
        kept.append(one)
    return kept
