"""The gate before any work: API key, rate limit, breaker and session in one Redis round trip."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from plumbline.errors import (
    RateLimited,
    SessionUnavailable,
    SettingsError,
    Unauthorized,
    Unavailable,
)
from plumbline.http import Request
from plumbline.observability import cause_of, count, logger

Scope = Literal["turn", "search", "suggest", "index"]
# What a limit is counted in: a scope's own requests, or those about a session that is there.
Bucket = Literal["turn", "search", "suggest", "index", "session"]
SCOPES: tuple[Scope, ...] = ("turn", "search", "suggest", "index")
SESSION_HEADER = "x-plumbline-session"
_SESSION_ID = re.compile(r"[0-9a-f]{32}")
_HASH_ENTRY = re.compile(r"([0-9a-f]{64}):([a-z|]+)")
_PERIOD_SECONDS = 60
_LOCAL_CALLERS = 10_000
# A page gives one key to all of its readers.
ADDRESSES_PER_KEY = 10


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the first 12 digits of the key's hash, and what the key may do."""

    key_id: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class TurnMark:
    """Marks a turn as running, so that it can be asked for before it has ended."""

    turn_id: str
    owners: tuple[str, ...]
    seconds: int


@dataclass(frozen=True, slots=True)
class SharedReply:
    """What the shared state said: ``wait`` seconds until the limiters let this caller in (0 is
    now), the session's hash (empty if unknown), and seconds that each open breaker stays open."""

    wait: float
    session: Mapping[str, str]
    open_for: Mapping[str, float]


class SharedState(Protocol):
    """The gate's view of Redis. Raises ``SessionUnavailable``."""

    def admit(
        self,
        *,
        rates: Mapping[str, int],
        period_seconds: int,
        session_id: str | None,
        upstreams: Sequence[str],
        turn: TurnMark | None,
    ) -> SharedReply:
        """One round trip: take a place under each limit, read the breakers and the session."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that may go on. ``session`` is the raw hash, empty for a new session.

    ``shared`` is False when Redis did not answer; ``open_breakers`` names the upstreams that are
    passed over.
    """

    caller: Caller
    session_id: str
    session: Mapping[str, str] = field(default_factory=dict)
    shared: bool = True
    open_breakers: frozenset[str] = frozenset()


