"""Addresses: what a browser would make of one, and when two of them are the same page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

import idna

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LABELS = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\Z")
# A browser drops or rewrites these before it looks for a host, so none of them is read past.
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]")
_DOTS = re.compile(r"%2e", re.IGNORECASE)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Address:
    """A web address taken apart; ``host`` is ASCII, lower case, without port or trailing dot."""

    scheme: str
    host: str
    port: str
    path: str
    query: str

    @property
    def page(self) -> tuple[str, str, str, str]:
        """What makes two addresses the same page: neither scheme nor fragment counts."""
        return (self.host, self.port, self.path.rstrip("/"), self.query)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An address that never passes, with the stable code that says why."""

    reason: str


@lru_cache(maxsize=4096)
def read_address(url: str) -> Address | Refusal:
    """The address as a browser reads it, or why it never passes.

    Refused are controls and blanks inside, backslashes, userinfo, ``//host``, relative addresses,
    every scheme but http and https, and hosts that only look like another.
    """
    if len(url) > 4096:
        return Refusal("address_too_long")
    if _FORBIDDEN.search(url):
        return Refusal("control_character")
    if "\\" in url:
        return Refusal("backslash")
    if url.startswith("//"):
        return Refusal("protocol_relative")
    match = _SCHEME.match(url)
    if match is None:
        return Refusal("relative_address")
    scheme = match[1].lower()
    if scheme not in _DEFAULT_PORTS:
        return Refusal("scheme_not_allowed")
    rest = url[match.end() :]
    if not rest.startswith("//") or rest.startswith("///"):
        return Refusal("malformed_address")
    authority, path, query = _split(rest[2:])
    if "@" in authority:
        return Refusal("userinfo")
    raw_host, _, port = authority.partition(":")
    if port and not (port.isascii() and port.isdigit()):
        return Refusal("malformed_address")
    host = _ascii_host(raw_host)
    if host is None:
        return Refusal("malformed_host")
    if port == _DEFAULT_PORTS[scheme]:
        port = ""
    return Address(scheme, host, port, _normal_path(path), query)


def _split(rest: str) -> tuple[str, str, str]:
    end = next((i for i, char in enumerate(rest) if char in "/?#"), len(rest))
    authority, tail = rest[:end], rest[end:].partition("#")[0]
    path, _, query = tail.partition("?")
    return authority, path, query


def _ascii_host(raw: str) -> str | None:
    lowered = raw.lower().removesuffix(".")
    if lowered.isascii():
        return lowered if _LABELS.match(lowered) else None
    try:
        encoded = idna.encode(lowered, uts46=True, std3_rules=True).decode()
        # A full-width or styled spelling maps to a plain host: it is a disguise, not a name.
        if idna.decode(encoded) != lowered:
            return None
    except (idna.IDNAError, UnicodeError):
        return None
    return encoded if _LABELS.match(encoded) else None


def _normal_path(path: str) -> str:
    """Dot segments resolved, percent-encoding of ordinary characters undone."""
    segments: list[str] = []
    for segment in _DOTS.sub(".", path).split("/")[1:]:
        if segment == "..":
            if segments:
                segments.pop()
        elif segment != ".":
            segments.append(quote(unquote(segment, errors="replace"), safe="!$&'()*+,;=:@-._~"))
    return "/" + "/".join(segments)


def host_matches(host: str, patterns: Iterable[str]) -> bool:
    """Whether a host is one of the patterns: a name, ``*.name`` (with subdomains), or ``*``."""
    for pattern in patterns:
        if pattern == "*" or host == pattern:
            return True
        if pattern.startswith("*.") and (host == pattern[2:] or host.endswith(pattern[1:])):
            return True
    return False


def under_prefix(address: Address, prefixes: Iterable[str]) -> bool:
    """Whether the address is under one of the ``host/path`` prefixes."""
    for prefix in prefixes:
        pattern, _, path = prefix.partition("/")
        if host_matches(address.host, (pattern,)) and path_under(address.path, "/" + path):
            return True
    return False


def path_under(path: str, prefix: str) -> bool:
    """Whether a path is the prefix or below it; ``/doc`` does not take in ``/docker``."""
    prefix = prefix if prefix.startswith("/") else "/" + prefix
    base = prefix.rstrip("/")
    return path == base or path.startswith(base + "/") or (prefix == path)


def pages(urls: Iterable[str | None]) -> frozenset[tuple[str, str, str, str]]:
    """The pages that the addresses name; those that are none are left out."""
    found = (read_address(url) for url in urls if url)
    return frozenset(address.page for address in found if isinstance(address, Address))
