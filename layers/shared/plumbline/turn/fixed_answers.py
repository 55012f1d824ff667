"""Answers that no model writes: nothing found, a proposal declined, no specialist yet.

They take the same road through the auditor as a model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plumbline.errors import ModelUnavailable
from plumbline.instance import Instance
from plumbline.sources import Source
from plumbline.turn.language_model import (
    Extraction,
    ExtractionRequest,
    Finish,
    GenerationRequest,
    TextDelta,
    Usage,
)
from plumbline.turn.plain_text import plain_text


class FixedAnswer:
    """A ``LanguageModel`` that says one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def name(self) -> str:
        """How the log calls it."""
        return "fixed"

    def extract(self, request: ExtractionRequest) -> Extraction:
        """Always ``ModelUnavailable``."""
        raise ModelUnavailable("A fixed answer extracts nothing.")

    def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
        """The text, whole."""
        yield TextDelta(self._text)
        yield Finish("stop", Usage())


def nothing_found(
    searched: str, nearest: Sequence[Source], *, repository: str | None, language: str | None
) -> str:
    """What was searched, where, and what comes nearest outside it, cited by number.

    Source: design, decision 18.
    """
    where = [f"the repository {plain_text(repository, 120)}"] if repository else []
    where += [f"{plain_text(language, 40)} files"] if language else []
    place = f"in {' and '.join(where)}" if where else "in the index"
    lines = [f"Nothing was found {place} for: {plain_text(searched, 200)}"]
    if nearest:
        lines.append("Nearest outside it:")
        lines.append("\n".join(f"- {_code(s.title)} [{s.n}]" for s in nearest))
    else:
        lines.append("Other words, or the name of a function, file or setting, may find it.")
    return "\n\n".join(lines) + "\n"


def _code(text: str) -> str:
    """A title as code, which no renderer reads as markup."""
    return f"`{' '.join(text.replace('`', ' ').split())[:150]}`"


def declined() -> str:
    """After a no to a proposal that came without a question."""
    return "All right, we stay here. What would you like to know?\n"


def noted(cleared: Sequence[str], instance: Instance) -> str:
    """After a correction by click that came without a question."""
    labels = [spec.label.lower() for name, spec in instance.signals.items() if name in set(cleared)]
    if not labels:
        return "Noted. What would you like to know?\n"
    return f"Noted: {', '.join(labels)} no longer counts. What would you like to know?\n"


def no_specialist(target: str, instance: Instance) -> str:
    """What stands before the maverick's answer while a specialist cannot be reached."""
    persona = instance.personas.get(target)
    who = persona.name if persona else "The specialist"
    maverick = instance.personas["maverick"].name
    return f"{who} cannot be reached here yet, so {maverick} answers.\n\n"


def no_question() -> str:
    """Where a specialist was asked for without a word to answer."""
    return "What would you like to know?\n"
