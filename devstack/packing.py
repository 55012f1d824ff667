"""A folder, an archive or an address, as the bucket takes it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from devstack.failure import CommandError, reason

ARCHIVE_SUFFIXES = (".zip", ".tar.gz", ".tgz", ".tar.zst", ".tar")
# What is never source, in a folder that git does not list for us.
_PASSED_OVER = frozenset(
    {".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".tox", ".mypy_cache"}
)
_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_NAME_CHARS = 80
# The indexer looks at no larger file: one is left out unread rather than sent.
_MAX_FILE_BYTES = 16 * 1024 * 1024
_ORIGIN = re.compile(
    r"(?:https://(?:[^/@]*@)?|ssh://git@)(?P<host>[a-z0-9.-]+)(?::\d+)?/(?P<path>[\w./~+-]+?)(?:\.git)?/?"
    r"|git@(?P<scp_host>[a-z0-9.-]+):(?P<scp_path>[\w./~+-]+?)(?:\.git)?/?",
    re.IGNORECASE | re.ASCII,
)
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive on this machine and where it goes: its repository's address and its key.

    ``left_out`` counts the files and folders that could not be put into it, by the reason.
    """

    path: Path
    url: str
    key: str
    commit: str | None
    ref: str | None
    temporary: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)

    def metadata(self) -> dict[str, str]:
        """The object's metadata."""
        pairs = {"commit": self.commit, "ref": self.ref}
        # S3 takes ASCII alone; a branch of another name is told by its commit.
        return {name: value for name, value in pairs.items() if value and value.isascii()}


def is_address(reference: str) -> bool:
    """Whether the reference is a URL rather than a path."""
    return re.match(r"[a-z][a-z0-9+.-]*://", reference, re.IGNORECASE) is not None


def pack(reference: str) -> Archive:
    """A folder or an archive file, ready for the bucket. ``CommandError`` says what is wrong."""
    try:
        path = Path(reference).expanduser()
        if path.is_dir():
            return _pack_folder(path.resolve())
        if path.exists():
            return _take_archive(path, reference)
    except OSError as exc:
        raise CommandError(f"{reference}: {reason(exc)}.") from exc
    except RuntimeError as exc:
        raise CommandError(f"{reference}: there is no such home folder.") from exc
    raise CommandError(
        f"{reference}: no such folder or archive. Give a folder, an archive"
        f" ({', '.join(ARCHIVE_SUFFIXES)}) or an https address."
    )


def _take_archive(path: Path, reference: str) -> Archive:
    suffix = next((s for s in ARCHIVE_SUFFIXES if path.name.lower().endswith(s)), None)
    if suffix is None or not path.is_file():
        raise CommandError(
            f"{reference}: not an archive that can be read; give one of"
            f" {', '.join(ARCHIVE_SUFFIXES)}."
        )
    name = _segment(path.name[: -len(suffix)], "archive")
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()[:12]
    url = f"https://localhost/local/{name}"
    return Archive(path, url, f"archives/localhost/local/{name}/{digest}{suffix}", None, None)


def _pack_folder(folder: Path) -> Archive:
    # Told at once, where walking the tree would pass it over.
    with os.scandir(folder):
        pass
    left_out: Counter[str] = Counter()
    digest = hashlib.sha256()
    packed = 0
    handle, name = tempfile.mkstemp(suffix=".zip", prefix="plumbline-")
    try:
        with os.fdopen(handle, "wb") as raw, zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as out:
            for relative in sorted(_files(folder, left_out)):
                data = _data(folder / relative, left_out)
                if data is None:
                    continue
                digest.update(f"{relative}\0{len(data)}\0".encode())
                digest.update(data)
                top = folder.name.encode("utf-8", "replace").decode() or "folder"
                # One date for all, so that the same folder makes the same archive.
                out.writestr(zipfile.ZipInfo(f"{top}/{relative}", _ZIP_EPOCH), data)
                packed += 1
        if not packed:
            raise CommandError(_nothing(folder, left_out))
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    commit, ref = _git(folder, "rev-parse", "HEAD"), _git(folder, "branch", "--show-current")
    url = _origin(folder) or f"https://localhost/local/{_segment(folder.name, 'folder')}"
    parts = urlsplit(url)
    key = f"archives/{parts.hostname}{parts.path}/{digest.hexdigest()[:12]}.zip"
    return Archive(Path(name), url, key, commit, ref, temporary=True, left_out=dict(left_out))


def _nothing(folder: Path, left_out: Mapping[str, int]) -> str:
    if not left_out:
        return f"{folder}: the folder is empty; there is nothing to index."
    counted = ", ".join(f"{number} {why}" for why, number in sorted(left_out.items()))
    return f"{folder}: no file of the folder can be packed ({counted}); there is nothing to index."


def _data(path: Path, left_out: Counter[str]) -> bytes | None:
    """The file's bytes; None, counted, where they cannot be had."""
    try:
        with path.open("rb") as opened:
            data = opened.read(_MAX_FILE_BYTES + 1)
    except OSError:
        # No longer there, or not for this user.
        left_out["unreadable"] += 1
        return None
    if len(data) > _MAX_FILE_BYTES:
        left_out["too large"] += 1
        return None
    return data


def _files(folder: Path, left_out: Counter[str]) -> Iterator[str]:
    """Relative paths: what git tracks or would, else every file but the usual clutter."""
    for name in _listed(folder, left_out):
        try:
            name.encode()
        except UnicodeEncodeError:
            # No archive could say it.
            left_out["with a name that is no UTF-8"] += 1
            continue
        yield name


def _listed(folder: Path, left_out: Counter[str]) -> Iterator[str]:
    def unreadable(error: OSError) -> None:
        left_out["unreadable"] += 1

    listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        for name in listed.split("\0"):
            if name and _is_plain_file(folder / name, unreadable):
                yield name
        return
    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        for name in names:
            path = Path(parent, name)
            if _is_plain_file(path, unreadable):
                yield path.relative_to(folder).as_posix()


def _is_plain_file(path: Path, unreadable: Callable[[OSError], None]) -> bool:
    try:
        return path.is_file() and not path.is_symlink()
    except OSError as exc:
        unreadable(exc)
        return False


def _origin(folder: Path) -> str | None:
    """The https address of the folder's origin, where it has one that reads as host/owner/name."""
    match = _ORIGIN.fullmatch(_git(folder, "remote", "get-url", "origin") or "")
    if match is None:
        return None
    host, path = match["host"] or match["scp_host"], match["path"] or match["scp_path"]
    segments = path.split("/")
    if len(segments) < 2 or any(s in ("", ".", "..") or len(s) > 100 for s in segments):
        return None
    return f"https://{host.lower()}/{path}"


def _segment(name: str, otherwise: str) -> str:
    """The name as one segment of an address, which is plain ASCII and short.

    Accents are dropped. Two names that differ in letters of another script, or far behind, must
    not become one repository: those get a few digits of their own.
    """
    parts = unicodedata.normalize("NFKD", name)
    plain = "".join(part for part in parts if not unicodedata.combining(part))
    slug = _NAME.sub("-", plain).strip("-.")
    if name.isascii() and len(slug) <= _MAX_NAME_CHARS:
        return slug or otherwise
    digits = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{slug[:_MAX_NAME_CHARS].rstrip('-.') or otherwise}-{digits}"


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
