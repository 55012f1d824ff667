"""Repository addresses: one form, and where their hosts keep archives."""

from __future__ import annotations

import pytest

from plumbline.errors import InvalidRequest
from plumbline.index.addresses import (
    DEFAULT_HOSTS,
    archive_address,
    canonical_url,
    checked_ref,
    refs_address,
    repository_name,
)

SHA = "85c5d93cbd049c4bd0679c36fd1ddcae8c37b642"


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("https://github.com/pallets/flask", "https://github.com/pallets/flask"),
        ("https://GitHub.com/Pallets/Flask.git/", "https://github.com/Pallets/Flask"),
        ("http://github.com:80/a/b", "https://github.com/a/b"),
        ("https://gitlab.com:443/g/s/t/name.git", "https://gitlab.com/g/s/t/name"),
        ("git@github.com:pallets/flask.git", "https://github.com/pallets/flask"),
        ("ssh://git@gitlab.com/group/name.git", "https://gitlab.com/group/name"),
        ("  https://github.com/a/b.c  ", "https://github.com/a/b.c"),
        ("https://github.com/a/%62", "https://github.com/a/b"),
    ],
)
def test_every_spelling_has_one_canonical_form(given: str, canonical: str) -> None:
    assert canonical_url(given) == canonical
    assert canonical_url(canonical) == canonical


@pytest.mark.parametrize(
    "given",
    [
        "",
        "github.com/a/b",
        "ftp://github.com/a/b",
        "file:///etc/passwd",
        "https://github.com/onlyowner",
        "https://user:secret@github.com/a/b",
        "https://github.com:8443/a/b",
        "https://github.com/a/b?x=1",
        "https://github.com/a/b#readme",
        "https://github.com/a/../b",
        "https://github.com/a/%2e%2e/b",
        "https://github.com/a/b%0d%0ax",
        "https://github.com//b",
        "https://git hub.com/a/b",
        "https://[::1]/a/b",
        "https://github.com:99999/a/b",
        "https://github.com/" + "/".join("a" * 30),
    ],
)
def test_an_address_that_is_none_is_refused_with_the_form(given: str) -> None:
    with pytest.raises(InvalidRequest, match=r"https://github\.com/owner/name"):
        canonical_url(given)


@pytest.mark.parametrize(
    ("url", "ref", "address"),
    [
        (
            "https://github.com/pallets/flask",
            None,
            "https://github.com/pallets/flask/archive/HEAD.tar.gz",
        ),
        (
            "https://github.com/pallets/flask",
            "feature/x",
            "https://github.com/pallets/flask/archive/feature/x.tar.gz",
        ),
        (
            "https://gitlab.com/group/sub/name",
            "feature/x",
            "https://gitlab.com/group/sub/name/-/archive/feature/x/name-feature-x.tar.gz",
        ),
        (
            "https://bitbucket.org/team/repo",
            SHA,
            f"https://bitbucket.org/team/repo/get/{SHA}.tar.gz",
        ),
    ],
)
def test_each_host_keeps_its_archives_where_it_does(
    url: str, ref: str | None, address: str
) -> None:
    assert archive_address(url, ref, DEFAULT_HOSTS) == address


def test_another_host_is_refused_and_the_other_road_named() -> None:
    with pytest.raises(InvalidRequest, match=r"Upload an archive to archives/evil.example/"):
        archive_address("https://evil.example/a/b", None, DEFAULT_HOSTS)
    with pytest.raises(InvalidRequest, match="configured hosts are: none"):
        refs_address("https://github.com/a/b", ())


def test_git_is_asked_over_smart_http() -> None:
    assert refs_address("https://github.com/a/b", DEFAULT_HOSTS) == (
        "https://github.com/a/b.git/info/refs?service=git-upload-pack"
    )


@pytest.mark.parametrize("ref", ["main", "v1.2.0", "feature/x-y_z", "release@2", SHA, "1.x"])
def test_refs_that_git_takes(ref: str) -> None:
    assert checked_ref(ref) == ref


@pytest.mark.parametrize(
    "ref",
    ["", "-x", "/x", "a..b", "a//b", "a/", "a.lock", "a b", "a\nb", "@{1}", "a@{1}", "é", "a:b"],
)
def test_refs_that_git_does_not_take(ref: str) -> None:
    with pytest.raises(InvalidRequest, match="ref must be"):
        checked_ref(ref)


def test_the_name_is_the_whole_path() -> None:
    assert repository_name("https://gitlab.com/group/sub/name") == "group/sub/name"
