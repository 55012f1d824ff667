"""What a turn says of itself: cited sources, the final event, telemetry, gaps."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from plumbline.sources import Source
from plumbline.turn.events import encode_event
from plumbline.turn.metadata import (
    cited_numbers,
    construct_final_event,
    count_words,
    process_post_generation_metadata,
)
from plumbline.turn.retrieval import RetrievalResult
from plumbline.turn.session import (
    PendingHandoff,
    SessionState,
    add_asked_signal,
    update_session_state,
)
from plumbline.turn.telemetry import coverage_gap, persist_session_telemetry

SOURCES = (
    Source(1, "One", "text", "docs", url="https://docs.example.org/one"),
    Source(2, "Two", "text", "docs", url="https://docs.example.org/one/two"),
    Source(3, "Three", "text", "code"),
)
STATE = update_session_state(SessionState.new("s"), {"stack": "React", "turn_count": 2})
AT = datetime(2026, 11, 29, 12, 0, 0, 123_456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "numbers"),
    [
        ("It is so [3].", {3}),
        ("It is so [1, 3] and [2].", {1, 2, 3}),
        ("It is so [9].", set()),
        ("It is so [1](https://docs.example.org/one).", {1}),
        ("See [Two](https://docs.example.org/one/two).", {2}),
        ("Index `a[1]` of it.", set()),
        ("```\na[2]\n```\n", set()),
        ("~~~\na[2]\n~~~\nand [3]", {3}),
        ("", set()),
    ],
)
def test_cited(content: str, numbers: set[int]) -> None:
    assert cited_numbers(content, SOURCES) == numbers


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", 0),
        ("One two, three.", 3),
        ("It's a well-known `parse_file`.", 4),
        ("See [the page](https://docs.example.org/one).", 3),
    ],
)
def test_words(content: str, words: int) -> None:
    assert count_words(content) == words


def test_metadata_of_an_answer() -> None:
    state = add_asked_signal(STATE, "role")
    metadata = process_post_generation_metadata("So [3].", SOURCES, state=state)
    assert [source.n for source in metadata.unique_sources] == [3]
    assert metadata.asked_signals == ("role",)
    assert not metadata.uncertain
    assert metadata.quality().unique_sources == 1


def test_the_auditors_numbers_come_first() -> None:
    metadata = process_post_generation_metadata("So [3].", SOURCES, state=STATE, cited={1})
    assert [source.n for source in metadata.unique_sources] == [1]


@pytest.mark.parametrize(
    ("content", "sources", "unverified", "uncertain"),
    [
        ("So [3].", SOURCES, (), False),
        ("So [3], 42 times.", SOURCES, ("42",), True),
        ("So it is.", SOURCES, (), True),
        ("Nothing found.", (), (), False),
    ],
)
def test_uncertain(
    content: str, sources: tuple[Source, ...], unverified: tuple[str, ...], uncertain: bool
) -> None:
    metadata = process_post_generation_metadata(
        content, sources, state=STATE, unverified=unverified
    )
    assert metadata.uncertain is uncertain


def test_the_final_event_is_json_and_names_cited_sources_only() -> None:
    metadata = process_post_generation_metadata(
        "So [3].", SOURCES, state=STATE, unverified=["x", "x"]
    )
    event = construct_final_event(
        content="So [3].",
        metadata=metadata,
        state=STATE,
        discovery=None,
        handoff=PendingHandoff("elena", "because", "the question", ("evidence",), 3),
        audit={"kept": 1},
        usage={"input_tokens": 7},
        timings={"admit": 1},
        searches=1,
        degraded=["session", "extraction", "session"],
    )
    data = json.loads(encode_event("t", 0, event).decode().split("data: ", 1)[1])
    assert data["content"] == "So [3]."
    assert [source["n"] for source in data["sources"]] == [3]
    assert "content" not in data["sources"][0]
    assert data["signals"]["stack"] == "React"
    assert data["signals"]["architecture_concepts"] is None
    assert data["handoff"]["evidence"] == ["evidence"]
    assert data["quality"] == {
        "word_count": 2,
        "unique_sources": 1,
        "uncertain": True,
        "unverified": ["x"],
    }
    assert data["degraded"] == ["session", "extraction"]
    assert data["searches"] == 1


FOUND = RetrievalResult(SOURCES, "relaxed", "0" * 32, "the question", boosted=("language:go",))
NOTHING = RetrievalResult((), "none", None, "the question", nearest=SOURCES)


def test_telemetry_holds_timings_and_nothing_that_the_reader_said() -> None:
    state = update_session_state(STATE, {"brand": "Secret Corp"})
    write = persist_session_telemetry(
        "abc",
        turn_id="t1",
        at=AT,
        state=state,
        handoff=None,
        chunk_count=4,
        status="ok",
        persona="maverick",
        timings={"admit": 3, "retrieval": 200},
        retrieval=FOUND,
        usage={"input_tokens": 7},
        degraded=["session", "session"],
    )
    entry = json.loads(write.entry)
    assert (write.key, write.keep) == ("telemetry:abc", 50)
    assert entry["at"] == "2026-11-29T12:00:00.123+00:00"
    assert entry["timings"] == {"admit": 3, "retrieval": 200}
    assert entry["strategy"] == "relaxed"
    assert entry["locked"] == ["brand", "stack"]
    assert entry["degraded"] == ["session"]
    for secret in ("Secret", "React", "the question"):
        assert secret not in write.entry


def test_a_covered_turn_is_no_gap() -> None:
    assert coverage_gap("q", FOUND, uncertain=False, keep_question=True, at=AT) is None


@pytest.mark.parametrize(
    ("result", "uncertain", "reason"),
    [
        (NOTHING, False, "nothing_found"),
        (FOUND, True, "uncertain"),
        (NOTHING, True, "nothing_found"),
    ],
)
@pytest.mark.parametrize("keep", [True, False])
def test_a_gap_keeps_the_words_only_if_it_may(
    result: RetrievalResult, uncertain: bool, reason: str, keep: bool
) -> None:
    question = "Where is the Secret kept?"
    gap = coverage_gap(
        question, result, uncertain=uncertain, unverified=["42"], language="go", keep_question=keep,
        at=AT,
    )  # fmt: skip
    assert gap is not None
    entry = json.loads(gap.entry())
    assert entry["reason"] == reason
    assert entry["nearest"] == ["One", "Two", "Three"]
    assert entry["language"] == "go"
    assert entry["question"] == (question if keep else None)
    assert ("Secret" in gap.entry()) is keep


def test_the_same_question_has_the_same_fingerprint() -> None:
    gaps = [
        coverage_gap(text, NOTHING, uncertain=False, keep_question=False, at=AT)
        for text in ("Where  is it?", "where is it?", "Where was it?")
    ]
    first, second, third = (gap.fingerprint for gap in gaps if gap is not None)
    assert first == second != third
