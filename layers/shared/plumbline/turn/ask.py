"""One question answered whole, for callers that read no stream."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from plumbline.errors import PlumblineError, UpstreamError
from plumbline.gate import Admission
from plumbline.instance import Instance
from plumbline.search.mcp_tools import AskAnswer
from plumbline.turn.events import ErrorEvent, Final
from plumbline.turn.ignition import ignite
from plumbline.turn.parts import TurnInput, TurnParts
from plumbline.turn.request import TurnRequest


def ask(
    question: str,
    repository: str | None,
    admission: Admission,
    instance: Instance,
    load_parts: Callable[[], TurnParts],
) -> AskAnswer:
    """Run a turn in a session of its own and give its audited answer with the cited sources.

    Raises ``PlumblineError`` when the turn fails.
    """
    turn = TurnInput(
        turn_id=secrets.token_hex(16),
        request_id="",
        request=TurnRequest(query=question, repository=repository, persona="maverick"),
        admission=admission,
    )
    for event in ignite(turn, instance, load_parts):
        if isinstance(event, Final):
            return AskAnswer(
                content=event.content,
                sources=event.sources,
                uncertain=bool(event.quality.get("uncertain")),
                degraded=event.degraded,
            )
        if isinstance(event, ErrorEvent):
            raise UpstreamError(event.message)
    raise PlumblineError("The turn ended without an answer; ask again.")
