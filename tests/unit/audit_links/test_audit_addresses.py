"""Addresses as a browser reads them."""

from __future__ import annotations

import pytest

from plumbline.audit.addresses import (
    Address,
    Refusal,
    host_matches,
    pages,
    path_under,
    read_address,
    under_prefix,
)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("//ok.example/x", "protocol_relative"),
        ("/x", "relative_address"),
        ("#x", "relative_address"),
        ("ok.example", "relative_address"),
        ("javascript:alert(1)", "scheme_not_allowed"),
        ("data:text/html,x", "scheme_not_allowed"),
        ("vbscript:x", "scheme_not_allowed"),
        ("mailto:a@ok.example", "scheme_not_allowed"),
        ("ftp://ok.example", "scheme_not_allowed"),
        ("https:ok.example", "malformed_address"),
        ("https:/ok.example", "malformed_address"),
        ("https:///ok.example", "malformed_address"),
        ("https://ok.example:x/", "malformed_address"),
        ("https://a@ok.example", "userinfo"),
        ("https://ok.example\\@evil.com", "backslash"),
        ("https:\\\\ok.example", "backslash"),
        ("java\tscript:alert(1)", "control_character"),
        ("https://ok.example/a b", "control_character"),
        ("https://ok\u200b.example", "control_character"),
        ("https://ok.example%2eevil.com", "malformed_host"),
        ("https://[::1]/", "malformed_address"),
        ("https://ok..example/", "malformed_host"),
        ("https://ｏk.example/", "malformed_host"),
        ("https://ok。example/", "malformed_host"),
        ("https://" + "a" * 5000, "address_too_long"),
    ],
)
def test_what_never_passes(url: str, reason: str) -> None:
    found = read_address(url)
    assert isinstance(found, Refusal)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://OK.Example./x", "ok.example"),
        ("HTTPS://ok.example:443", "ok.example"),
        ("http://ok.example:8080/a", "ok.example"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://оk.example/", "xn--k-0tb.example"),
    ],
)
def test_hosts_are_compared_in_one_form(url: str, host: str) -> None:
    found = read_address(url)
    assert isinstance(found, Address)
    assert found.host == host


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://ok.example/a", "https://ok.example/a#part", True),
        ("https://ok.example/a", "https://ok.example/a/", True),
        ("https://ok.example/a", "http://OK.example:80/a", True),
        ("https://ok.example/a", "https://ok.example/b/../a", True),
        ("https://ok.example/a", "https://ok.example/%2e/a", True),
        ("https://ok.example/~a", "https://ok.example/%7Ea", True),
        ("https://ok.example/a", "https://ok.example/A", False),
        ("https://ok.example/a", "https://ok.example/a?b=1", False),
        ("https://ok.example/a", "https://ok.example:8443/a", False),
        ("https://ok.example/a", "https://ok.example/a/b", False),
        ("https://ok.example/a%2Fb", "https://ok.example/a/b", False),
    ],
)
def test_the_same_page(one: str, other: str, same: bool) -> None:
    assert (pages([one]) == pages([other])) is same


def test_host_patterns() -> None:
    assert host_matches("a.ok.example", ["*.ok.example"])
    assert host_matches("ok.example", ["*.ok.example"])
    assert not host_matches("notok.example", ["*.ok.example"])
    assert not host_matches("a.ok.example", ["ok.example"])
    assert host_matches("any.where", ["*"])


def test_prefixes_end_at_a_segment() -> None:
    address = read_address("https://ok.example/doc/../docker/x")
    assert isinstance(address, Address)
    assert not under_prefix(address, ["ok.example/doc"])
    assert under_prefix(address, ["ok.example/docker/"])
    assert path_under("/doc/a", "/doc/")
    assert path_under("/doc", "/doc/")
    assert not path_under("/docs", "/doc")
