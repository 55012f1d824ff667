"""What a turn has come to so far: the one thing that its steps change."""

from __future__ import annotations

from dataclasses import dataclass, field

from plumbline.errors import GenerationInterrupted, ModelUnavailable, SearchUnavailable
from plumbline.observability import count, logger
from plumbline.turn.events import AuditTrace, Chunk
from plumbline.turn.generation import StreamResult
from plumbline.turn.language_model import Usage
from plumbline.turn.parts import TurnInput, TurnParts
from plumbline.turn.prompts import Prompt
from plumbline.turn.session import SessionState

NO_USAGE = Usage()


@dataclass(slots=True)
class TurnProgress:
    """``before`` is the session as it is stored; ``state`` is what the turn makes of it.

    ``outcomes`` tells each upstream's breaker how its call went; ``degraded`` lists what the turn
    had to do without.
    """

    turn: TurnInput
    before: SessionState
    parts: TurnParts
    state: SessionState
    query: str = ""
    chunks: int = 0
    shown: list[str] = field(default_factory=list)
    searches: int = 0
    degraded: list[str] = field(default_factory=list)
    outcomes: dict[str, bool] = field(default_factory=dict)
    usage: Usage = NO_USAGE
    extraction_usage: Usage = NO_USAGE
    model: str = ""

    def __post_init__(self) -> None:
        if not self.turn.admission.shared:
            self.degraded.append("session")

    def note_chunk(self, event: Chunk | AuditTrace) -> None:
        """Count a paragraph that goes out; the first one's time is kept."""
        if isinstance(event, Chunk):
            self.turn.timings.mark("first_chunk")
            self.chunks += 1
            self.shown.append(event.content)

    def blame(self, upstream: str, error: Exception | None) -> None:
        """Count a failure against an upstream's breaker, if it was the upstream's.

        A refused question or a blocked prompt is this turn's own, and must not shut others out.
        """
        if isinstance(error, SearchUnavailable | ModelUnavailable | GenerationInterrupted):
            self.outcomes[upstream] = False

    def note_prompt(self, prompt: Prompt) -> None:
        """Tell the operator when the prompt's budget bit. Source: design, decision 11."""
        if prompt.dropped:
            count("SourcesDropped", prompt.dropped)
            logger.info(
                "prompt budget reached",
                turn_id=self.turn.turn_id,
                dropped=prompt.dropped,
                bytes=prompt.size,
            )

    def note_result(self, result: StreamResult) -> None:
        """Take in who wrote the answer, and who could not."""
        self.model, self.usage = result.provider, result.finish.usage
        if result.failed_provider:
            self.blame(result.failed_provider, result.failure)
            self.degraded.append("model_failed")
        elif result.provider not in ("extractive", "fixed"):
            self.outcomes[result.provider] = True
        if result.provider == "extractive":
            self.degraded.append("extractive")
        if result.finish.reason != "stop":
            self.degraded.append(f"finish_{result.finish.reason}")
