"""One search against one snapshot: from the parameters to Algolia's response."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from devstack.engine import facets
from devstack.engine.candidates import CandidateQuery
from devstack.engine.documents import Document
from devstack.engine.finding import Found, all_filters, find, searched_slots
from devstack.engine.highlighting import Highlighter
from devstack.engine.parameters import SearchParameters, resolve
from devstack.engine.query_words import expand, tokens_of
from devstack.engine.ranking import RankedDocument
from devstack.engine.text_index import Snapshot

if TYPE_CHECKING:
    from devstack.engine.neural import Scores


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
