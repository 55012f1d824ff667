"""What the search function answers beside turns: code search, MCP, repositories, health."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from plumbline.errors import InvalidRequest
from plumbline.gate import Admission
from plumbline.http import Request, Response
from plumbline.index.addresses import canonical_url
from plumbline.index.registry import Repository
from plumbline.search.code_search import DEFAULT_LIMIT, RepositoryDirectory, search_code
from plumbline.search.file_sections import SnapshotReader
from plumbline.search.health import SearchProbe
from plumbline.search.mcp_tools import AskAnswer, ToolIndex
from plumbline.search.query_building import BuiltQuery

_SEARCH_ARGUMENTS = frozenset({"query", "repository", "language", "entity_type", "limit", "page"})


class ReindexEvents(Protocol):
    """Where a request to reindex goes. Raises ``StorageUnavailable``."""

    def request_reindex(self, repository_url: str, ref: str | None, force: bool) -> None:
        """Send the event plumbline.reindex."""


@dataclass(frozen=True, slots=True)
class Lookups:
    """One process's look-ups over its index, registry and snapshots."""

    index: ToolIndex
    registry: RepositoryDirectory
    snapshots: SnapshotReader
    events: ReindexEvents
    probe: SearchProbe
    ask: Callable[[str, str | None, Admission], AskAnswer]
    version: str
    allowed_origins: tuple[str, ...]
    build_query: Callable[[str], BuiltQuery]

    def search_code(self, body: Mapping[str, Any]) -> Mapping[str, object]:
        """``POST /search_code``. Source: seed 002, search_code."""
        unknown = sorted(set(body) - _SEARCH_ARGUMENTS)
        if unknown:
            raise InvalidRequest(f"{unknown[0]} is not an argument of search_code.")
        return search_code(
            body.get("query", ""),
            repository=body.get("repository"),
            language=body.get("language"),
            entity_type=body.get("entity_type"),
            limit=body.get("limit", DEFAULT_LIMIT),
            page=body.get("page", 0),
            index=self.index,
            repositories=self.registry,
            build=self.build_query,
        ).public()

    def mcp(self, request: Request, may_ask: bool, admit: Callable[[], Admission]) -> Response:
        """``POST /mcp``; a call of ``ask`` is admitted as a turn of its own."""
        # The protocol's library loads with the first MCP request, not with every function start.
        from plumbline.search.mcp import McpServer
        from plumbline.search.mcp_tools import Tools

        tools = Tools(
            self.index,
            self.registry,
            self.snapshots,
            lambda question, repository: self.ask(question, repository, admit()),
            build_query=self.build_query,
        )
        server = McpServer(tools, version=self.version, allowed_origins=self.allowed_origins)
        return server.handle(request, may_ask=may_ask)

    def repositories(self) -> list[Repository]:
        """Every repository, by number."""
        return self.registry.list()

    def request_index(self, repository_url: str, ref: str | None, force: bool) -> None:
        """Ask for a repository to be indexed; ``InvalidRequest`` for an address that is none."""
        self.events.request_reindex(canonical_url(repository_url), ref, force)

    def health(self) -> dict[str, object]:
        """``{"status", "search"}``. Source: seed 002, "Waits and timeouts"."""
        state = self.probe.state()
        return {"status": "ok" if state == "ok" else "degraded", "search": state}
