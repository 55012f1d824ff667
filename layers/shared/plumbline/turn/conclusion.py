"""After the last paragraph: discovery, handoff, quality, audit, snapshot, and the one write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from plumbline.errors import SessionUnavailable
from plumbline.observability import cause_of, count, logger, milliseconds
from plumbline.turn.brain_output import BrainOutput
from plumbline.turn.discovery import (
    DiscoveryAnalysis,
    analyze_discovery_state,
    discovery_event,
    select_discovery_question,
)
from plumbline.turn.events import (
    AuditEvent,
    DiscoveryEvent,
    ErrorEvent,
    Event,
    PipelineStep,
    TurnSnapshot,
    payload,
)
from plumbline.turn.generation import StreamResult
from plumbline.turn.handoff import determine_handoff_target, proposal_event, propose_handoff
from plumbline.turn.metadata import construct_final_event, process_post_generation_metadata
from plumbline.turn.persistence import TurnWrite
from plumbline.turn.progress import TurnProgress
from plumbline.turn.retrieval import RetrievalResult
from plumbline.turn.session import PendingHandoff, add_asked_signal, end_turn
from plumbline.turn.session_hash import changes
from plumbline.turn.telemetry import coverage_gap, persist_session_telemetry

if TYPE_CHECKING:
    from plumbline.audit.auditor import InlineStreamAuditor

MAX_DECISIONS_SHOWN = 100
# The answer is out by then; what its links do may take so long beyond the turn's own time.
LINK_CHECK_GRACE_SECONDS = 2.0


def conclude(
    progress: TurnProgress,
    result: StreamResult,
    retrieval: RetrievalResult | None,
    brain: BrainOutput | None,
    intent: str | None,
) -> Iterator[Event]:
    """The events from the last paragraph to ``final``; everything is written before ``final``."""
    turn, parts = progress.turn, progress.parts
    discovery = _discovery(progress, result, brain, intent) if retrieval else None
    if discovery is not None:
        progress.state = add_asked_signal(progress.state, discovery.field)
        yield discovery
    # A reader who has just consented is not asked again.
    proposing = retrieval is not None and "specialist" not in progress.degraded
    handoff = _handoff(progress) if proposing else None
    if handoff is not None:
        progress.state = replace(progress.state, pending_handoff=handoff)
        yield proposal_event(handoff)
        yield PipelineStep("handoff", "done", turn.timings.elapsed())

    auditor = result.auditor
    with turn.timings.step("audit"):
        left = parts.deadline_seconds + LINK_CHECK_GRACE_SECONDS - turn.timings.elapsed() / 1000
        dead_links = tuple(parts.check_links(auditor.kept_links, max(0.0, left)))
    metadata = process_post_generation_metadata(
        result.full_content,
        (retrieval.sources or retrieval.nearest) if retrieval else (),
        state=progress.state,
        cited=auditor.cited_sources,
        unverified=auditor.unverified,
    )
    yield PipelineStep("audit", "done", turn.timings.elapsed())
    yield metadata.quality()
    audit = _audit_event(auditor, dead_links)
    yield audit
    progress.state = end_turn(
        progress.state, progress.query, result.full_content, auditor.shown_urls
    )
    snapshot = TurnSnapshot(
        turn_count=progress.state.turn_count,
        signals=progress.state.public_signals(),
        asked_signals=progress.state.asked_signals,
        active_persona=progress.state.active_persona,
        pending_handoff=(
            progress.state.pending_handoff.public() if progress.state.pending_handoff else None
        ),
    )
    yield snapshot
    final = construct_final_event(
        content=result.full_content,
        metadata=metadata,
        state=progress.state,
        discovery=payload(discovery) if discovery else None,
        handoff=handoff,
        audit=payload(audit),
        usage=_usage(progress),
        timings={**turn.timings.steps, "total": turn.timings.elapsed()},
        searches=progress.searches,
        degraded=progress.degraded,
    )
    gap = None
    if retrieval is not None:
        gap = coverage_gap(
            progress.query,
            retrieval,
            uncertain=metadata.uncertain,
            unverified=metadata.unverified,
            repository=turn.request.repository,
            language=turn.request.language,
            keep_question=parts.keep_questions,
            at=datetime.now(UTC),
        )
    written = _write(
        progress, "final", payload(final), retrieval, handoff, gap.entry() if gap else None
    )
    if not written and "session" not in progress.degraded:
        final = replace(final, degraded=[*final.degraded, "session"])
    _measure(progress, auditor)
    yield final


def record_failure(progress: TurnProgress, error: ErrorEvent) -> Iterator[Event]:
    """Keep the turn that failed, with what was shown of it, then its ``error`` event."""
    shown = "".join(progress.shown)
    if shown:
        progress.state = end_turn(progress.state, progress.query, shown)
    _write(progress, error.code, {"error": payload(error)}, None, None, None)
    _measure(progress, None)
    yield error


def _discovery(
    progress: TurnProgress, result: StreamResult, brain: BrainOutput | None, intent: str | None
) -> DiscoveryEvent | None:
    """The question to show with its chips; one that the answer itself put gets only the chips."""
    state, instance = progress.state, progress.parts.instance
    analysis: DiscoveryAnalysis = analyze_discovery_state(
        state,
        state.asked_signals,
        progress.query,
        state.turn_count + 1,
        (brain.intent if brain and brain.intent else intent) or "technical",
    )
    if result.asked_signal is not None:
        return discovery_event(result.asked_signal, instance)
    return select_discovery_question(analysis, instance, brain)


def _handoff(progress: TurnProgress) -> PendingHandoff | None:
    state, instance = progress.state, progress.parts.instance
    decision = determine_handoff_target(state, progress.query, instance=instance)
    return propose_handoff(state, progress.query, decision, instance=instance)


def _audit_event(auditor: InlineStreamAuditor, dead_links: Sequence[str]) -> AuditEvent:
    return AuditEvent(
        kept=auditor.kept,
        replaced=auditor.replaced,
        stripped=auditor.stripped,
        sentences_removed=auditor.sentences_removed,
        images_removed=auditor.images_removed,
        dead_links=dead_links,
        decisions=[asdict(decision) for decision in auditor.decisions[:MAX_DECISIONS_SHOWN]],
    )


def _usage(progress: TurnProgress) -> dict[str, object]:
    answer, extraction = progress.usage, progress.extraction_usage
    return {
        "model": progress.model,
        "input_tokens": answer.input_tokens + extraction.input_tokens,
        "output_tokens": answer.output_tokens + extraction.output_tokens,
        "thought_tokens": answer.thought_tokens + extraction.thought_tokens,
    }


def _write(
    progress: TurnProgress,
    status: str,
    last_event: dict[str, object],
    retrieval: RetrievalResult | None,
    handoff: PendingHandoff | None,
    gap: str | None,
) -> bool:
    """The turn's second and last round trip; False when the store did not take it."""
    turn, state = progress.turn, progress.state
    change = changes(progress.before, state)
    telemetry = persist_session_telemetry(
        state.session_id,
        turn_id=turn.turn_id,
        at=datetime.now(UTC),
        state=state,
        handoff=handoff,
        chunk_count=progress.chunks,
        status=status,
        persona=state.active_persona,
        timings=turn.timings.steps,
        retrieval=retrieval,
        usage=_usage(progress),
        degraded=progress.degraded,
    )
    write = TurnWrite(
        session_id=state.session_id,
        turn_id=turn.turn_id,
        final=json.dumps(last_event, ensure_ascii=False, separators=(",", ":"), default=list),
        telemetry=telemetry.entry,
        set_fields=change.set_fields,
        delete_fields=change.delete_fields,
        increments=change.increments,
        outcomes=progress.outcomes,
        gap=gap,
    )
    if not turn.admission.shared:
        return False
    try:
        progress.parts.store.finish(write)
    except SessionUnavailable as exc:
        logger.warning("turn not stored", turn_id=turn.turn_id, cause=cause_of(exc))
        count("TurnNotStored")
        return False
    return True


def _measure(progress: TurnProgress, auditor: InlineStreamAuditor | None) -> None:
    """The turn's metrics and its one log line; no word of the reader's is in it."""
    turn = progress.turn
    count("Turns")
    milliseconds("TurnTime", turn.timings.elapsed())
    if "first_chunk" in turn.timings.steps:
        milliseconds("FirstParagraph", turn.timings.steps["first_chunk"])
    if auditor is not None:
        count("LinksStripped", auditor.stripped)
        count("SentencesRemoved", auditor.sentences_removed)
    logger.info(
        "turn",
        turn_id=turn.turn_id,
        request_id=turn.request_id,
        timings=turn.timings.steps,
        chunks=progress.chunks,
        model=progress.model,
        degraded=progress.degraded,
    )
