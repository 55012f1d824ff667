"""Entities and signals as ``optionalFilters``: they move ranks, never the query or the corpus.

Source: seed 003; Algolia's filter scoring: list elements add up, of a nested list the best counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from plumbline.instance import Instance
from plumbline.turn.entities import Entity, match_values, spot_entities
from plumbline.turn.session import SIGNALS, SignalValue

# What the question itself names weighs more than what the profile remembers.
QUESTION_FACTOR = 2
MAX_VALUES_PER_ATTRIBUTE = 5
MAX_SCORE = 65_535


def score_boosts(
    *,
    query: str,
    entities: Sequence[str],
    signals: Mapping[str, SignalValue],
    known: Mapping[str, Sequence[str]],
    instance: Instance,
) -> dict[Entity, int]:
    """Each facet value to boost, with its score; the values are the index's own.

    Where the question itself names a value of an attribute, the profile's values of it are left
    out: a reader of one product asks about another one now and then.
    """
    base = instance.retrieval.boosts
    known = {attribute: known[attribute] for attribute in base if attribute in known}
    scores: dict[Entity, int] = {}
    for text in entities:
        for attribute, values in known.items():
            for value in match_values(text, values):
                scores[Entity(attribute, value)] = base[attribute] * QUESTION_FACTOR
    for entity in spot_entities(query, known):
        scores[entity] = base[entity.attribute] * QUESTION_FACTOR
    named = {entity.attribute for entity in scores}
    for name in SIGNALS:
        for text in _texts(signals.get(name)):
            for attribute in instance.signal(name).boosts:
                for value in match_values(text, known.get(attribute, ())):
                    if attribute not in named:
                        scores[Entity(attribute, value)] = base[attribute]
    return scores


def optional_filters(
    scores: Mapping[Entity, int], *, leave_out: Iterable[str] = ()
) -> list[list[str]]:
    """Algolia's ``optionalFilters``: one nested list an attribute, best scores first."""
    left_out = set(leave_out)
    groups: dict[str, list[tuple[int, str]]] = {}
    for entity, score in scores.items():
        if entity.attribute not in left_out and "<score=" not in entity.value:
            groups.setdefault(entity.attribute, []).append((score, entity.value))
    return [
        [
            f"{attribute}:{_escaped(value)}<score={min(score, MAX_SCORE)}>"
            for score, value in sorted(group, key=lambda item: (-item[0], item[1]))[
                :MAX_VALUES_PER_ATTRIBUTE
            ]
        ]
        for attribute, group in sorted(groups.items())
    ]


def _escaped(value: str) -> str:
    # A leading minus would bury the value instead.
    return "\\" + value if value.startswith("-") else value


def _texts(value: SignalValue | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value
