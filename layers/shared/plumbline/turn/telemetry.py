"""What is kept of a turn for its operator: session telemetry and coverage gaps.

Source: seed 000, persistSessionTelemetry; design, decision 18.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from plumbline.turn.persistence import TELEMETRY_TURNS
from plumbline.turn.phrases import plain_words
from plumbline.turn.retrieval import RetrievalResult
from plumbline.turn.session import PendingHandoff, SessionState

_MAX_QUESTION_CHARS = 500

GapReason = Literal["nothing_found", "uncertain"]


@dataclass(frozen=True, slots=True)
class TelemetryWrite:
    """One entry for the front of the list at ``key``, which keeps its newest ``keep``."""

    key: str
    entry: str
    keep: int = TELEMETRY_TURNS


def persist_session_telemetry(
    session_id: str,
    *,
    turn_id: str,
    at: datetime,
    state: SessionState,
    handoff: PendingHandoff | None,
    chunk_count: int,
    status: str,
    persona: str,
    timings: Mapping[str, int],
    retrieval: RetrievalResult | None = None,
    usage: Mapping[str, object] | None = None,
    degraded: Sequence[str] = (),
) -> TelemetryWrite:
    """What the turn's last round trip writes: how it went and how long each step took, in ms.

    It holds no question, no answer and no signal's value. Source: seed 000.
    """
    entry: dict[str, object] = {
        "turn_id": turn_id,
        "at": at.isoformat(timespec="milliseconds"),
        "turn": state.turn_count,
        "status": status,
        "persona": persona,
        "locked": sorted(state.signals),
        "handoff": handoff.target if handoff else None,
        "chunks": chunk_count,
        "timings": dict(timings),
        "usage": dict(usage or {}),
        "degraded": list(dict.fromkeys(degraded)),
    }
    if retrieval is not None:
        entry["strategy"] = retrieval.strategy
        entry["sources"] = len(retrieval.sources)
        entry["query_id"] = retrieval.query_id
        entry["boosted"] = list(retrieval.boosted)
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    return TelemetryWrite(f"telemetry:{session_id}", text)


@dataclass(frozen=True, slots=True)
class CoverageGap:
    """A question that the indexed code and docs do not answer, or not surely.

    ``question`` is None unless a setting keeps the words; ``fingerprint`` counts repeats of it
    without them. ``nearest`` are the titles that came closest.
    """

    reason: GapReason
    at: str
    fingerprint: str
    question: str | None
    repository: str | None
    language: str | None
    nearest: tuple[str, ...]
    unverified: tuple[str, ...]

    def entry(self) -> str:
        """The gap as one line of JSON."""
        return json.dumps(
            {name: getattr(self, name) for name in self.__slots__},
            ensure_ascii=False,
            separators=(",", ":"),
        )


def coverage_gap(
    question: str,
    retrieval: RetrievalResult,
    *,
    uncertain: bool,
    unverified: Sequence[str] = (),
    repository: str | None = None,
    language: str | None = None,
    keep_question: bool,
    at: datetime,
) -> CoverageGap | None:
    """The gap that this turn shows, or None when it was covered. Source: design, decision 18."""
    if retrieval.sources and not uncertain:
        return None
    near = retrieval.nearest or retrieval.sources
    digest = hashlib.sha256(plain_words(question).encode("utf-8", "replace")).hexdigest()
    return CoverageGap(
        reason="uncertain" if retrieval.sources else "nothing_found",
        # To the millisecond, so that two turns never write the same line.
        at=at.isoformat(timespec="milliseconds"),
        fingerprint=digest[:16],
        question=question[:_MAX_QUESTION_CHARS] if keep_question else None,
        repository=repository,
        language=language,
        nearest=tuple(source.title for source in near[:3]),
        unverified=tuple(unverified[:10]),
    )
