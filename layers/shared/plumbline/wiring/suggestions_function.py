"""The suggestions function's parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from plumbline.errors import SettingsError
from plumbline.gate import Gate
from plumbline.observability import logger
from plumbline.settings import SuggestionsSettings
from plumbline.wiring.upstreams import new_gate, search_index, shared_state

if TYPE_CHECKING:
    from plumbline.adapters.algolia import AlgoliaIndex
    from plumbline.http import Request


def suggestions(environ: Mapping[str, str]) -> SuggestionsFunction:
    """The suggestions function; the same object for the same settings."""
    return _suggestions(SuggestionsSettings.from_environment(environ))


@dataclass(frozen=True, slots=True)
class SuggestionsFunction:
    """What the suggestions handler calls."""

    gate: Gate
    index: Callable[[], AlgoliaIndex]
    allowed_origins: tuple[str, ...]

    def admit(self, request: Request) -> None:
        """Let the request in, or raise ``Unauthorized`` or ``RateLimited``."""
        self.gate.admit(request, "suggest")

    def suggest(self, query: str, limit: int) -> list[str]:
        """The names; an empty list when the key cannot be read. Source: seed 002, "Suggestions"."""
        from plumbline.search.suggestions import suggest

        try:
            index = self.index()
        except SettingsError as exc:
            logger.error("suggestions have no key", problem=exc.message)
            return []
        return suggest(query, limit, index=index)


@cache
def _suggestions(settings: SuggestionsSettings) -> SuggestionsFunction:
    return SuggestionsFunction(
        gate=new_gate(settings, turn=settings.rate_limit_per_minute, state=shared_state(settings)),
        index=lambda: search_index(settings),
        allowed_origins=settings.allowed_origins,
    )
