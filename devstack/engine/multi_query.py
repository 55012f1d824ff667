"""Several queries in one request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from devstack.engine.errors import BadRequest


def run_queries(
    requests: Any,
    strategy: str,
    search: Callable[[str, Mapping[str, Any]], dict[str, Any]],
    facet_values: Callable[[str, str, Mapping[str, Any]], dict[str, Any]],
) -> list[dict[str, Any]]:
    """The results in the order of the requests, which are checked as they come; ``search`` takes
    an index and a body, ``facet_values`` a facet between them.
    """
    if not isinstance(requests, list):
        raise BadRequest('Attribute "requests" should be an array')
    if strategy not in ("none", "stopIfEnoughMatches"):
        raise BadRequest('Invalid value for "strategy", expected none or stopIfEnoughMatches')
    results: list[dict[str, Any]] = []
    enough = False
    for request in requests:
        if not isinstance(request, dict) or not isinstance(request.get("indexName"), str):
            raise BadRequest("indexName is missing in a request")
        name = request["indexName"]
        body = {k: v for k, v in request.items() if k not in ("indexName", "type", "facet")}
        if enough:
            results.append(_not_run(name, body))
            continue
        if request.get("type") == "facet":
            query = {k: v for k, v in body.items() if k != "maxFacetHits"}
            results.append(facet_values(name, str(request.get("facet", "")), query))
            continue
        result = search(name, body)
        results.append(result)
        wanted = result.get("hitsPerPage", result.get("length", 0))
        enough = strategy == "stopIfEnoughMatches" and result["nbHits"] >= wanted
    return results


def _not_run(name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "hits": [],
        "nbHits": 0,
        "page": 0,
        "nbPages": 0,
        "hitsPerPage": body.get("hitsPerPage", 20),
        "processingTimeMS": 0,
        "processed": False,
        "query": body.get("query", ""),
        "params": "",
        "index": name,
    }
