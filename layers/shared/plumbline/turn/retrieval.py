"""One request for a turn's sources. Source: seed 000, orchestrateRetrieval; design, 1 to 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from plumbline.instance import Instance
from plumbline.sources import Source
from plumbline.turn.boosts import named_entities, optional_filters, score_boosts
from plumbline.turn.entities import match_values
from plumbline.turn.facets import FacetValues
from plumbline.turn.hits import source_from_hit
from plumbline.turn.ladder import Rung, Strategy, build_ladder, cut_query
from plumbline.turn.phrases import first_phrase
from plumbline.turn.session import SignalValue

# Pricing sources stand behind the best few, so that neither drives the other out.
_PRICING_PLACE = 3
_BOOSTED, _PLAIN = 0, 1
_SEATING = (_BOOSTED, _BOOSTED, _PLAIN)


class SearchIndex(Protocol):
    """The one index of the stack, several queries at a time. Raises ``SearchError``."""

    def multi_query(
        self, requests: Sequence[Mapping[str, object]], *, strategy: str = "none"
    ) -> list[dict[str, Any]]:
        """The answers in order; ``stopIfEnoughMatches`` ends them at one that filled its page."""
        ...


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """What one turn looks for. Source: seed 000, RetrievalOptions.

    ``search_query`` replaces the words (a follow-up made whole); ``keyword_query`` is the last
    rung. ``filters``, ``entities`` come from the extractor, when it was waited for.
    ``repository`` is the registry's number of the reader's choice; ``source_type_filters`` and
    ``language`` are the reader's too, and hold on every rung.
    """

    query: str
    search_query: str | None = None
    keyword_query: str | None = None
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    persona: str = "maverick"
    match_count: int | None = None
    source_type_filters: Sequence[str] = ()
    repository: int | None = None
    language: str | None = None
    signals: Mapping[str, SignalValue] = field(default_factory=dict)
    entities: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The sources, numbered from 1, and how they were found.

    ``strategy`` is the rung that gave the first source. ``searched`` is the query as sent.
    ``nearest`` lies outside the reader's repository and language; it is there when there is no
    source. ``object_ids`` and ``query_id`` are for Insights. ``boosted`` lists the facet values
    that moved ranks. ``searches`` counts requests.
    """

    sources: tuple[Source, ...]
    strategy: Strategy
    query_id: str | None
    searched: str
    nearest: tuple[Source, ...] = ()
    object_ids: tuple[str, ...] = ()
    boosted: tuple[str, ...] = ()
    priced: bool = False
    searches: int = 1


def orchestrate_retrieval(
    options: RetrievalOptions, *, index: SearchIndex, facets: FacetValues, instance: Instance
) -> RetrievalResult:
    """The turn's sources from ONE request; what its responses say of facets is learned.

    Raises what ``index`` raises. Source: seed 000; design, decisions 1 to 3.
    """
    searched = cut_query(options.search_query or options.query)
    keywords = cut_query(options.keyword_query or searched)
    known = facets.values()
    named = named_entities(options.query, options.entities, known, instance)
    scores = score_boosts(named=named, signals=options.signals, known=known, instance=instance)
    boosts = optional_filters(scores, leave_out=("language",) if options.language else ())
    concepts = options.signals.get("architecture_concepts", ())
    pricing = is_about_pricing(options.query, concepts, instance)
    # The profile may know nothing of this question: some sources are found without it.
    plain = bool(boosts) and len(scores) > len(named)
    match_count = options.match_count or instance.retrieval.match_count
    rungs = build_ladder(
        query=searched,
        keyword_query=keywords,
        filters=known_filters(options.filters, known),
        repository=options.repository,
        language=options.language,
        source_types=options.source_type_filters,
        match_count=match_count,
        boosts=boosts,
        plain=plain,
        pricing=pricing,
        persona=options.persona,
        instance=instance,
    )
    # A filled page would stop the request before the queries that have seats of their own.
    strategy = "none" if pricing or plain else "stopIfEnoughMatches"
    answers = index.multi_query([rung.parameters for rung in rungs], strategy=strategy)
    facets.learn(answers)
    by_rung: dict[str, Mapping[str, Any]] = {
        rung.name: answer for rung, answer in zip(rungs, answers, strict=False)
    }
    found = merge_hits(rungs, by_rung)
    hits = seat_plain_hits([hit for _, hit in found], _hits(by_rung.get("plain")))[:match_count]
    if pricing:
        priced = _hits(by_rung.get("pricing"))
        hits = inject_pricing_if_needed(options.query, concepts, hits, priced, instance=instance)
    nearest = () if hits else _numbered(_hits(by_rung.get("nearest")))
    best: Strategy = found[0][0] if found else "none"
    return RetrievalResult(
        sources=_numbered(hits),
        strategy=best,
        query_id=_query_id(by_rung.get(best)),
        searched=searched,
        nearest=nearest,
        object_ids=tuple(str(hit["objectID"]) for hit in hits if "objectID" in hit),
        boosted=tuple(f"{entity.attribute}:{entity.value}" for entity in scores) if boosts else (),
        priced=pricing,
    )


