"""Links to a line range of a file at a commit, per host."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")
MAX_LINK_CHARS = 2_000
_DOTS = frozenset({".", ".."})
# The folder before the ref, the anchor of the first line, what the last line adds to it.
_GITLAB = ("-/blob", "#L{0}", "-{1}")
_FORMATS = {
    "github.com": ("blob", "#L{0}", "-L{1}"),
    "bitbucket.org": ("src", "#lines-{0}", ":{1}"),
}


def permalink(
    repository_url: str,
    ref: str | None,
    file_path: str,
    line_start: int | None = None,
    line_end: int | None = None,
) -> str | None:
    """The address of a file, and of its lines, at ``ref`` (``HEAD`` when None), or None.

    None for a host whose format is not known, for parts that would lead out of the repository,
    and for a link over 2,000 characters, which browsers and proxies cut.
    A start below 1 gives no anchor; an end before the start is left out. Lines are 1-based and
    inclusive. Source: seed 002, "Results and source links".
    """
    site = _site(repository_url)
    revision = _segments(ref or "HEAD")
    path = _segments(file_path)
    if site is None or revision is None or path is None:
        return None
    host, repository = site
    folder, first, last = _FORMATS.get(host, _GITLAB)
    anchor = _anchor(first, last, *_lines(line_start, line_end))
    link = f"https://{host}/{repository}/{folder}/{revision}/{path}{anchor}"
    return link if len(link) <= MAX_LINK_CHARS else None


def _site(repository_url: str) -> tuple[str, str] | None:
    """The host (with its port, for GitLab) and the encoded path of a known host, or None."""
    try:
        parts = urlsplit(repository_url.strip())
        host, port = (parts.hostname or ""), parts.port
    except ValueError:
        return None
    # Credentials in the address are never repeated: only the host and the port go into a link.
    if parts.scheme not in ("https", "http") or _HOST.fullmatch(host) is None:
        return None
    standard_port = port in (None, {"https": 443, "http": 80}[parts.scheme])
    segments = _segments(parts.path.strip("/").removesuffix(".git"), encoded=True)
    if segments is None:
        return None
    count = segments.count("/") + 1
    if host in ("github.com", "bitbucket.org"):
        return (host, segments) if standard_port and count == 2 else None
    if host.startswith("gitlab."):
        return (host if standard_port else f"{host}:{port}", segments) if count >= 2 else None
    return None


def _segments(path: str, *, encoded: bool = False) -> str | None:
    """The path with each segment percent-encoded; None if a segment is empty or a dot segment.

    Browsers resolve ``..`` even when it is percent-encoded, so encoding would not contain it.
    """
    segments = path.split("/")
    try:
        # An address carries its encoding already: "%" must not be encoded a second time there.
        quoted = [quote(segment, safe="%" if encoded else "") for segment in segments]
    except UnicodeEncodeError:
        return None
    if any(not s or s.lower().replace("%2e", ".") in _DOTS for s in quoted):
        return None
    return "/".join(quoted)


def _lines(start: int | None, end: int | None) -> tuple[int | None, int | None]:
    if start is None or start < 1:
        return None, None
    return start, end if end is not None and end >= start else None


def _anchor(first: str, last: str, start: int | None, end: int | None) -> str:
    if start is None:
        return ""
    return (first + (last if end is not None else "")).format(start, end)
