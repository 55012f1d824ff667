"""AB-ENTITY-BOOST: the same index and questions, with and without ``optionalFilters``.

The figures are the embedded engine's, in keyword mode: they say nothing of NeuralSearch.
Relevance is by place: the reader works with one version (or one area) of the product, and the
sections of that version's page are the relevant ones. Source: seed 003, "Validation".
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from devstack.algolia_server import AlgoliaServer
from evals.versioned_docs import NEWEST, Page, all_records, by_place, documentation, load_pages
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.instance import Instance, load_instance
from plumbline.turn.customers import load_customer_directory
from plumbline.turn.facets import FacetValues
from plumbline.turn.retrieval import RetrievalOptions, SearchIndex, orchestrate_retrieval

ROUNDS = 3
DEPTH = 20
CUT = 5
VERSIONS = ("v2", "v3", NEWEST)
MAX_QUESTIONS = 60
_BATCH = 1000

Group = Literal["clean, own version", "clean, other version", "ambiguous version", "ambiguous area"]
GROUPS: tuple[Group, ...] = get_args(Group)
Signals = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class Question:
    """One question in ``ROUNDS`` wordings; what its reader works with; the relevant records."""

    group: Group
    wordings: tuple[str, ...]
    signals: Signals
    relevant: frozenset[str]


@dataclass(frozen=True)
class Score:
    """How well one wording was served."""

    ndcg: float
    reciprocal_rank: float


class WithoutBoosts:
    """The same index, asked the same queries without their ``optionalFilters``."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index

    def multi_query(
        self, requests: Sequence[Mapping[str, object]], *, strategy: str = "none"
    ) -> list[dict[str, Any]]:
        plain = [
            {k: v for k, v in request.items() if k != "optionalFilters"} for request in requests
        ]
        return self._index.multi_query(plain, strategy=strategy)


def run() -> list[dict[str, Any]]:
    """The table: a row a group and measure, panel B (boosted) beside panel A (plain)."""
    pages = load_pages(documentation())
    keys = {"key": frozenset({"search", "admin"})}
    with AlgoliaServer(None, app_id="EVAL", api_keys=keys) as server:
        index = AlgoliaIndex("EVAL", "key", "docs", url=server.url)
        fill(index, pages)
        return measure(index, pages)


def fill(index: AlgoliaIndex, pages: list[Page]) -> None:
    """Write the product's settings and every record."""
    index.set_settings(INDEX_SETTINGS)
    operations = [{"action": "addObject", "body": record} for record in all_records(pages)]
    for start in range(0, len(operations), _BATCH):
        index.batch(operations[start : start + _BATCH])


def measure(index: SearchIndex, pages: list[Page]) -> list[dict[str, Any]]:
    """The rows over any index that holds these pages, so that a real one can be measured too."""
    instance = load_instance("default")
    facets = FacetValues()
    load_customer_directory(index, facets=facets, instance=instance)
    questions = make_questions(pages)
    plain = _panel(WithoutBoosts(index), questions, facets, instance)
    boosted = _panel(index, questions, facets, instance)
    rows: list[dict[str, Any]] = []
    for group in GROUPS:
        rows += _rows(group, plain[group], boosted[group])
    return rows


def make_questions(pages: list[Page]) -> list[Question]:
    """All questions: pages that stand in one place only, in several versions, in several areas."""
    places = by_place(pages)
    kinds = (*_clean(pages), _ambiguous_versions(places), _ambiguous_areas(pages))
    return [question for kind in kinds for question in _spread(kind)]


def _spread(questions: list[Question]) -> list[Question]:
    """At most ``MAX_QUESTIONS`` of them, evenly."""
    step = max(1.0, len(questions) / MAX_QUESTIONS)
    return [questions[int(n * step)] for n in range(min(len(questions), MAX_QUESTIONS))]


def _ambiguous_versions(places: Mapping[str, list[Page]]) -> list[Question]:
    """The page stands in several versions; the reader works with one of them, each in turn."""
    several = [versions for _, versions in sorted(places.items()) if len(versions) > 1]
    questions = []
    for number, versions in enumerate(several):
        page = sorted(versions, key=lambda each: each.version)[number % len(versions)]
        signals = {"product": page.version}
        questions.append(Question("ambiguous version", _wordings(page), signals, _ids(page)))
    return questions


