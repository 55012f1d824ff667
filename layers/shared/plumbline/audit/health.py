"""ContentAuditor: after the stream, whether the links that were shown still answer.

Nothing here changes what was shown. A request is made only to an allowed host, only to an address
that is public, and over the very connection whose address was checked.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock, Thread
from urllib.parse import urljoin, urlsplit

from plumbline.audit.addresses import Address, host_matches, read_address
from plumbline.index.public_hosts import Resolve, is_public, resolve
from plumbline.policy import AuditPolicy

MAX_LINKS = 12
LINK_SECONDS = 2.0
ALL_SECONDS = 4.0
MAX_REDIRECTS = 4

_DEAD = frozenset((404, 410))
_NO_HEAD = frozenset((405, 501))
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_AGENT = "plumbline-link-check/1"


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What the checks found: links that are gone, that answer, and why others are not known."""

    dead_links: tuple[str, ...] = ()
    alive: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)


class ContentAuditor:
    """HEAD checks of kept links. Source: seed 000, "ContentAuditor"."""

    def __init__(
        self,
        policy: AuditPolicy,
        *,
        resolve: Resolve = resolve,
        public: Callable[[str], bool] = is_public,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._resolve = resolve
        self._public = public
        self._tls = tls

    def audit_content(self, links: Sequence[str], *, seconds: float = ALL_SECONDS) -> AuditResult:
        """The state of at most twelve links, in parallel: 2 s each, 4 s together.

        ``dead_links`` are those that answer 404 or 410, or whose host does not exist. Never
        raises for what a link does.
        """
        deadline = time.monotonic() + seconds
        urls = list(dict.fromkeys(links))[:MAX_LINKS]
        outcomes: dict[str, str] = {}
        lock = Lock()

        def check(url: str) -> None:
            outcome = self._check(url, min(deadline, time.monotonic() + LINK_SECONDS))
            with lock:
                outcomes[url] = outcome

        threads = [Thread(target=check, args=(url,), daemon=True) for url in urls]
        for thread in threads:
            thread.start()
        for thread in threads:
            # A resolver cannot be interrupted; what has not come by then is not waited for.
            thread.join(max(0.0, deadline - time.monotonic()))
        with lock:
            known = dict(outcomes)
        return AuditResult(
            tuple(url for url in urls if known.get(url) == "dead"),
            tuple(url for url in urls if known.get(url) == "alive"),
            {
                url: known.get(url, "timeout")
                for url in urls
                if known.get(url) not in ("dead", "alive")
            },
        )

    def _check(self, url: str, deadline: float) -> str:
        method = "HEAD"
        try:
            for _ in range(MAX_REDIRECTS + 1):
                status, location = self._request(method, url, deadline)
                if status in _NO_HEAD and method == "HEAD":
                    method = "GET"
                    status, location = self._request(method, url, deadline)
                if status in _REDIRECTS and location:
                    url = urljoin(url, location)
                    continue
                if status in _DEAD:
                    return "dead"
                return "alive" if status < 400 or status == 416 else f"status_{status}"
            return "too_many_redirects"
        except _Refused as exc:
            return exc.reason
        except socket.gaierror as exc:
            return "dead" if exc.errno in (socket.EAI_NONAME, -5) else "unresolved"
        except TimeoutError:
            return "timeout"
        except (OSError, http.client.HTTPException, ValueError):
            return "unreachable"

    def _request(self, method: str, url: str, deadline: float) -> tuple[int, str | None]:
        address = read_address(url)
        if not isinstance(address, Address):
            raise _Refused(address.reason)
        if not host_matches(address.host, self._policy.allowed_hosts):
            raise _Refused("hostname_not_allowed")
        secure = address.scheme == "https"
        port = int(address.port or (443 if secure else 80))
        addresses = self._resolve(address.host, port)
        if not addresses or not all(self._public(ip) for ip in addresses):
            raise _Refused("address_not_public")
        connection = http.client.HTTPConnection(address.host, port)
        connection.sock = self._connect(addresses[0], port, address.host, secure, deadline)
        try:
            parts = urlsplit(url)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            default = port == (443 if secure else 80)
            headers = {
                "Host": address.host if default else f"{address.host}:{port}",
                "User-Agent": _AGENT,
                "Accept": "*/*",
            }
            if method == "GET":
                headers["Range"] = "bytes=0-0"
            connection.request(method, target.encode("ascii", "ignore").decode(), headers=headers)
            connection.sock.settimeout(_left(deadline))
            response = connection.getresponse()
            return response.status, response.headers.get("location")
        finally:
            connection.close()

    def _connect(
        self, ip: str, port: int, host: str, secure: bool, deadline: float
    ) -> socket.socket:
        plain = socket.create_connection((ip, port), timeout=_left(deadline))
        if not secure:
            return plain
        try:
            context = self._tls or ssl.create_default_context()
            plain.settimeout(_left(deadline))
            return context.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise


class _Refused(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
