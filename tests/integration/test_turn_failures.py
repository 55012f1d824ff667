"""The design's section 5: each thing is really taken down, and the reader is told what it says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.client import Client, StreamedEvent
from devstack.failure import CommandError
from devstack.indexing import index_repository
from devstack.redis_server import RedisServer
from devstack.stack import API_KEY, Stack
from functions.search import handler as search_handler
from functions.suggestions import handler as suggestions_handler
from tests.integration.conftest import SHOP
from tests.trip_counter import TripCounter

QUESTION = "How does add_item put an article into the cart?"


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Stack]:
    """A stack of the test's own, to take apart."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text(SHOP, encoding="utf-8")
    with Stack({**os.environ, "LOG_LEVEL": "CRITICAL"}) as stack:
        index_repository(Client(stack.url, API_KEY), str(folder), stack.environment)
        yield stack


def ask(stack: Stack, **body: object) -> list[StreamedEvent]:
    return list(Client(stack.url, API_KEY).ask({"query": QUESTION, **body}))


def test_without_redis_the_turn_runs_and_says_so(mortal: Stack) -> None:
    assert mortal.redis is not None
    session = ask(mortal)[0].data["session_id"]
    mortal.redis.stop()
    history = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    events = ask(mortal, session_id=session, history=history)
    final = events[-1]
    assert final.event == "final"
    assert "session" in final.data["degraded"]
    assert "Cart.add_item" in final.data["content"]
    assert events[0].data["session_id"] == session, "its owner gets it back with Redis"


def test_without_redis_the_process_limits_by_itself(mortal: Stack) -> None:
    assert mortal.redis is not None
    mortal.redis.stop()
    for _ in range(20):
        assert ask(mortal)[-1].event == "final"
    with pytest.raises(CommandError, match=r"Too many requests.* Try again in \d+ s"):
        ask(mortal)


def test_without_algolia_nothing_is_answered_from_memory(mortal: Stack) -> None:
    assert mortal.algolia is not None
    ask(mortal)
    mortal.algolia.stop()
    events = ask(mortal)
    assert events[-1].event == "error"
    assert events[-1].data == {
        "code": "search_unavailable",
        "message": "Search is unavailable; try again later.",
        "retryable": True,
    }
    assert not [event for event in events if event.event == "chunk"]


def test_after_five_failures_algolias_breaker_refuses_at_once(mortal: Stack) -> None:
    assert mortal.algolia is not None
    mortal.algolia.stop()
    for _ in range(5):
        assert ask(mortal)[-1].event == "error"
    with pytest.raises(CommandError, match=r"Search is unavailable.* Try again in \d+ s"):
        ask(mortal)


def test_without_algolia_suggestions_are_an_empty_list(mortal: Stack) -> None:
    client = Client(mortal.url, API_KEY)
    assert "add_item" in client.suggest("add", 5)
    assert mortal.algolia is not None
    mortal.algolia.stop()
    assert client.suggest("add", 5) == []


def test_redis_may_die_while_a_turn_runs() -> None:
    redis = RedisServer()
    try:
        with TripCounter(redis.url) as counter:
            given = {**os.environ, "REDIS_URL": counter.url, "LOG_LEVEL": "CRITICAL"}
            with Stack(given) as stack:
                ask(stack)
                counter.most = counter.trips + 1
                final = ask(stack)[-1]
                assert final.event == "final"
                assert "session" in final.data["degraded"]
    finally:
        redis.stop()


def test_with_the_registry_down_a_number_still_names_a_repository(
    mortal: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_TABLE", "no-such-table")
    final = ask(mortal, repository="1")[-1]
    assert final.event == "final"
    assert "registry" in final.data["degraded"]
    assert "Cart.add_item" in final.data["content"]
    by_name = ask(mortal, repository="local/shop")[-1]
    assert by_name.event == "error"
    assert (by_name.data["code"], by_name.data["retryable"]) == ("storage_unavailable", True)


def test_a_key_that_algolia_refuses_is_an_error_that_opens_no_breaker(
    mortal: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALGOLIA_SEARCH_API_KEY", "revoked")
    for _ in range(6):
        error = ask(mortal)[-1]
        assert error.event == "error"
        assert error.data["code"] == "search_refused"
        assert "revoked" not in str(error.data)
    monkeypatch.undo()
    assert ask(mortal)[-1].event == "final"


def test_settings_are_told_to_nobody_who_asks(
    mortal: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALGOLIA_SEARCH_API_KEY", "")
    monkeypatch.setenv("ALGOLIA_SEARCH_API_KEY_PARAMETER", "/secret/name")
    error = ask(mortal)[-1]
    assert error.data["code"] == "internal_error"
    assert "/secret/name" not in str(error.data)
    assert Client(mortal.url, API_KEY).suggest("add", 5) == []


def test_a_function_without_its_settings_answers_that_it_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("REDIS_URL", "CACHE_NAME", "CACHE_ENDPOINT", "CACHE_USER"):
        monkeypatch.delenv(name, raising=False)
    event = {"requestContext": {"http": {"method": "GET"}}}
    answer = search_handler.handler(event, None)
    assert answer.status == 500
    assert b"internal_error" in bytes(answer.body)  # type: ignore[arg-type]
    assert b"REDIS" not in bytes(answer.body)  # type: ignore[arg-type]
    suggested = suggestions_handler.handler(event, None)
    assert suggested["statusCode"] == 500
    assert "REDIS" not in suggested["body"]
