"""AB-ENTITY-BOOST: the same index and questions, with and without ``optionalFilters``.

The figures are the embedded engine's, in keyword mode: they say nothing of NeuralSearch.
Relevance is by place: the reader works with one version (or one area) of the product, and the
sections of that version's page are the relevant ones. Source: seed 003, "Validation".
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.algolia_server import AlgoliaServer
from evals.answer_rubric import compare
from evals.boost_questions import GROUPS, ROUNDS, Question, make_questions
from evals.versioned_docs import Page, all_records, documentation, load_pages
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.instance import Instance, load_instance
from plumbline.turn.customers import load_customer_directory
from plumbline.turn.facets import FacetValues
from plumbline.turn.language_model import LanguageModel
from plumbline.turn.retrieval import RetrievalOptions, SearchIndex, orchestrate_retrieval

DEPTH = 20
GRADED_PER_GROUP = 10
CUT = 5
SOURCES = 8
_BATCH = 1000

MEASURES = (
    ("nDCG@5", "ndcg"),
    ("MRR", "reciprocal_rank"),
    (f"relevant in {SOURCES} sources", "in_answer"),
)


@dataclass(frozen=True)
class Score:
    """How well one wording was served. ``in_answer``: 1 when a relevant record is among the
    sources that an answer is written from.
    """

    ndcg: float
    reciprocal_rank: float
    in_answer: float


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
    model = _grader()
    if model is not None:
        rows += grade_panels(index, questions, facets, instance, model)
    return rows


def grade_panels(
    index: SearchIndex,
    questions: list[Question],
    facets: FacetValues,
    instance: Instance,
    model: LanguageModel,
) -> list[dict[str, Any]]:
    """The rubric's rows: a few answers of each group, written and graded by ``model``."""
    rows = []
    for group in GROUPS:
        chosen = [question for question in questions if question.group == group]
        cases = []
        for question in chosen[:GRADED_PER_GROUP]:
            options = RetrievalOptions(question.wordings[0], signals=question.signals)
            before, after = (
                orchestrate_retrieval(options, index=panel, facets=facets, instance=instance)
                for panel in (WithoutBoosts(index), index)
            )
            reader = ", ".join(str(value) for value in question.signals.values())
            cases.append((options.query, reader, before.sources, after.sources))
        grades = compare(model, cases, instance, rounds=ROUNDS)
        name = (
            f"entity boosts, {group}, rubric of {grades.count} answers (1 to 5; "
            f"two gradings differ by {grades.noise:.2f})"
        )
        rows.append(_row(name, grades.boosted, "", grades.plain))
    return rows


def _grader() -> LanguageModel | None:
    key = os.environ.get("GEMINI_API_KEY")
    if not key:
        return None
    from plumbline.adapters.gemini import GeminiModel
    from plumbline.settings import SearchSettings

    settings = SearchSettings.from_environment(os.environ)
    return GeminiModel(
        key,
        answer_model=settings.gemini_answer_model,
        extract_model=settings.gemini_answer_model,
        api_version=settings.gemini_api_version,
        base_url=settings.gemini_base_url,
        extract_timeout=60.0,
    )


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
    return Score(
        sum(gains) / ideal,
        1.0 / first if first else 0.0,
        1.0 if first and first <= SOURCES else 0.0,
    )


def _rows(group: str, plain: list[list[Score]], boosted: list[list[Score]]) -> list[dict[str, Any]]:
    rows = []
    count = len(plain[0])
    for measure_name, attribute in MEASURES:
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
