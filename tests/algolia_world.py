"""An official client, keys, settings and records for tests of the embedded Algolia server."""

from __future__ import annotations

from typing import Any

from algoliasearch.http.hosts import Host, HostsCollection
from algoliasearch.search.client import SearchClientSync
from algoliasearch.search.config import SearchConfig

from devstack.algolia_server import AlgoliaServer

KEYS = {"reader": frozenset({"search"}), "writer": frozenset({"search", "admin"})}
SETTINGS = {
    "searchableAttributes": ["entity_name", "description"],
    "attributesForFaceting": ["filterOnly(repository_id)", "language", "searchable(file_path)"],
    "camelCaseAttributes": ["entity_name"],
    "customRanking": ["asc(is_test)", "desc(rank_weight)"],
}


def client(server: AlgoliaServer, key: str = "writer", app_id: str = "APP") -> SearchClientSync:
    config = SearchConfig(app_id, key)
    host, port = server.address
    config.hosts = HostsCollection([Host(host, scheme="http", port=port)])
    config.compression_type, config.compression_threshold = "gzip", 750
    return SearchClientSync.create_with_config(config)


def record(number: int, **more: object) -> dict[str, Any]:
    return {
        "objectID": f"r{number}",
        "repository_id": number % 3,
        "entity_name": f"loadItem{number}",
        "description": "Loads an item from the store",
        "language": "python" if number % 2 else "go",
        "file_path": f"src/item_{number}.py",
        "is_test": False,
        "rank_weight": 2,
        **more,
    }
