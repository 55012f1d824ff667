"""The probe: one worker, a limit on the wait, an answer that is kept."""

from __future__ import annotations

import threading

import pytest

from plumbline.errors import SearchNotConfigured, SearchUnavailable
from plumbline.search.health import SearchProbe


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (None, "ok"),
        (SearchUnavailable("Search is unavailable; try again later."), "unavailable"),
        (SearchNotConfigured("Search is not configured on the server."), "not_configured"),
    ],
)
def test_the_state_is_what_algolia_answers(error: Exception | None, state: str) -> None:
    def ask() -> list[object]:
        if error:
            raise error
        return []

    assert SearchProbe(ask).state() == state


def test_an_answer_is_kept_for_30_seconds() -> None:
    now, asked = [100.0], []
    probe = SearchProbe(lambda: asked.append(now[0]), clock=lambda: now[0])
    for moment in (100.0, 110.0, 129.9, 130.0, 159.9):
        now[0] = moment
        assert probe.state() == "ok"
    assert asked == [100.0, 130.0]


def test_a_call_that_hangs_is_given_up_and_not_followed_by_a_second() -> None:
    hung, calls = threading.Event(), []

    def ask() -> None:
        calls.append(threading.current_thread().name)
        assert hung.wait(10)

    probe = SearchProbe(ask, timeout=0.01, keep=0.0)
    assert [probe.state(), probe.state()] == ["unavailable", "unavailable"]
    assert calls == ["search-probe"]
    hung.set()
    probe = SearchProbe(ask, timeout=5.0, keep=0.0)
    assert probe.state() == "ok"
