"""Small engines for tests: one index "i", asked by its objectIDs."""

from __future__ import annotations

from typing import Any

from devstack.engine.engine import Engine

CODE_SETTINGS = {
    "searchableAttributes": ["entity_name", "description", "content", "parameters", "file_path"],
    "attributesForFaceting": ["filterOnly(repository_id)", "entity_type", "language"],
    "camelCaseAttributes": ["entity_name"],
    "customRanking": ["asc(is_test)", "desc(rank_weight)"],
}


def engine_of(settings: dict[str, Any], *records: dict[str, Any]) -> Engine:
    engine = Engine()
    engine.set_settings("i", settings)
    engine.batch("i", [{"action": "addObject", "body": one} for one in records])
    return engine


def texts(*values: str, settings: dict[str, Any] | None = None) -> Engine:
    """An engine over one text attribute, numbered from 1."""
    return engine_of(
        {"searchableAttributes": ["text"], **(settings or {})},
        *({"objectID": str(n), "text": value} for n, value in enumerate(values, 1)),
    )


def ids(engine: Engine, query: str, **parameters: object) -> list[str]:
    answer = engine.search("i", {"query": query, **parameters})
    return [hit["objectID"] for hit in answer["hits"]]


def info(engine: Engine, query: str, **parameters: object) -> dict[str, dict[str, int]]:
    answer = engine.search("i", {"query": query, "getRankingInfo": True, **parameters})
    return {hit["objectID"]: hit["_rankingInfo"] for hit in answer["hits"]}
