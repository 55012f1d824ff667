"""Fetching from a repository's host over https, from public addresses only.

The name is resolved once, every address it has is checked, and the connection is made to the
checked address, so a second answer of the resolver changes nothing. Redirects are checked like the
first address. Source: design, section 6.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import BinaryIO
from urllib.parse import urljoin, urlsplit

from plumbline.errors import ArchiveRefused, NotFound, RepositoryUnreachable

Resolve = Callable[[str, int], Sequence[str]]

_MAX_REDIRECTS = 5
_PIECE_BYTES = 256 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def resolve(host: str, port: int) -> Sequence[str]:
    """Every address of a host name, as the system's resolver gives them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether an IP address lies on the public internet, also when it is wrapped in an IPv6 one."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            ip = inner
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


class _PinnedConnection(http.client.HTTPSConnection):
    """HTTPS to checked addresses, in turn, under the certificate of the host's name."""

    def __init__(
        self,
        host: str,
        port: int,
        addresses: Sequence[str],
        *,
        timeout: float,
        context: ssl.SSLContext,
    ) -> None:
        super().__init__(host, port, timeout=timeout, context=context)
        self._addresses, self._tls = addresses, context

    def connect(self) -> None:
        raw = self._first_to_answer()
        try:
            self.sock = self._tls.wrap_socket(raw, server_hostname=self.host)
        except BaseException:
            raw.close()
            raise

    def _first_to_answer(self) -> socket.socket:
        failure: OSError | None = None
        # A host may have IPv6 addresses where the function has only IPv4, and the other way round.
        for address in self._addresses:
            try:
                return socket.create_connection((address, self.port), self.timeout)
            except OSError as exc:
                failure = exc
        raise failure or OSError("no address")


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
        return _PinnedConnection(host, port, addresses, timeout=self._timeout, context=context)

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
