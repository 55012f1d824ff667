"""The audited stream of what a model writes, with models that misbehave."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest

from plumbline.audit.auditor import InlineStreamAuditor
from plumbline.errors import GenerationInterrupted, ModelError, ModelUnavailable
from plumbline.instance import load_instance
from plumbline.sources import Source
from plumbline.turn.events import AuditTrace, Chunk
from plumbline.turn.generation import NOTICES, StreamResult, stream_maverick_response
from plumbline.turn.language_model import (
    Extraction,
    ExtractionRequest,
    Finish,
    FinishReason,
    GenerationRequest,
    TextDelta,
    Usage,
)

SOURCE = Source(1, "Guide", "The cart keeps articles.", "docs", url="https://github.com/a/b")
Item = str | Finish | Exception


class Model:
    """Plays its items; an exception is raised where it stands."""

    def __init__(self, name: str, *items: Item) -> None:
        self._name, self._items = name, items
        self.closed = False

    @property
    def name(self) -> str:
        return self._name

    def extract(self, request: ExtractionRequest) -> Extraction:
        raise AssertionError("not asked for")

    def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
        try:
            for item in self._items:
                if isinstance(item, Exception):
                    raise item
                yield TextDelta(item) if isinstance(item, str) else item
        finally:
            self.closed = True


def stop(reason: FinishReason = "stop") -> Finish:
    return Finish(reason, Usage(3, 4))


FALLBACK = ("Found in the guide [1].\n", stop())


def run(
    *models: Model, seconds: float = 60.0, preface: str = "", debug: bool = False
) -> tuple[list[str], StreamResult]:
    request = GenerationRequest("p", "q", (), (SOURCE,), time.monotonic() + seconds)
    policy = load_instance("default").audit
    stream = stream_maverick_response(
        request,
        models,
        lambda: InlineStreamAuditor((SOURCE,), (), policy=policy),
        preface=preface,
        debug=debug,
        asked=lambda content: "role" if content.rstrip().endswith("?") else None,
    )
    shown: list[str] = []
    while True:
        try:
            event = next(stream)
        except StopIteration as end:
            return shown, end.value
        if isinstance(event, Chunk):
            assert event.index == len(shown)
            shown.append(event.content)
        else:
            assert isinstance(event, AuditTrace)


def test_what_is_shown_is_what_is_returned() -> None:
    shown, result = run(Model("gemini", "One [1].\n\nWhat is your ", "part?\n", stop()))
    assert "".join(shown) == result.full_content
    assert result.provider == "gemini"
    assert result.detected_sources == (1,)
    assert result.asked_signal == "role"
    assert result.finish.usage == Usage(3, 4)
    assert (result.failed_provider, result.zombie_prevention_triggered) == (None, False)


@pytest.mark.parametrize(
    "items",
    [
        (ModelUnavailable("down"),),
        ("begun but not a para", GenerationInterrupted("cut")),
        (" \n\n", stop()),
        (stop(),),
        (stop("blocked"),),
    ],
    ids=["down", "cut-early", "blank", "nothing", "blocked"],
)
def test_a_model_that_shows_nothing_is_replaced(items: Sequence[Item]) -> None:
    shown, result = run(Model("gemini", *items), Model("extractive", *FALLBACK))
    assert "Found in the guide" in "".join(shown)
    assert (result.provider, result.failed_provider) == ("extractive", "gemini")
    assert isinstance(result.failure, ModelError)


def test_a_model_that_breaks_off_after_a_paragraph_is_not_replaced() -> None:
    broken = Model("gemini", "A whole paragraph.\n\nAnd a", GenerationInterrupted("cut"))
    with pytest.raises(GenerationInterrupted):
        run(broken, Model("extractive", *FALLBACK))
    assert broken.closed


@pytest.mark.parametrize("reason", ["length", "blocked", "missing"])
def test_an_answer_that_did_not_end_by_itself_says_so(reason: FinishReason) -> None:
    shown, result = run(Model("gemini", "Some text", stop(reason)), Model("extractive", *FALLBACK))
    assert "".join(shown).rstrip().endswith(NOTICES[reason])
    assert "Some text" in result.full_content


def test_a_model_that_repeats_itself_is_stopped_in_one_delta_or_many() -> None:
    line = "The cart keeps articles until the reader is done with them.\n\n"
    for items in ((line * 9,), (line,) * 9):
        model = Model("gemini", *items, stop())
        shown, result = run(model, Model("extractive", *FALLBACK))
        assert "".join(shown).count(line.strip()) == 3
        assert result.zombie_prevention_triggered
        assert result.finish.reason == "repeated"
        assert NOTICES["repeated"] in result.full_content
        assert model.closed


def test_a_model_that_never_ends_is_stopped() -> None:
    endless = [f"Paragraph number {n} goes on and on about nothing.\n\n" for n in range(3000)]
    _, result = run(Model("gemini", *endless, stop()), Model("extractive", *FALLBACK))
    assert result.zombie_prevention_triggered
    assert result.finish.reason == "length"
    assert NOTICES["length"] in result.full_content


def test_past_the_deadline_the_fallback_still_answers() -> None:
    shown, result = run(
        Model("gemini", "too", " late", stop()), Model("extractive", *FALLBACK), seconds=-1
    )
    assert result.provider == "extractive"
    assert shown


def test_past_the_deadline_in_the_middle_the_answer_is_cut() -> None:
    class Slow(Model):
        def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
            yield TextDelta("A whole paragraph.\n\nx")
            while time.monotonic() < request.deadline:
                pass
            yield TextDelta("more")

    with pytest.raises(GenerationInterrupted, match="too long"):
        run(Slow("gemini"), Model("extractive", *FALLBACK), seconds=2.05)


def test_a_lone_surrogate_costs_its_own_character() -> None:
    shown, _ = run(Model("gemini", "bad \ud800 text\n", stop()))
    assert "".join(shown) == "bad ? text\n"


def test_a_preface_stands_before_whoever_answers() -> None:
    models = (Model("gemini", ModelUnavailable("down")), Model("extractive", *FALLBACK))
    shown, _ = run(*models, preface="Elena is away.\n\n")
    assert "".join(shown).startswith("Elena is away.\n\nFound in the guide")


def test_without_any_model_there_is_an_error() -> None:
    with pytest.raises(ModelError):
        run()
