"""A turn's times with upstreams as slow as file 000's, beside file 000's order of the same work.

The upstreams are doubles that wait; everything else is the product: the turn's orchestrator, its
stream, the auditor. ``ideal`` is the sum of the waits that no order of work can avoid.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from plumbline.audit.auditor import InlineStreamAuditor
from plumbline.gate import Admission, Caller
from plumbline.instance import load_instance
from plumbline.observability import logger
from plumbline.policy import AuditPolicy
from plumbline.sources import Source
from plumbline.turn.events import Event
from plumbline.turn.facets import FacetValues
from plumbline.turn.ignition import ignite
from plumbline.turn.language_model import (
    Extraction,
    ExtractionRequest,
    Finish,
    GenerationRequest,
    TextDelta,
    Usage,
)
from plumbline.turn.parts import TurnInput, TurnParts
from plumbline.turn.persistence import TurnWrite
from plumbline.turn.request import TurnRequest
from plumbline.turn.stream import stream_events

EXTRACTION = 1.9
SEARCH = 0.9
FIRST_TOKEN = 0.7
TOKENS_A_SECOND = 40
REDIS_TRIP = 0.045
PARAGRAPH_TOKENS = 60
PARAGRAPHS = 2
ROUNDS = 3
RATIO_BUDGET = 0.65
IDEAL_BUDGET_MS = 50.0

# File 000: getSessionState reads; updateSessionState, addAskedSignal and the turn's count read
# and write each; telemetry is written. The first three trips come before the answer.
TRIPS_BEFORE, TRIPS_AFTER = 3, 5

QUESTION = "How does the function Store.create write a session to disk?"
INSTANCE = load_instance("default")
_BRAIN = {
    "intent": "technical",
    "onion_signals": {"stack": "Python"},
    "entities": ["Store"],
    "search_query": QUESTION,
    "keyword_query": "Store create session disk",
}


@dataclass(slots=True)
class Times:
    """Seconds from the request to the first event, the first paragraph and the end."""

    first_event: float = 0.0
    first_paragraph: float = 0.0
    final: float = 0.0
    trips: int = 0


@dataclass(slots=True)
class Redis:
    """A ``TurnStore`` each of whose trips takes its time."""

    trips: int = 0

    def trip(self) -> None:
        self.trips += 1
        time.sleep(REDIS_TRIP)

    def finish(self, write: TurnWrite) -> None:
        self.trip()


class Index:
    """Answers every search with the same records, after its time."""

    def multi_query(
        self, requests: Sequence[Mapping[str, object]], *, strategy: str = "none"
    ) -> list[dict[str, Any]]:
        time.sleep(SEARCH)
        hits = [
            {
                "objectID": f"12_{number:040x}",
                "repository_id": 12,
                "repository": "acme/shop",
                "repository_url": "https://github.com/acme/shop",
                "commit_sha": "0123456789abcdef0123456789abcdef01234567",
                "entity_type": "function",
                "entity_name": f"Store.create{number}",
                "description": f"Python method: Store.create{number}",
                "content": f"def create{number}(self, session):\n    self.disk.write(session)\n",
                "file_path": f"src/store{number}.py",
                "line_start": 5,
                "line_end": 6,
                "language": "python",
            }
            for number in range(8)
        ]
        return [{"hits": hits, "facets": {}, "queryID": "0" * 32} for _ in requests[:1]]


class Model:
    """Extracts and answers at file 000's speed, each token at its own time."""

    name = "gemini"

    def extract(self, request: ExtractionRequest) -> Extraction:
        time.sleep(EXTRACTION)
        return Extraction(json.dumps(_BRAIN), Usage(700, 60, 0))

    def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
        begun = time.perf_counter()
        for number, token in enumerate(_tokens()):
            at = begun + FIRST_TOKEN + number / TOKENS_A_SECOND
            time.sleep(max(0.0, at - time.perf_counter()))
            yield TextDelta(token)
        yield Finish("stop", Usage(5_000, PARAGRAPHS * PARAGRAPH_TOKENS, 0))


def _tokens() -> Iterator[str]:
    words = ["The", "store", "writes", "a", "session", "to", "disk", "before", "it", "answers"]
    for _ in range(PARAGRAPHS):
        for number in range(PARAGRAPH_TOKENS - 1):
            yield f"{words[number % len(words)]} "
        yield "there [1].\n\n"


@dataclass(slots=True)
class Upstreams:
    """What both orders of the work use."""

    redis: Redis = field(default_factory=Redis)
    index: Index = field(default_factory=Index)
    model: Model = field(default_factory=Model)


