"""Who answers, with which intent."""

from __future__ import annotations

import pytest

from plumbline.instance import load_instance
from plumbline.turn.personas import (
    guard_intent,
    is_specialist,
    normalize_persona_id,
    validate_persona,
)

CENTRAL = load_instance("algolia-central")
DEFAULT = load_instance("default")


@pytest.mark.parametrize(
    ("raw", "persona"),
    [
        ("solutions_engineer", "elena"),
        ("Solutions Engineer", "elena"),
        ("solutions-engineer", "elena"),
        (" ELENA ", "elena"),
        ("Elena", "elena"),
        ("bruno", "bruno"),
        ("architect", "bruno"),
        ("maverick", "maverick"),
        ("account_executive", "maverick"),
        ("somebody else", "maverick"),
        ("", "maverick"),
        (None, "maverick"),
        ("x" * 10_000, "maverick"),
    ],
)
def test_normalize(raw: str | None, persona: str) -> None:
    assert normalize_persona_id(raw, instance=CENTRAL) == persona


@pytest.mark.parametrize(
    ("persona", "specialist"),
    [
        ("elena", True),
        ("bruno", True),
        ("maverick", False),
        ("", False),
        (None, False),
        ("x", False),
    ],
)
def test_specialists(persona: str | None, specialist: bool) -> None:
    assert is_specialist(persona, instance=CENTRAL) is specialist


@pytest.mark.parametrize(
    ("persona", "valid"),
    [("elena", "elena"), ("Elena", "maverick"), (None, "maverick"), ("admin", "maverick")],
)
def test_validate(persona: str | None, valid: str) -> None:
    assert validate_persona(persona, instance=CENTRAL) == valid


@pytest.mark.parametrize(
    ("query", "current", "intent"),
    [
        ("How do I configure synonyms?", "ae", "technical"),
        ("What does Algolia cost?", None, "ae"),
        ("Show me a case study", "technical", "ae"),
        ("What does the API cost in budget terms?", "technical", "technical"),
        ("What does the API cost in budget terms?", "ae", "ae"),
        ("What does the API cost in budget terms?", None, "ae"),
        ("Who uses InstantSearch?", None, "ae"),
        ("Tell me about yourself", None, "ae"),
        ("Tell me about yourself", "technical", "technical"),
        ("Tell me about yourself", "nonsense", "ae"),
        ("why does `saveObjects` fail", None, "technical"),
        ("what is getUserById", None, "technical"),
        ("what happens in browse()", None, "technical"),
        ("look at src/app/main.py", None, "technical"),
        ("rapid growth", None, "ae"),
    ],
)
def test_guard_intent(query: str, current: str | None, intent: str) -> None:
    assert guard_intent(query, current, instance=CENTRAL) == intent


def test_the_default_intent_is_the_instances() -> None:
    assert guard_intent("Tell me about yourself", instance=DEFAULT) == "technical"
