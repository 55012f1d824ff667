"""What a turn is given, and what it is run with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from plumbline.gate import Admission
from plumbline.index.registry import Repository
from plumbline.instance import Instance
from plumbline.observability import Timings
from plumbline.policy import AuditPolicy
from plumbline.turn.language_model import LanguageModel
from plumbline.turn.persistence import TurnWriter
from plumbline.turn.request import TurnRequest

if TYPE_CHECKING:
    from plumbline.audit.auditor import InlineStreamAuditor
    from plumbline.sources import Source
    from plumbline.turn.facets import FacetValues
    from plumbline.turn.retrieval import RetrievalResult, SearchIndex


class RepositoryFinder(Protocol):
    """The registry, as a turn sees it."""

    def find(self, reference: str | int) -> Repository | None:
        """The repository of a number, an address or an ``owner/name``; None if there is none."""


class NewAuditor(Protocol):
    """Makes the turn's auditor over its sources."""

    def __call__(
        self,
        sources: Sequence[Source],
        *,
        policy: AuditPolicy,
        question: str,
        known_urls: Sequence[str],
    ) -> InlineStreamAuditor:
        """An auditor that keeps the policy and knows the customer directory."""


@dataclass(frozen=True, slots=True)
class TurnInput:
    """One admitted request."""

    turn_id: str
    request_id: str
    request: TurnRequest
    admission: Admission
    timings: Timings = field(default_factory=Timings)


@dataclass(frozen=True, slots=True)
class TurnParts:
    """The parts of a process that every turn uses.

    ``model`` answers and extracts, ``fallback`` answers where it cannot. ``check_links`` gives the
    dead ones of some links, within so many seconds; ``track_view`` returns at once.
    ``deadline_seconds`` is for a whole turn, ``keep_questions`` lets coverage gaps keep the
    reader's words.
    """

    instance: Instance
    index: SearchIndex
    repositories: RepositoryFinder
    model: LanguageModel
    fallback: LanguageModel
    store: TurnWriter
    facets: FacetValues
    new_auditor: NewAuditor
    check_links: Callable[[Sequence[str], float], Sequence[str]]
    track_view: Callable[[RetrievalResult, str], None]
    workers: Executor
    deadline_seconds: float = 55.0
    prompt_budget_bytes: int = 24_576
    keep_questions: bool = False

    def models(self, open_breakers: frozenset[str]) -> tuple[LanguageModel, ...]:
        """Who may answer this turn, in order; a model whose breaker is open is passed over."""
        if self.model is self.fallback or self.model.name in open_breakers:
            return (self.fallback,)
        return (self.model, self.fallback)
