"""A record as the engine holds it: its words by attribute, its filter terms, its sort values."""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.engine.settings import Settings
from devstack.engine.tokens import split, words_of
from devstack.engine.vocabulary import Words

# Words of different values of one array are never near each other.
VALUE_GAP = 8
MAX_POSITION = 65_535
MAX_SLOTS = 32
# A token that no query can hold: it keeps phrases from matching across values.
BARRIER = "·"

SortValue = float | str | None
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Document:
    """One record. ``words`` holds the word numbers of all slots in a row, ``places`` their
    positions, ``bounds[s]`` to ``bounds[s + 1]`` is slot ``s``. ``facets`` holds the numbers of its
    facet terms. ``body`` is compressed JSON.
    """

    number: int
    object_id: str
    body: bytes
    words: array[int]
    places: array[int]
    bounds: tuple[int, ...]
    sort_values: tuple[SortValue, ...]
    facets: array[int]
    group: str | None

    def record(self) -> dict[str, Any]:
        """The record as it was sent, objectID included."""
        record: dict[str, Any] = json.loads(zlib.decompress(self.body))
        return record


@dataclass(frozen=True, slots=True)
class IndexedText:
    """What tantivy gets of a document: text by slot, filter terms, facet values by attribute."""

    document: Document
    texts: Mapping[int, str]
    terms: Sequence[str]
    numbers: Sequence[tuple[str, float]]
    facet_values: Mapping[str, list[str]]


class Slots:
    """Attribute -> slot. With ``searchableAttributes`` they are fixed; without, every attribute
    that holds text is searchable and gets a slot when it is first seen, all of equal rank.
    """

    def __init__(self, settings: Settings) -> None:
        self.names: list[str] = []
        self.ranks: list[int] = []
        self.ordered: list[bool] = []
        self.open = settings.searchable is None
        for attribute in (settings.searchable or ())[:MAX_SLOTS]:
            self._add(attribute.name, attribute.rank, attribute.ordered)

    def _add(self, name: str, rank: int, ordered: bool) -> None:
        self.names.append(name)
        self.ranks.append(rank)
        self.ordered.append(ordered)

    def discover(self, record: Mapping[str, Any]) -> None:
        """Gives slots to the new attributes of a record, where none are fixed."""
        if self.open:
            for name in record:
                if name not in self.names and name != "objectID" and len(self.names) < MAX_SLOTS:
                    self._add(name, 0, False)


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """The value of an attribute, nested ones by ``a.b``; through arrays, a list of all."""
    if path in record:
        return record[path]
    value: Any = record
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list):
            value = [item.get(part) for item in value if isinstance(item, Mapping)]
        else:
            return None
    return value


def leaves(value: Any) -> Iterator[str | float | bool]:
    """The strings, numbers and booleans inside a value, in order."""
    if isinstance(value, str | bool | int | float):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)


def facet_term(attribute: str, value: str) -> str:
    """The term that a facet comparison looks for: values match in any letter case."""
    return f"{attribute}\x00{value if attribute == '_tags' else value.lower()}"


def number_term(attribute: str, value: float) -> str:
    """The term that a numeric comparison looks for. Source: facts, three decimals."""
    return f"{attribute}\x01{round(value, 3) + 0.0!r}"


def facet_text(value: str | float | bool) -> str:
    """A facet value as responses show it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def numbers_in(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Every number of a record with its attribute's path; a boolean counts as 0 or 1."""
    stack: list[tuple[str, Any]] = list(record.items())
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            continue
        if isinstance(value, int | float):
            # Neither infinity nor NaN can be compared in a filter.
            if abs(value) < 1e300:
                yield path, float(value)
        elif isinstance(value, dict):
            stack.extend((f"{path}.{key}", item) for key, item in value.items())
        elif isinstance(value, list):
            stack.extend((path, item) for item in value if not isinstance(item, str))


def build(
    number: int,
    object_id: str,
    record: Mapping[str, Any],
    settings: Settings,
    slots: Slots,
    vocabulary: Words,
    facet_terms: Words,
) -> IndexedText:
    """The document of a record under these settings, and what tantivy is to index of it."""
    slots.discover(record)
    words: array[int] = array("I")
    places: array[int] = array("H")
    bounds = [0]
    texts: dict[int, str] = {}
    number_of = vocabulary.__getitem__
    for slot, name in enumerate(slots.names):
        slot_words, slot_places, text = _slot(value_at(record, name), name in settings.camel_case)
        if slot_words:
            words.extend(map(number_of, slot_words))
            places.extend(slot_places)
            texts[slot] = text
        bounds.append(len(words))
    frequency = vocabulary.frequency
    for word in set(words):
        frequency[word] += 1
    facets, facet_values = _facets(record, settings)
    numbers = list(numbers_in(record))
    terms = {*facets, *(number_term(attribute, value) for attribute, value in numbers)}
    group_by = settings.get("attributeForDistinct")
    group = next(leaves(value_at(record, group_by)), None) if group_by else None
    body = _encode({**record, "objectID": object_id})
    document = Document(
        number=number,
        object_id=object_id,
        body=zlib.compress(body.encode(), 1),
        words=words,
        places=places,
        bounds=tuple(bounds),
        sort_values=tuple(
            _sort_value(value_at(record, key.attribute)) for key in settings.sort_keys
        ),
        facets=array("I", map(facet_terms.__getitem__, facets)),
        group=None if group is None else facet_text(group),
    )
    return IndexedText(document, texts, tuple(terms), numbers, facet_values)


def _slot(value: Any, camel_case: bool) -> tuple[list[str], Sequence[int], str]:
    if value is None:
        return [], [], ""
    if isinstance(value, str) and not camel_case:
        words = words_of(value)
        # A record is 10 KB at most: its positions fit.
        return words, range(len(words)), " ".join(words)
    words, places, phrases, base = [], [], [], 0
    for leaf in leaves(value):
        text = facet_text(leaf)
        plain: list[str] = []
        compounds: list[str] = []
        last = base - 1
        for word in split(text, camel_case=camel_case):
            last = min(base + word.position, MAX_POSITION)
            words.append(word.text)
            places.append(last)
            (compounds if word.compound else plain).append(word.text)
        if plain:
            phrases.append(" ".join(plain))
            phrases.extend(compounds)
            base = last + VALUE_GAP
    return words, places, f" {BARRIER} ".join(phrases)


def _facets(record: Mapping[str, Any], settings: Settings) -> tuple[set[str], dict[str, list[str]]]:
    terms: set[str] = set()
    facet_values: dict[str, list[str]] = {}
    for attribute in settings.facets:
        values = list(leaves(value_at(record, attribute)))
        for value in values:
            # In a filters string the facet form never matches a number (seed 002, "Filters").
            if isinstance(value, str | bool):
                terms.add(facet_term(attribute, facet_text(value)))
        if values:
            facet_values[attribute] = list(dict.fromkeys(facet_text(value) for value in values))
    for tag in leaves(record.get("_tags")):
        terms.add(facet_term("_tags", facet_text(tag)))
    return terms, facet_values


def _sort_value(value: Any) -> SortValue:
    if isinstance(value, bool | int | float):
        return float(value)
    return value if isinstance(value, str) else None
