"""The stream protocol: a closed union of typed events and its one encoder.

Names and fields are the design's table, "Events". A ``Chunk`` is built in ``turn.generation``
only, from what the auditor released; a test holds that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from plumbline.errors import ConfigurationError, PlumblineError

Step = Literal["admit", "signals", "retrieval", "generation", "audit", "handoff"]
StepStatus = Literal["started", "done", "skipped", "failed"]

BROKEN = "Something went wrong on our side; please try again."
HEARTBEAT = b": keep-alive\n\n"


@dataclass(frozen=True, slots=True)
class Pulse:
    """The first event: the turn exists."""

    name: ClassVar[str] = "pulse"
    turn_id: str
    session_id: str
    request_id: str
    persona: str
    protocol: int = 1


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One step began, ended, was passed over or failed; ``ms`` since the turn began."""

    name: ClassVar[str] = "pipeline_step"
    step: Step
    status: StepStatus
    ms: int


@dataclass(frozen=True, slots=True)
class SignalsEvent:
    """The eight signals after this turn's words; ``locked`` counts those that are known."""

    name: ClassVar[str] = "signals"
    signals: Mapping[str, object]
    locked: int
    changed: Sequence[str]
    cleared: Sequence[str]


@dataclass(frozen=True, slots=True)
class SourcesEvent:
    """The sources the answer is written from, without their content; once, before any text."""

    name: ClassVar[str] = "sources"
    sources: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class MaverickHeader:
    """The dossier, in Markdown."""

    name: ClassVar[str] = "maverick_header"
    dossier: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """One audited paragraph, its separators included; ``index`` counts from 0."""

    name: ClassVar[str] = "chunk"
    index: int
    content: str


@dataclass(frozen=True, slots=True)
class AuditTrace:
    """One line of the auditor's trace; only with ``debug``."""

    name: ClassVar[str] = "audit_trace"
    line: str


@dataclass(frozen=True, slots=True)
class DiscoveryEvent:
    """One question to the reader, with chips that answer it (``{label, field, value}``)."""

    name: ClassVar[str] = "discovery"
    field: str
    question: str
    chips: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class HandoffProposal:
    """A specialist is offered; nothing happens without consent."""

    name: ClassVar[str] = "handoff_proposal"
    target: str
    reason: str
    expanded_question: str


@dataclass(frozen=True, slots=True)
class QualityEvent:
    """How well the answer is covered; ``unverified`` names numbers and code names not found."""

    name: ClassVar[str] = "quality"
    word_count: int
    unique_sources: int
    uncertain: bool
    unverified: Sequence[str]


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """What the auditor did over the whole turn."""

    name: ClassVar[str] = "audit"
    kept: int
    replaced: int
    stripped: int
    sentences_removed: int
    images_removed: int
    dead_links: Sequence[str]
    decisions: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """The session as the next turn will find it."""

    name: ClassVar[str] = "turn_snapshot"
    turn_count: int
    signals: Mapping[str, object]
    asked_signals: Sequence[str]
    active_persona: str
    pending_handoff: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class Final:
    """The terminal event of a turn that ended well; ``content`` is the chunks, concatenated."""

    name: ClassVar[str] = "final"
    content: str
    sources: Sequence[Mapping[str, object]]
    signals: Mapping[str, object]
    discovery: Mapping[str, object] | None
    handoff: Mapping[str, object] | None
    audit: Mapping[str, object]
    quality: Mapping[str, object]
    usage: Mapping[str, object]
    timings: Mapping[str, object]
    searches: int
    degraded: Sequence[str]


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The terminal event of a turn that did not; nothing of the cause but its code."""

    name: ClassVar[str] = "error"
    code: str
    message: str
    retryable: bool


Event = (
    Pulse
    | PipelineStep
    | SignalsEvent
    | SourcesEvent
    | MaverickHeader
    | Chunk
    | AuditTrace
    | DiscoveryEvent
    | HandoffProposal
    | QualityEvent
    | AuditEvent
    | TurnSnapshot
    | Final
    | ErrorEvent
)
TERMINAL = (Final, ErrorEvent)


def payload(event: Event) -> dict[str, Any]:
    """The event's data as a JSON-ready object, fields in their declared order."""
    return {f.name: getattr(event, f.name) for f in fields(event)}


def encode_event(turn_id: str, number: int, event: Event) -> bytes:
    """One server-sent event: id ``<turn_id>:<number>``, its name, one line of JSON."""
    data = json.dumps(payload(event), ensure_ascii=False, separators=(",", ":"), default=_plain)
    # A lone surrogate is no text: it must cost its own character, not the stream.
    return f"id: {turn_id}:{number}\nevent: {event.name}\ndata: {data}\n\n".encode(errors="replace")


def error_event(error: Exception) -> ErrorEvent:
    """What a reader sees of an error: its own message if it was meant for readers."""
    if isinstance(error, PlumblineError) and not isinstance(error, ConfigurationError):
        return ErrorEvent(error.code, error.message, error.retryable)
    return ErrorEvent("internal_error", BROKEN, True)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | frozenset | set):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no place in an event")
