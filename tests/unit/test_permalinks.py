"""Links per host, and the addresses and paths that get none. Source: seed 002."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.search.permalinks import permalink

SHA = "9c1f0a7d5c6b4e3f2a1b0c9d8e7f6a5b4c3d2e1f"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "https://github.com/pallets/flask",
            f"https://github.com/pallets/flask/blob/{SHA}/src/app.py#L3-L9",
        ),
        (
            "https://gitlab.com/group/sub/project",
            f"https://gitlab.com/group/sub/project/-/blob/{SHA}/src/app.py#L3-9",
        ),
        (
            "https://gitlab.example.org/team/api",
            f"https://gitlab.example.org/team/api/-/blob/{SHA}/src/app.py#L3-9",
        ),
        (
            "https://gitlab.example.org:8443/team/api",
            f"https://gitlab.example.org:8443/team/api/-/blob/{SHA}/src/app.py#L3-9",
        ),
        (
            "https://bitbucket.org/team/api",
            f"https://bitbucket.org/team/api/src/{SHA}/src/app.py#lines-3:9",
        ),
    ],
)
def test_each_known_host_has_its_format(url: str, expected: str) -> None:
    assert permalink(url, SHA, "src/app.py", 3, 9) == expected


@pytest.mark.parametrize(
    "url",
    [
        "https://GitHub.com/pallets/flask.git",
        "https://github.com/pallets/flask.git/",
        "http://github.com/pallets/flask/",
        "https://user:secret@github.com/pallets/flask",
        "https://github.com:443/pallets/flask",
    ],
)
def test_an_address_written_otherwise_gives_the_same_link(url: str) -> None:
    assert permalink(url, SHA, "a.py", 1, 2) == (
        f"https://github.com/pallets/flask/blob/{SHA}/a.py#L1-L2"
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://codeberg.org/team/api",
        "https://github.com.evil.example/team/api",
        "https://evil.example/github.com/team/api",
        "https://mygitlab.example/team/api",
        "https://gitlab./team/api",
        "https://github.com:8443/team/api",
        "https://github.com/team",
        "https://github.com/team/../other/api",
        "https://github.com/team/%2e%2e",
        "https://github.com/team//api",
        "ssh://git@github.com/team/api",
        "git@github.com:team/api.git",
        "javascript://github.com/team/api",
        "https://[::1/team/api",
        "https://github.com:port/team/api",
        "",
    ],
)
def test_no_link_is_built_for_any_other_address(url: str) -> None:
    assert permalink(url, SHA, "a.py", 1, 2) is None


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "a/../../../other/x", "..", "a//b", "a/./b", "a/", "\udc80.py"]
)
def test_a_path_that_leaves_the_repository_gets_no_link(path: str) -> None:
    assert permalink("https://github.com/o/n", SHA, path) is None


@pytest.mark.parametrize(
    ("path", "encoded"),
    [
        ("docs/My page.md", "docs/My%20page.md"),
        ("a/c#.cs", "a/c%23.cs"),
        ("a/what?.md", "a/what%3F.md"),
        ("a/50%.md", "a/50%25.md"),
        ("a\\b.py", "a%5Cb.py"),
        ("größe/ß.md", "gr%C3%B6%C3%9Fe/%C3%9F.md"),
        ("[id]/page.tsx", "%5Bid%5D/page.tsx"),
        ("...", "..."),
    ],
)
def test_each_segment_is_percent_encoded(path: str, encoded: str) -> None:
    assert permalink("https://github.com/o/n", SHA, path) == (
        f"https://github.com/o/n/blob/{SHA}/{encoded}"
    )


@pytest.mark.parametrize(
    ("ref", "expected"),
    [(None, "HEAD"), ("", "HEAD"), ("main", "main"), ("fix/a b", "fix/a%20b"), ("v1#2", "v1%232")],
)
def test_without_a_commit_the_branch_or_head_stands(ref: str | None, expected: str) -> None:
    assert permalink("https://github.com/o/n", ref, "a.py") == (
        f"https://github.com/o/n/blob/{expected}/a.py"
    )


def test_a_ref_that_leaves_the_repository_gets_no_link() -> None:
    assert permalink("https://github.com/o/n", "../../x", "a.py") is None


@pytest.mark.parametrize(
    ("start", "end", "anchor"),
    [
        (None, None, ""),
        (None, 9, ""),
        (0, 9, ""),
        (-3, 9, ""),
        (7, None, "#L7"),
        (7, 6, "#L7"),
        (7, 0, "#L7"),
        (7, 7, "#L7-L7"),
        (7, 8, "#L7-L8"),
    ],
)
def test_lines_are_validated(start: int | None, end: int | None, anchor: str) -> None:
    assert permalink("https://github.com/o/n", SHA, "a.py", start, end) == (
        f"https://github.com/o/n/blob/{SHA}/a.py{anchor}"
    )


@given(path=st.text(min_size=1), ref=st.text())
def test_whatever_the_path_the_link_stays_inside_the_repository(path: str, ref: str) -> None:
    link = permalink("https://github.com/o/n", ref, path, 1, 2)
    if link is None:
        return
    parts = urlsplit(link)
    assert (parts.scheme, parts.netloc, parts.query) == ("https", "github.com", "")
    assert parts.fragment == "L1-L2"
    assert parts.path.startswith("/o/n/blob/")
    assert unquote(parts.path) == f"/o/n/blob/{ref or 'HEAD'}/{path}"
    assert not {".", ".."} & set(unquote(parts.path).split("/"))
