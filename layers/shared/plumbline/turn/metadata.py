"""What a turn says of itself at its end: cited sources, coverage, the final event."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from plumbline.sources import Source
from plumbline.turn.events import Final, QualityEvent
from plumbline.turn.session import PendingHandoff, SessionState

_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.S | re.M)
_CODE = re.compile(r"`[^`\n]*`")
_CITED = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")


@dataclass(frozen=True, slots=True)
class PostGenerationMetadata:
    """The counts of an answer. ``unique_sources`` are those it cites, by number, in order.

    ``uncertain``: something in it is in no source, or it cites nothing although it had sources.
    """

    word_count: int
    unique_sources: tuple[Source, ...]
    uncertain: bool
    unverified: tuple[str, ...]
    asked_signals: tuple[str, ...]

    def quality(self) -> QualityEvent:
        """The ``quality`` event."""
        return QualityEvent(
            word_count=self.word_count,
            unique_sources=len(self.unique_sources),
            uncertain=self.uncertain,
            unverified=self.unverified,
        )


def process_post_generation_metadata(
    content: str,
    sources: Sequence[Source],
    *,
    state: SessionState,
    cited: Collection[int] | None = None,
    unverified: Sequence[str] = (),
) -> PostGenerationMetadata:
    """Word count, cited sources and the discovery history after an answer.

    ``content`` is the audited answer; ``cited`` the auditor's numbers, read from the text when
    None. ``state`` is the session after this turn's question was added.
    Source: seed 000, processPostGenerationMetadata.
    """
    numbers = cited_numbers(content, sources) if cited is None else set(cited)
    used = tuple(source for source in sources if source.n in numbers)
    return PostGenerationMetadata(
        word_count=count_words(content),
        unique_sources=used,
        uncertain=bool(unverified) or (bool(sources) and not used),
        unverified=tuple(dict.fromkeys(unverified)),
        asked_signals=state.asked_signals,
    )


def cited_numbers(content: str, sources: Sequence[Source]) -> set[int]:
    """The sources that the text outside code cites: ``[3]``, ``[1, 2]``, or their address."""
    prose = _CODE.sub(" ", _FENCE.sub(" ", content))
    known = {source.n for source in sources}
    numbers = {
        int(number)
        for match in _CITED.finditer(prose)
        for number in match.group(1).split(",")
        if int(number) in known
    }
    for source in sources:
        if source.url and re.search(re.escape(source.url) + r"(?![\w/-])", prose):
            numbers.add(source.n)
    return numbers


def count_words(content: str) -> int:
    """The words of the answer, code included, link addresses left out."""
    return len(_WORD.findall(re.sub(r"\]\([^)\s]*\)", "]", content)))


def construct_final_event(
    *,
    content: str,
    metadata: PostGenerationMetadata,
    state: SessionState,
    discovery: Mapping[str, object] | None,
    handoff: PendingHandoff | None,
    audit: Mapping[str, object],
    usage: Mapping[str, object],
    timings: Mapping[str, object],
    searches: int,
    degraded: Sequence[str],
) -> Final:
    """The ``final`` event; ``content`` is the chunks, concatenated, and ``sources`` the cited ones.

    ``degraded`` is shown without repeats, in its order. Source: seed 000, constructFinalEvent.
    """
    quality = metadata.quality()
    return Final(
        content=content,
        sources=[source.public() for source in metadata.unique_sources],
        signals=state.public_signals(),
        discovery=discovery,
        handoff=handoff.public() if handoff else None,
        audit=audit,
        quality={
            "word_count": quality.word_count,
            "unique_sources": quality.unique_sources,
            "uncertain": quality.uncertain,
            "unverified": list(quality.unverified),
        },
        usage=usage,
        timings=timings,
        searches=searches,
        degraded=list(dict.fromkeys(degraded)),
    )
