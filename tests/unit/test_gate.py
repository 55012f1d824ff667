"""Keys, scopes, limits, and what happens when the shared state is gone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import (
    RateLimited,
    SessionUnavailable,
    SettingsError,
    Unauthorized,
    Unavailable,
)
from plumbline.gate import Gate, LocalLimiter, SharedReply, TurnMark, parse_key_hashes
from plumbline.http import Request

KEY, SESSION = "secret", "0" * 32
LIMITS = {"turn": 2, "search": 100, "suggest": 100, "index": 10, "session": 50}


def entry(key: str, scopes: str) -> str:
    return f"{hashlib.sha256(key.encode()).hexdigest()}:{scopes}"


@dataclass
class State:
    reply: SharedReply | None
    calls: list[dict[str, object]] = field(default_factory=list)

    def admit(
        self,
        *,
        rates: Mapping[str, int],
        period_seconds: int,
        session_id: str | None,
        upstreams: Sequence[str],
        turn: TurnMark | None,
    ) -> SharedReply:
        self.calls.append({"rates": dict(rates), "session_id": session_id})
        self.calls[-1]["turn"] = turn
        if self.reply is None:
            raise SessionUnavailable("gone")
        return self.reply


def gate(state: State, clock: list[float] | None = None) -> Gate:
    times = clock or [0.0]
    return Gate([entry(KEY, "turn|search")], LIMITS, state, clock=lambda: times[0])  # type: ignore[arg-type]


def request(**headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("POST", "/", named or {"x-api-key": KEY}, source_ip="192.0.2.7")


QUIET = SharedReply(0, {}, {})


@pytest.mark.parametrize(
    "headers",
    [{"x_api_key": KEY}, {"authorization": f"Bearer {KEY}"}, {"authorization": f"bearer  {KEY}"}],
)
def test_a_key_is_taken_from_either_header(headers: dict[str, str]) -> None:
    admission = gate(State(QUIET)).admit(request(**headers), "turn")
    assert admission.caller.scopes == {"turn", "search"}
    assert admission.caller.key_id == hashlib.sha256(KEY.encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("headers", "scope", "says"),
    [
        ({"x_api_key": ""}, "turn", "Send an API key"),
        ({"authorization": "Basic abc"}, "turn", "Send an API key"),
        ({"x_api_key": "other"}, "turn", "not known"),
        ({"x_api_key": KEY + " "}, "turn", "not known"),
        ({"x_api_key": KEY}, "index", "lacks the scope"),
    ],
)
def test_other_keys_are_refused_before_the_shared_state_is_asked(
    headers: dict[str, str], scope: str, says: str
) -> None:
    state = State(QUIET)
    with pytest.raises(Unauthorized, match=says):
        gate(state).admit(request(**headers), scope)  # type: ignore[arg-type]
    assert not state.calls


def test_without_configured_keys_nobody_gets_in() -> None:
    with pytest.raises(Unauthorized):
        Gate([], LIMITS, State(QUIET)).admit(request(), "turn")  # type: ignore[arg-type]


def test_a_known_session_is_handed_on_raw() -> None:
    admission = gate(State(SharedReply(0, {"turns": "3"}, {}))).admit(
        request(), "turn", session_id=SESSION
    )
    assert (admission.session_id, admission.session) == (SESSION, {"turns": "3"})


@pytest.mark.parametrize("given_id", ["x", "0" * 31, "0" * 33, "G" * 32, "../" + "0" * 29, ""])
def test_a_malformed_session_id_gets_a_new_session(given_id: str) -> None:
    state = State(SharedReply(0, {"turns": "3"}, {}))
    admission = gate(state).admit(request(), "turn", session_id=given_id)
    assert state.calls[0]["session_id"] is None
    assert admission.session_id != given_id
    assert len(admission.session_id) == 32
    assert admission.session == {}


def test_an_unknown_session_id_gets_a_new_session() -> None:
    admission = gate(State(QUIET)).admit(request(), "turn", session_id=SESSION)
    assert admission.session_id != SESSION


def test_a_running_turn_is_marked_with_both_ids_that_may_own_it() -> None:
    state = State(QUIET)
    admission = gate(state).admit(
        request(), "turn", session_id=SESSION, turn_id="t", turn_seconds=9
    )
    mark = state.calls[0]["turn"]
    assert isinstance(mark, TurnMark)
    assert mark.owners == (SESSION, admission.session_id)
    assert mark.seconds == 9


def test_the_limit_says_when_to_come_back() -> None:
    with pytest.raises(RateLimited) as caught:
        gate(State(SharedReply(1.2, {}, {}))).admit(request(), "turn")
    assert caught.value.retry_after == 2


def test_only_algolias_open_breaker_refuses() -> None:
    admission = gate(State(SharedReply(0, {}, {"gemini": 4.0}))).admit(request(), "turn")
    assert admission.open_breakers == {"gemini"}
    with pytest.raises(Unavailable) as caught:
        gate(State(SharedReply(0, {}, {"algolia": 4.1}))).admit(request(), "turn")
    assert caught.value.retry_after == 5


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("", "-"),
        ("not an address", "-"),
    ],
)
def test_a_limit_is_an_addresss_and_a_keys(address: str, network: str) -> None:
    state = State(QUIET)
    asked = Request("POST", "/", {"x-api-key": KEY}, source_ip=address)
    gate(state).admit(asked, "turn")
    key = hashlib.sha256(KEY.encode()).hexdigest()[:12]
    assert state.calls[0]["rates"] == {f"rate:turn:{key}:{network}": 2, f"rate:turn:{key}": 20}


def test_what_is_asked_about_a_session_has_a_limit_of_its_own() -> None:
    state = State(QUIET)
    gate(state).admit(request(), "turn", bucket="session")
    rates = state.calls[0]["rates"]
    assert isinstance(rates, dict)
    assert sorted(rates.values()) == [50, 500]


def test_without_redis_the_process_limits_by_itself_and_the_session_id_is_kept() -> None:
    clock = [0.0]
    door = gate(State(None), clock)
    first = door.admit(request(), "turn", session_id=SESSION)
    assert (first.shared, first.session_id) == (False, SESSION)
    door.admit(request(), "turn")
    with pytest.raises(RateLimited) as caught:
        door.admit(request(), "turn")
    assert caught.value.retry_after == 30
    clock[0] = 31.0
    door.admit(request(), "turn")


@given(st.lists(st.floats(0, 50), min_size=1, max_size=80), st.integers(1, 9))
def test_no_window_ever_admits_more_than_twice_the_limit(gaps: list[float], limit: int) -> None:
    now = [0.0]
    limiter = LocalLimiter(lambda: now[0])
    admitted: list[float] = []
    for gap in gaps:
        now[0] += gap
        if limiter.take("k", limit, 60) == 0:
            admitted.append(now[0])
    for begin in admitted:
        inside = [at for at in admitted if begin <= at < begin + 60]
        assert len(inside) <= 2 * limit


@pytest.mark.parametrize(
    "bad", ["x:turn", entry("k", "turn|fly"), entry("k", ""), entry("k", "turn")[1:], "::"]
)
def test_a_malformed_hash_entry_is_named(bad: str) -> None:
    with pytest.raises(SettingsError, match="entry 2"):
        parse_key_hashes([entry("good", "turn"), bad])
