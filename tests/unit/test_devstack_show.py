"""What the commands print."""

from __future__ import annotations

from typing import Any

import pytest

from devstack.client import StreamedEvent
from devstack.show import show_gaps, show_repository, show_results, show_suggestions, show_text
from devstack.terminal import printable
from plumbline.turn.telemetry import CoverageGap

FINAL: dict[str, Any] = {
    "sources": [{"n": 1, "title": "f", "file_path": "a.py", "line_start": 3}],
    "audit": {"kept": 1, "replaced": 0, "stripped": 0, "sentences_removed": 0},
    "degraded": [],
}


def gap(at: str, fingerprint: str, **fields: Any) -> dict[str, Any]:
    """A gap as the function stores it, so that a renamed field fails here."""
    values: dict[str, Any] = {
        "reason": "nothing_found",
        "question": None,
        "repository": None,
        "language": None,
        "nearest": (),
        "unverified": (),
        **fields,
    }
    made = CoverageGap(at=at, fingerprint=fingerprint, **values)
    return {name: getattr(made, name) for name in CoverageGap.__slots__}


def test_gaps_say_when_why_where_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    show_gaps(
        [
            gap("2026-01-03", "aa", question="Where is\nthe cache?", repository="o/n"),
            gap("2026-01-02", "bb", reason="uncertain", language="go", nearest=("Open", "Close")),
            gap("2026-01-01", "aa", question="Where is\nthe cache?"),
            gap("2026-01-01", "cc"),
        ]
    )
    assert capsys.readouterr().out.splitlines() == [
        "2026-01-03  nothing found  in o/n  2 times  Where is the cache?",
        "2026-01-02  uncertain  in go  nearest: Open; Close",
        "2026-01-01  nothing found  question cc (its words are not kept)",
    ]


def test_no_gaps_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_gaps([])
    assert capsys.readouterr().out == "No coverage gaps.\n"


@pytest.mark.parametrize(
    ("total", "page", "pages", "says"),
    [
        (0, 0, 0, "Nothing found."),
        (3, 0, 1, "3 found, page 1 of 1."),
        (12, 1, 2, "12 found, page 2 of 2."),
        (12, 6, 2, "12 found; page 7 is past the last, which is 2."),
    ],
)
def test_a_page_of_results_says_which_it_is(
    capsys: pytest.CaptureFixture[str], total: int, page: int, pages: int, says: str
) -> None:
    show_results({"results": [], "total_hits": total, "page": page, "pages": pages})
    assert capsys.readouterr().out == f"{says}\n"


def test_a_result_shows_the_first_line_of_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    result = {"entity_name": "f", "entity_type": "function", "file_path": "a.py", "line_start": 3}
    found = {"total_hits": 1, "page": 0, "pages": 1}
    show_results({"results": [{**result, "signature": "def f(\n  x)"}], **found})
    assert capsys.readouterr().out.splitlines()[:2] == ["f  (function)  a.py:3", "    def f("]


def test_no_suggestions_are_said_where_no_script_reads(capsys: pytest.CaptureFixture[str]) -> None:
    show_suggestions([])
    assert capsys.readouterr() == ("", "No suggestions.\n")
    show_suggestions(["a", "b"])
    assert capsys.readouterr() == ("a\nb\n", "")


def turn(session: str) -> list[StreamedEvent]:
    return [
        StreamedEvent("t:0", "pulse", {"session_id": session}),
        StreamedEvent("t:1", "chunk", {"content": "\x1b[2Jgone"}),
        StreamedEvent("t:2", "final", FINAL),
    ]


def test_a_session_that_is_not_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_text(turn("new"), session="old", goes_on=True)
    out, err = capsys.readouterr()
    assert err == "The session old is not known; this is a new one.\n"
    assert "Session: new (go on with --session)" in out
    show_text(turn("old"), session="old")
    out, err = capsys.readouterr()
    assert err == ""
    assert "Session" not in out


def test_nothing_that_is_shown_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b]0;x\x07\x9b1m\u202e"
    show_text(turn("s"))
    show_suggestions([hostile])
    show_gaps([gap("now", "a", nearest=(hostile,))])
    show_repository({"name": hostile, "counts_by_type": {"function": 1}})
    result = {"entity_name": hostile, "entity_type": "x", "file_path": hostile, "line_start": 1}
    show_results({"results": [result], "total_hits": 1, "page": 0, "pages": 1})
    assert not set("\x1b\x07\x9b\u202e") & set(capsys.readouterr().out)


def test_text_of_every_script_is_printable() -> None:
    assert printable("a\tb\nпроект é 漢字 \x00") == "a\tb\nпроект é 漢字 \ufffd"
