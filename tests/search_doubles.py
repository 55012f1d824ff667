"""An index, a registry and a snapshot store in memory, for tests of what stands on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.errors import NotFound, StorageUnavailable
from plumbline.index.registry import Repository

SHA = "9c1f0a7d5c6b4e3f2a1b0c9d8e7f6a5b4c3d2e1f"
FLASK = Repository(
    number=12,
    url="https://github.com/pallets/flask",
    name="pallets/flask",
    status="completed",
    progress=1.0,
    commit_sha=SHA,
    indexed_at="2026-11-29T20:00:00Z",
    counts_by_language={"python": 1430},
)
HIT: dict[str, Any] = {
    "objectID": "12_07946c80715046c23e5533f046a8e8b6c92231e5",
    "repository_id": 12,
    "repository_url": "https://github.com/pallets/flask",
    "commit_sha": "0" * 40,
    "file_path": "src/auth/tokens.py",
    "entity_type": "function",
    "entity_name": "refresh_token",
    "description": "Python function: refresh_token — Return a new access token.",
    "line_start": 42,
    "line_end": 48,
    "language": "python",
    "signature": "def refresh_token(session, token: str) -> str:",
    "content": "def refresh_token(session, token: str) -> str:\n    return session",
}


class Index:
    """Gives the hits it was made with, page by page, and notes what it is asked."""

    def __init__(self, *hits: Mapping[str, Any], error: Exception | None = None) -> None:
        self.hits, self.error = [dict(hit) for hit in hits], error
        self.asked: list[dict[str, object]] = []

    def search(self, params: Mapping[str, object]) -> dict[str, Any]:
        self.asked.append(dict(params))
        if self.error:
            raise self.error
        size, page = int(str(params["hitsPerPage"])), int(str(params.get("page", 0)))
        return {
            "hits": self.hits[page * size : (page + 1) * size],
            "nbHits": len(self.hits),
            "page": page,
            "nbPages": -(-len(self.hits) // size),
        }

    def get_objects(self, object_ids: Sequence[str]) -> list[dict[str, Any] | None]:
        known = {hit["objectID"]: hit for hit in self.hits}
        return [known.get(object_id) for object_id in object_ids]


class Directory:
    """A registry of a few repositories, or one that is down."""

    def __init__(self, *repositories: Repository, down: bool = False) -> None:
        self.repositories, self.down, self.looked_up = repositories, down, 0
        self.listed = 0

    def find(self, reference: str | int) -> Repository | None:
        self.looked_up += 1
        if self.down:
            raise StorageUnavailable("The registry does not answer; try again later.")
        for found in self.repositories:
            if reference in (found.number, found.url, found.name):
                return found
        return None

    def list(self) -> list[Repository]:
        self.listed += 1
        if self.down:
            raise StorageUnavailable("The registry does not answer; try again later.")
        return list(self.repositories)


class Snapshots:
    """Files of one commit."""

    def __init__(self, files: Mapping[str, str], commit: str | None = SHA) -> None:
        self.files, self.commit = files, commit

    def read_lines(
        self, repository: Repository, commit: str | None, path: str, start: int, end: int
    ) -> str:
        if commit != self.commit or path not in self.files:
            raise NotFound(f"{path} is not in the kept snapshot.")
        return "".join(self.files[path].splitlines(keepends=True)[start - 1 : end])
