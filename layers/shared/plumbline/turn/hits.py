"""A search hit as a Source."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from plumbline.search.permalinks import permalink
from plumbline.sources import Source

# What of a record a turn needs.
RETRIEVED = [
    "title",
    "url",
    "source_type",
    "customer",
    "heading_path",
    "entity_name",
    "entity_type",
    "qualified_name",
    "description",
    "content",
    "file_path",
    "line_start",
    "line_end",
    "repository",
    "repository_url",
    "commit_sha",
]
MAX_TITLE_CHARS = 200


def source_from_hit(number: int, hit: Mapping[str, object]) -> Source:
    """The hit as source ``number``: its own address, or a link to its lines at its commit."""
    path = _text(hit, "file_path")
    start, end = _line(hit, "line_start"), _line(hit, "line_end")
    repository_url, commit = _text(hit, "repository_url"), _text(hit, "commit_sha")
    url = _web_address(_text(hit, "url"))
    if url is None and repository_url and path:
        url = permalink(repository_url, commit, path, start, end)
    return Source(
        n=number,
        title=_title(hit, path),
        content=_content(hit),
        source_type=_source_type(hit),
        url=url,
        file_path=path,
        line_start=start,
        line_end=end,
        repository=_text(hit, "repository") or _repository_name(repository_url),
        commit_sha=commit,
        customer=_text(hit, "customer"),
    )


def _content(hit: Mapping[str, object]) -> str:
    """What the record is, in its description's words, above its text: a signature alone does not
    say that it is a method, nor of what.
    """
    description, text = _text(hit, "description"), _text(hit, "content")
    return "\n".join(part for part in (description, text) if part)


def _title(hit: Mapping[str, object], path: str | None) -> str:
    if _text(hit, "entity_type") == "doc_section":
        parts = [_text(hit, "title") or "", *_headings(hit)]
        title = " > ".join(dict.fromkeys(part for part in parts if part))
        name = title or _text(hit, "entity_name") or ""
        # A page's own title says where it is; a bare section's does not.
        shown = name if _text(hit, "title") and name else _with_path(name, path)
    else:
        qualified = _text(hit, "qualified_name") or _qualified_name(hit)
        shown = _with_path(qualified or _text(hit, "title") or "", path)
    return " ".join(shown.split())[:MAX_TITLE_CHARS] or "Untitled"


def _with_path(name: str, path: str | None) -> str:
    if not path:
        return name
    return f"{name} ({path})" if name else path


def _qualified_name(hit: Mapping[str, object]) -> str | None:
    """``Class.name`` out of file 002's description (``Python method: Class.name — ...``)."""
    name, description = _text(hit, "entity_name"), _text(hit, "description") or ""
    _, colon, rest = description.partition(": ")
    qualified = rest.split(" — ", 1)[0].strip() if colon else ""
    if name and qualified.endswith(name) and len(qualified) <= MAX_TITLE_CHARS:
        return qualified
    return name


def _headings(hit: Mapping[str, object]) -> list[str]:
    value = hit.get("heading_path")
    if isinstance(value, str):
        return [part.strip() for part in value.split(" > ")]
    return [str(part) for part in value] if isinstance(value, list | tuple) else []


def _source_type(hit: Mapping[str, object]) -> str:
    declared = _text(hit, "source_type")
    if declared:
        return declared
    return "docs" if _text(hit, "entity_type") == "doc_section" else "code"


def _web_address(url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in ("https", "http") and parts.hostname else None


def _repository_name(url: str | None) -> str | None:
    try:
        return urlsplit(url or "").path.strip("/").removesuffix(".git") or None
    except ValueError:
        return None


def _text(hit: Mapping[str, object], name: str) -> str | None:
    value = hit.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _line(hit: Mapping[str, object], name: str) -> int | None:
    value = hit.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