def run() -> list[dict[str, object]]:
    """Rows of the medians of three rounds, in milliseconds, and of the round trips to Redis."""
    with _quiet(), ThreadPoolExecutor(4) as workers:
        ours = [_plumbline(Upstreams(), workers) for _ in range(ROUNDS)]
    theirs = [_file_000(Upstreams()) for _ in range(ROUNDS)]
    paragraph = _median(ours, lambda times: times.first_paragraph)
    final = _median(ours, lambda times: times.final)
    paragraph_000 = _median(theirs, lambda times: times.first_paragraph)
    ideal = 1000 * _ideal()
    event = _median(ours, lambda times: times.first_event)
    order, path = "file 000's order", "ideal critical path"
    return [
        _row("turn, first event", event, path, event / (1000 * REDIS_TRIP)),
        _row(
            "turn, first audited paragraph",
            *(paragraph, order, paragraph / paragraph_000, RATIO_BUDGET),
            met=paragraph <= RATIO_BUDGET * paragraph_000,
        ),
        _row(
            "turn, first audited paragraph behind the ideal critical path",
            *(paragraph - ideal, path, paragraph / ideal, IDEAL_BUDGET_MS),
            met=paragraph - ideal <= IDEAL_BUDGET_MS,
        ),
        _row(
            "turn, final",
            *(final, order, final / _median(theirs, lambda times: times.final)),
        ),
        _row("file 000's order, first audited paragraph", paragraph_000, path, None),
        _row(
            "turn, Redis round trips",
            *(ours[0].trips, order, ours[0].trips / theirs[0].trips, 2.0),
            met=ours[0].trips <= 2,
            unit="trips",
        ),
    ]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without a turn's log line and metrics, which would stand among the figures."""
    level = logger.log_level
    disabled = os.environ.get("POWERTOOLS_METRICS_DISABLED")
    os.environ["POWERTOOLS_METRICS_DISABLED"] = "true"
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)
        os.environ.pop("POWERTOOLS_METRICS_DISABLED")
        if disabled is not None:
            os.environ["POWERTOOLS_METRICS_DISABLED"] = disabled


def _ideal() -> float:
    """Seconds to the first paragraph's last token: admitted, searched, written."""
    return REDIS_TRIP + SEARCH + FIRST_TOKEN + (PARAGRAPH_TOKENS - 1) / TOKENS_A_SECOND


def _plumbline(upstreams: Upstreams, workers: ThreadPoolExecutor) -> Times:
    parts = TurnParts(
        instance=INSTANCE,
        index=upstreams.index,
        repositories=_NoRepositories(),
        model=upstreams.model,
        fallback=upstreams.model,
        store=upstreams.redis,
        facets=FacetValues(),
        new_auditor=_new_auditor,
        check_links=lambda links, seconds: (),
        track_view=lambda result, user: None,
        workers=workers,
    )
    times = Times()
    begun = time.perf_counter()

    def events() -> Iterator[Event]:
        # The gate's one trip: limit, breakers and session.
        upstreams.redis.trip()
        admission = Admission(Caller("bench", frozenset({"turn"})), "session")
        turn = TurnInput("0" * 32, "request", TurnRequest(query=QUESTION), admission)
        return ignite(turn, INSTANCE, lambda: parts)

    name = ""
    for chunk in stream_events("0" * 32, events):
        elapsed = time.perf_counter() - begun
        times.first_event = times.first_event or elapsed
        name = chunk.split(b"event: ", 1)[-1].split(b"\n", 1)[0].decode()
        if name == "chunk":
            times.first_paragraph = times.first_paragraph or elapsed
        times.final = elapsed
    if name != "final" or not times.first_paragraph:
        raise RuntimeError(f"the turn ended with {name!r}")
    times.trips = upstreams.redis.trips
    return times


def _file_000(upstreams: Upstreams) -> Times:
    """The same work in file 000's order: session, signals, session, search, answer, session."""
    times = Times()
    begun = time.perf_counter()
    upstreams.redis.trip()
    times.first_event = time.perf_counter() - begun
    upstreams.model.extract(ExtractionRequest("", QUESTION, (), {}, 0.0))
    for _ in range(TRIPS_BEFORE - 1):
        upstreams.redis.trip()
    upstreams.index.multi_query([{"query": QUESTION}])
    source = Source(n=1, title="Store", content="def create(): ...", source_type="code")
    auditor = _new_auditor([source], policy=INSTANCE.audit, question=QUESTION, known_urls=())
    for item in upstreams.model.stream(GenerationRequest("", QUESTION, (), (), 0.0)):
        if isinstance(item, TextDelta):
            for _ in auditor.feed(item.text):
                times.first_paragraph = times.first_paragraph or time.perf_counter() - begun
    list(auditor.close())
    for _ in range(TRIPS_AFTER):
        upstreams.redis.trip()
    times.final = time.perf_counter() - begun
    times.trips = upstreams.redis.trips
    return times


class _NoRepositories:
    def find(self, reference: str | int) -> None:
        return None


def _new_auditor(
    sources: Sequence[Source], *, policy: AuditPolicy, question: str, known_urls: Sequence[str]
) -> InlineStreamAuditor:
    return InlineStreamAuditor(sources, (), policy=policy, question=question, known_urls=known_urls)


def _median(rounds: Sequence[Times], figure: Callable[[Times], float]) -> float:
    return 1000 * statistics.median(figure(times) for times in rounds)


def _row(
    name: str,
    value: float,
    compared_with: str | None,
    ratio: float | None,
    budget: float | None = None,
    *,
    met: bool | None = None,
    unit: str = "ms",
) -> dict[str, object]:
    return {
        "name": name,
        "value": round(value, 1),
        "unit": unit,
        "compared_with": compared_with,
        "ratio": round(ratio, 3) if ratio is not None else None,
        "budget": budget,
        "met": met,
    }
