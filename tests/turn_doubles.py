"""An index that answers a turn's rungs from lists, and what tests of retrieval share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.instance import load_instance
from plumbline.turn.facets import FacetValues
from plumbline.turn.retrieval import RetrievalOptions, RetrievalResult, orchestrate_retrieval

INSTANCE = load_instance("algolia-central")


class Index:
    """Answers each rung from ``answers`` by what its query asks for, and stops when told to."""

    def __init__(
        self, *answers: list[dict[str, Any]], facets: dict[str, Any] | None = None
    ) -> None:
        self.answers = answers
        self.facets = facets or {}
        self.calls: list[tuple[list[dict[str, Any]], str]] = []

    def multi_query(
        self, requests: Sequence[Mapping[str, object]], *, strategy: str = "none"
    ) -> list[dict[str, Any]]:
        self.calls.append(([dict(request) for request in requests], strategy))
        results: list[dict[str, Any]] = []
        for number, request in enumerate(requests):
            hits = self.answers[number] if number < len(self.answers) else []
            query_id = f"{number:032x}"
            results.append({"hits": hits, "facets": self.facets, "queryID": query_id})
            if strategy == "stopIfEnoughMatches" and len(hits) >= int(str(request["hitsPerPage"])):
                break
        return results

    @property
    def requests(self) -> list[dict[str, Any]]:
        [(requests, _)] = self.calls
        return requests


def hit(number: int, **fields: Any) -> dict[str, Any]:
    return {"objectID": str(number), "entity_name": f"f{number}", "content": "text", **fields}


def retrieve(
    index: Index, options: RetrievalOptions, facets: FacetValues | None = None
) -> RetrievalResult:
    return orchestrate_retrieval(
        options, index=index, facets=facets or FacetValues(), instance=INSTANCE
    )


def learned(**values: list[str]) -> FacetValues:
    facets = FacetValues()
    facets.learn([{"facets": {name: dict.fromkeys(each, 1) for name, each in values.items()}}])
    return facets
