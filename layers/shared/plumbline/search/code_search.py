"""search_code: one query of the index, its arguments checked and its hits shaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, get_args

from plumbline.errors import InvalidRequest, NotFound, StorageUnavailable
from plumbline.index.entities import EntityType
from plumbline.index.registry import Repository
from plumbline.search.arguments import MAX_QUERY_BYTES, number_argument, text_argument
from plumbline.search.filters import search_filters
from plumbline.search.query_building import BuiltQuery, build_query
from plumbline.search.results import RETRIEVED, CodeResult, shape

MAX_LIMIT = 50
DEFAULT_LIMIT = 10
# Algolia answers the first 1,000 hits of a query (paginationLimitedTo), whatever the page size.
MAX_PAGE = 999
ENTITY_TYPES: tuple[str, ...] = get_args(EntityType)

# Sent on every query: agents ask in plain words, which a strict match of all of them would not
# find. Source: seed 002, "Query parameters".
QUERY_PARAMETERS: Mapping[str, object] = {
    "highlightPreTag": "<mark>",
    "highlightPostTag": "</mark>",
    "removeWordsIfNoResults": "allOptional",
    "removeStopWords": True,
    "ignorePlurals": True,
    "queryLanguages": ["en"],
}


class SearchIndex(Protocol):
    """The one index of the stack."""

    def search(self, params: Mapping[str, object]) -> dict[str, Any]:
        """One query's answer; raises ``SearchError``'s children only."""
        ...


class RepositoryDirectory(Protocol):
    """The repositories of the stack; both methods raise ``StorageUnavailable`` when it is down."""

    def find(self, reference: str | int) -> Repository | None:
        """The repository with this number, address or ``owner/name``."""
        ...

    def list(self) -> list[Repository]:
        """Every repository, whatever its status."""
        ...


@dataclass(frozen=True, slots=True)
class SearchCodeResult:
    """One page of hits. ``repository`` is the ``owner/name`` asked for; ``page`` counts from 0."""

    query: str
    repository: str | None
    total_hits: int
    page: int
    pages: int
    results: tuple[CodeResult, ...]

    def public(self) -> dict[str, object]:
        """The result as JSON, every field of seed 002 present, null where there is none."""
        return {
            "query": self.query,
            "repository": self.repository,
            "total_hits": self.total_hits,
            "page": self.page,
            "pages": self.pages,
            "results": [result.public() for result in self.results],
        }


def search_code(
    query: str,
    repository: str | int | None = None,
    language: str | None = None,
    entity_type: str | None = None,
    limit: int = DEFAULT_LIMIT,
    page: int = 0,
    *,
    index: SearchIndex,
    repositories: RepositoryDirectory,
    build: Callable[[str], BuiltQuery] = build_query,
) -> SearchCodeResult:
    """The entities that best match the words, imports only when they are asked for.

    ``build`` makes the query of the words: ``build_typed_query`` for an index in neural mode.

    Raises ``InvalidRequest`` for an argument out of its range and for a repository that is not
    ready, ``NotFound`` for an unknown one, ``SearchError`` when Algolia fails.
    Source: seed 002, "Search and the Algolia index".
    """
    words = text_argument("query", query, MAX_QUERY_BYTES)
    if words is None:
        raise InvalidRequest("query is empty; say what to look for")
    language = text_argument("language", language, 100)
    entity_type = text_argument("entity_type", entity_type, 100)
    if entity_type is not None and entity_type not in ENTITY_TYPES:
        raise InvalidRequest(f"entity_type must be one of {', '.join(ENTITY_TYPES)}")
    limit = number_argument("limit", limit, 1, MAX_LIMIT)
    page = number_argument("page", page, 0, MAX_PAGE)
    chosen = None if repository in (None, "") else _chosen(repository, repositories)
    built = build(words)
    params: dict[str, object] = {
        "hitsPerPage": limit,
        "page": page,
        "filters": search_filters(chosen.number if chosen else None, language, entity_type),
        **QUERY_PARAMETERS,
        **built.parameters(),
        "attributesToRetrieve": RETRIEVED,
        # Nothing of the highlighted copy is shown, and it doubles the answer.
        "attributesToHighlight": [],
    }
    answer = index.search(params)
    return SearchCodeResult(
        query=words,
        repository=chosen.name if chosen else None,
        total_hits=int(answer.get("nbHits") or 0),
        page=int(answer.get("page", page)),
        pages=int(answer.get("nbPages") or 0),
        results=shape(answer.get("hits") or (), chosen, repositories.find, repositories.list),
    )


def ready_repository(reference: object, repositories: RepositoryDirectory) -> Repository:
    """The repository meant, if it can be searched.

    Raises ``NotFound`` for an unknown one and ``InvalidRequest`` with the reason or the progress
    for one that is failed, pending or processing. Source: seed 002, "Failure behaviour".
    """
    found = repositories.find(repository_reference(reference))
    if found is None:
        raise NotFound(
            "No such repository is indexed; list_repositories (GET /repositories) names them."
        )
    details = {"repository": found.name, "status": found.status}
    if found.status == "failed":
        reason = (found.reason or "the reason was not recorded; index it again").rstrip(".")
        raise InvalidRequest(f"{found.name} could not be indexed: {reason}.", details=details)
    if found.status != "completed":
        state = "is being indexed" if found.status == "processing" else "waits to be indexed"
        percent = int(min(max(found.progress, 0.0), 1.0) * 100)
        raise InvalidRequest(
            f"{found.name} {state} ({percent} % done); try again when it is completed.",
            details={**details, "progress": found.progress},
        )
    return found


def repository_reference(reference: object) -> str | int:
    """A repository's number, address or name as given; ``InvalidRequest`` for anything else."""
    if isinstance(reference, int) and not isinstance(reference, bool) and 0 < reference < 2**53:
        return reference
    text = text_argument("repository", reference, 500) if isinstance(reference, str) else None
    if text is None:
        raise InvalidRequest("repository must be a repository's number, address or owner/name")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else text


def _chosen(reference: object, repositories: RepositoryDirectory) -> Repository:
    try:
        return ready_repository(reference, repositories)
    except StorageUnavailable:
        # A number filters by itself: the search goes on without the registry.
        number = repository_reference(reference)
        if isinstance(number, int):
            return Repository(number=number, url="", name=str(number), status="completed")
        raise