def known_filters(
    filters: Mapping[str, Sequence[str]], known: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """The extractor's filters in the index's own values; an attribute not learned yet stays."""
    found: dict[str, Sequence[str]] = {}
    for attribute, wanted in filters.items():
        if attribute in known:
            matched = [match for text in wanted for match in match_values(text, known[attribute])]
            wanted = tuple(dict.fromkeys(matched))
        if wanted:
            found[attribute] = wanted
    return found


def is_about_pricing(query: str, architecture_concepts: SignalValue, instance: Instance) -> bool:
    """Whether the words, or the concepts in the profile, are about cost or scale."""
    concepts = (
        (architecture_concepts,)
        if isinstance(architecture_concepts, str)
        else architecture_concepts
    )
    markers = instance.retrieval.pricing.markers
    return any(first_phrase(text, markers) for text in (query, *concepts))


def inject_pricing_if_needed(
    query: str,
    architecture_concepts: SignalValue,
    chunks: Sequence[Mapping[str, Any]],
    pricing_chunks: Sequence[Mapping[str, Any]],
    *,
    instance: Instance,
) -> list[Mapping[str, Any]]:
    """The chunks, with those about pricing behind the third when the question is about cost.

    None is dropped, and none stands twice. Source: seed 000, injectPricingIfNeeded.
    """
    hits = list(chunks)
    if not is_about_pricing(query, architecture_concepts, instance):
        return hits
    present = {hit.get("objectID") for hit in hits}
    missing = [hit for hit in pricing_chunks if hit.get("objectID") not in present]
    return hits[:_PRICING_PLACE] + missing + hits[_PRICING_PLACE:]


def merge_hits(
    rungs: Sequence[Rung], answers: Mapping[str, Mapping[str, Any]]
) -> list[tuple[Strategy, Mapping[str, Any]]]:
    """The ladder's hits by objectID, in the order of the rungs, each with the rung it came from."""
    merged: dict[object, tuple[Strategy, Mapping[str, Any]]] = {}
    for rung in rungs:
        if rung.name in ("filtered", "relaxed", "fallback"):
            for hit in _hits(answers.get(rung.name)):
                merged.setdefault(hit.get("objectID"), (rung.name, hit))
    return list(merged.values())


def seat_plain_hits(
    boosted: Sequence[Mapping[str, Any]], plain: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The boosted hits with every third seat given to a plain one that is not seated already."""
    seated: dict[object, Mapping[str, Any]] = {}
    waiting = [iter(boosted), iter(plain)]
    for kind in _SEATING * (len(boosted) + len(plain)):
        for hit in waiting[kind]:
            if hit.get("objectID") not in seated:
                seated[hit.get("objectID")] = hit
                break
    return list(seated.values())


def _hits(answer: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    hits = answer.get("hits") if answer else None
    return [hit for hit in hits if isinstance(hit, Mapping)] if isinstance(hits, list) else []


def _numbered(hits: Sequence[Mapping[str, Any]]) -> tuple[Source, ...]:
    return tuple(source_from_hit(number, hit) for number, hit in enumerate(hits, start=1))


def _query_id(answer: Mapping[str, Any] | None) -> str | None:
    value = answer.get("queryID") if answer else None
    return value if isinstance(value, str) else None
