"""Writing the answer: the audited stream of what a language model writes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plumbline.errors import GenerationBlocked, GenerationInterrupted, ModelError
from plumbline.observability import count, logger
from plumbline.turn.events import AuditTrace, Chunk
from plumbline.turn.language_model import (
    Finish,
    GenerationRequest,
    LanguageModel,
    TextDelta,
    Usage,
)

if TYPE_CHECKING:
    # Its parsers load while the reader already has `pulse`.
    from plumbline.audit.auditor import AuditedParagraph, InlineStreamAuditor

# A model that says the same paragraph so often, or writes so much, will not end by itself.
MAX_REPEATS = 3
MIN_REPEAT_CHARS = 40
MAX_ANSWER_CHARS = 60_000

# Told to the reader under an answer that did not end by itself.
NOTICES: Mapping[str, str] = {
    "length": "The answer was cut off here because it grew too long.",
    "blocked": "The answer was stopped here by the model's own safety rules.",
    "missing": "The answer may be incomplete: the model ended it without saying that it was done.",
}


@dataclass(frozen=True, slots=True)
class StreamResult:
    """An answer as it was shown. Source: seed 000, StreamResult.

    ``full_content`` is the concatenation of the chunks; ``provider`` is the model that wrote it;
    ``failed_provider`` names the one that gave out before the first paragraph; ``asked_signal`` is
    the signal that the answer's own last question asks for.
    """

    full_content: str
    auditor: InlineStreamAuditor
    finish: Finish
    provider: str
    detected_sources: tuple[int, ...] = ()
    zombie_prevention_triggered: bool = False
    asked_signal: str | None = None
    failed_provider: str | None = None


@dataclass(slots=True)
class _Shown:
    """What has reached the reader so far."""

    pieces: list[str] = field(default_factory=list)
    repeats: Counter[str] = field(default_factory=Counter)
    chars: int = 0
    endless: bool = False

    def add(self, content: str) -> None:
        self.pieces.append(content)
        text = " ".join(content.split()).casefold()
        if len(text) >= MIN_REPEAT_CHARS:
            self.repeats[text] += 1
            self.endless = self.endless or self.repeats[text] >= MAX_REPEATS

    def count(self, text: str) -> None:
        self.chars += len(text)
        self.endless = self.endless or self.chars > MAX_ANSWER_CHARS


def stream_maverick_response(
    request: GenerationRequest,
    models: Sequence[LanguageModel],
    new_auditor: Callable[[], InlineStreamAuditor],
    *,
    preface: str = "",
    debug: bool = False,
    asked: Callable[[str], str | None] = lambda content: None,
) -> Generator[Chunk | AuditTrace, None, StreamResult]:
    """Yield the answer paragraph by paragraph, each audited; return what was shown.

    The first model that gets a paragraph out writes the answer, after ``preface``. One that fails
    before is replaced by the next; one that fails after, or passes the deadline, raises
    ``ModelError`` and what was shown stands. ``asked`` finds the signal that a text asks for.
    Source: design, section 5; seed 000.
    """
    failed: ModelError | None = None
    failed_name: str | None = None
    for model in models:
        shown, auditor = _Shown(), new_auditor()
        try:
            finish = yield from _stream(model, request, auditor, shown, preface, debug)
        except ModelError as exc:
            if shown.pieces:
                raise
            logger.warning(
                "model gave out", model=model.name, code=exc.code, cause=repr(exc.__cause__)
            )
            count("ModelFailed")
            failed, failed_name = failed or exc, failed_name or model.name
            continue
        content = "".join(shown.pieces)
        return StreamResult(
            full_content=content,
            auditor=auditor,
            finish=finish,
            provider=model.name,
            detected_sources=tuple(auditor.cited_sources),
            zombie_prevention_triggered=shown.endless,
            asked_signal=asked(content),
            failed_provider=failed_name,
        )
    raise failed or GenerationInterrupted("There is no language model to answer with.")


def _stream(
    model: LanguageModel,
    request: GenerationRequest,
    auditor: InlineStreamAuditor,
    shown: _Shown,
    preface: str,
    debug: bool,
) -> Generator[Chunk | AuditTrace, None, Finish]:
    finish = Finish("missing", Usage())
    with closing(_closable(model.stream(request))) as items:
        for item in items:
            if isinstance(item, Finish):
                finish = item
                break
            if preface and not shown.chars:
                yield from _release(auditor.feed(preface), shown, debug)
            shown.count(item.text)
            yield from _release(auditor.feed(item.text), shown, debug)
            if shown.endless:
                count("ZombiePrevented")
                finish = Finish("length", Usage(), "stopped: the model repeated itself")
                break
            if time.monotonic() > request.deadline:
                raise GenerationInterrupted("The answer took too long and was cut off.")
    if finish.reason == "blocked" and not shown.chars:
        raise GenerationBlocked("The model's safety rules stopped the answer before it began.")
    if finish.reason in NOTICES:
        yield from _release(auditor.feed(f"\n\n{NOTICES[finish.reason]}\n"), shown, debug)
    yield from _release(auditor.close(), shown, debug)
    return finish


def _release(
    paragraphs: Iterator[AuditedParagraph], shown: _Shown, debug: bool
) -> Iterator[Chunk | AuditTrace]:
    """The one place where text becomes a ``Chunk``: what the auditor let through."""
    for paragraph in paragraphs:
        if debug:
            for line in paragraph.trace:
                yield AuditTrace(line)
        if paragraph.content:
            yield Chunk(len(shown.pieces), paragraph.content)
            shown.add(paragraph.content)


def _closable(
    items: Iterator[TextDelta | Finish],
) -> Generator[TextDelta | Finish, None, None]:
    """The iterator as a generator, so that leaving early closes the call behind it."""
    yield from items
