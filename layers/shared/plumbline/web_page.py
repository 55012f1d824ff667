"""The chat page: static files of one folder, with headers that let nothing else in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from plumbline.http import SECURITY_HEADERS, Response

CONTENT_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# No inline script, no foreign image, no frame: what a model writes cannot reach out.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
INDEX = "index.html"


class WebPage:
    """Serves the files that are in ``folder`` when it is first asked; None for any other path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, tuple[bytes, str, str]] | None = None

    def respond(self, path: str) -> Response | None:
        """The file at ``path`` (the page itself for the empty one), with an ETag."""
        if self._files is None:
            self._files = self._read()
        found = self._files.get(path or INDEX)
        if found is None:
            return None
        body, content_type, etag = found
        headers = {
            **SECURITY_HEADERS,
            "content-type": content_type,
            "content-security-policy": _POLICY,
            "cache-control": "no-cache",
            "etag": etag,
        }
        return Response(200, headers, body)

    def _read(self) -> dict[str, tuple[bytes, str, str]]:
        """Every file of a known type by its relative path, so that no request names a file."""
        files: dict[str, tuple[bytes, str, str]] = {}
        if not self._folder.is_dir():
            return files
        for file in sorted(self._folder.rglob("*")):
            content_type = CONTENT_TYPES.get(file.suffix)
            if content_type and file.is_file():
                body = file.read_bytes()
                etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
                name = file.relative_to(self._folder).as_posix()
                files[name] = (body, content_type, etag)
        return files
