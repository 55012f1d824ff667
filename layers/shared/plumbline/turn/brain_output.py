"""BrainOutput: what the extractor says of one message, made safe. Source: seed 000, BrainOutput."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from plumbline.instance import Intent
from plumbline.turn.ladder import FILTER_ATTRIBUTES, MAX_FILTER_VALUES
from plumbline.turn.language_model import Usage
from plumbline.turn.plain_text import plain_text
from plumbline.turn.session import MANY_VALUED, MAX_CONCEPTS, SIGNALS, SignalValue

MAX_VALUE_CHARS = 120
MAX_QUERY_CHARS = 500
MAX_ENTITIES = 10
MAX_JSON_CHARS = 64_000

# What models write where null was asked for.
_NOTHING = frozenset(
    ["", "-", "any", "false", "n/a", "na", "nil", "none", "not given", "not mentioned"]
).union(["not specified", "not stated", "null", "true", "undefined", "unknown", "unspecified"])

_TEXT_OR_NULL: Mapping[str, object] = {"type": ["string", "null"]}
_TEXTS: Mapping[str, object] = {"type": "array", "items": {"type": "string"}}

# The form the extractor is asked for, as JSON Schema.
BRAIN_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "intent": {"type": "string", "enum": ["ae", "technical"]},
        "onion_signals": {
            "type": "object",
            "properties": {
                name: {**_TEXTS} if name == MANY_VALUED else {**_TEXT_OR_NULL} for name in SIGNALS
            },
            "required": list(SIGNALS),
        },
        "entities": {**_TEXTS},
        "search_query": {"type": "string"},
        "keyword_query": {"type": "string"},
        "discovery_question": {**_TEXT_OR_NULL},
        "discovery_field": {"type": ["string", "null"], "enum": [*SIGNALS, None]},
        "filters": {
            "type": "object",
            "properties": {name: {**_TEXTS} for name in FILTER_ATTRIBUTES},
        },
    },
    "required": ["intent", "onion_signals", "entities", "search_query", "keyword_query"],
}


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BrainOutput:
    """One extraction. Every text is plain and bounded; what was not said is absent.

    ``failed`` is True for the safe fallback: no signal, the reader's own words as the query.
    """

    search_query: str
    keyword_query: str
    intent: Intent | None = None
    onion_signals: Mapping[str, SignalValue] = field(default_factory=_nothing)
    entities: tuple[str, ...] = ()
    discovery_question: str | None = None
    discovery_field: str | None = None
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    usage: Usage = field(default_factory=Usage)
    failed: bool = False


def fallback_output(query: str, *, usage: Usage | None = None) -> BrainOutput:
    """What a turn goes on with when the extraction fails. Source: seed 000, extractSignals."""
    return BrainOutput(query, query, usage=usage or Usage(), failed=True)


def parse_brain_output(text: str, query: str, *, usage: Usage | None = None) -> BrainOutput:
    """The extractor's JSON, field by field: a field of the wrong kind counts as not said.

    Raises ``ValueError`` for what is no JSON object, cut off, or without ``onion_signals``.
    """
    if len(text) > MAX_JSON_CHARS:
        raise ValueError("the extraction is too long")
    try:
        answer = json.loads(text)
    except RecursionError as exc:
        raise ValueError("the extraction is nested too deeply") from exc
    if not isinstance(answer, dict) or not isinstance(answer.get("onion_signals"), dict):
        raise ValueError("the extraction is not of the form that was asked for")
    asked_field = answer.get("discovery_field")
    return BrainOutput(
        intent=answer["intent"] if answer.get("intent") in ("ae", "technical") else None,
        onion_signals=MappingProxyType(_signals(answer["onion_signals"])),
        entities=_values(answer.get("entities"))[:MAX_ENTITIES],
        search_query=_query(answer.get("search_query")) or query,
        keyword_query=_query(answer.get("keyword_query")) or query,
        discovery_question=_question(answer.get("discovery_question")),
        discovery_field=asked_field if asked_field in SIGNALS else None,
        filters=MappingProxyType(_filters(answer.get("filters"))),
        usage=usage or Usage(),
    )


def _signals(raw: Mapping[str, object]) -> dict[str, SignalValue]:
    signals: dict[str, SignalValue] = {}
    for name in SIGNALS:
        values = _values(raw.get(name))
        if name == MANY_VALUED and values:
            signals[name] = values[:MAX_CONCEPTS]
        elif len(values) == 1:
            signals[name] = values[0]
    return signals


def _values(raw: object) -> tuple[str, ...]:
    """One text or a list of texts as plain values, without repeats and placeholders."""
    items = raw if isinstance(raw, list) else [raw]
    values = [plain_text(item, MAX_VALUE_CHARS) for item in items if isinstance(item, str)]
    return tuple(dict.fromkeys(value for value in values if value.casefold() not in _NOTHING))


def _query(raw: object) -> str:
    if not isinstance(raw, str):
        return ""
    # A query keeps its code names, so it is bounded but not made plain: it is never shown.
    return " ".join(raw.split())[:MAX_QUERY_CHARS]


def _question(raw: object) -> str | None:
    text = plain_text(raw) if isinstance(raw, str) else ""
    return text if text.casefold() not in _NOTHING else None


def _filters(raw: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(raw, dict):
        return {}
    found = {name: _values(raw.get(name))[:MAX_FILTER_VALUES] for name in FILTER_ATTRIBUTES}
    return {name: values for name, values in found.items() if values}
