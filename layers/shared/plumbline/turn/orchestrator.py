"""One chat turn from the reader's words to its final event: ignite_maverick, ignite_specialist."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import replace

from plumbline.errors import ModelError, NotFound, SearchError, StorageUnavailable
from plumbline.instance import MAVERICK
from plumbline.observability import cause_of, logger
from plumbline.turn import fixed_answers
from plumbline.turn.conclusion import conclude, record_failure
from plumbline.turn.discovery import (
    DiscoveryAnalysis,
    analyze_discovery_state,
    detect_asked_signal,
    discovery_instructions,
    generate_dossier_summary,
    select_discovery_question,
)
from plumbline.turn.events import ErrorEvent, Event, PipelineStep, SourcesEvent
from plumbline.turn.extraction import BackgroundExtraction
from plumbline.turn.generation import StreamResult, stream_maverick_response
from plumbline.turn.handoff import accept_handoff
from plumbline.turn.language_model import GenerationRequest, LanguageModel, Message
from plumbline.turn.needs_context import needs_context, with_previous_question
from plumbline.turn.personas import (
    guard_intent,
)
from plumbline.turn.progress import TurnProgress
from plumbline.turn.prompts import build_maverick_prompt_with_persona
from plumbline.turn.retrieval import RetrievalOptions, RetrievalResult, orchestrate_retrieval
from plumbline.turn.session_talk import settle_session

Events = Generator[Event, None, None]


def ignite_specialist(progress: TurnProgress, persona: str, *, accepted: bool) -> Events:
    """A specialist's turn. No specialist can be reached yet: the maverick answers and says so.

    ``accepted``: the reader consents to the proposal that waits, and the question is the one that
    it was made for. Source: seed 000.
    """
    pending = progress.state.pending_handoff
    progress.state = replace(accept_handoff(progress.state), active_persona=MAVERICK)
    progress.degraded.append("specialist")
    yield from ignite_maverick(
        progress,
        expanded=pending.expanded_question if accepted and pending else None,
        preface=fixed_answers.no_specialist(persona, progress.parts.instance),
    )


def ignite_maverick(
    progress: TurnProgress, *, expanded: str | None = None, preface: str = ""
) -> Events:
    """The maverick's turn, event by event, to ``final`` or ``error``. Source: seed 000.

    ``expanded`` is the question instead of the reader's words; it holds our own profile of the
    reader, so nothing is learned from it.
    """
    turn, parts = progress.turn, progress.parts
    request, instance = turn.request, parts.instance
    query = (expanded or request.query).strip()
    progress.query = query
    reply = settle_session(progress)
    if not query or reply.is_all:
        yield from _say(progress, reply.text or fixed_answers.no_question())
        return

    intent = guard_intent(query, None, instance=instance)
    history = _history(progress)
    models = parts.models(turn.admission.open_breakers)
    extraction = (
        BackgroundExtraction.none(progress)
        if expanded
        else BackgroundExtraction(progress, query, history, models[0], deadline=_deadline(progress))
    )
    yield PipelineStep("signals", "started", turn.timings.elapsed())
    analysis = _analyze(progress, query, intent)
    follow_up = needs_context(query, has_history=bool(history))
    if follow_up or analysis.is_strict_discovery:
        yield from extraction.wait()
        analysis = _analyze(progress, query, intent)

    context = history if follow_up else ()
    retrieval = yield from _retrieve(progress, query, extraction, context)
    if retrieval is None:
        return
    yield from extraction.poll()
    question = select_discovery_question(analysis, instance, extraction.brain)
    prompt = build_maverick_prompt_with_persona(
        generate_dossier_summary(progress.state, analysis.locked_signals, instance=instance),
        retrieval.sources,
        discovery_instructions(analysis, question),
        progress.state.turn_count + 1,
        analysis.is_strict_discovery,
        instance=instance,
        budget_bytes=parts.prompt_budget_bytes,
    )
    progress.note_prompt(prompt)
    sources = prompt.sources_kept
    if not retrieval.sources:
        # No model is asked: it could only answer from its own memory.
        sources = retrieval.nearest
        answer = fixed_answers.nothing_found(
            retrieval.searched, sources, repository=request.repository, language=request.language
        )
        models = (fixed_answers.FixedAnswer(answer),)
    yield SourcesEvent([source.public() for source in sources])
    generation = GenerationRequest(
        system_prompt=prompt.text,
        query=query,
        history=history,
        sources=sources,
        deadline=_deadline(progress),
    )
    fields = analysis.available_fields
    result = yield from _generate(progress, generation, models, extraction, preface, fields)
    if result is None:
        return
    yield from extraction.wait()
    yield from conclude(progress, result, retrieval, extraction.brain, intent)


def _retrieve(
    progress: TurnProgress,
    query: str,
    extraction: BackgroundExtraction,
    context: Sequence[Message],
) -> Generator[Event, None, RetrievalResult | None]:
    """The turn's one search; None after an ``error`` event, since nothing is told from memory.

    ``context`` is what a question that cannot stand alone was asked in, else empty: the extractor
    made it whole, or else its last rung takes the words of the question before it.
    """
    turn, parts = progress.turn, progress.parts
    yield PipelineStep("retrieval", "started", turn.timings.elapsed())
    brain = extraction.brain
    made_whole = brain is not None and not brain.failed
    keyword_query = brain.keyword_query if brain and made_whole else None
    if context and not made_whole:
        keyword_query = with_previous_question(query, context)
    try:
        with turn.timings.step("retrieval"):
            result = orchestrate_retrieval(
                RetrievalOptions(
                    query=query,
                    search_query=brain.search_query if brain and context else None,
                    keyword_query=keyword_query,
                    filters=brain.filters if brain else {},
                    entities=brain.entities if brain else (),
                    repository=_repository(progress),
                    language=turn.request.language,
                    signals=progress.state.signals,
                ),
                index=parts.index,
                facets=parts.facets,
                instance=parts.instance,
            )
    except SearchError as exc:
        logger.warning("search failed", turn_id=turn.turn_id, cause=cause_of(exc))
        progress.blame("algolia", exc)
        yield PipelineStep("retrieval", "failed", turn.timings.elapsed())
        yield from record_failure(progress, ErrorEvent(exc.code, exc.message, exc.retryable))
        return None
    progress.outcomes["algolia"] = True
    progress.searches += result.searches
    parts.track_view(result, progress.state.session_id)
    yield PipelineStep("retrieval", "done", turn.timings.elapsed())
    return result


def _generate(
    progress: TurnProgress,
    request: GenerationRequest,
    models: Sequence[LanguageModel],
    extraction: BackgroundExtraction,
    preface: str = "",
    available_fields: Sequence[str] = (),
) -> Generator[Event, None, StreamResult | None]:
    """The answer; None after an ``error`` event, when it broke off in the middle."""
    turn, parts = progress.turn, progress.parts
    yield PipelineStep("generation", "started", turn.timings.elapsed())
    known_urls = tuple(progress.before.known_urls)
    answer = stream_maverick_response(
        request,
        models,
        lambda: parts.new_auditor(
            request.sources,
            policy=parts.instance.audit,
            question=progress.query,
            known_urls=known_urls,
        ),
        preface=preface,
        debug=turn.request.debug,
        asked=lambda content: detect_asked_signal(content, available_fields, parts.instance),
    )
    try:
        with turn.timings.step("generation"):
            while True:
                try:
                    event = next(answer)
                except StopIteration as stop:
                    result: StreamResult = stop.value
                    break
                progress.note_chunk(event)
                yield event
                yield from extraction.poll()
    except ModelError as exc:
        logger.warning("generation failed", turn_id=turn.turn_id, cause=cause_of(exc))
        progress.blame(models[0].name, exc)
        yield PipelineStep("generation", "failed", turn.timings.elapsed())
        yield from record_failure(progress, ErrorEvent(exc.code, exc.message, exc.retryable))
        return None
    progress.note_result(result)
    yield PipelineStep("generation", "done", turn.timings.elapsed())
    return result


def _say(progress: TurnProgress, text: str) -> Events:
    """A turn that answers no question: one fixed text, and what it changed."""
    request = GenerationRequest("", "", (), (), _deadline(progress))
    extraction = BackgroundExtraction.none(progress)
    models = (fixed_answers.FixedAnswer(text),)
    result = yield from _generate(progress, request, models, extraction)
    if result is not None:
        yield from extraction.wait()
        yield from conclude(progress, result, None, None, None)


def _analyze(progress: TurnProgress, query: str, intent: str) -> DiscoveryAnalysis:
    state = progress.state
    return analyze_discovery_state(state, state.asked_signals, query, state.turn_count + 1, intent)


def _repository(progress: TurnProgress) -> int | None:
    """The number of the repository that the reader chose; ``NotFound`` if there is none.

    A number stands for itself while the registry is down. Source: design, section 5.
    """
    reference = progress.turn.request.repository
    if reference is None:
        return None
    try:
        found = progress.parts.repositories.find(reference)
    except StorageUnavailable:
        if not reference.strip().isdecimal():
            raise
        progress.degraded.append("registry")
        return int(reference)
    if found is None:
        raise NotFound(f"There is no repository {reference!r} here; GET /repositories lists them.")
    return found.number


def _history(progress: TurnProgress) -> tuple[Message, ...]:
    """The conversation so far: the request's, or what the session remembers of it."""
    if progress.turn.request.history is not None:
        return progress.turn.request.messages
    return tuple(
        message
        for exchange in progress.state.exchanges
        for message in (Message("user", exchange.query), Message("assistant", exchange.answer))
        if message.content
    )


def _deadline(progress: TurnProgress) -> float:
    elapsed = progress.turn.timings.elapsed() / 1000
    return time.monotonic() + progress.parts.deadline_seconds - elapsed
