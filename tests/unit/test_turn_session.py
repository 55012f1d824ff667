"""The session: pure state, and the hash that holds it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.turn.session import (
    MAX_EXCHANGES,
    MAX_KNOWN_URLS,
    SIGNALS,
    PendingHandoff,
    SessionState,
    add_asked_signal,
    count_locked_signals,
    end_turn,
    get_session_state,
    is_first_turn,
    reset_session_state,
    update_session_state,
)
from plumbline.turn.session_hash import SessionChanges, changes


def stored(before: dict[str, str], written: SessionChanges) -> dict[str, str]:
    """What Redis holds after this write: HSET, HDEL, HINCRBY."""
    after = {**before, **written.set_fields}
    for name in written.delete_fields:
        after.pop(name, None)
    for name, step in written.increments.items():
        after[name] = str(int(after.get(name, "0")) + step)
    return after


def full_state() -> SessionState:
    state = update_session_state(
        SessionState.new("s"),
        {
            "stack": "React",
            "architecture_concepts": ["vector search", "facets"],
            "active_persona": "elena",
            "pending_handoff": PendingHandoff("bruno", "because", "the question", ("scale",), 3),
            "denied": {"industry": ("retail",)},
            "declined_handoffs": ("elena",),
            "refusals": 1,
        },
    )
    state = add_asked_signal(add_asked_signal(state, "scale"), "pain")
    return end_turn(state, "how?", "so.", ["https://github.com/a/b", "https://docs.example.org/"])


def test_the_eight_signals_are_seed_000s_in_its_order() -> None:
    assert SIGNALS == (
        "stack",
        "scale",
        "role",
        "pain",
        "brand",
        "industry",
        "product",
        "architecture_concepts",
    )


def test_a_hash_gives_back_what_was_written() -> None:
    state = full_state()
    raw = stored({}, changes(SessionState.new("s"), state))
    assert get_session_state("s", raw) == state


def test_nothing_changed_writes_nothing() -> None:
    assert changes(full_state(), full_state()) == SessionChanges({}, [], {})


def test_only_what_changed_is_written() -> None:
    before = full_state()
    written = changes(before, update_session_state(before, {"role": "developer", "stack": None}))
    assert written.set_fields == {"signal:role": '"developer"', "v": "1"}
    assert written.delete_fields == ["signal:stack"]
    assert written.increments == {}


def test_concurrent_turns_lose_nothing_of_each_other() -> None:
    first = full_state()
    raw = stored({}, changes(SessionState.new("s"), first))
    one = end_turn(
        add_asked_signal(update_session_state(first, {"role": "lead"}), "brand"), "a", "b"
    )
    two = end_turn(update_session_state(first, {"pain": "slow"}), "c", "d", ["https://x.example/"])
    for after in (one, two):
        raw = stored(raw, changes(first, after))
    both = get_session_state("s", raw)
    assert both.signals["role"] == "lead"
    assert both.signals["pain"] == "slow"
    assert both.turn_count == first.turn_count + 2
    assert both.asked_signals == ("scale", "pain", "brand")
    assert "https://x.example/" in both.known_urls
    assert {exchange.query for exchange in both.exchanges} == {"how?", "a", "c"}


def test_a_newer_versions_session_is_begun_anew_and_its_fields_go() -> None:
    raw = {"v": "2", "signal:role": '"developer"', "turns": "4"}
    state = get_session_state("s", raw)
    assert (state.signals, state.turn_count) == ({}, 0)
    change = changes(state, end_turn(state, "q", "a"))
    assert change.set_fields["v"] == "1"
    assert set(change.delete_fields) | set(change.set_fields) >= set(raw)


def test_a_reset_deletes_every_field_and_sets_the_counters() -> None:
    before = full_state()
    raw = stored({}, changes(SessionState.new("s"), before))
    after = end_turn(reset_session_state(before), "again", "yes")
    raw = stored(raw, changes(before, after))
    assert get_session_state("s", raw) == after
    assert after.turn_count == 1


def test_counters_are_increments() -> None:
    before = full_state()
    after = add_asked_signal(before, "role")
    assert changes(before, after).increments == {"questions": 1}


@pytest.mark.parametrize(
    ("raw", "stale"),
    [
        ({"signal:stack": "{not json"}, {"signal:stack"}),
        ({"signal:stack": "42"}, {"signal:stack"}),
        ({"signal:stack": '""'}, {"signal:stack"}),
        ({"signal:stack": json.dumps("x" * 500)}, {"signal:stack"}),
        ({"signal:stack": json.dumps("x" * 100_000)}, {"signal:stack"}),
        ({"signal:architecture_concepts": '{"a":1}'}, {"signal:architecture_concepts"}),
        ({"turns": "many"}, {"turns"}),
        ({"turns": "-3"}, {"turns"}),
        ({"turns": "٣"}, {"turns"}),
        ({"turns": "99999999999"}, {"turns"}),
        ({"handoff": '{"target":"elena"}'}, {"handoff"}),
        ({"handoff": "[" * 5_000}, {"handoff"}),
        ({"denied:stack": '"React"'}, {"denied:stack"}),
        ({"denied:shoe_size": '["44"]'}, {"denied:shoe_size"}),
        ({"asked:nothing": "1"}, {"asked:nothing"}),
        ({"url:1": '[1,"javascript:alert(1)"]'}, {"url:1"}),
        ({"exchange:1:a": '["one","q","a"]'}, {"exchange:1:a"}),
        ({"persona": json.dumps("x" * 65)}, {"persona"}),
        ({"state": '{"stack":"React","version":0}', "v": "0"}, {"state"}),
    ],
)
def test_a_value_that_is_no_value_of_ours_is_survived(raw: dict[str, str], stale: set[str]) -> None:
    state = get_session_state("s", {"signal:role": '"developer"', **raw})
    assert state.signals == {"role": "developer"}
    assert state.turn_count == 0
    assert set(state.stale_fields) == stale


def test_stale_fields_go_at_the_next_write_and_a_counter_is_set_instead() -> None:
    state = get_session_state("s", {"turns": "many", "junk": "x", "signal:stack": "{"})
    written = changes(state, end_turn(update_session_state(state, {"stack": "Go"}), "q", "a"))
    assert written.set_fields["turns"] == "1"
    assert written.set_fields["signal:stack"] == '"Go"'
    assert written.delete_fields == ["junk"]
    assert written.increments == {}


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=60), max_size=30))
def test_any_hash_is_read(raw: dict[str, str]) -> None:
    state = SessionState.from_hash("s", raw)
    assert set(state.signals) <= set(SIGNALS)
    assert state.turn_count >= 0


NAMES = st.sampled_from(
    [f"signal:{name}" for name in SIGNALS]
    + ["turns", "questions", "handoff", "persona", "url:a", "exchange:1:a", "asked:stack", "v"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, JSON.map(json.dumps), max_size=12))
def test_a_hash_of_our_names_with_any_values_is_read_and_written_again(raw: dict[str, str]) -> None:
    state = SessionState.from_hash("s", raw)
    after = end_turn(state, "q", "a", ["https://a.example/"])
    again = SessionState.from_hash("s", stored(raw, changes(state, after)))
    assert again.turn_count == state.turn_count + 1
    assert again.signals == state.signals
    assert again.stale_fields == ()


def test_a_hash_with_too_many_fields_is_read_in_part_and_cleared() -> None:
    raw = {f"url:{n:05d}": f'[{n},"https://a.example/{n}"]' for n in range(2_000)}
    state = SessionState.from_hash("s", raw)
    assert len(state.known_urls) == MAX_KNOWN_URLS
    left = stored(raw, changes(state, end_turn(state, "q", "a")))
    assert sum(name.startswith("url:") for name in left) == MAX_KNOWN_URLS


def test_known_urls_and_exchanges_keep_the_newest_and_touch_only_what_moves() -> None:
    state = SessionState.new("s")
    for turn in range(MAX_KNOWN_URLS + 10):
        state = end_turn(state, f"q{turn}", "a", [f"https://a.example/{turn}"])
    assert len(state.known_urls) == MAX_KNOWN_URLS
    assert len(state.exchanges) == MAX_EXCHANGES
    assert "https://a.example/0" not in state.known_urls
    again = end_turn(state, "q", "a", ["https://a.example/50", "https://new.example/" + "x" * 3000])
    written = changes(state, again)
    urls = [name for name in written.set_fields if name.startswith("url:")]
    assert len(urls) == 1
    assert not [name for name in written.delete_fields if name.startswith("url:")]


def test_locked_signals_leave_denied_values_out() -> None:
    state = update_session_state(
        SessionState.new("s"), {"stack": "React", "denied": {"stack": ("react ",)}, "role": "lead"}
    )
    assert count_locked_signals(state) == 1


def test_no_question_is_counted_twice() -> None:
    state = add_asked_signal(SessionState.new("s"), "role")
    assert add_asked_signal(state, "role") is state
    assert state.questions_asked == 1


@pytest.mark.parametrize("updates", [{"colour": "red"}, {"session_id": "x"}, {"stack": 3}])
def test_an_update_of_what_is_no_field_is_refused(updates: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"field|text"):
        update_session_state(SessionState.new("s"), updates)


def test_an_asked_signal_must_be_one() -> None:
    with pytest.raises(ValueError, match="no signal"):
        add_asked_signal(SessionState.new("s"), "colour")


@pytest.mark.parametrize(
    ("turns", "history", "consent", "trigger", "first"),
    [
        (0, None, None, None, True),
        (0, [{}], None, None, True),
        (2, None, None, None, False),
        (2, [], None, None, True),
        (2, [{}], None, None, False),
        (2, [], True, None, False),
        (2, [], False, None, False),
        (2, [], None, "handshake", False),
    ],
)
def test_first_turn(
    turns: int, history: list[object] | None, consent: bool | None, trigger: str | None, first: bool
) -> None:
    state = update_session_state(SessionState.new("s"), {"turn_count": turns})
    assert is_first_turn(state, history, consent=consent, trigger=trigger) is first
