"""What a turn leaves behind, and what the store of it must do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

# A session's telemetry keeps its newest turns. Source: seed 000, persistSessionTelemetry.
TELEMETRY_TURNS = 50


@dataclass(frozen=True, slots=True)
class TurnWrite:
    """Everything that is written at a turn's end, in one round trip.

    ``set_fields``, ``delete_fields`` and ``increments`` apply to the session's hash, so that a
    concurrent turn's other fields stay. ``final`` and ``telemetry`` are JSON. ``outcomes`` tells
    each upstream's breaker how its call went.
    """

    session_id: str
    turn_id: str
    final: str
    telemetry: str
    set_fields: Mapping[str, str] = field(default_factory=dict)
    delete_fields: Sequence[str] = ()
    increments: Mapping[str, int] = field(default_factory=dict)
    outcomes: Mapping[str, bool] = field(default_factory=dict)
    gap: str | None = None


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn as it can be fetched: its owners, and its final event as JSON once it has ended."""

    owners: frozenset[str]
    final: str | None


class TurnWriter(Protocol):
    """Redis, as a turn sees it. Raises ``SessionUnavailable``."""

    def finish(self, write: TurnWrite) -> None:
        """Write all of it in one round trip."""


class TurnStore(Protocol):
    """Redis, as the routes about turns that were see it. Raises ``SessionUnavailable``."""

    def read_turn(self, turn_id: str) -> StoredTurn | None:
        """A turn that runs or has ended within the last hour."""

    def delete_session(self, session_id: str) -> None:
        """Remove the session, its telemetry and its turns."""

    def add_feedback(self, turn_id: str, feedback: str) -> bool:
        """Keep a turn's feedback; False when it has some already."""

    def read_gaps(self, limit: int) -> list[str]:
        """The newest coverage gaps, as JSON, newest first."""
