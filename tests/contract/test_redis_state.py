"""The real client against real servers: redis-server in cluster mode, and the embedded stand-in."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator

import pytest
import redis

from devstack.redis_server import RedisServer
from plumbline.adapters.redis import (
    BREAKER_FAILURES,
    RedisState,
    connect,
)
from plumbline.errors import SessionUnavailable
from plumbline.gate import SharedReply, TurnMark
from plumbline.turn.persistence import TELEMETRY_TURNS, TurnWrite
from tests.trip_counter import TripCounter

SESSION = "a" * 32


@pytest.fixture(scope="module", params=["redis-server", "fakeredis"])
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    if request.param == "redis-server" and not shutil.which("redis-server"):
        if os.environ.get("CI"):
            pytest.fail("redis-server is missing in CI")
        pytest.skip("redis-server is not installed")
    running = RedisServer(executable=None if request.param == "redis-server" else "")
    assert running.kind == request.param
    yield running
    running.stop()


@pytest.fixture
def client(server: RedisServer) -> Iterator[redis.Redis]:
    with connect(server.url) as connected:
        connected.flushall()
        yield connected


@pytest.fixture
def state(client: redis.Redis) -> RedisState:
    return RedisState(client, session_ttl_seconds=600)


def admit(
    state: RedisState,
    *,
    limit: int = 100,
    session_id: str | None = None,
    upstreams: tuple[str, ...] = ("algolia", "gemini"),
    turn: TurnMark | None = None,
) -> SharedReply:
    return state.admit(
        rates={"rate:turn:me:192.0.2.1": limit, "rate:turn:me": 10 * limit},
        period_seconds=60,
        session_id=session_id,
        upstreams=upstreams,
        turn=turn,
    )


def write(**changes: object) -> TurnWrite:
    fields: dict[str, object] = {
        "session_id": SESSION,
        "turn_id": "t1",
        "final": '{"content":"x"}',
        "telemetry": '{"turn_id":"t1"}',
        **changes,
    }
    return TurnWrite(**fields)  # type: ignore[arg-type]


def test_the_limit_lets_a_burst_in_and_then_says_how_long_to_wait(state: RedisState) -> None:
    assert [admit(state, limit=3).wait for _ in range(3)] == [0, 0, 0]
    assert 19 < admit(state, limit=3).wait <= 20


def test_a_session_comes_back_as_it_was_written(state: RedisState) -> None:
    state.finish(write(set_fields={"v": "1", "signal:role": '"dev"'}, increments={"turns": 1}))
    state.finish(write(turn_id="t2", delete_fields=["signal:role"], increments={"turns": 1}))
    session = admit(state, session_id=SESSION).session
    assert session == {"v": "1", "turns": "2", "written": "t2"}
    assert admit(state, session_id="b" * 32).session == {}


def test_a_session_key_of_another_kind_costs_the_session_only(
    state: RedisState, client: redis.Redis
) -> None:
    client.set(f"session:{SESSION}", "text")
    reply = admit(state, session_id=SESSION)
    assert (reply.wait, reply.session) == (0, {})


def test_sessions_and_turns_expire(state: RedisState, client: redis.Redis) -> None:
    state.finish(write(set_fields={"v": "1"}))
    assert 0 < int(client.ttl(f"session:{SESSION}")) <= 600
    assert 0 < int(client.ttl("turn:t1")) <= 3600


def test_a_turn_is_running_then_ended(state: RedisState) -> None:
    admit(state, turn=TurnMark("t1", (SESSION, "b" * 32), 60))
    running = state.read_turn("t1")
    assert running is not None
    assert running.final is None
    assert running.owners == {SESSION, "b" * 32}
    state.finish(write())
    ended = state.read_turn("t1")
    assert ended is not None
    assert ended.final == '{"content":"x"}'
    assert ended.owners == {SESSION}
    assert state.read_turn("t2") is None


def test_a_breaker_opens_after_failures_and_closes_after_a_success(state: RedisState) -> None:
    for _ in range(BREAKER_FAILURES):
        assert admit(state).open_for == {}
        state.finish(write(outcomes={"gemini": False}))
    reply = admit(state)
    assert list(reply.open_for) == ["gemini"]
    assert 29 < reply.open_for["gemini"] <= 30
    state.finish(write(outcomes={"gemini": True}))
    assert admit(state).open_for == {}


def test_after_the_cool_down_one_caller_probes(state: RedisState, client: redis.Redis) -> None:
    client.hset("breaker:gemini", mapping={"failures": "5", "opened": "1"})
    assert admit(state).open_for == {}
    assert 0 < admit(state).open_for["gemini"] <= 5
    state.finish(write(outcomes={"gemini": False}))
    assert admit(state).open_for["gemini"] > 29


def test_telemetry_keeps_the_newest_turns(state: RedisState, client: redis.Redis) -> None:
    for number in range(TELEMETRY_TURNS + 3):
        state.finish(write(telemetry=f'{{"turn_id":"t{number}"}}'))
    kept = client.lrange(f"telemetry:{SESSION}", 0, -1)
    assert len(kept) == TELEMETRY_TURNS


def test_deleting_a_session_leaves_nothing_of_it(state: RedisState, client: redis.Redis) -> None:
    state.finish(write(set_fields={"v": "1"}))
    state.finish(write(turn_id="t2", telemetry='{"turn_id":"t2"}'))
    client.lpush(f"telemetry:{SESSION}", "not json", "[]", '{"turn_id": 3}')
    state.add_feedback("t1", "{}")
    state.delete_session(SESSION)
    assert client.keys("*") == [f"session:{SESSION}"]
    assert client.hgetall(f"session:{SESSION}") == {"deleted": "1"}
    assert 0 < int(client.ttl(f"session:{SESSION}")) <= 900
    assert admit(state, session_id=SESSION).session == {}


def test_every_turn_of_a_session_goes_with_it(state: RedisState, client: redis.Redis) -> None:
    for number in range(TELEMETRY_TURNS + 5):
        state.finish(write(turn_id=f"t{number}", telemetry=f'{{"turn_id":"t{number}"}}'))
    state.delete_session(SESSION)
    assert client.keys("turn:*") == []


def test_a_turn_that_ends_after_its_session_was_deleted_leaves_nothing(
    state: RedisState, client: redis.Redis
) -> None:
    state.finish(write(set_fields={"v": "1"}))
    state.delete_session(SESSION)
    state.finish(write(turn_id="t2", set_fields={"v": "1"}, increments={"turns": 1}))
    assert client.keys("*") == [f"session:{SESSION}"]
    assert client.hgetall(f"session:{SESSION}") == {"deleted": "1"}


def test_a_write_that_is_sent_twice_counts_once(state: RedisState, client: redis.Redis) -> None:
    for _ in range(2):
        state.finish(write(set_fields={"v": "1"}, increments={"turns": 1}, gap='{"n":1}'))
    assert admit(state, session_id=SESSION).session["turns"] == "1"
    assert client.llen(f"telemetry:{SESSION}") == 1
    assert state.read_gaps(10) == ['{"n":1}']


def test_who_must_wait_leaves_no_mark_of_a_turn(state: RedisState) -> None:
    mark = TurnMark("t9", (SESSION,), 60)
    assert admit(state, limit=1, turn=mark).wait == 0
    assert state.read_turn("t9") is not None
    refused = TurnMark("t10", (SESSION,), 60)
    assert admit(state, limit=1, turn=refused).wait > 0
    assert state.read_turn("t10") is None


def test_a_key_as_a_whole_is_limited_too(state: RedisState) -> None:
    def ask(address: int) -> float:
        return state.admit(
            rates={f"rate:turn:k:{address}": 1, "rate:turn:k": 3},
            period_seconds=60,
            session_id=None,
            upstreams=(),
            turn=None,
        ).wait

    assert [ask(address) for address in range(3)] == [0, 0, 0]
    assert ask(4) > 0


def test_text_that_is_none_costs_its_own_character(state: RedisState) -> None:
    state.finish(write(set_fields={"v": "1"}, final='{"content":"a\ud800b"}'))
    stored = state.read_turn("t1")
    assert stored is not None
    assert stored.final == '{"content":"a?b"}'


def test_feedback_is_taken_once(state: RedisState) -> None:
    assert state.add_feedback("t1", "{}")
    assert not state.add_feedback("t1", "{}")


def test_gaps_come_newest_first(state: RedisState) -> None:
    state.finish(write(gap='{"n":1}'))
    state.finish(write(gap='{"n":2}'))
    assert state.read_gaps(10) == ['{"n":2}', '{"n":1}']
    assert state.read_gaps(1) == ['{"n":2}']


def test_every_error_of_the_client_is_ours() -> None:
    refused = RedisState(connect(f"redis://127.0.0.1:{_closed_port()}", connect_timeout=0.2))
    for call in (
        lambda: admit(refused),
        lambda: refused.finish(write()),
        lambda: refused.read_turn("t"),
        lambda: refused.delete_session(SESSION),
        lambda: refused.add_feedback("t", "{}"),
        lambda: refused.read_gaps(1),
    ):
        with pytest.raises(SessionUnavailable):
            call()


def test_a_server_that_stalls_is_given_up_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(SessionUnavailable):
            admit(RedisState(connect(url, connect_timeout=0.2, timeout=0.2)))


def test_a_turn_makes_two_round_trips_and_connecting_adds_none_of_its_own(
    server: RedisServer,
) -> None:
    """Counted at the socket: a trip is a piece that the client sends after it was answered."""
    with TripCounter(server.url) as proxy:
        state = RedisState(connect(proxy.url))
        admit(state, session_id=SESSION, turn=TurnMark("t1", (SESSION,), 60))
        state.finish(write(set_fields={"v": "1"}, increments={"turns": 1}, gap="{}"))
        cold = proxy.trips
        admit(state, session_id=SESSION, turn=TurnMark("t2", (SESSION,), 60))
        state.finish(write(set_fields={"v": "1"}, increments={"turns": 1}, gap="{}"))
        warm = proxy.trips - cold
    assert (cold, warm) == (2, 2)


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
