"""Whole turns over HTTP: the production handler, clients and engine on the embedded stack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from devstack.client import Client, StreamedEvent, parse_events
from devstack.stack import API_KEY, Stack

ADD_ITEM = "How does add_item put an article into the cart?"


def ask(stack: Stack, query: str | None = None, **body: Any) -> list[StreamedEvent]:
    words = {} if query is None else {"query": query}
    return list(Client(stack.url, API_KEY).ask({**words, **body}))


def named(events: list[StreamedEvent], name: str) -> list[dict[str, Any]]:
    return [event.data for event in events if event.event == name]


def only(events: list[StreamedEvent], name: str) -> dict[str, Any]:
    (data,) = named(events, name)
    return data


def send(stack: Stack, method: str, path: str, **options: Any) -> requests.Response:
    headers = {"x-api-key": API_KEY, **options.pop("headers", {})}
    return requests.request(method, stack.url + path, headers=headers, timeout=10, **options)


def test_a_turn_from_pulse_to_final(shop: Stack) -> None:
    events = ask(shop, ADD_ITEM)
    pulse, final = events[0].data, events[-1].data
    assert (events[0].event, events[-1].event) == ("pulse", "final")
    assert [event.id for event in events] == [f"{pulse['turn_id']}:{n}" for n in range(len(events))]
    assert final["content"] == "".join(chunk["content"] for chunk in named(events, "chunk"))
    assert "`Cart.add_item` is a Python method in `cart.py`" in final["content"]
    assert "[1]" in final["content"]
    assert "Put an article into the cart, or raise its amount." in final["content"]
    assert "def add_item(self, sku: str, amount: int = 1) -> None:" in final["content"]
    assert final["searches"] == 1
    assert "extractive" in final["degraded"]
    cited = {source["n"] for source in final["sources"]}
    assert cited
    assert cited <= {source["n"] for source in only(events, "sources")["sources"]}
    assert "content" not in only(events, "sources")["sources"][0]


def test_each_event_is_there_in_its_order(shop: Stack) -> None:
    events = ask(shop, ADD_ITEM)
    order = [e.event for e in events if e.event not in ("pipeline_step", "maverick_header")]
    kept = [name for at, name in enumerate(order) if order[at - 1 : at] != [name]]
    assert kept == [
        *("pulse", "signals", "sources", "chunk", "discovery"),
        *("quality", "audit", "turn_snapshot", "final"),
    ]
    steps = [(s["step"], s["status"]) for s in named(events, "pipeline_step")]
    for step in ("admit", "retrieval", "generation", "audit"):
        assert (step, "done") in steps


def test_the_stream_arrives_piece_by_piece(shop: Stack) -> None:
    answer = send(shop, "POST", "/", json={"query": ADD_ITEM}, stream=True)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["x-plumbline-protocol"] == "1"
    assert answer.headers["transfer-encoding"] == "chunked"
    assert len(answer.headers["x-plumbline-session"]) == 32
    pieces = list(answer.iter_content(chunk_size=None))
    assert len(pieces) > 1
    assert next(parse_events(iter(pieces[0].split(b"\n")))).event == "pulse"


def test_a_session_goes_on_and_an_empty_history_begins_anew(shop: Stack) -> None:
    first = ask(shop, ADD_ITEM)
    session = first[0].data["session_id"]
    second = ask(shop, "What does checkout_total sum?", session_id=session)
    assert second[0].data["session_id"] == session
    assert only(second, "turn_snapshot")["turn_count"] == 2
    anew = ask(shop, ADD_ITEM, session_id=session, history=[])
    assert only(anew, "turn_snapshot")["turn_count"] == 1
    absent = ask(shop, ADD_ITEM, session_id=session)
    assert only(absent, "turn_snapshot")["turn_count"] == 2


@pytest.mark.parametrize("session", ["f" * 32, "no such id", ""])
def test_a_session_that_is_not_known_gets_one_of_its_own(shop: Stack, session: str) -> None:
    pulse = ask(shop, ADD_ITEM, session_id=session)[0].data
    assert pulse["session_id"] != session
    assert len(pulse["session_id"]) == 32


def test_no_question_is_put_twice(shop: Stack) -> None:
    events = ask(shop, ADD_ITEM)
    session = events[0].data["session_id"]
    asked = [only(events, "discovery")["field"]]
    for _ in range(3):
        events = ask(shop, ADD_ITEM, session_id=session)
        asked += [question["field"] for question in named(events, "discovery")]
    assert len(asked) == len(set(asked)) == 3, "three questions are the limit"


def test_a_chip_fills_its_signal_and_a_click_takes_it_back(shop: Stack) -> None:
    first = ask(shop, ADD_ITEM)
    session = first[0].data["session_id"]
    chip = only(first, "discovery")["chips"][0]
    answered = ask(shop, chip["label"], session_id=session)
    signals = only(answered, "signals")
    assert signals["changed"] == [chip["field"]]
    assert signals["signals"][chip["field"]]
    taken_back = ask(shop, session_id=session, deny=[chip["field"]])
    assert only(taken_back, "signals")["cleared"] == [chip["field"]]
    assert only(taken_back, "final")["content"].startswith("Noted: ")
    again = ask(shop, ADD_ITEM, session_id=session)
    assert only(again, "turn_snapshot")["signals"][chip["field"]] is None


def test_a_handoff_is_proposed_with_its_evidence_and_waits_for_consent(shop: Stack) -> None:
    words = "Walk me through migrating and deploying the cart step by step"
    proposal = only(events := ask(shop, words), "handoff_proposal")
    session = events[0].data["session_id"]
    assert proposal["target"] == "elena"
    assert "you are migrating" in proposal["reason"]
    assert only(events, "turn_snapshot")["pending_handoff"]["target"] == "elena"

    accepted = ask(shop, session_id=session, consent=True)
    assert accepted[0].data["persona"] == "elena"
    final = only(accepted, "final")
    assert final["content"].startswith("Elena cannot be reached here yet, so Maverick answers.")
    assert "cart" in final["content"].lower()
    assert "specialist" in final["degraded"]
    assert only(accepted, "turn_snapshot")["pending_handoff"] is None


def test_a_declined_handoff_is_cleared_and_not_made_again(shop: Stack) -> None:
    words = "Walk me through migrating and deploying the cart step by step"
    session = ask(shop, words)[0].data["session_id"]
    declined = ask(shop, session_id=session, consent=False)
    assert only(declined, "turn_snapshot")["pending_handoff"] is None
    assert only(declined, "final")["content"].startswith("All right, we stay here.")
    assert not named(ask(shop, words, session_id=session), "handoff_proposal")


@pytest.mark.parametrize("words", ["no thanks", "No, not now."])
def test_a_no_to_a_proposal_is_no_question(shop: Stack, words: str) -> None:
    events = ask(shop, "Walk me through migrating and deploying the cart step by step")
    refused = ask(shop, words, session_id=events[0].data["session_id"])
    assert only(refused, "final")["content"].startswith("All right, we stay here.")
    assert only(refused, "final")["searches"] == 0
    assert only(refused, "turn_snapshot")["pending_handoff"] is None


def test_an_empty_history_leaves_an_old_proposal_behind(shop: Stack) -> None:
    events = ask(shop, "Walk me through migrating and deploying the cart step by step")
    anew = ask(shop, "yes", session_id=events[0].data["session_id"], history=[])
    assert anew[0].data["persona"] == "maverick"
    assert only(anew, "turn_snapshot")["pending_handoff"] is None


def test_a_no_goes_to_the_maverick_whatever_the_persona(shop: Stack) -> None:
    events = ask(shop, ADD_ITEM, persona="elena", consent=False)
    assert events[0].data["persona"] == "maverick"
    assert "cannot be reached" not in only(events, "final")["content"]


def test_what_was_taken_back_does_not_come_back_with_a_consent(shop: Stack) -> None:
    session = ask(shop, ADD_ITEM)[0].data["session_id"]
    assert only(ask(shop, "Python", session_id=session), "signals")["signals"]["stack"] == "Python"
    words = "Walk me through migrating and deploying the cart step by step"
    proposal = only(ask(shop, words, session_id=session), "handoff_proposal")
    assert "stack: Python" in proposal["expanded_question"]
    taken_back = ask(shop, session_id=session, deny=["stack"])
    pending = only(taken_back, "turn_snapshot")["pending_handoff"]
    assert "Python" not in pending["expanded_question"]
    accepted = ask(shop, session_id=session, consent=True)
    assert only(accepted, "turn_snapshot")["signals"]["stack"] is None


def test_what_is_not_there_is_said_with_what_is_nearest(shop: Stack) -> None:
    events = ask(shop, "add_item cart", language="rust")
    final = only(events, "final")
    assert final["content"].startswith("Nothing was found in rust files for: ")
    assert "Cart.add_item (cart.py)" in final["content"]
    gap = send(shop, "GET", "/gaps").json()["gaps"][0]
    assert gap["reason"] == "nothing_found"
    assert gap["question"] is None, "the reader's words are kept by setting only"


@pytest.mark.parametrize("reference", ["local/shop", "https://localhost/local/shop", "1"])
def test_a_repository_can_be_named_in_every_way(shop: Stack, reference: str) -> None:
    final = only(ask(shop, ADD_ITEM, repository=reference), "final")
    assert {source["repository"] for source in final["sources"]} == {"local/shop"}


def test_a_repository_that_is_not_there_is_an_error_event(shop: Stack) -> None:
    answer = send(shop, "POST", "/", json={"query": ADD_ITEM, "repository": "no/such"})
    last = list(parse_events(iter(answer.content.split(b"\n"))))[-1]
    assert last.event == "error"
    assert last.data["code"] == "not_found"
    turn = last.id.split(":")[0]
    headers = {"x-plumbline-session": answer.headers["x-plumbline-session"]}
    stored = send(shop, "GET", f"/turns/{turn}", headers=headers)
    assert stored.status_code == 200, "a turn that failed is not one that runs"
    assert stored.json()["error"]["code"] == "not_found"


def test_a_turn_can_be_fetched_by_its_session_only(shop: Stack) -> None:
    events = ask(shop, ADD_ITEM)
    turn, session = events[0].data["turn_id"], events[0].data["session_id"]
    fetched = send(shop, "GET", f"/turns/{turn}", headers={"x-plumbline-session": session})
    assert fetched.status_code == 200
    assert fetched.json() == events[-1].data
    for headers in ({}, {"x-plumbline-session": "0" * 32}):
        assert send(shop, "GET", f"/turns/{turn}", headers=headers).status_code == 404
    assert send(shop, "GET", "/turns/../x").status_code == 404


def test_a_turn_that_its_reader_left_can_be_fetched(shop: Stack) -> None:
    answer = send(shop, "POST", "/", json={"query": ADD_ITEM}, stream=True)
    lines: Iterator[bytes] = answer.iter_lines()
    pulse = next(parse_events(lines)).data
    answer.close()
    headers = {"x-plumbline-session": pulse["session_id"]}
    for _ in range(200):
        fetched = send(shop, "GET", f"/turns/{pulse['turn_id']}", headers=headers)
        if fetched.status_code == 200:
            break
        assert fetched.status_code in (202, 429)
    assert "Cart.add_item" in fetched.json()["content"]


def test_feedback_is_taken_once_from_the_turns_own_session(shop: Stack) -> None:
    events = ask(shop, ADD_ITEM)
    body = {"turn_id": events[0].data["turn_id"], "vote": 1, "tags": ["helpful"], "note": "ok"}
    mine = {"x-plumbline-session": events[0].data["session_id"]}
    assert send(shop, "POST", "/feedback", json=body).status_code == 404
    assert send(shop, "POST", "/feedback", json=body, headers=mine).status_code == 200
    assert send(shop, "POST", "/feedback", json=body, headers=mine).status_code == 400
    assert send(shop, "POST", "/feedback", json={**body, "vote": 2}).status_code == 400


def test_a_deleted_session_is_gone(shop: Stack) -> None:
    events = ask(shop, ADD_ITEM)
    session = events[0].data["session_id"]
    assert send(shop, "DELETE", f"/sessions/{session}").status_code == 204
    assert ask(shop, ADD_ITEM, session_id=session)[0].data["session_id"] != session
    headers = {"x-plumbline-session": session}
    path = f"/turns/{events[0].data['turn_id']}"
    assert send(shop, "GET", path, headers=headers).status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("", 400, "invalid_request"),
        ("{", 400, "invalid_request"),
        ("[]", 400, "invalid_request"),
        ('{"query": ""}', 400, "invalid_request"),
        (json.dumps({"query": "x" * 3000}), 400, "invalid_request"),
        (json.dumps({"query": "x" * 70_000}), 413, "payload_too_large"),
    ],
    ids=["empty", "bad-json", "array", "no-words", "long", "large"],
)
def test_a_bad_body_is_refused_before_the_stream(
    shop: Stack, body: str, status: int, code: str
) -> None:
    answer = send(shop, "POST", "/", data=body)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/", 405),
        ("GET", "/search_code", 405),
        ("POST", "/nothing", 404),
        ("GET", "/nothing", 404),
        ("DELETE", "/sessions", 404),
        ("GET", "/gaps?limit=0", 400),
        pytest.param("GET", f"/gaps?limit={'9' * 5000}", 400, id="long-limit"),
        ("HEAD", "/health", 200),
        ("OPTIONS", "/", 204),
        ("GET", "/health", 200),
    ],
)
def test_routes(shop: Stack, method: str, path: str, status: int) -> None:
    assert send(shop, method, path).status_code == status


@pytest.mark.parametrize("path", ["/", "/search_code", "/mcp", "/feedback", "/index"])
def test_nothing_is_answered_without_a_key(shop: Stack, path: str) -> None:
    answer = requests.post(shop.url + path, data="{}", timeout=10)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"


def test_debug_shows_the_auditors_trace(shop: Stack) -> None:
    assert not named(ask(shop, ADD_ITEM), "audit_trace")
    lines = [trace["line"] for trace in named(ask(shop, ADD_ITEM, debug=True), "audit_trace")]
    assert any("[AUDIT]" in line for line in lines)
