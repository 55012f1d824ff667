"""Public addresses of host names, and connections to just those that were checked."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Callable, Sequence

Resolve = Callable[[str, int], Sequence[str]]

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


class PinnedConnection(http.client.HTTPSConnection):
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
