"""Facet counts over everything that matches, and the search for facet values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import tantivy

from devstack.engine.documents import Document, facet_text, leaves, value_at
from devstack.engine.errors import BadRequest
from devstack.engine.parameters import SearchParameters
from devstack.engine.text_index import Snapshot
from devstack.engine.tokens import words_of

# tantivy counts every value before the largest are taken.
_MAX_BUCKETS = 65_000


def requested(snapshot: Snapshot, parameters: SearchParameters) -> list[str]:
    """The facets to count: those asked for that may be counted. ``*`` is all of them."""
    countable = [name for name, kind in snapshot.settings.facets.items() if kind != "filterOnly"]
    names = parameters.get("facets", [])
    return countable if "*" in names else [name for name in names if name in countable]


def counts(
    snapshot: Snapshot, query: tantivy.Query, attributes: Sequence[str], limit: int
) -> dict[str, Counter[str]]:
    """How many matching records have each value, by attribute."""
    found: dict[str, Counter[str]] = {}
    fields = {name: snapshot.facet_fields[name] for name in attributes}
    if not fields:
        return found
    request = {
        name: {"terms": {"field": field, "size": max(limit, 1)}} for name, field in fields.items()
    }
    result = snapshot.searcher.aggregate(query, request)
    for name in fields:
        buckets = result.get(name, {}).get("buckets", [])
        found[name] = Counter({str(b["key"]): int(b["doc_count"]) for b in buckets})
    return found


def counts_of(documents: Sequence[Document], attributes: Sequence[str]) -> dict[str, Counter[str]]:
    """The same over given documents: ``facetingAfterDistinct``."""
    found: dict[str, Counter[str]] = {name: Counter() for name in attributes}
    for document in documents:
        record = document.record()
        for name in attributes:
            found[name].update({facet_text(leaf) for leaf in leaves(value_at(record, name))})
    return found


def shown(found: Mapping[str, Counter[str]], parameters: SearchParameters) -> dict[str, Any]:
    """The ``facets`` of a response: commonest first, or by name, cut at ``maxValuesPerFacet``."""
    limit = parameters.get("maxValuesPerFacet", 100)
    by_name = parameters.get("sortFacetValuesBy", "count") == "alpha"
    result: dict[str, Any] = {}
    for name, counter in found.items():
        items = sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:limit]
        if items:
            result[name] = dict(sorted(items) if by_name else items)
    return result


def stats(found: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """The ``facets_stats`` of the facets whose values are all numbers."""
    result: dict[str, Any] = {}
    for name, counter in found.items():
        try:
            numbers = [(float(value), count) for value, count in counter.items()]
        except ValueError:
            continue
        if numbers:
            total = sum(value * count for value, count in numbers)
            result[name] = {
                "min": min(numbers)[0],
                "max": max(numbers)[0],
                "avg": total / sum(count for _, count in numbers),
                "sum": total,
            }
    return result


def search_values(
    snapshot: Snapshot,
    attribute: str,
    facet_query: str,
    query: tantivy.Query,
    parameters: SearchParameters,
) -> dict[str, Any]:
    """The values of a facet whose words begin as the query's do.

    ``BadRequest`` unless the attribute was declared ``searchable(...)``.
    """
    if snapshot.settings.facets.get(attribute) != "searchable":
        raise BadRequest(
            f"Cannot search in `{attribute}` attribute, you need to specify "
            f"`searchable({attribute})` in attributesForFaceting."
        )
    limit = parameters.get("maxFacetHits", snapshot.settings.get("maxFacetHits") or 10)
    found = counts(snapshot, query, [attribute], _MAX_BUCKETS).get(attribute, Counter())
    words = words_of(facet_query)
    before = parameters.get("highlightPreTag", "<em>")
    after = parameters.get("highlightPostTag", "</em>")
    hits = []
    for value, count in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        own = words_of(value)
        if all(any(word.startswith(asked) for word in own) for asked in words):
            marked = value
            for asked in words:
                at = value.lower().find(asked)
                if at >= 0 and marked == value:
                    end = at + len(asked)
                    marked = f"{value[:at]}{before}{value[at:end]}{after}{value[end:]}"
            hits.append({"value": value, "highlighted": marked, "count": count})
    return {"facetHits": hits[:limit], "exhaustiveFacetsCount": True}
