"""A whole turn through the search function, answered by Gemini's real SDK, well and badly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import pytest
import redis

from devstack.algolia_server import AlgoliaServer
from devstack.function_urls import new_context
from devstack.redis_server import RedisServer
from devstack.stack import key_hash
from functions.search.handler import handler
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.index.parsing.files import parse_file
from plumbline.index.records import build_documents
from plumbline.turn.generation import NOTICES
from tests.contract import gemini_server as wire
from tests.contract.gemini_server import GeminiServer, Step, answer, broken, message

KEYS = {"search-key": frozenset({"search"}), "admin-key": frozenset({"admin"})}
STORE = dedent(
    '''
    class Store:
        """Keeps the sessions."""

        def create(self, session: object) -> None:
            """Create the session store on disk."""
    '''
)
QUESTION = "How does the store create a session?"
BRAIN = {
    "intent": "technical",
    "onion_signals": {"stack": "Go"},
    "entities": [],
    "search_query": "store create session",
    "keyword_query": "store create",
}
FIRST = "The store creates the session on disk [1].\n\n"
SECOND = "It keeps the sessions afterwards [1].\n\n"
Events = list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def gemini() -> Iterator[GeminiServer]:
    with GeminiServer() as server:
        yield server


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    server = RedisServer()
    yield server.url
    server.stop()


@pytest.fixture(scope="module")
def _function(gemini: GeminiServer, redis_url: str) -> Iterator[None]:
    """The search function's environment, and one file in its index."""
    with (
        AlgoliaServer(None, app_id="APP", api_keys=KEYS) as algolia,
        pytest.MonkeyPatch.context() as patch,
    ):
        writer = AlgoliaIndex("APP", "admin-key", "plumbline", url=algolia.url)
        writer.set_settings(INDEX_SETTINGS)
        records = build_documents(
            parse_file("src/store.py", STORE.encode(), allowed_hosts=("github.com",)),
            repository_id=12,
            repository="acme/shop",
            repository_url="https://github.com/acme/shop",
            commit_sha="0123456789abcdef0123456789abcdef01234567",
        )
        task = writer.batch([{"action": "addObject", "body": record} for record in records])
        assert writer.task_published(task)
        environment = {
            "ALGOLIA_APP_ID": "APP",
            "ALGOLIA_SEARCH_API_KEY": "search-key",
            "ALGOLIA_URL": algolia.url,
            "INSIGHTS_URL": algolia.url,
            "REDIS_URL": redis_url,
            "API_KEY_HASHES": key_hash("key"),
            "GEMINI_API_KEY": "AIza-secret-key",
            "GEMINI_BASE_URL": gemini.url,
            "LINK_CHECKS": "false",
            "POWERTOOLS_METRICS_DISABLED": "true",
            "LOG_LEVEL": "ERROR",
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(autouse=True)
def _fresh(_function: None, redis_url: str, gemini: GeminiServer) -> None:
    """No breaker, no limit and no session of an earlier test."""
    with redis.Redis.from_url(redis_url) as state:
        state.flushall()
    gemini.exchanges.clear()
    brain = message(json.dumps(BRAIN), finish="STOP", usage={"promptTokenCount": 7})
    gemini.play_unary(wire.unary(brain))


def ask(query: str = QUESTION, **fields: object) -> Events:
    """One turn's events, as a reader gets them."""
    event = {
        "rawPath": "/",
        "rawQueryString": "",
        "headers": {"x-api-key": "key", "content-type": "application/json"},
        "requestContext": {"http": {"method": "POST", "sourceIp": "192.0.2.7"}, "requestId": "r"},
        "body": json.dumps({"query": query, **fields}),
    }
    response = handler(event, new_context("search", 60))
    assert response.status == 200
    assert not isinstance(response.body, bytes)
    events: Events = []
    for block in b"".join(response.body).decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in lines:
            events.append((lines["event"], json.loads(lines["data"])))
    return events


def data(events: Events, name: str) -> list[dict[str, Any]]:
    return [each for kind, each in events if kind == name]


def final(events: Events) -> dict[str, Any]:
    assert events[-1][0] == "final", events[-1]
    return events[-1][1]


def shown(events: Events) -> str:
    return "".join(each["content"] for each in data(events, "chunk"))


def test_gemini_answers_a_turn(gemini: GeminiServer) -> None:
    gemini.play(answer(FIRST[:9], FIRST[9:], SECOND))
    events = ask()
    end = final(events)
    assert end["content"] == shown(events)
    assert len(data(events, "chunk")) == 2
    assert "The store creates the session on disk" in end["content"]
    assert "on disk [1](https://github.com/acme/shop/blob/0123456789abcdef" in end["content"]
    assert [source["n"] for source in end["sources"]] == [1]
    assert end["degraded"] == []
    # The answer's tokens and the extraction's, together.
    assert end["usage"] == {
        "model": "gemini",
        "input_tokens": 77,
        "output_tokens": 50,
        "thought_tokens": 30,
    }
    assert data(events, "signals")[-1]["signals"]["stack"] == "Go"
    streamed = [e for e in gemini.exchanges if ":streamGenerateContent" in e.path]
    assert [e.path.split("/models/")[1] for e in streamed] == [
        "gemini-3.8-flash:streamGenerateContent?alt=sse"
    ]
    sent = streamed[0].body
    assert "src/store.py" in sent["contents"][-1]["parts"][0]["text"]
    assert sent["contents"][-1]["parts"][1]["text"] == QUESTION
    assert "src/store.py" not in json.dumps(sent["systemInstruction"])


def test_the_conversation_reaches_gemini(gemini: GeminiServer) -> None:
    gemini.play(answer(FIRST))
    session = data(ask(), "pulse")[0]["session_id"]
    gemini.exchanges.clear()
    final(ask("And how does it keep them?", session_id=session))
    sent = next(e.body for e in gemini.exchanges if ":streamGenerateContent" in e.path)
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]
    assert sent["contents"][0]["parts"] == [{"text": QUESTION}]


