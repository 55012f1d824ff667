"""suggest: names that complete what is typed in a search box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from plumbline.errors import InvalidRequest, SearchError
from plumbline.observability import logger
from plumbline.search.arguments import (
    MAX_QUERY_BYTES,
    number_argument,
    text_argument,
    unicode_text,
)
from plumbline.search.filters import search_filters

if TYPE_CHECKING:
    # The module brings the registry along, which the suggestions function need not load.
    from plumbline.search.code_search import SearchIndex

MIN_QUERY_CHARS = 2
MAX_SUGGESTIONS = 20
DEFAULT_SUGGESTIONS = 10


def suggest(query: str, limit: int = DEFAULT_SUGGESTIONS, *, index: SearchIndex) -> list[str]:
    """Distinct entity names in rank order, imports left out; none for fewer than 2 characters.

    ``limit`` is 1 to 20, else ``InvalidRequest``. Whatever fails in the search gives an empty
    list and a warning in the log: a search box must not break its page.
    Source: seed 002, "Suggestions".
    """
    limit = number_argument("limit", limit, 1, MAX_SUGGESTIONS)
    try:
        words = text_argument("q", query, MAX_QUERY_BYTES)
    except InvalidRequest:
        # Algolia would not take it either.
        return []
    if words is None or len(words) < MIN_QUERY_CHARS:
        return []
    params: Mapping[str, object] = {
        "query": words,
        # Twice the limit: many entities share a name.
        "hitsPerPage": 2 * limit,
        "filters": search_filters(),
        "attributesToRetrieve": ["entity_name"],
        "attributesToHighlight": [],
    }
    try:
        hits = index.search(params).get("hits") or ()
    except SearchError as exc:
        logger.warning("suggestions_failed", extra={"cause": repr(exc.__cause__ or exc)})
        return []
    names = (hit.get("entity_name") for hit in hits)
    distinct = dict.fromkeys(unicode_text(name) for name in names if isinstance(name, str) and name)
    return list(distinct)[:limit]
