"""The tantivy query of a search: which documents match, and the best few hundred of them.

tantivy cannot apply a tie-break, so each candidate gets one number that carries, from the top:
typos, words, filters, closeness of neighbouring words, attribute, custom ranking. The criteria
then order the candidates exactly (``ranking``). The number is a 32-bit float: with very long
queries its lowest digits blur, and so does the choice of the last candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tantivy

from devstack.engine.documents import Document
from devstack.engine.filter_queries import filter_clauses, leaf_query
from devstack.engine.filters import Filter
from devstack.engine.query_words import QueryWord
from devstack.engine.text_index import Snapshot

_MUST, _SHOULD, _NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot
Clause = tuple[tantivy.Occur, tantivy.Query]

# The exact order is computed for this many documents, or twice what a deep page needs.
RERANKED = 250
_ATTRIBUTE_STEPS = 8
_NEIGHBOURS = 16
_FILTER_STEPS = 15
_PREFIX_TERMS = 400


@dataclass(frozen=True, slots=True)
class Candidates:
    """The documents to rank, and how many match in all."""

    documents: Sequence[Document]
    total: int


@dataclass(frozen=True)
class CandidateQuery:
    """What a search looks for, ready to be run against a snapshot."""

    snapshot: Snapshot
    words: Sequence[QueryWord]
    slots: Sequence[int]
    filters: Sequence[Filter] = ()
    boosts: Sequence[Filter] = ()

    def best(self, wanted: int) -> Candidates:
        """The likely best documents, enough to order the first ``wanted`` of them exactly."""
        clauses = self._matching()
        if self.words:
            clauses += self._neighbours()
        clauses += self._boosts()
        limit = max(RERANKED, 2 * wanted)
        result = self.snapshot.searcher.search(tantivy.Query.boolean_query(clauses), limit)
        return Candidates(self._documents(result), int(getattr(result, "count", 0) or 0))

    def everything(self) -> list[Document]:
        """Every document that matches, in the order in which they were written."""
        if not self.words and not self.filters:
            return list(self.snapshot.documents.values())
        query = tantivy.Query.boolean_query(self._matching())
        limit = max(self.snapshot.searcher.num_docs, 1)
        result = self.snapshot.searcher.search(query, limit, count=False)
        return sorted(self._documents(result), key=lambda document: document.number)

    def query(self) -> tantivy.Query:
        """The query itself, for counting facets."""
        return tantivy.Query.boolean_query(self._matching())

    def _documents(self, result: tantivy.SearchResult) -> list[Document]:
        addresses = [address for _, address in result.hits]
        documents = self.snapshot.documents
        numbers = self.snapshot.searcher.fast_field_values("number", addresses)
        return [documents[int(number)] for number in numbers if number is not None]

    def _matching(self) -> list[Clause]:
        clauses = filter_clauses(self.snapshot, self.filters)
        required = [word for word in self.words if not word.optional]
        optional = [word for word in self.words if word.optional]
        weights = self._weights()
        clauses += [(_MUST, self._word(word, weights)) for word in required]
        if optional:
            queries = [(_SHOULD, self._word(word, weights)) for word in optional]
            if required:
                clauses += queries
            else:
                clauses.append((_MUST, tantivy.Query.boolean_query(queries)))
        if not any(occur == _MUST for occur, _ in clauses):
            everything = tantivy.Query.const_score_query(tantivy.Query.all_query(), 0.0)
            clauses.append((_MUST, everything))
        return clauses

    def _weights(self) -> _Weights:
        count = sum(word.count for word in self.words)
        neighbours = count * _ATTRIBUTE_STEPS
        filters = neighbours + count * _NEIGHBOURS
        words = filters * (_FILTER_STEPS + 1)
        return _Weights(filters, words, words * (count + 1))

    def _word(self, word: QueryWord, weights: _Weights) -> tantivy.Query:
        """One word of the query: its best alternative in its best attribute."""
        tiers: dict[int, list[int]] = {}
        for number, match in word.singles.items():
            tiers.setdefault(match.typos, []).append(number)
        texts = self.snapshot.vocabulary.words.texts
        queries: list[tantivy.Query] = []
        for slot in self.slots:
            for typos, numbers in tiers.items():
                score = self._score(word, typos, slot, weights)
                field = f"s{slot}"
                if len(numbers) > _PREFIX_TERMS and typos == 0:
                    query = tantivy.Query.fuzzy_term_query(
                        self.snapshot.schema, field, word.text, 0, True, True
                    )
                    queries.append(tantivy.Query.const_score_query(query, score))
                    # What is no prefix stands apart: plurals and joints.
                    numbers = [n for n in numbers if not texts[n].startswith(word.text)]
                    if not numbers:
                        continue
                terms = [texts[number] for number in numbers]
                query = (
                    tantivy.Query.term_query(self.snapshot.schema, field, terms[0], "basic")
                    if len(terms) == 1
                    else tantivy.Query.term_set_query(self.snapshot.schema, field, terms)
                )
                queries.append(tantivy.Query.const_score_query(query, score))
            for phrase in word.phrases:
                query = tantivy.Query.phrase_query(
                    self.snapshot.schema, f"s{slot}", [texts[number] for number in phrase.words]
                )
                score = self._score(word, phrase.match.typos, slot, weights)
                queries.append(tantivy.Query.const_score_query(query, score))
        if not queries:
            return tantivy.Query.empty_query()
        return tantivy.Query.disjunction_max_query(queries)

    def _score(self, word: QueryWord, typos: int, slot: int, weights: _Weights) -> float:
        ranks = self.snapshot.slot_ranks
        top = max(ranks, default=0) + 1
        attribute = 1 + (top - 1 - ranks[slot]) * (_ATTRIBUTE_STEPS - 1) // max(top - 1, 1)
        if word.optional:
            # A typo in a word that may be left out is worth less than leaving it out.
            return word.count * (weights.words + attribute) if typos == 0 else (4 - typos) / 4
        return word.count * ((3 - typos) * weights.typos + weights.words + attribute)

    def _neighbours(self) -> list[Clause]:
        texts = self.snapshot.vocabulary.words.texts
        vocabulary = self.snapshot.vocabulary
        clauses: list[Clause] = []
        for left, right in zip(self.words, self.words[1:], strict=False):
            first, second = vocabulary.number(left.text), vocabulary.number(right.text)
            if first is None or second is None:
                continue
            pair: list[str | tuple[int, str]] = [texts[first], texts[second]]
            queries = [
                tantivy.Query.phrase_query(self.snapshot.schema, f"s{slot}", pair)
                for slot in self.slots
            ]
            query = tantivy.Query.const_score_query(
                tantivy.Query.boolean_query([(_SHOULD, one) for one in queries]),
                float(_NEIGHBOURS),
            )
            clauses.append((_SHOULD, query))
        return clauses

    def _boosts(self) -> list[Clause]:
        """Scored filters, scaled to the digits that are theirs."""
        groups = [group for one in self.boosts for group in one]
        total = sum(max(leaf.score for leaf in group) for group in groups)
        if not total:
            return []
        unit = self._weights().filters * _FILTER_STEPS / total
        clauses: list[Clause] = []
        for group in groups:
            queries = [
                tantivy.Query.const_score_query(leaf_query(self.snapshot, leaf), leaf.score * unit)
                for leaf in group
                if leaf.score
            ]
            if queries:
                clauses.append((_SHOULD, tantivy.Query.disjunction_max_query(queries)))
        return clauses


@dataclass(frozen=True, slots=True)
class _Weights:
    """What one step of each criterion is worth; each is more than all below it together."""

    filters: int
    words: int
    typos: int
