"""Whatever a caller sends, the engine answers or refuses; it never breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devstack.engine.browse import browse
from devstack.engine.engine import Engine
from devstack.engine.errors import EngineError
from devstack.engine.schema import QUERY_PARAMETERS, SETTINGS

TEXTS = st.sampled_from(
    [
        "",
        "a",
        "lang:go",
        "n=1",
        "word",
        "getUserById",
        "*",
        "asc(n)",
        "a.b",
        "-a",
        "tags:x",
        "name:3",
        "searchable(lang)",
        "true",
        "min",
        "\ud800",
        "é" * 40,
        "[1",
        '{"a":1}',
        "name,tags",
    ]
)
LEAVES = (
    st.none() | st.booleans() | st.integers(-3, 2000) | st.floats() | TEXTS | st.text(max_size=9)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=6,
)
RECORDS: list[dict[str, Any]] = [
    {"objectID": "1", "name": "getUserById", "lang": "Go", "n": 1, "tags": ["x", {"y": 2.5}]},
    {"objectID": "2", "name": ["word", "other words"], "lang": True, "deep": {"a": [1, None]}},
    {"objectID": "3", "name": {"en": "nested word"}, "n": "text", "_tags": ["t"]},
]


def refused(call: Callable[[], object]) -> EngineError | None:
    try:
        call()
    except EngineError as refusal:
        return refusal
    return None


@pytest.fixture(scope="module")
def engine() -> Engine:
    engine = Engine()
    engine.set_settings(
        "i",
        {
            "attributesForFaceting": ["lang", "searchable(tags)", "n"],
            "camelCaseAttributes": ["name"],
            "attributeForDistinct": "lang",
            "customRanking": ["asc(n)", "desc(lang)"],
        },
    )
    engine.batch("i", [{"action": "addObject", "body": record} for record in RECORDS])
    return engine


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.sampled_from(sorted(QUERY_PARAMETERS)), VALUES, max_size=4),
    st.sampled_from(["", "word", "getUser", "wrod other", "ById"]),
)
def test_any_parameters(engine: Engine, body: dict[str, Any], query: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: engine.search("i", {"query": query, **body}),
        lambda: browse(engine.snapshot("i"), {"query": query, **body}),
        lambda: engine.facet_values("i", "tags", {"facetQuery": query, **body}),
    ]
    for call in calls:
        refusal = refused(call)
        assert refusal is None or (400 <= refusal.status < 500 and refusal.message)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.sampled_from(sorted(SETTINGS)), VALUES, max_size=3),
    st.dictionaries(TEXTS | st.sampled_from(["name", "_tags", "n"]), VALUES, max_size=4),
)
def test_any_settings_and_records(changes: dict[str, Any], record: dict[str, Any]) -> None:
    engine = Engine()
    engine.batch("i", [{"action": "addObject", "body": one} for one in RECORDS])
    calls: list[Callable[[], object]] = [
        lambda: engine.batch("i", [{"action": "addObject", "body": {**record, "objectID": "9"}}]),
        lambda: engine.set_settings("i", changes),
        lambda: engine.search("i", {"query": "word", "facets": ["*"], "getRankingInfo": True}),
    ]
    for call in calls:
        refusal = refused(call)
        assert refusal is None or refusal.message
    # Whatever was refused, the index still answers.
    assert engine.snapshot("i").searcher.num_docs >= len(RECORDS)
