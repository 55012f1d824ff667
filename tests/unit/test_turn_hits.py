"""Hits as sources, and the customer directory."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.turn.customers import build_directory, load_customer_directory
from plumbline.turn.facets import FacetValues
from plumbline.turn.hits import source_from_hit
from tests.turn_doubles import INSTANCE, Index


def test_a_code_hit_has_its_qualified_name_and_a_link_to_its_commit() -> None:
    source = source_from_hit(
        3,
        {
            "objectID": "1_a",
            "entity_type": "function",
            "entity_name": "reset",
            "description": "Python method: Session.reset — Start anew.",
            "content": "def reset(self): ...",
            "file_path": "src/session.py",
            "line_start": 10,
            "line_end": 12,
            "repository": "acme/shop",
            "repository_url": "https://github.com/acme/shop",
            "commit_sha": "abc123",
            "source_type": "code",
        },
    )
    assert source.n == 3
    assert source.title == "Session.reset (src/session.py)"
    assert source.url == "https://github.com/acme/shop/blob/abc123/src/session.py#L10-L12"
    assert source.repository == "acme/shop"
    assert source.content == "Python method: Session.reset — Start anew.\ndef reset(self): ..."


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"qualified_name": "A.b", "file_path": "x.py"}, "A.b (x.py)"),
        ({"description": "Go function: f", "entity_name": "f", "file_path": "f.go"}, "f (f.go)"),
        ({"description": "no label", "entity_name": "f", "file_path": "f.go"}, "f (f.go)"),
        (
            {"entity_type": "doc_section", "title": "Guide", "heading_path": ["Guide", "Install"]},
            "Guide > Install",
        ),
        (
            {"entity_type": "doc_section", "entity_name": "Install", "file_path": "README.md"},
            "Install (README.md)",
        ),
        ({"file_path": "x.py"}, "x.py"),
        ({"entity_name": "a\nb"}, "a b"),
        ({}, "Untitled"),
    ],
)
def test_titles(fields: dict[str, Any], title: str) -> None:
    assert source_from_hit(1, fields).title == title


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://docs.example.org/a", True),
        ("http://docs.example.org/a", True),
        ("javascript:alert(1)", False),
        ("//evil.example/", False),
        ("https://[::1", False),
        ("not an address", False),
        (7, False),
    ],
)
def test_a_record_keeps_only_a_web_address(url: object, kept: bool) -> None:
    source = source_from_hit(1, {"url": url})
    assert source.url == (url if kept else None)


@given(
    st.dictionaries(
        st.sampled_from(["title", "url", "entity_type", "heading_path", "line_start", "content"]),
        st.none() | st.text(max_size=20) | st.integers() | st.lists(st.text(max_size=5)),
    )
)
def test_any_hit_is_a_source(fields: dict[str, Any]) -> None:
    source = source_from_hit(1, fields)
    assert source.title
    assert isinstance(source.content, str)


def test_the_directory_keeps_one_address_a_customer() -> None:
    rows: list[dict[str, object]] = [
        {"customer": "Acme", "url": "https://www.algolia.com/blog/acme"},
        {"customer": "Acme", "url": "https://www.algolia.com/customers/acme/"},
        {"customer": "Under  Armour", "url": "https://www.algolia.com/customers/under-armour"},
        {"customer": "Plain", "url": "http://www.algolia.com/customers/plain"},
        {"customer": "", "url": "https://www.algolia.com/customers/x"},
        {"customer": 3, "url": "https://www.algolia.com/customers/x"},
        {"customer": "Bad", "url": "https://[::1"},
    ]
    assert build_directory(rows, instance=INSTANCE).urls == {
        "Acme": "https://www.algolia.com/customers/acme/",
        "Under Armour": "https://www.algolia.com/customers/under-armour",
    }


def test_the_directory_is_one_request_that_learns_the_facets_too() -> None:
    stories = [{"customer": "Acme", "url": "https://www.algolia.com/customers/acme"}]
    index = Index([], stories, facets={"industry_tag": {"retail": 4}})
    facets = FacetValues()
    directory = load_customer_directory(index, facets=facets, instance=INSTANCE)
    assert set(directory.urls) == {"Acme"}
    assert facets.values() == {"industry_tag": ("retail",)}
    assert (
        index.requests[1]["filters"] == '(source_type:"customer_story" OR source_type:"case_study")'
    )
