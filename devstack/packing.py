"""A folder, an archive or an address, as the bucket takes it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from devstack.failure import CommandError

ARCHIVE_SUFFIXES = (".zip", ".tar.gz", ".tgz", ".tar.zst", ".tar")
# What is never source, in a folder that git does not list for us.
_PASSED_OVER = frozenset(
    {".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".tox", ".mypy_cache"}
)
_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive on this machine and where it goes: its repository's address and its key."""

    path: Path
    url: str
    key: str
    commit: str | None
    ref: str | None
    temporary: bool = False

    def metadata(self) -> dict[str, str]:
        """The object's metadata."""
        pairs = {"commit": self.commit, "ref": self.ref}
        return {name: value for name, value in pairs.items() if value}


def is_address(reference: str) -> bool:
    """Whether the reference is a URL rather than a path."""
    return re.match(r"[a-z][a-z0-9+.-]*://", reference, re.IGNORECASE) is not None


def pack(reference: str) -> Archive:
    """A folder or an archive file, ready for the bucket. ``CommandError`` says what is wrong."""
    path = Path(reference).expanduser()
    if path.is_dir():
        return _pack_folder(path.resolve())
    if not path.exists():
        raise CommandError(
            f"{reference}: no such folder or archive. Give a folder, an archive"
            f" ({', '.join(ARCHIVE_SUFFIXES)}) or an https address."
        )
    suffix = next((s for s in ARCHIVE_SUFFIXES if path.name.lower().endswith(s)), None)
    if suffix is None:
        raise CommandError(
            f"{reference}: not an archive that can be read; give one of"
            f" {', '.join(ARCHIVE_SUFFIXES)}."
        )
    name = _NAME.sub("-", path.name[: -len(suffix)]).strip("-.") or "archive"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    url = f"https://localhost/local/{name}"
    return Archive(path, url, f"archives/localhost/local/{name}/{digest}{suffix}", None, None)


def _pack_folder(folder: Path) -> Archive:
    files = sorted(_files(folder))
    if not files:
        raise CommandError(f"{folder}: the folder is empty; there is nothing to index.")
    handle, name = tempfile.mkstemp(suffix=".zip", prefix="plumbline-")
    digest = hashlib.sha256()
    with os.fdopen(handle, "wb") as raw, zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as out:
        for relative in files:
            data = (folder / relative).read_bytes()
            digest.update(f"{relative}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            digest.update(data)
            # One date for all, so that the same folder makes the same archive.
            out.writestr(zipfile.ZipInfo(f"{folder.name}/{relative}", _ZIP_EPOCH), data)
    commit, ref = _git(folder, "rev-parse", "HEAD"), _git(folder, "branch", "--show-current")
    url = _origin(folder) or _local_url(folder)
    parts = urlsplit(url)
    key = f"archives/{parts.hostname}{parts.path}/{digest.hexdigest()[:12]}.zip"
    return Archive(Path(name), url, key, commit, ref, temporary=True)


def _files(folder: Path) -> Iterator[str]:
    """Relative paths: what git tracks or would, else every file but the usual clutter."""
    listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        for name in listed.split("\0"):
            path = folder / name
            if name and path.is_file() and not path.is_symlink():
                yield name
        return
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix()


def _origin(folder: Path) -> str | None:
    """The https address of the folder's origin, where it has one that reads as host/owner/name."""
    remote = _git(folder, "remote", "get-url", "origin")
    match = re.fullmatch(
        r"(?:https://|ssh://git@|git@)(?P<host>[a-z0-9.-]+)[/:](?P<path>[\w./~+-]+?)(?:\.git)?/?",
        remote or "",
        re.IGNORECASE,
    )
    if match is None or match["path"].count("/") < 1:
        return None
    return f"https://{match['host'].lower()}/{match['path']}"


def _local_url(folder: Path) -> str:
    name = _NAME.sub("-", folder.name).strip("-.") or "folder"
    return f"https://localhost/local/{name}"


def _git(folder: Path, *arguments: str) -> str | None:
    """Git's answer about a folder that is a work tree's top; None without git or one."""
    if not (folder / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape").strip("\n") or None
