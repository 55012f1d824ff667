"""The suggestions function from its event to its result, over real Redis and the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from devstack.algolia_server import AlgoliaServer
from devstack.redis_server import RedisServer
from devstack.stack import key_hash
from functions.suggestions.handler import handler
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.index.index_settings import INDEX_SETTINGS

NAMES = [
    ("render_template", "function", 2),
    ("render_template", "function", 2),
    ("Renderer", "class", 3),
    ("render_import", "import", 0),
    ("open_session", "function", 2),
]


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    server = RedisServer()
    yield server.url
    server.stop()


@pytest.fixture(scope="module")
def algolia() -> Iterator[AlgoliaServer]:
    keys = {"search-key": frozenset({"search"}), "admin-key": frozenset({"admin"})}
    with AlgoliaServer(None, app_id="APP", api_keys=keys) as server:
        writer = AlgoliaIndex("APP", "admin-key", "plumbline", url=server.url)
        writer.set_settings(INDEX_SETTINGS)
        records = [
            {
                "objectID": f"1_{number}",
                "repository_id": 1,
                "entity_name": name,
                "entity_type": kind,
                "rank_weight": weight,
                "is_test": False,
            }
            for number, (name, kind, weight) in enumerate(NAMES)
        ]
        writer.batch([{"action": "addObject", "body": record} for record in records])
        yield server


@pytest.fixture
def environment(
    monkeypatch: pytest.MonkeyPatch, algolia: AlgoliaServer, redis: str
) -> pytest.MonkeyPatch:
    for name, value in {
        "ALGOLIA_APP_ID": "APP",
        "ALGOLIA_SEARCH_API_KEY": "search-key",
        "ALGOLIA_URL": algolia.url,
        "REDIS_URL": redis,
        "API_KEY_HASHES": f"{key_hash('key')},{key_hash('turns-only', 'turn')}",
        "ALLOWED_ORIGINS": "https://docs.example",
        "POWERTOOLS_METRICS_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def get(query: str, *, method: str = "GET", key: str = "key", **headers: str) -> dict[str, Any]:
    event = {
        "rawPath": "/",
        "rawQueryString": query,
        "headers": {"x-api-key": key, **headers} if key else headers,
        "requestContext": {"http": {"method": method, "sourceIp": "192.0.2.1"}, "requestId": "r"},
    }
    return handler(event, object())


def names(result: dict[str, Any]) -> Any:
    assert result["statusCode"] == 200
    return json.loads(result["body"])["suggestions"]


@pytest.mark.usefixtures("environment")
def test_names_come_back_once_each_without_imports() -> None:
    assert names(get("q=rend")) == ["Renderer", "render_template"]
    assert names(get("q=render_t&limit=1")) == ["render_template"]
    assert names(get("q=%20rend%20&limit=")) == ["Renderer", "render_template"]


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("query", ["", "q=", "q=r", "q=%20r", "q=zzzz", "q=" + "x" * 600])
def test_nothing_found_is_an_empty_list(query: str) -> None:
    assert names(get(query)) == []


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("limit", ["0", "21", "-1", "x", "1.5", "٣", "99999999999"])
def test_a_limit_out_of_range_is_refused(limit: str) -> None:
    result = get(f"q=rend&limit={limit}")
    assert result["statusCode"] == 400
    assert json.loads(result["body"])["error"] == {
        "code": "invalid_request",
        "message": "limit must be a whole number from 1 to 20",
    }


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("key", ["", "unknown", "turns-only"])
def test_a_missing_or_unfit_key_stays_an_error(key: str) -> None:
    result = get("q=rend", key=key)
    assert result["statusCode"] == 401
    assert json.loads(result["body"])["error"]["code"] == "unauthorized"


def test_too_many_requests_stay_an_error(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("RATE_LIMIT_PER_MINUTE", "2")
    environment.setenv("API_KEY_HASHES", key_hash("limited"))
    results = [get("q=rend", key="limited") for _ in range(4)]
    assert [result["statusCode"] for result in results] == [200, 200, 429, 429]
    assert int(results[-1]["headers"]["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALGOLIA_URL", "http://127.0.0.1:9"),
        ("ALGOLIA_SEARCH_API_KEY", "unknown"),
        ("ALGOLIA_SEARCH_API_KEY", ""),
        ("ALGOLIA_INDEX_NAME", "nowhere"),
    ],
)
def test_whatever_fails_in_the_search_is_an_empty_list(
    environment: pytest.MonkeyPatch, name: str, value: str
) -> None:
    environment.setenv(name, value)
    assert names(get("q=rend")) == []


def test_without_redis_suggestions_go_on(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("REDIS_URL", "redis://127.0.0.1:9")
    assert names(get("q=rend")) == ["Renderer", "render_template"]


@pytest.mark.usefixtures("environment")
def test_other_methods_are_refused_and_preflights_answered() -> None:
    assert get("q=rend", method="POST")["statusCode"] == 405
    preflight = get("", method="OPTIONS", key="", origin="https://docs.example")
    assert preflight["statusCode"] == 204
    assert preflight["headers"]["access-control-allow-origin"] == "https://docs.example"
    assert "access-control-allow-origin" not in get("q=rend", origin="https://x.example")["headers"]


@pytest.mark.usefixtures("environment")
def test_a_body_that_is_too_large_is_refused() -> None:
    event = {"body": "x" * 70_000, "requestContext": {"http": {"method": "GET"}}}
    assert handler(event, object())["statusCode"] == 413


def test_settings_that_are_wrong_are_told_as_such(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("ALGOLIA_URL", "not an address")
    assert get("q=rend")["statusCode"] == 500
