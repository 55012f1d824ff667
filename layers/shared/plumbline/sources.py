"""Source: the one shape of a retrieved record, known to turn, audit and search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One numbered source of a turn. ``n`` counts from 1 and never changes within the turn.

    ``repository`` is ``owner/name``; lines are 1-based and inclusive; ``url`` is absolute or None.
    """

    n: int
    title: str
    content: str
    source_type: str
    url: str | None = None
    file_path: str | None = None
    line_start: int | None = None
    line_end: int | None = None
    repository: str | None = None
    commit_sha: str | None = None
    customer: str | None = None

    def public(self) -> dict[str, object]:
        """The source as the ``sources`` event shows it: without content and empty fields."""
        fields: dict[str, object] = {
            "n": self.n,
            "title": self.title,
            "url": self.url,
            "file_path": self.file_path,
            "line_start": self.line_start,
            "line_end": self.line_end,
            "repository": self.repository,
            "commit_sha": self.commit_sha,
            "source_type": self.source_type,
            "customer": self.customer,
        }
        return {name: value for name, value in fields.items() if value is not None}
