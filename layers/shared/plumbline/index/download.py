"""Fetching from a repository's host over https, from public addresses only.

The name is resolved once, every address it has is checked, and the connection is made to the
checked address, so a second answer of the resolver changes nothing. Redirects are checked like the
first address. Source: design, section 6.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import BinaryIO
from urllib.parse import urljoin, urlsplit

from plumbline.errors import ArchiveRefused, NotFound, RepositoryUnreachable
from plumbline.index.public_hosts import PinnedConnection, Resolve, is_public, resolve

_MAX_REDIRECTS = 5
_PIECE_BYTES = 256 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Downloader:
    """Fetches from the configured hosts and their subdomains.

    ``resolver``, ``public`` and ``context`` have one use each beside the defaults: a test's server.
    Raises ``RepositoryUnreachable`` for an address that does not answer as it should, ``NotFound``
    where the host says that there is nothing, and ``ArchiveRefused`` for more than ``max_bytes``.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        max_bytes: int = 512 * 1024 * 1024,
        timeout: float = 30.0,
        deadline: float = 300.0,
        resolver: Resolve = resolve,
        public: Callable[[str], bool] = is_public,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._hosts = tuple(host.lower() for host in hosts)
        self._max_bytes, self._timeout, self._deadline = max_bytes, timeout, deadline
        self._resolve, self._public = resolver, public
        self._context = context

    def download(self, address: str, file: BinaryIO) -> int:
        """The body of ``address`` into a file, piece by piece; how many bytes it had."""
        size = 0
        with self._open(address, accept="*/*") as pieces:
            for piece in pieces:
                size += file.write(piece)
        return size

    @contextmanager
    def stream(self, address: str, *, accept: str = "*/*") -> Iterator[Iterator[bytes]]:
        """The body of ``address`` in pieces, for a reader that may stop early."""
        with self._open(address, accept=accept) as pieces:
            yield pieces

    @contextmanager
    def _open(self, address: str, *, accept: str) -> Iterator[Iterator[bytes]]:
        deadline = time.monotonic() + self._deadline
        for _ in range(_MAX_REDIRECTS + 1):
            host, port, target = self._checked(address)
            connection = self._connection(host, port)
            with closing(connection), _reported(host):
                connection.request(
                    "GET", target, headers={"user-agent": "plumbline", "accept": accept}
                )
                answer = connection.getresponse()
                if answer.status in _REDIRECTS and (onward := answer.getheader("location")):
                    address = urljoin(address, onward)
                    continue
                self._check_answer(host, answer)
                yield self._pieces(answer, deadline)
                return
        raise RepositoryUnreachable(f"{host} redirects too often.")

    def _checked(self, address: str) -> tuple[str, int, str]:
        try:
            parts = urlsplit(address)
            host, port = (parts.hostname or "").lower(), parts.port or 443
        except ValueError as exc:
            raise RepositoryUnreachable("The address is malformed.") from exc
        allowed = any(host == one or host.endswith(f".{one}") for one in self._hosts)
        if parts.scheme != "https" or not allowed or parts.username is not None:
            raise RepositoryUnreachable(
                f"{host or 'The address'} is no https address of a host that is configured."
            )
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return host, port, target

    def _connection(self, host: str, port: int) -> http.client.HTTPSConnection:
        try:
            addresses = self._resolve(host, port)
        except OSError as exc:
            raise RepositoryUnreachable(f"{host} cannot be found; check the address.") from exc
        # One internal address among public ones is how a rebinding attack looks.
        if not addresses or not all(self._public(one) for one in addresses):
            raise RepositoryUnreachable(f"{host} is not on the public internet.")
        context = self._context or ssl.create_default_context()
        return PinnedConnection(host, port, addresses, timeout=self._timeout, context=context)

    def _check_answer(self, host: str, answer: http.client.HTTPResponse) -> None:
        if answer.status in (401, 403, 404):
            raise NotFound(
                f"{host} has no such repository or ref, or it is private; check the address, or "
                "upload an archive."
            )
        if answer.status != 200:
            raise RepositoryUnreachable(f"{host} answered with status {answer.status}.")
        length = answer.getheader("content-length") or ""
        if length.isdecimal() and int(length) > self._max_bytes:
            raise ArchiveRefused(f"The archive is larger than {self._max_bytes:,} bytes.")

    def _pieces(self, answer: http.client.HTTPResponse, deadline: float) -> Iterator[bytes]:
        size, expected = 0, answer.length
        while piece := answer.read(_PIECE_BYTES):
            size += len(piece)
            if size > self._max_bytes:
                raise ArchiveRefused(f"The archive is larger than {self._max_bytes:,} bytes.")
            if time.monotonic() > deadline:
                raise RepositoryUnreachable("The download took too long.")
            yield piece
        if expected is not None and size < expected:
            raise http.client.IncompleteRead(b"", expected - size)


@contextmanager
def _reported(host: str) -> Iterator[None]:
    try:
        yield
    except (OSError, http.client.HTTPException) as exc:
        raise RepositoryUnreachable(f"{host} did not answer; try again later.") from exc
