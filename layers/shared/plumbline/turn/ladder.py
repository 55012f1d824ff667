"""The ladder: filtered, relaxed, fallback, as the queries of one request.

Source: design, decision 3; seed 000, orchestrateRetrieval; seed 002, "Query parameters".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from plumbline.instance import Instance
from plumbline.search.filters import escape_filter_value, search_filters
from plumbline.search.query_building import build_query, names_asked_for
from plumbline.turn.hits import RETRIEVED

Strategy = Literal["filtered", "relaxed", "fallback", "none"]
RungName = Literal["filtered", "relaxed", "fallback", "plain", "pricing", "nearest"]

MAX_QUERY_BYTES = 512
NEAREST_COUNT = 3
# Seats that the profile's boosts cannot take away.
PLAIN_COUNT = 3
MAX_FILTER_VALUES = 10

# Sent with every index query of a turn. Words are optional on the last rung only, so no other
# drops them by itself. Source: seed 002, "Query parameters"; design, decision 3.
QUERY_PARAMETERS: Mapping[str, object] = {
    "removeStopWords": True,
    "ignorePlurals": True,
    "queryLanguages": ["en"],
    "removeWordsIfNoResults": "none",
    "attributesToRetrieve": RETRIEVED,
    "attributesToHighlight": [],
    "attributesToSnippet": [],
    "maxValuesPerFacet": 100,
    "clickAnalytics": True,
}
# What the extractor may filter on; anything else that it names is ignored.
FILTER_ATTRIBUTES = (
    "source_type",
    "customer",
    "language",
    "industry_tag",
    "product_tag",
    "feature_tag",
    "solution_tag",
)


@dataclass(frozen=True, slots=True)
class Rung:
    """One query of the request."""

    name: RungName
    parameters: Mapping[str, object]


def build_ladder(
    *,
    query: str,
    keyword_query: str,
    filters: Mapping[str, Sequence[str]],
    repository: int | None,
    language: str | None,
    source_types: Sequence[str],
    match_count: int,
    boosts: Sequence[Sequence[str]],
    plain: bool,
    pricing: bool,
    persona: str,
    instance: Instance,
) -> tuple[Rung, ...]:
    """The rungs in order: every word of the question, then any of its telling ones.

    What the reader chose holds on all of them but ``nearest``, which looks past it when nothing
    was found. Without the extractor's filters there is no ``filtered`` rung. ``plain`` asks for
    the best few without boosts.
    """
    chosen = " AND ".join(
        part
        for part in (search_filters(repository, language), any_of("source_type", source_types))
        if part
    )
    guessed = extracted_filters(filters, language=language)
    common: dict[str, object] = {
        **QUERY_PARAMETERS,
        "hitsPerPage": match_count,
        "facets": list(instance.retrieval.boosts),
        "analyticsTags": [f"persona:{persona}"],
    }
    if boosts:
        common["optionalFilters"] = [list(group) for group in boosts]
    rungs = []
    # A name of code says by itself what is meant; the sentence around it would only be in the way
    # of the words that must all match.
    strict = {**common, "query": names_asked_for(query) or query}
    if guessed:
        rungs.append(Rung("filtered", {**strict, "filters": f"{chosen} AND {guessed}"}))
    rungs.append(Rung("relaxed", {**strict, "filters": chosen}))
    loose = _loose(common, keyword_query)
    rungs.append(Rung("fallback", {**loose, "filters": chosen}))
    if plain:
        unboosted = {name: value for name, value in loose.items() if name != "optionalFilters"}
        rungs.append(Rung("plain", {**unboosted, "filters": chosen, "hitsPerPage": PLAIN_COUNT}))
    if pricing:
        rungs.append(Rung("pricing", _pricing(common, repository, language, instance)))
    if repository is not None or language or source_types:
        anywhere = {**loose, "filters": search_filters(), "hitsPerPage": NEAREST_COUNT}
        rungs.append(Rung("nearest", anywhere))
    return tuple(rungs)


def _loose(common: Mapping[str, object], keyword_query: str) -> dict[str, object]:
    """The last rung's parameters: the telling words only, any of which is enough."""
    built = build_query(keyword_query)
    words = built.query or keyword_query
    return {
        **common,
        **built.parameters(),
        "query": words,
        "optionalWords": list(dict.fromkeys(words.split())),
        "removeWordsIfNoResults": "allOptional",
    }


def any_of(attribute: str, values: Sequence[str]) -> str:
    """``(a:"x" OR a:"y")`` with escaped values; empty for none."""
    clauses = [
        f'{attribute}:"{escape_filter_value(value)}"' for value in values[:MAX_FILTER_VALUES]
    ]
    return f"({' OR '.join(clauses)})" if len(clauses) > 1 else "".join(clauses)


def extracted_filters(filters: Mapping[str, Sequence[str]], *, language: str | None) -> str:
    """The extractor's filters, joined with AND; the reader's own language comes before them."""
    return " AND ".join(
        clause
        for attribute in FILTER_ATTRIBUTES
        if not (attribute == "language" and language)
        and (clause := any_of(attribute, filters.get(attribute, ())))
    )


def cut_query(text: str, limit: int = MAX_QUERY_BYTES) -> str:
    """The words that fit ``limit`` bytes of UTF-8, white space collapsed; never half a word,
    unless the first alone is too long.
    """
    words = " ".join(text.split())
    raw = words.encode("utf-8", "ignore")
    if len(raw) <= limit:
        return raw.decode("utf-8")
    cut = raw[:limit].decode("utf-8", "ignore")
    if raw[len(cut.encode("utf-8")) :][:1] == b" ":
        return cut
    return cut.rpartition(" ")[0] or cut


def _pricing(
    common: Mapping[str, object], repository: int | None, language: str | None, instance: Instance
) -> dict[str, object]:
    rules = instance.retrieval.pricing
    where = " OR ".join(
        f'{attribute}:"{escape_filter_value(value)}"'
        for attribute, values in rules.where.items()
        for value in values
    )
    clauses = search_filters(repository, language) + (f" AND ({where})" if where else "")
    return {
        **common,
        "query": rules.query,
        "optionalWords": rules.query.split(),
        "filters": clauses,
        "hitsPerPage": rules.count,
    }
