"""The search function's parts: what the first byte needs now, the rest after it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.errors import SettingsError
from plumbline.instance import load_instance
from plumbline.observability import logger
from plumbline.settings import SearchSettings
from plumbline.wiring.upstreams import (
    LateRegistry,
    Once,
    new_gate,
    search_index,
    search_key,
    secret,
    shared_state,
)

if TYPE_CHECKING:
    from plumbline.adapters.redis import RedisState
    from plumbline.gate import Admission
    from plumbline.instance import Instance
    from plumbline.lookups import Lookups
    from plumbline.policy import AuditPolicy
    from plumbline.routes import SearchFunction
    from plumbline.search.mcp_tools import AskAnswer
    from plumbline.turn.language_model import LanguageModel
    from plumbline.turn.parts import TurnParts

VERSION = "0.1.0"


def search(environ: Mapping[str, str], web: Path) -> SearchFunction:
    """The search function, with the page in the folder ``web``; one object a settings."""
    return _search(SearchSettings.from_environment(environ), web)


@cache
def _search(settings: SearchSettings, web: Path) -> SearchFunction:
    from plumbline.routes import SearchFunction
    from plumbline.turn.ignition import ignite
    from plumbline.turn.parts import TurnInput
    from plumbline.web_page import WebPage

    def instance() -> Instance:
        return load_instance(settings.instance, reload_on_change=settings.instance_reload)

    state = shared_state(settings)
    made = Once(lambda: _late_turn_parts(settings, state))

    def parts() -> TurnParts:
        return replace(made(), instance=instance())

    # A mistake in the file is told when the function starts, not by the first turn.
    instance()

    return SearchFunction(
        gate=new_gate(settings, turn=settings.turn_rate_limit_per_minute, state=state),
        store=state,
        ignite=lambda turn_id, request_id, request, admission: ignite(
            TurnInput(turn_id, request_id, request, admission), instance(), parts
        ),
        lookups=Once(lambda: _late_lookups(settings, parts)),
        page=WebPage(web).respond,
        allowed_origins=settings.allowed_origins,
        turn_seconds=settings.turn_deadline_seconds,
    )


def _late_turn_parts(settings: SearchSettings, state: RedisState) -> TurnParts:
    """Everything that a turn needs after its first event; imports the vendors."""
    from concurrent.futures import ThreadPoolExecutor

    from plumbline.adapters.extractive import ExtractiveModel
    from plumbline.adapters.insights import Insights
    from plumbline.audit.auditor import InlineStreamAuditor
    from plumbline.audit.health import ALL_SECONDS, ContentAuditor
    from plumbline.sources import Source
    from plumbline.turn.customer_cache import CustomerCache
    from plumbline.turn.facets import FacetValues
    from plumbline.turn.parts import TurnParts
    from plumbline.turn.retrieval import RetrievalResult

    instance = load_instance(settings.instance)
    index = search_index(settings)
    workers = ThreadPoolExecutor(16, thread_name_prefix="turn-worker")
    facets = FacetValues()
    customers = CustomerCache(index, facets=facets, instance=instance, workers=workers)
    health = ContentAuditor(instance.audit) if settings.link_checks else None
    insights = Insights(
        settings.algolia_app_id,
        search_key(settings),
        region=settings.insights_region,
        url=settings.insights_url,
        on_failure=lambda problem: logger.debug("view not tracked", problem=problem),
    )

    def new_auditor(
        sources: Sequence[Source],
        *,
        policy: AuditPolicy,
        question: str,
        known_urls: Sequence[str],
    ) -> InlineStreamAuditor:
        return InlineStreamAuditor(
            sources,
            (),
            policy=policy,
            question=question,
            known_urls=known_urls,
            customers=customers.urls(),
        )

    def check_links(links: Sequence[str], seconds: float) -> Sequence[str]:
        if health is None or seconds <= 0:
            return ()
        return health.audit_content(links, seconds=min(seconds, ALL_SECONDS)).dead_links

    def track_view(result: RetrievalResult, user_token: str) -> None:
        insights.track_view(
            index=settings.algolia_index_name,
            event_name="Sources Shown",
            # The session's id opens the session, so Algolia gets its digest.
            user_token=hashlib.sha256(user_token.encode()).hexdigest()[:32],
            query_id=result.query_id,
            object_ids=result.object_ids,
        )

    fallback = ExtractiveModel()
    return TurnParts(
        instance=instance,
        index=index,
        repositories=LateRegistry(settings.registry_table),
        model=_late_model(settings) or fallback,
        fallback=fallback,
        store=state,
        facets=facets,
        new_auditor=new_auditor,
        check_links=check_links,
        track_view=track_view,
        workers=workers,
        deadline_seconds=settings.turn_deadline_seconds,
        prompt_budget_bytes=settings.prompt_budget_bytes,
        keep_questions=settings.keep_questions,
    )


def _late_lookups(settings: SearchSettings, parts: Callable[[], TurnParts]) -> Lookups:
    from plumbline.adapters.aws import aws_client
    from plumbline.adapters.events import EventBus
    from plumbline.adapters.s3 import S3Bucket
    from plumbline.index.snapshots import Snapshots
    from plumbline.lookups import Lookups
    from plumbline.search.health import SearchProbe
    from plumbline.search.query_building import build_query, build_typed_query
    from plumbline.search.snapshot_lines import SnapshotLines
    from plumbline.turn.ask import ask

    index = search_index(settings)

    def ask_question(question: str, repository: str | None, admission: Admission) -> AskAnswer:
        made = parts()
        return ask(question, repository, admission, made.instance, lambda: made)

    return Lookups(
        index=index,
        registry=LateRegistry(settings.registry_table),
        snapshots=SnapshotLines(Snapshots(S3Bucket(aws_client("s3"), settings.bucket_name))),
        events=EventBus(aws_client("events"), settings.event_bus_name),
        probe=SearchProbe(index.list_indices),
        ask=ask_question,
        version=VERSION,
        allowed_origins=settings.allowed_origins,
        build_query=build_typed_query if settings.neural_search else build_query,
    )


def _late_model(settings: SearchSettings) -> LanguageModel | None:
    try:
        key = settings.gemini_api_key or secret(settings.gemini_api_key_parameter)
    except SettingsError as exc:
        # Answers are extractive, and marked, until the operator has mended it.
        logger.error("no language model", problem=exc.message)
        key = None
    if key is None:
        return None
    from plumbline.adapters.gemini import GeminiModel

    return GeminiModel(
        key,
        answer_model=settings.gemini_answer_model,
        extract_model=settings.gemini_extract_model,
        api_version=settings.gemini_api_version,
        base_url=settings.gemini_base_url,
    )
