"""Repository addresses: the canonical form, the name, where a host keeps archives and refs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, unquote, urlsplit

from plumbline.errors import InvalidRequest

DEFAULT_HOSTS = ("github.com", "gitlab.com", "bitbucket.org")

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_SEGMENT = re.compile(r"[A-Za-z0-9._~+-]{1,100}")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+@-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_SEGMENTS = 20


def canonical_url(address: str) -> str:
    """``https://<host>/<path>`` with a lower-case host, without ``.git`` and trailing slash.

    Takes https and ssh forms (``git@host:owner/name.git``); ``InvalidRequest`` says what is wrong
    with any other. The path keeps its letter case; the registry does not tell cases apart.
    """
    text = address.strip()
    ssh = re.fullmatch(r"(?:ssh://)?git@([^:/]+)[:/](.+)", text)
    if ssh:
        text = f"https://{ssh[1]}/{ssh[2]}"
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError as exc:
        raise InvalidRequest(_form("The repository address is malformed")) from exc
    if parts.scheme not in ("https", "http") or _HOST.fullmatch(host) is None:
        raise InvalidRequest(_form("The repository address must begin with https://"))
    if parts.username or parts.password:
        raise InvalidRequest(_form("The repository address must carry no user or password"))
    if port not in (None, 443, 80) or parts.query or parts.fragment:
        raise InvalidRequest(_form("The repository address must have no port, query or fragment"))
    path = unquote(parts.path).strip("/").removesuffix(".git")
    return repository_url(host, path)


def repository_url(host: str, path: str) -> str:
    """The canonical address from a host and ``owner/name``; ``InvalidRequest`` for unsafe parts."""
    host = host.lower()
    segments = path.split("/")
    if _HOST.fullmatch(host) is None or not 2 <= len(segments) <= _MAX_SEGMENTS:
        raise InvalidRequest(_form("The repository address must name an owner and a repository"))
    if any(_SEGMENT.fullmatch(s) is None or s in (".", "..") for s in segments):
        raise InvalidRequest(_form("The repository address holds characters that no host allows"))
    return f"https://{host}/{path}"


def repository_name(url: str) -> str:
    """``owner/name`` of a canonical address; a group's whole path on GitLab."""
    return urlsplit(url).path.strip("/")


def repository_host(url: str) -> str:
    """The host of a canonical address."""
    return urlsplit(url).hostname or ""


def checked_ref(ref: str) -> str:
    """The branch, tag or commit as given; ``InvalidRequest`` if git would not take the name."""
    if (
        _REF.fullmatch(ref) is None
        or ".." in ref
        or "//" in ref
        or "@{" in ref
        or ref.endswith(("/", ".", ".lock"))
    ):
        raise InvalidRequest("ref must be a branch, a tag or a commit, such as main or v1.2.0.")
    return ref


def is_commit(text: str) -> bool:
    """Whether the text is a whole commit id, SHA-1 or SHA-256, in lower-case hex."""
    return _COMMIT.fullmatch(text) is not None


def archive_address(url: str, ref: str | None, hosts: Sequence[str]) -> str:
    """Where the repository's host serves the archive of ``ref`` (its default branch when None).

    ``InvalidRequest`` for a host that is not configured.
    """
    host, name = repository_host(url), repository_name(url)
    _check_host(host, hosts)
    revision = quote(checked_ref(ref) if ref else "HEAD", safe="/")
    base = f"https://{host}/{quote(name, safe='/')}"
    if host == "bitbucket.org":
        return f"{base}/get/{revision}.tar.gz"
    if host == "github.com":
        return f"{base}/archive/{revision}.tar.gz"
    # Every other configured host is taken for a GitLab: only GitLab is run on hosts of one's own.
    last = name.rpartition("/")[2]
    return f"{base}/-/archive/{revision}/{quote(last)}-{revision.replace('/', '-')}.tar.gz"


def refs_address(url: str, hosts: Sequence[str]) -> str:
    """Where git asks for the repository's branches (smart HTTP); needs no key and no API quota."""
    host = repository_host(url)
    _check_host(host, hosts)
    path = quote(repository_name(url), safe="/")
    return f"https://{host}/{path}.git/info/refs?service=git-upload-pack"


def _check_host(host: str, hosts: Sequence[str]) -> None:
    if host not in hosts:
        allowed = ", ".join(hosts) or "none"
        raise InvalidRequest(
            f"Repositories of {host} are not fetched; the configured hosts are: {allowed}. "
            f"Upload an archive to archives/{host}/<owner>/<name>/ instead."
        )


def _form(problem: str) -> str:
    return f"{problem}; write it as https://github.com/owner/name."
