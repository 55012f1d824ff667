"""What is worth asking, and when to stop. Source: seed 000; design, decision 6 (F-035)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from plumbline.instance import Instance
from plumbline.turn.brain_output import BrainOutput
from plumbline.turn.events import DiscoveryEvent
from plumbline.turn.phrases import contains_phrase, plain_words
from plumbline.turn.plain_text import plain_text
from plumbline.turn.session import SIGNALS, SessionState, locked_signals, values_of

QUALIFYING_SIGNALS = 3
QUALIFYING_SIGNALS_LATER = 2
LATER_TURN = 3
STRICT_TURNS = 2
MAX_QUESTIONS = 3
MAX_REFUSALS = 2
MAX_DOSSIER_CHARS = 500

_SENTENCE = re.compile(r"[^.!?\n]+\?")


@dataclass(frozen=True, slots=True)
class DiscoveryAnalysis:
    """What is known and what may be asked. ``available_fields`` are in the order to ask them.

    Source: seed 000, DiscoveryAnalysisResult.
    """

    locked_signals: tuple[str, ...]
    is_qualified: bool
    is_strict_discovery: bool
    is_fatigue_reached: bool
    is_accelerated: bool
    available_fields: tuple[str, ...]
    show_discovery_ui: bool


def analyze_discovery_state(
    session_state: SessionState,
    asked_signals: Sequence[str],
    query: str,
    turn_count: int,
    intent: str,
) -> DiscoveryAnalysis:
    """The state of discovery in turn ``turn_count``, counted from 1.

    Qualified: three signals with pain or product among them, or two from turn 3 on. Fatigue:
    three questions or two refusals. Strict: turn 1 or 2, neither of them, and not technical.
    Nothing is shown to a reader who is qualified or tired, or who says no word.
    Source: seed 000, analyzeDiscoveryState; design, decision 6.
    """
    locked = locked_signals(session_state)
    qualified = (
        len(locked) >= QUALIFYING_SIGNALS and ("pain" in locked or "product" in locked)
    ) or (len(locked) >= QUALIFYING_SIGNALS_LATER and turn_count >= LATER_TURN)
    fatigued = (
        len(session_state.asked_signals) >= MAX_QUESTIONS or session_state.refusals >= MAX_REFUSALS
    )
    available = tuple(
        name for name in _ASKING_ORDER if name not in locked and name not in asked_signals
    )
    open_to_questions = not qualified and not fatigued
    return DiscoveryAnalysis(
        locked_signals=locked,
        is_qualified=qualified,
        is_strict_discovery=(
            open_to_questions and turn_count <= STRICT_TURNS and intent != "technical"
        ),
        is_fatigue_reached=fatigued,
        is_accelerated=qualified and turn_count < LATER_TURN,
        available_fields=available,
        show_discovery_ui=open_to_questions and bool(available) and bool(query.strip()),
    )


# Pain and product first: they qualify, and they help the next search most.
_ASKING_ORDER = (
    "pain",
    "product",
    "stack",
    "industry",
    "scale",
    "role",
    "architecture_concepts",
    "brand",
)


def select_discovery_question(
    analysis: DiscoveryAnalysis, instance: Instance, brain: BrainOutput | None = None
) -> DiscoveryEvent | None:
    """The one question of this turn with its chips, or None when none is to be shown.

    The extractor's question is taken when it is about a field that may be asked for.
    """
    if not analysis.show_discovery_ui:
        return None
    name = analysis.available_fields[0]
    question = instance.signal(name).question
    if (
        brain is not None
        and brain.discovery_question
        and brain.discovery_field in analysis.available_fields
    ):
        name, question = brain.discovery_field, plain_text(brain.discovery_question)
    return discovery_event(name, instance, question)


def discovery_event(name: str, instance: Instance, question: str | None = None) -> DiscoveryEvent:
    """The event that asks for this signal with its chips, in the instance's words by default."""
    spec = instance.signal(name)
    chips = [{"label": chip.label, "field": name, "value": chip.value} for chip in spec.chips]
    return DiscoveryEvent(field=name, question=question or spec.question, chips=chips)


def discovery_instructions(analysis: DiscoveryAnalysis, question: DiscoveryEvent | None) -> str:
    """What the prompt says about asking: the one question, or that none is to be put."""
    if question is None or not analysis.is_strict_discovery:
        return "Ask the reader no question of your own."
    return f"End with this question, in these words: {plain_text(question.question)}"


def detect_asked_signal(
    content: str, available_fields: Sequence[str], instance: Instance
) -> str | None:
    """The signal that the answer's last question asks for, so that it is not put again."""
    questions = _SENTENCE.findall(content[-2_000:])
    if not questions:
        return None
    last = plain_words(questions[-1])
    for name in available_fields:
        spec = instance.signal(name)
        if plain_words(spec.question).rstrip("?") in last:
            return name
    if not contains_phrase(last, "you") and not contains_phrase(last, "your"):
        return None
    return next(
        (
            name
            for name in available_fields
            if any(contains_phrase(last, word) for word in instance.signal(name).keywords)
        ),
        None,
    )


def detect_refusal(query: str, instance: Instance) -> bool:
    """Whether the reader refuses to be asked ("just answer", "skip")."""
    words = plain_words(query).rstrip(".!")
    for phrase in instance.discovery.refusals:
        # A single word refuses only alone: "skip" in a question may be a keyword argument.
        alone = " " not in phrase and words == plain_words(phrase)
        if alone or (" " in phrase and contains_phrase(words, phrase)):
            return True
    return False


def record_refusal(state: SessionState) -> SessionState:
    """The state after one more refusal."""
    return replace(state, refusals=state.refusals + 1)


def generate_dossier_summary(
    raw_state: SessionState, locked: Sequence[str], *, instance: Instance
) -> str:
    """The known signals as short Markdown, one bullet each, at most 500 characters.

    Empty when nothing is known. Source: seed 000, generateDossierSummary.
    """
    lines: list[str] = []
    size = 0
    for name in SIGNALS:
        value = raw_state.signals.get(name)
        if name not in locked or not value:
            continue
        text = ", ".join(values_of(value))
        label = instance.signal(name).label
        line = f"- **{label}:** {plain_text(text, 120)}"
        size += len(line) + 1
        if size > MAX_DOSSIER_CHARS:
            break
        lines.append(line)
    return "\n".join(lines)
