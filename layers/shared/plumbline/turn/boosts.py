"""Entities and signals as ``optionalFilters``: they move ranks, never the query or the corpus.

Source: seed 003; Algolia's filter scoring: list elements add up, of a nested list the best counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from plumbline.instance import Instance
from plumbline.turn.entities import Entity, match_values, spot_entities
from plumbline.turn.session import SIGNALS, SignalValue, values_of

# What the question itself names weighs more than what the profile remembers.
QUESTION_FACTOR = 2
MAX_VALUES_PER_ATTRIBUTE = 5
MAX_SCORE = 65_535


def named_entities(
    query: str, entities: Sequence[str], known: Mapping[str, Sequence[str]], instance: Instance
) -> tuple[Entity, ...]:
    """The index's facet values that the question, or the extractor of it, names."""
    boosted = _boosted(known, instance)
    matched = [
        Entity(attribute, value)
        for text in entities
        for attribute, values in boosted.items()
        for value in match_values(text, values)
    ]
    return tuple(dict.fromkeys((*spot_entities(query, boosted), *matched)))


def score_boosts(
    *,
    named: Sequence[Entity],
    signals: Mapping[str, SignalValue],
    known: Mapping[str, Sequence[str]],
    instance: Instance,
) -> dict[Entity, int]:
    """Each facet value to boost, with its score; the values are the index's own.

    Where the question itself names a value of an attribute, the profile's values of it are left
    out: a reader of one product asks about another one now and then.
    """
    base = instance.retrieval.boosts
    boosted = _boosted(known, instance)
    scores = {entity: base[entity.attribute] * QUESTION_FACTOR for entity in named}
    settled = {entity.attribute for entity in named}
    for name in SIGNALS:
        for text in values_of(signals.get(name)):
            for attribute in instance.signal(name).boosts:
                if attribute not in settled:
                    for value in match_values(text, boosted.get(attribute, ())):
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


def _boosted(known: Mapping[str, Sequence[str]], instance: Instance) -> dict[str, Sequence[str]]:
    return {name: known[name] for name in instance.retrieval.boosts if name in known}


def _escaped(value: str) -> str:
    # A leading minus would bury the value instead.
    return "\\" + value if value.startswith("-") else value
