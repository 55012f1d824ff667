"""One search against one snapshot: from the parameters to Algolia's response."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from devstack.engine import facets
from devstack.engine.candidates import CandidateQuery
from devstack.engine.documents import Document
from devstack.engine.errors import BadRequest
from devstack.engine.filter_queries import FilterScorer
from devstack.engine.filters import (
    Filter,
    parse_facet_filters,
    parse_filters,
    parse_numeric_filters,
    parse_tag_filters,
)
from devstack.engine.highlighting import Highlighter
from devstack.engine.parameters import SearchParameters, resolve
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


def search(snapshot: Snapshot, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The response to one query. Raises ``BadRequest`` for what Algolia would refuse."""
    started = time.perf_counter()
    parameters = resolve(body, snapshot.settings)
    start, size = window(parameters, snapshot)
    found = find(snapshot, parameters, start + size)
    page = found.ranked[start : start + size]
    response = _response(snapshot, parameters, found, page)
    response["index"] = name
    response["processingTimeMS"] = int((time.perf_counter() - started) * 1000)
    fields = parameters.get("responseFields", ["*"])
    return response if "*" in fields else {n: v for n, v in response.items() if n in fields}


def window(parameters: SearchParameters, snapshot: Snapshot) -> tuple[int, int]:
    """Where the page starts and how many hits it may have, within ``paginationLimitedTo``."""
    limit = int(snapshot.settings.get("paginationLimitedTo"))
    if parameters.length is not None or parameters.offset is not None:
        start = parameters.offset or 0
        size = parameters.length if parameters.length is not None else parameters.hits_per_page
    else:
        start, size = parameters.page * parameters.hits_per_page, parameters.hits_per_page
    return start, max(0, min(size, limit - start))


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


def _response(
    snapshot: Snapshot,
    parameters: SearchParameters,
    found: Found,
    page: Sequence[RankedDocument],
) -> dict[str, Any]:
    highlighter = Highlighter(snapshot, found.words, parameters)
    response: dict[str, Any] = {
        "hits": [
            _hit(snapshot, parameters, highlighter, one, found.scores.get(one.document.number))
            for one in page
        ],
        "nbHits": found.total,
    }
    if parameters.length is not None or parameters.offset is not None:
        response["offset"] = parameters.offset or 0
        response["length"] = parameters.length
    else:
        size = parameters.hits_per_page
        reachable = min(found.total, int(snapshot.settings.get("paginationLimitedTo")))
        response["page"] = parameters.page
        response["nbPages"] = -(-reachable // size) if size else 0
        response["hitsPerPage"] = size
    names = facets.requested(snapshot, parameters)
    if names:
        counted = (
            facets.counts_of([one.document for one in found.ranked], names)
            if parameters.flag("facetingAfterDistinct")
            else facets.counts(
                snapshot, found.query.query(), names, parameters.get("maxValuesPerFacet", 100)
            )
        )
        response["facets"] = facets.shown(counted, parameters)
        statistics = facets.stats(counted)
        if statistics:
            response["facets_stats"] = statistics
    all_typos = not any(word.optional for word in found.words)
    response["exhaustive"] = {"facetsCount": True, "nbHits": all_typos, "typo": all_typos}
    response["exhaustiveNbHits"] = all_typos
    response["exhaustiveTypo"] = all_typos
    response["exhaustiveFacetsCount"] = True
    response["query"] = parameters.query
    shown = {n: v for n, v in parameters.values.items() if isinstance(v, str | int)}
    response["params"] = urlencode(shown, errors="replace")
    if parameters.flag("clickAnalytics"):
        response["queryID"] = uuid.uuid4().hex
    return response


def retrieved(
    record: Mapping[str, Any], wanted: Sequence[str], never: Sequence[str]
) -> dict[str, Any]:
    """The attributes of a record that a hit shows; ``-name`` leaves one out, objectID stays."""
    excluded = {name[1:] for name in wanted if name.startswith("-")} | set(never)
    included = {name for name in wanted if not name.startswith("-")}
    everything = "*" in included or (not included and bool(excluded) and bool(wanted))
    result: dict[str, Any] = {}
    for name, value in record.items():
        if name == "objectID" or (
            name not in excluded
            and (
                everything
                or name in included
                or any(one.startswith(name + ".") for one in included)
            )
        ):
            result[name] = value
    return result


def _hit(
    snapshot: Snapshot,
    parameters: SearchParameters,
    highlighter: Highlighter,
    ranked: RankedDocument,
    scores: Scores | None,
) -> dict[str, Any]:
    record = ranked.document.record()
    wanted = parameters.values.get("attributesToRetrieve")
    hit = retrieved(
        record,
        ["*"] if wanted is None else wanted,
        snapshot.settings.get("unretrievableAttributes") or (),
    )
    if snippets := highlighter.snippets(record):
        hit["_snippetResult"] = snippets
    if highlights := highlighter.highlights(record):
        hit["_highlightResult"] = highlights
    if parameters.flag("getRankingInfo"):
        hit["_rankingInfo"] = {
            "nbTypos": ranked.typos,
            "firstMatchedWord": ranked.attribute,
            "proximityDistance": ranked.proximity,
            "userScore": ranked.document.number,
            "geoDistance": 0,
            "geoPrecision": 1,
            "nbExactWords": ranked.exact,
            "words": ranked.words,
            "filters": ranked.filters,
        }
        if scores is not None:
            hit["_rankingInfo"] |= {
                "keywordScore": round(scores.keyword, 6),
                "semanticScore": round(scores.semantic, 6),
                "neuralScore": round(scores.neural, 6),
            }
    return hit


def matching(snapshot: Snapshot, body: Mapping[str, Any]) -> list[Document]:
    """Every document that a query and its filters match, as written: browse and deleteByQuery."""
    parameters = resolve(body, snapshot.settings)
    words = expand(tokens_of(parameters), parameters, snapshot.vocabulary)
    if any(not word.optional and not word.answerable for word in words):
        return []
    query = CandidateQuery(
        snapshot, words, searched_slots(snapshot, parameters), all_filters(parameters)
    )
    return query.everything()
