"""suggest: what is asked, and what an empty list stands for. Source: seed 002, "Suggestions"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from plumbline.errors import (
    InvalidRequest,
    SearchError,
    SearchNotConfigured,
    SearchRefused,
    SearchUnavailable,
)
from plumbline.search.suggestions import suggest


class Index:
    """An index of these names in this order, or one that fails."""

    def __init__(self, *names: object, error: Exception | None = None) -> None:
        self.names, self.error = names, error
        self.asked: list[Mapping[str, object]] = []

    def search(self, params: Mapping[str, object]) -> dict[str, Any]:
        self.asked.append(params)
        if self.error:
            raise self.error
        return {
            "hits": [{"objectID": str(n), "entity_name": name} for n, name in enumerate(self.names)]
        }


def test_names_are_distinct_in_rank_order_and_cut_to_the_limit() -> None:
    index = Index("render", "render_template", "render", None, "", "Renderer\ud800", "re_render")
    assert suggest("rend", 3, index=index) == ["render", "render_template", "Renderer?"]


def test_twice_the_limit_is_asked_for_and_imports_are_left_out() -> None:
    index = Index()
    suggest("  rend ", index=index)
    suggest("rend", 20, index=index)
    assert [asked["hitsPerPage"] for asked in index.asked] == [20, 40]
    assert index.asked[0]["query"] == "rend"
    assert index.asked[0]["filters"] == 'NOT entity_type:"import"'


@pytest.mark.parametrize("query", ["", "r", " r ", "\t", "x" * 513, "a\ud800"])
def test_too_little_or_too_much_gives_nothing_and_asks_nothing(query: str) -> None:
    index = Index("render")
    assert suggest(query, index=index) == []
    assert index.asked == []


@pytest.mark.parametrize("limit", [0, 21, -1, True, "5"])
def test_the_limit_has_a_range(limit: Any) -> None:
    with pytest.raises(InvalidRequest, match="limit must be a whole number from 1 to 20"):
        suggest("render", limit, index=Index())


@pytest.mark.parametrize(
    "error",
    [
        SearchUnavailable("Search is unavailable; try again later."),
        SearchNotConfigured("Search is not configured on the server."),
        SearchRefused("Search is unavailable; try again later.", upstream_status=403),
    ],
)
def test_any_failure_of_the_search_is_an_empty_list(error: SearchError) -> None:
    assert suggest("render", index=Index(error=error)) == []