BEFORE: dict[str, Step] = {
    "refused": wire.error(403, "PERMISSION_DENIED"),
    "unavailable": wire.error(503, "UNAVAILABLE"),
    "closed": wire.drop,
    "not Gemini": wire.raw(200, b"<html>welcome</html>"),
    "blocked prompt": wire.events(wire.BLOCKED_PROMPT),
    "safety stop": answer(finish="SAFETY"),
    "no word": answer(),
    "cut within the first paragraph": broken("The store cre", then=wire.cut),
}


@pytest.mark.parametrize("case", BEFORE)
def test_what_fails_before_the_first_paragraph_is_answered_from_the_records(
    case: str, gemini: GeminiServer
) -> None:
    gemini.play(BEFORE[case])
    events = ask()
    end = final(events)
    assert "extractive" in end["degraded"]
    assert end["usage"]["model"] == "extractive"
    assert "`Store.create`" in end["content"] or "`Store`" in end["content"]
    assert end["content"] == shown(events)
    assert "The store cre" not in end["content"]
    assert end["sources"]


@pytest.mark.parametrize("then", [wire.cut, wire.reset, wire.half_event, wire.error_inside])
def test_what_fails_in_the_middle_leaves_what_was_shown_and_says_so(
    then: Step, gemini: GeminiServer
) -> None:
    gemini.play(broken(FIRST, SECOND, "Then it ", then=then))
    events = ask()
    assert "creates the session on disk" in shown(events)
    assert "Then it" not in shown(events)
    name, error = events[-1]
    assert (name, error["code"], error["retryable"]) == ("error", "generation_interrupted", True)
    assert [kind for kind, _ in events if kind in ("final", "error")] == ["error"]
    # The session has the turn all the same.
    session = data(events, "pulse")[0]["session_id"]
    gemini.play(answer(FIRST))
    assert data(ask(session_id=session), "turn_snapshot")[0]["turn_count"] == 2


@pytest.mark.parametrize(
    ("finish", "reason"), [("SAFETY", "blocked"), ("MAX_TOKENS", "length"), (None, "missing")]
)
def test_the_reader_is_told_how_an_answer_ended_that_did_not_end_by_itself(
    finish: str | None, reason: str, gemini: GeminiServer
) -> None:
    gemini.play(answer(FIRST, "Then it ", finish=finish))
    events = ask()
    end = final(events)
    assert NOTICES[reason] in end["content"]
    assert [text for text in NOTICES.values() if text in end["content"]] == [NOTICES[reason]]
    assert end["content"] == shown(events)
    assert end["degraded"] == [f"finish_{reason}"]
    assert end["usage"]["thought_tokens"] == 30


@pytest.mark.parametrize(
    "step",
    [
        wire.error(403, "PERMISSION_DENIED"),
        wire.unary(message('{"intent": "technical", "onion_si', finish="MAX_TOKENS")),
        wire.unary(message('["Go"]', finish="STOP")),
        wire.unary(wire.BLOCKED_PROMPT),
    ],
    ids=["refused", "cut off", "another form", "blocked"],
)
def test_an_extraction_that_fails_costs_the_signals_only(step: Step, gemini: GeminiServer) -> None:
    gemini.play(answer(FIRST))
    gemini.play_unary(step)
    events = ask()
    end = final(events)
    assert end["degraded"] == ["extraction"]
    assert end["signals"].get("stack") is None
    assert "creates the session on disk" in end["content"]


def test_an_open_breaker_passes_gemini_over(gemini: GeminiServer) -> None:
    gemini.play(wire.error(403, "PERMISSION_DENIED"))
    for _ in range(5):
        assert "extractive" in final(ask())["degraded"]
    gemini.exchanges.clear()
    gemini.play(answer(FIRST))
    assert "extractive" in final(ask())["degraded"]
    assert not gemini.exchanges


def test_nothing_of_the_vendor_reaches_the_reader(gemini: GeminiServer) -> None:
    gemini.play(broken(FIRST, SECOND, "Then it ", then=wire.error_inside))
    events = ask()
    assert events[-1][0] == "error"
    text = json.dumps(events)
    for secret in ("AIza-secret-key", "QuotaFailure", "Gemini", gemini.url):
        assert secret not in text