class Gate:
    """Admits requests. Raises ``Unauthorized``, ``RateLimited`` and ``Unavailable``.

    Only Algolia's open breaker refuses: the other upstreams have stand-ins. When Redis is down a
    limiter inside the process takes over. Source: design, "HTTP" and section 5.
    """

    def __init__(
        self,
        api_key_hashes: Sequence[str],
        limits: Mapping[Bucket, int],
        state: SharedState,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = parse_key_hashes(api_key_hashes)
        self._limits = limits
        self._state = state
        self._local = LocalLimiter(clock)

    def admit(
        self,
        request: Request,
        scope: Scope,
        *,
        session_id: str | None = None,
        upstreams: Sequence[str] = (),
        turn_id: str | None = None,
        turn_seconds: int = 0,
        bucket: Bucket | None = None,
    ) -> Admission:
        """Let the request in, or raise; one round trip to the shared state.

        It counts against ``bucket`` (the scope's own, if None): the limit is for one address, and
        a key as a whole has ten times as much.
        """
        caller = self.identify(request, scope)
        known = session_id if session_id and _SESSION_ID.fullmatch(session_id) else None
        fresh = new_session_id()
        name = bucket or scope
        limit = self._limits[name]
        rates = {
            f"rate:{name}:{caller.key_id}:{network_of(request.source_ip)}": limit,
            f"rate:{name}:{caller.key_id}": limit * ADDRESSES_PER_KEY,
        }
        owners = tuple(owner for owner in (known, fresh) if owner)
        mark = TurnMark(turn_id, owners, turn_seconds) if turn_id else None
        try:
            reply = self._state.admit(
                rates=rates,
                period_seconds=_PERIOD_SECONDS,
                session_id=known,
                upstreams=upstreams,
                turn=mark,
            )
        except SessionUnavailable as exc:
            logger.warning(
                "shared state unavailable; limiting in this process", cause=cause_of(exc)
            )
            count("SharedStateUnavailable")
            waits = [self._local.take(key, most, _PERIOD_SECONDS) for key, most in rates.items()]
            _refuse_if_waiting(max(waits))
            # An id that cannot be looked up is kept: its owner gets the session back with Redis.
            return Admission(caller, known or fresh, shared=False)
        _refuse_if_waiting(reply.wait)
        if "algolia" in reply.open_for:
            raise Unavailable(
                "Search is unavailable; try again later.",
                retry_after=max(1, math.ceil(reply.open_for["algolia"])),
            )
        session = reply.session
        return Admission(
            caller,
            known if known and session else fresh,
            session if known else {},
            open_breakers=frozenset(reply.open_for),
        )

    def identify(self, request: Request, scope: Scope) -> Caller:
        """The caller of a request by its key (``x-api-key`` or a bearer token).

        Raises ``Unauthorized`` without a key, with an unknown one, or one without the scope.
        """
        key = request.headers.get("x-api-key", "")
        authorization = request.headers.get("authorization", "")
        if not key and authorization[:7].lower() == "bearer ":
            key = authorization[7:].strip()
        if not key:
            raise Unauthorized("Send an API key in the x-api-key header.")
        digest = hashlib.sha256(key.encode()).hexdigest()
        caller = None
        for known, scopes in self._keys.items():
            # Every entry is compared, so that the time tells nothing of which one is near.
            if hmac.compare_digest(known, digest):
                caller = Caller(digest[:12], scopes)
        if caller is None:
            raise Unauthorized("This API key is not known.")
        if scope not in caller.scopes:
            raise Unauthorized(f"This API key lacks the scope {scope!r}.")
        return caller


class LocalLimiter:
    """The same limit inside one process, while the shared one is out of reach."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ready: dict[str, float] = {}
        self._lock = threading.Lock()

    def take(self, key: str, limit: int, period_seconds: float) -> float:
        """Take a place; the seconds to wait when there is none (0: admitted)."""
        with self._lock:
            now = self._clock()
            if len(self._ready) > _LOCAL_CALLERS:
                # Whoever is nearest to being let in again is forgotten first.
                newest = sorted(self._ready.items(), key=lambda item: -item[1])
                self._ready = dict(newest[: _LOCAL_CALLERS // 2])
            interval = period_seconds / limit
            ready = max(self._ready.get(key, now), now) + interval
            wait = ready - period_seconds - now
            if wait > 0:
                return wait
            self._ready[key] = ready
            return 0.0


def network_of(address: str) -> str:
    """What one caller can hold of addresses: an IPv4 address, or an IPv6 network of 64 bits."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "-"
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    return str(ipaddress.ip_network((ip, 64), strict=False).network_address)


def new_session_id() -> str:
    """128 random bits in hexadecimal."""
    return secrets.token_hex(16)


def parse_key_hashes(entries: Sequence[str]) -> dict[str, frozenset[str]]:
    """``<sha256>:<scope>|<scope>`` entries as hash -> scopes; ``SettingsError`` names a bad one."""
    keys: dict[str, frozenset[str]] = {}
    for number, entry in enumerate(entries, 1):
        match = _HASH_ENTRY.fullmatch(entry)
        scopes = frozenset(match[2].split("|")) if match else frozenset()
        if match is None or not scopes <= frozenset(SCOPES):
            raise SettingsError(
                f"Settings: API_KEY_HASHES entry {number} must be the 64 hex digits of a key's"
                f" SHA-256, a colon, and scopes out of {'|'.join(SCOPES)}."
            )
        keys[match[1]] = keys.get(match[1], frozenset()) | scopes
    return keys


def _refuse_if_waiting(wait: float) -> None:
    if wait > 0:
        raise RateLimited(
            "Too many requests; slow down.",
            retry_after=max(1, math.ceil(wait)),
        )
