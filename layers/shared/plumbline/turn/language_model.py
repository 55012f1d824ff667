"""What a language model must do for a turn, and what it is asked with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from plumbline.sources import Source

FinishReason = Literal["stop", "length", "blocked", "missing", "repeated"]


@dataclass(frozen=True, slots=True)
class Message:
    """One earlier message of the conversation."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one call cost; zeros where the provider counts none."""

    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int = 0


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One answer to write. ``deadline`` is on ``time.monotonic``'s clock."""

    system_prompt: str
    query: str
    history: Sequence[Message]
    sources: Sequence[Source]
    deadline: float


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """One JSON answer to give, in the form of ``schema`` (JSON Schema)."""

    system_prompt: str
    query: str
    history: Sequence[Message]
    schema: Mapping[str, object]
    deadline: float


@dataclass(frozen=True, slots=True)
class Extraction:
    """The JSON text of an extraction, unvalidated, and what it cost."""

    text: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer, of any size."""

    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The last item of every stream that did not raise. ``missing``: it ended without a reason."""

    reason: FinishReason
    usage: Usage
    detail: str = ""


class LanguageModel(Protocol):
    """Writes answers. Raises only ``ModelError``'s children.

    ``stream`` raises ``ModelUnavailable`` or ``GenerationBlocked`` before its first delta, and
    ``GenerationInterrupted`` after it; closing the iterator closes the call.
    """

    @property
    def name(self) -> str:
        """``gemini`` or ``extractive``: what ``degraded`` and the log call it."""

    def extract(self, request: ExtractionRequest) -> Extraction:
        """One JSON answer, or ``ModelError``."""

    def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
        """The answer piece by piece, then exactly one ``Finish``."""