def _ambiguous_areas(pages: list[Page]) -> list[Question]:
    """Pages of one title in several areas of one version (tools for servers, and for clients)."""
    titles: dict[tuple[str, str], list[Page]] = defaultdict(list)
    for page in pages:
        titles[(page.version, page.title.casefold())].append(page)
    questions = []
    for _, same in sorted(titles.items()):
        if len({page.area for page in same}) < 2:
            continue
        for page in same:
            signals: Signals = {"product": page.version, "architecture_concepts": (page.area,)}
            wordings = tuple(wording.replace(page.area, "") for wording in _wordings(page))
            questions.append(Question("ambiguous area", wordings, signals, _ids(page)))
    return questions


def _clean(pages: list[Page]) -> tuple[list[Question], list[Question]]:
    """A heading that no other page has, asked for by a reader of its version, and of another."""
    counts = Counter(heading.casefold() for page in pages for heading in set(page.headings))
    own: list[Question] = []
    other: list[Question] = []
    for page in pages:
        unique = [h for h in page.headings if counts[h.casefold()] == 1 and len(h.split()) > 2]
        relevant = frozenset(
            str(record["objectID"])
            for record in page.records
            if unique and _is_under(record, unique[0])
        )
        if not relevant:
            continue
        wordings = (
            unique[0],
            f"How is {unique[0]} done?",
            f"Where is {unique[0]} explained for {page.title}?",
        )
        foreign = [version for version in VERSIONS if version != page.version]
        wrong = foreign[len(other) % len(foreign)]
        own.append(Question("clean, own version", wordings, {"product": page.version}, relevant))
        other.append(Question("clean, other version", wordings, {"product": wrong}, relevant))
    return own, other


def _wordings(page: Page) -> tuple[str, ...]:
    """Three ways to ask for a page, none of which names its version."""
    first = next((heading for heading in page.headings), page.title)
    return (
        f"How does {page.title} work?",
        page.description or page.title,
        f"Where is {first} of {page.title} explained?",
    )


def _is_under(record: Mapping[str, object], heading: str) -> bool:
    path = record.get("heading_path")
    parts = path if isinstance(path, list) else []
    return heading in (record.get("entity_name"), *parts)


def _ids(page: Page) -> frozenset[str]:
    return frozenset(str(record["objectID"]) for record in page.records)


def _panel(
    index: SearchIndex, questions: list[Question], facets: FacetValues, instance: Instance
) -> dict[str, list[list[Score]]]:
    """By group, a list a round, of every question's score."""
    panel: dict[str, list[list[Score]]] = {group: [[] for _ in range(ROUNDS)] for group in GROUPS}
    for question in questions:
        for number in range(ROUNDS):
            options = RetrievalOptions(
                question.wordings[number], signals=question.signals, match_count=DEPTH
            )
            result = orchestrate_retrieval(options, index=index, facets=facets, instance=instance)
            panel[question.group][number].append(score(result.object_ids, question.relevant))
    return panel


def score(found: Sequence[str], relevant: frozenset[str]) -> Score:
    """nDCG at 5 with binary gains, and the reciprocal rank within what was found."""
    gains = [1.0 / math.log2(rank + 2) for rank, oid in enumerate(found[:CUT]) if oid in relevant]
    ideal = sum(1.0 / math.log2(rank + 2) for rank in range(min(CUT, len(relevant))))
    first = next((rank for rank, oid in enumerate(found, 1) if oid in relevant), None)
    return Score(sum(gains) / ideal, 1.0 / first if first else 0.0)


def _rows(group: str, plain: list[list[Score]], boosted: list[list[Score]]) -> list[dict[str, Any]]:
    rows = []
    count = len(plain[0])
    for measure_name, attribute in (("nDCG@5", "ndcg"), ("MRR", "reciprocal_rank")):
        a = [statistics.fmean(getattr(each, attribute) for each in scores) for scores in plain]
        b = [statistics.fmean(getattr(each, attribute) for each in scores) for scores in boosted]
        deltas = [after - before for before, after in zip(a, b, strict=True)]
        rows.append(
            _row(
                f"entity boosts, {group} ({count} questions, 3 rounds), {measure_name}, "
                "embedded engine",
                statistics.fmean(b),
                "",
                statistics.fmean(a),
            )
        )
        rows.append(
            _row(
                f"entity boosts, {group}, {measure_name}: difference "
                f"(rounds {', '.join(f'{delta:+.3f}' for delta in deltas)}) beside its spread",
                statistics.fmean(deltas),
                "",
                statistics.stdev(deltas),
            )
        )
    return rows


def _row(name: str, value: float, unit: str, compared_with: float) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "compared_with": compared_with,
        "ratio": value / compared_with if compared_with else None,
        "budget": None,
        "met": None,
    }
