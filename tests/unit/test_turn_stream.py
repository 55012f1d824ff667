"""A turn as bytes: numbering, heartbeats, one terminal event, whoever leaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

from plumbline.errors import SearchUnavailable
from plumbline.turn.events import HEARTBEAT, ErrorEvent, Event, Final, Pulse, encode_event
from plumbline.turn.stream import stream_events

PULSE = Pulse("t", "s", "r", "maverick")
FINAL = Final("", [], {}, None, None, {}, {}, {}, {}, 1, [])


def names(chunks: Iterator[bytes]) -> list[str]:
    return [
        line.removeprefix("event: ")
        for chunk in chunks
        for line in chunk.decode().splitlines()
        if line.startswith("event: ")
    ]


def test_an_event_is_an_id_a_name_and_one_line_of_data() -> None:
    encoded = encode_event("t", 3, ErrorEvent("c", 'a\n"b"\u2028ü', True)).decode()
    assert encoded.startswith("id: t:3\nevent: error\ndata: ")
    assert encoded.endswith("\n\n")
    assert encoded.count("\n") == 4
    data = json.loads(encoded.split("data: ")[1])
    assert data == {"code": "c", "message": 'a\n"b"\u2028ü', "retryable": True}


def test_events_are_numbered_in_their_order() -> None:
    chunks = list(stream_events("t", lambda: iter([PULSE, FINAL])))
    assert [chunk.split(b"\n")[0] for chunk in chunks] == [b"id: t:0", b"id: t:1"]


def test_nothing_follows_the_terminal_event() -> None:
    assert names(stream_events("t", lambda: iter([FINAL, PULSE, FINAL]))) == ["final"]


def raising(error: Exception) -> Iterator[Event]:
    yield PULSE
    raise error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SearchUnavailable("Search is down."), "search_unavailable", "Search is down."),
        (RuntimeError("secret"), "internal_error", "Something went wrong"),
    ],
)
def test_a_failure_becomes_the_one_error_event(error: Exception, code: str, message: str) -> None:
    chunks = list(stream_events("t", lambda: raising(error)))
    assert names(iter(chunks)) == ["pulse", "error"]
    data = json.loads(chunks[-1].decode().split("data: ")[1])
    assert data["code"] == code
    assert data["message"].startswith(message)


def test_a_turn_without_an_end_is_ended() -> None:
    assert names(stream_events("t", lambda: iter([PULSE]))) == ["pulse", "error"]


def test_a_silence_is_filled_with_comments_and_the_first_event_does_not_wait() -> None:
    go = threading.Event()

    def slow() -> Iterator[Event]:
        yield PULSE
        go.wait(10)
        yield FINAL

    stream = stream_events("t", slow, heartbeat_seconds=0.01)
    assert names(iter([next(stream)])) == ["pulse"]
    assert next(stream) == HEARTBEAT
    assert next(stream) == HEARTBEAT
    go.set()
    assert names(stream) == ["final"]


def test_a_turn_goes_on_when_its_reader_goes() -> None:
    go, ended = threading.Event(), threading.Event()

    def turn() -> Iterator[Event]:
        yield PULSE
        go.wait(10)
        yield FINAL
        ended.set()

    def work() -> Iterator[Event]:
        try:
            yield from turn()
        finally:
            ended.set()

    stream = stream_events("t", work)
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # a generator
    assert not ended.is_set()
    go.set()
    assert ended.wait(10)
