"""Repositories: number, address, commit, status, progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

RepositoryStatus = Literal["pending", "processing", "completed", "failed"]


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository as the registry knows it.

    ``number`` is file 002's repository_id. ``url`` is canonical: ``https://<host>/<path>``, lower
    case host, no ``.git``, no trailing slash. ``name`` is ``owner/name``. ``progress`` runs from
    0 to 1. ``reason`` says what a person can do about a failure. Times are ISO 8601 in UTC.
    """

    number: int
    url: str
    name: str
    status: RepositoryStatus = "pending"
    branch: str | None = None
    commit_sha: str | None = None
    reason: str | None = None
    progress: float = 0.0
    counts_by_type: Mapping[str, int] = field(default_factory=dict)
    counts_by_language: Mapping[str, int] = field(default_factory=dict)
    files_skipped: Mapping[str, int] = field(default_factory=dict)
    indexed_at: str | None = None
    updated_at: str | None = None
