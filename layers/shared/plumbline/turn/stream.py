"""A turn's events as bytes: a worker runs the turn, the reader's side keeps the line alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from plumbline.errors import ConfigurationError, PlumblineError
from plumbline.observability import cause_of, count, flush, logger
from plumbline.turn.events import (
    BROKEN,
    HEARTBEAT,
    TERMINAL,
    ErrorEvent,
    Event,
    encode_event,
    error_event,
)

HEARTBEAT_SECONDS = 10.0
_END = object()


def stream_events(
    turn_id: str,
    events: Callable[[], Iterator[Event]],
    *,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> Iterator[bytes]:
    """Encode a turn's events, with a comment after each silence and one terminal event.

    The turn runs in a worker, so it goes on when its reader goes and can be fetched later. An
    error of ours becomes its ``error`` event; any other is logged once and tells nothing.
    """
    pending: queue.SimpleQueue[object] = queue.SimpleQueue()

    def work() -> None:
        try:
            for event in _terminated(turn_id, events):
                pending.put(event)
        finally:
            try:
                # Before the stream ends: Lambda freezes the process once it has.
                flush()
            finally:
                pending.put(_END)

    threading.Thread(target=work, name=f"turn-{turn_id}", daemon=True).start()
    number = 0
    while True:
        try:
            item = pending.get(timeout=heartbeat_seconds)
        except queue.Empty:
            yield HEARTBEAT
            continue
        if item is _END:
            return
        yield encode_event(turn_id, number, item)  # type: ignore[arg-type]  # only events are put
        number += 1


def _terminated(turn_id: str, events: Callable[[], Iterator[Event]]) -> Iterator[Event]:
    """The events up to the first terminal one; an ``error`` where the turn failed to give one."""
    try:
        for event in events():
            yield event
            if isinstance(event, TERMINAL):
                return
    except Exception as exc:
        note_failure(turn_id, exc)
        yield error_event(exc)
    else:
        logger.error("turn ended without a terminal event", turn_id=turn_id)
        yield ErrorEvent("internal_error", BROKEN, True)


def note_failure(turn_id: str, error: Exception) -> None:
    """Log once why a turn failed: a line for what was foreseen, the traceback for a defect."""
    if isinstance(error, ConfigurationError):
        logger.error("deployment is at fault", turn_id=turn_id, problem=error.message)
        count("TurnBroken")
    elif isinstance(error, PlumblineError):
        logger.warning("turn failed", turn_id=turn_id, code=error.code, cause=cause_of(error))
        count("TurnFailed")
    else:
        logger.error("turn broke", turn_id=turn_id, exc_info=error)
        count("TurnBroken")
