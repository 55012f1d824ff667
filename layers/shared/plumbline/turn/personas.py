"""Who answers, and with which intent. Source: seed 000, "Helper Utilities"."""

from __future__ import annotations

import re
from typing import get_args

from plumbline.instance import MAVERICK, Instance, Intent
from plumbline.turn.phrases import first_phrase

INTENTS: tuple[Intent, ...] = get_args(Intent)

# Code is technical whatever its words are: back-quotes, a call, CamelCase, snake_case, a path.
_CODE = re.compile(
    r"`[^`]+`|\b\w+\(\)|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b"
    r"|\b[a-z0-9]+_[a-z0-9_]+\b|\b[\w-]+/[\w./-]+\.\w{1,5}\b|\b\w+\.(?:py|js|ts|go|rs|java|rb|tf)\b"
)


def normalize_persona_id(raw: str | None, *, instance: Instance) -> str:
    """The persona's id for what a front end calls it ("solutions_engineer" is "elena").

    Case, spaces and hyphens do not matter; whatever is not known is the maverick.
    """
    if not isinstance(raw, str):
        return MAVERICK
    wanted = _folded(raw[:100])
    for persona_id, persona in instance.personas.items():
        names = (persona_id, persona.name, persona.title, *persona.aliases)
        if any(_folded(name) == wanted for name in names):
            return persona_id
    return MAVERICK


def is_specialist(persona: str | None, *, instance: Instance) -> bool:
    """Whether this id is a specialist's."""
    known = instance.personas.get(persona or "")
    return known is not None and known.specialist


def validate_persona(persona: str | None, *, instance: Instance) -> str:
    """The id if it is one, else the maverick. Source: seed 000, validatePersona."""
    return persona if persona is not None and persona in instance.personas else MAVERICK


def guard_intent(query: str, current_intent: str | None = None, *, instance: Instance) -> Intent:
    """The intent that the words themselves prove, else the current one, else the default.

    A technical marker, or code, without a blocker is technical; a blocker alone is ``ae``.
    Source: seed 000, guardIntent.
    """
    rules = instance.intent
    technical = bool(_CODE.search(query)) or bool(first_phrase(query, rules.technical_markers))
    blocked = bool(first_phrase(query, rules.non_technical_blockers))
    if technical and not blocked:
        return "technical"
    if blocked and not technical:
        return "ae"
    return next((intent for intent in INTENTS if intent == current_intent), rules.default)


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())
