"""The extraction of signals beside the answer, and its events when it is there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Self

from plumbline.observability import logger
from plumbline.turn.brain_output import BrainOutput, fallback_output
from plumbline.turn.discovery import generate_dossier_summary
from plumbline.turn.events import Event, MaverickHeader, PipelineStep, SignalsEvent
from plumbline.turn.language_model import LanguageModel, Message
from plumbline.turn.progress import TurnProgress
from plumbline.turn.session import locked_signals
from plumbline.turn.signals import extract_signals, merge_signals, signal_changes

# A turn that cannot stand alone waits this long; then it goes on with the reader's words.
WAIT_SECONDS = 8.0


class BackgroundExtraction:
    """Runs beside the search and the answer. ``brain`` is None until it has been taken in.

    ``signals`` and ``maverick_header`` are yielded once, when the result is there or given up.
    Source: design, decision 4.
    """

    def __init__(
        self,
        progress: TurnProgress,
        query: str,
        history: Sequence[Message],
        model: LanguageModel,
        *,
        deadline: float,
    ) -> None:
        self._progress, self._query, self._model = progress, query, model
        self.brain: BrainOutput | None = None
        self._told = False
        self._until = min(deadline, time.monotonic() + WAIT_SECONDS)
        self._future: Future[BrainOutput] | None = progress.parts.workers.submit(
            extract_signals,
            query,
            progress.state,
            model=model,
            history=history,
            today=datetime.now(UTC).date(),
            deadline=self._until,
            instance=progress.parts.instance,
        )

    @classmethod
    def none(cls, progress: TurnProgress) -> Self:
        """For a turn without a question: nothing to extract, but the session may have changed."""
        extraction = cls.__new__(cls)
        extraction._progress, extraction._query = progress, ""
        extraction._model = progress.parts.fallback
        extraction.brain, extraction._told = fallback_output(""), False
        extraction._future, extraction._until = None, 0.0
        return extraction

    def poll(self) -> Iterator[Event]:
        """The events if the result is there, else nothing."""
        if not self._told and (self._future is None or self._future.done()):
            yield from self._take()

    def wait(self) -> Iterator[Event]:
        """The events, at the latest when the extraction's time is over."""
        if not self._told:
            yield from self._take()

    def _take(self) -> Iterator[Event]:
        self._told = True
        progress = self._progress
        brain = self._result()
        self.brain = brain
        progress.extraction_usage = brain.usage
        if brain.failed and self._model is not progress.parts.fallback:
            progress.degraded.append("extraction")
        progress.state = merge_signals(
            progress.state, brain, self._query, instance=progress.parts.instance
        )
        changed, cleared = signal_changes(progress.before, progress.state)
        locked = locked_signals(progress.state)
        elapsed = progress.turn.timings.elapsed()
        progress.turn.timings.mark("signals")
        yield PipelineStep("signals", "skipped" if brain.failed else "done", elapsed)
        yield SignalsEvent(progress.state.public_signals(), len(locked), changed, cleared)
        dossier = generate_dossier_summary(progress.state, locked, instance=progress.parts.instance)
        if dossier:
            yield MaverickHeader(dossier)

    def _result(self) -> BrainOutput:
        if self._future is None:
            return fallback_output("")
        try:
            return self._future.result(timeout=max(0.0, self._until - time.monotonic()))
        except TimeoutError:
            self._future.cancel()
        except Exception:
            # A defect of ours costs the signals, never the answer.
            logger.exception("extraction broke", turn_id=self._progress.turn.turn_id)
        return fallback_output(self._query)
