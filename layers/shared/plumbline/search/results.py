"""A hit as search_code shows it: trimmed fields and a link to its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from plumbline.errors import StorageUnavailable
from plumbline.index.registry import Repository
from plumbline.search.arguments import unicode_text
from plumbline.search.permalinks import permalink

MAX_SNIPPET_CHARS = 600
MAX_SIGNATURE_CHARS = 300
MAX_DESCRIPTION_CHARS = 300
# Hits of more repositories than these are looked up by one reading of the whole registry.
MAX_LOOKUPS = 3

# What of a record a result needs.
RETRIEVED = [
    "entity_name",
    "entity_type",
    "file_path",
    "line_start",
    "line_end",
    "language",
    "signature",
    "content",
    "description",
    "repository_id",
    "repository_url",
    "commit_sha",
]


@dataclass(frozen=True, slots=True)
class CodeResult:
    """One entity found. ``id`` is its objectID; lines are 1-based and inclusive.

    ``repository`` is ``owner/name``; ``commit_sha`` is the commit that the index was built from
    and that ``url`` leads to. Source: seed 002, "Results and source links".
    """

    id: str
    entity_name: str
    entity_type: str
    file_path: str
    line_start: int | None
    line_end: int | None
    language: str | None
    signature: str | None
    snippet: str
    description: str | None
    url: str | None
    repository: str | None
    commit_sha: str | None
    indexed_at: str | None

    def public(self) -> dict[str, object]:
        """Every field, null where there is none."""
        return asdict(self)


def shape(
    hits: Sequence[Mapping[str, object]],
    chosen: Repository | None,
    find: Callable[[int], Repository | None],
    list_all: Callable[[], Iterable[Repository]],
) -> tuple[CodeResult, ...]:
    """The hits in their order. Without the registry, links use the commit kept in the record."""
    known: dict[object, Repository] = {chosen.number: chosen} if chosen else {}
    numbers = {number for hit in hits if isinstance(number := hit.get("repository_id"), int)}
    with suppress(StorageUnavailable):
        missing = numbers - known.keys()
        found = list_all() if len(missing) > MAX_LOOKUPS else map(find, sorted(missing))
        known |= {repository.number: repository for repository in found if repository}
    return tuple(_result(hit, known.get(hit.get("repository_id"))) for hit in hits)


def _result(hit: Mapping[str, object], repository: Repository | None) -> CodeResult:
    start, end = _line(hit.get("line_start")), _line(hit.get("line_end"))
    path = unicode_text(hit.get("file_path") or "")
    url = (repository.url if repository else "") or str(hit.get("repository_url") or "")
    # The registry's commit comes first: an unchanged record keeps the commit that wrote it.
    commit = (repository.commit_sha if repository else None) or _text(hit.get("commit_sha"), 64)
    branch = repository.branch if repository else None
    return CodeResult(
        id=unicode_text(hit.get("objectID") or ""),
        entity_name=unicode_text(hit.get("entity_name") or ""),
        entity_type=unicode_text(hit.get("entity_type") or ""),
        file_path=path,
        line_start=start,
        line_end=end,
        language=_text(hit.get("language"), 100),
        signature=_text(hit.get("signature"), MAX_SIGNATURE_CHARS),
        snippet=unicode_text(hit.get("content") or "")[:MAX_SNIPPET_CHARS],
        description=_text(hit.get("description"), MAX_DESCRIPTION_CHARS),
        url=permalink(url, commit or branch, path, start, end),
        repository=repository.name if repository and repository.url else _name(url),
        commit_sha=commit,
        indexed_at=repository.indexed_at if repository else None,
    )


def _text(value: object, limit: int) -> str | None:
    return unicode_text(value[:limit]) if isinstance(value, str) and value else None


def _line(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _name(url: str) -> str | None:
    try:
        return unicode_text(urlsplit(url).path.strip("/").removesuffix(".git")) or None
    except ValueError:
        return None
