"""Writing the answer: the audited stream of what a language model writes."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plumbline.errors import GenerationBlocked, GenerationInterrupted, ModelError, ModelUnavailable
from plumbline.observability import cause_of, count, logger
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
# What a model that has shown nothing yet leaves of the turn's time to the fallback.
FALLBACK_SECONDS = 2.0

# Told to the reader under an answer that did not end by itself.
NOTICES: Mapping[str, str] = {
    "length": "The answer was cut off here because it grew too long.",
    "blocked": "The answer was stopped here by the model's own safety rules.",
    "repeated": "The answer was ended here because the model began to repeat itself.",
    "missing": "The answer may be incomplete: the model ended it without saying that it was done.",
}


@dataclass(frozen=True, slots=True)
class StreamResult:
    """An answer as it was shown. Source: seed 000, StreamResult.

    ``full_content`` is the concatenation of the chunks; ``provider`` is the model that wrote it;
    ``failed_provider`` names the one that gave out before the first paragraph, ``failure`` says
    why; ``asked_signal`` is the signal that the answer's own last question asks for.
    """

    full_content: str
    auditor: InlineStreamAuditor
    finish: Finish
    provider: str
    detected_sources: tuple[int, ...] = ()
    zombie_prevention_triggered: bool = False
    asked_signal: str | None = None
    failed_provider: str | None = None
    failure: ModelError | None = None


@dataclass(slots=True)
class _Shown:
    """What has reached the reader so far."""

    pieces: list[str] = field(default_factory=list)
    repeats: Counter[str] = field(default_factory=Counter)
    chars: int = 0
    said: bool = False
    endless: bool = False
    repeated: bool = False

    def add(self, content: str) -> None:
        self.pieces.append(content)
        text = " ".join(content.split()).casefold()
        if len(text) >= MIN_REPEAT_CHARS:
            self.repeats[text] += 1
            self.repeated = self.repeated or self.repeats[text] >= MAX_REPEATS
            self.endless = self.endless or self.repeated

    def count(self, text: str) -> None:
        self.chars += len(text)
        self.said = self.said or bool(text.strip())
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
            # The last one is the fallback, which answers at once and may still do so then.
            by = request.deadline if model is not models[-1] else math.inf
            finish = yield from _stream(model, request, auditor, shown, preface, debug, by)
        except ModelError as exc:
            if shown.pieces:
                raise
            logger.warning("model gave out", model=model.name, code=exc.code, cause=cause_of(exc))
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
            failure=failed,
        )
    raise failed or GenerationInterrupted("There is no language model to answer with.")


def _stream(
    model: LanguageModel,
    request: GenerationRequest,
    auditor: InlineStreamAuditor,
    shown: _Shown,
    preface: str,
    debug: bool,
    deadline: float,
) -> Generator[Chunk | AuditTrace, None, Finish]:
    finish = Finish("missing", Usage())
    with closing(_closable(model.stream(request))) as items:
        for item in items:
            if isinstance(item, Finish):
                finish = item
                break
            if preface and not shown.chars:
                yield from _release(auditor.feed(preface), shown, debug)
            # A lone surrogate is no text, and would break whatever encodes it.
            text = item.text.encode(errors="replace").decode()
            shown.count(text)
            yield from _release(auditor.feed(text), shown, debug)
            if shown.endless:
                count("ZombiePrevented")
                finish = Finish("repeated" if shown.repeated else "length", Usage())
                break
            reserve = 0.0 if shown.pieces else FALLBACK_SECONDS
            if time.monotonic() > deadline - reserve:
                raise GenerationInterrupted("The answer took too long and was cut off.")
    if finish.reason == "blocked" and not shown.chars:
        raise GenerationBlocked("The model's safety rules stopped the answer before it began.")
    if finish.reason == "stop" and not shown.said:
        raise ModelUnavailable("The model answered nothing.")
    if finish.reason in NOTICES:
        if shown.repeated:
            shown.repeated = False
            auditor.discard()
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
        if shown.repeated:
            return


def _closable(
    items: Iterator[TextDelta | Finish],
) -> Generator[TextDelta | Finish, None, None]:
    """The iterator as a generator, so that leaving early closes the call behind it."""
    yield from items
