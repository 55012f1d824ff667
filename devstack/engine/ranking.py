"""The eight criteria, one after the other, as a strict tie-break over the candidates."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.engine.documents import Document
from devstack.engine.english import STOP_WORDS
from devstack.engine.parameters import SearchParameters
from devstack.engine.query_words import Match, QueryWord
from devstack.engine.text_index import Snapshot, sort_key

FARTHEST = 8
# The attribute criterion looks at the first thousand words of an attribute (getRankingInfo).
POSITIONS = 1000
_SLOT_SHIFT = 16
_UNMATCHED = 31 * POSITIONS


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document with the values of its criteria. ``key`` orders documents, smaller first."""

    document: Document
    typos: int
    words: int
    filters: int
    proximity: int
    attribute: int
    exact: int
    key: tuple[Any, ...]


class Ranker:
    """Ranks documents against the words of one query."""

    def __init__(
        self,
        snapshot: Snapshot,
        words: Sequence[QueryWord],
        slots: Sequence[int],
        parameters: SearchParameters,
        filter_score: Callable[[Document], int] | None,
    ) -> None:
        self._snapshot = snapshot
        self._words = words
        self._slots = frozenset(slots)
        self._filter_score = filter_score
        self._wanted: dict[int, list[tuple[int, Match]]] = {}
        self._phrases: dict[int, list[tuple[int, tuple[int, ...], Match]]] = {}
        for i, word in enumerate(words):
            for number, match in word.singles.items():
                self._wanted.setdefault(number, []).append((i, match))
            for phrase in word.phrases:
                entry = (i, phrase.words, phrase.match)
                self._phrases.setdefault(phrase.words[0], []).append(entry)
                self._wanted.setdefault(phrase.words[0], [])
        self._nearest = parameters.get("minProximity", 1)
        self._sum_attributes = parameters.get("attributeCriteriaComputedBy") == "sum"
        self._best_attribute = self._uses_best_attribute(parameters)
        self._exact_rule = parameters.get("exactOnSingleWordQuery", "attribute")
        without_exact = set(parameters.get("disableExactOnAttributes", []))
        self._exact_slots = frozenset(
            slot for slot, name in enumerate(snapshot.slot_names) if name not in without_exact
        )
        self._criteria = self._forced_typo_first(snapshot.settings.criteria, parameters)

    def _uses_best_attribute(self, parameters: SearchParameters) -> bool:
        """Attribute before Proximity: the best attribute counts, wherever the words are close.

        Source: Algolia's reference, attributeCriteriaComputedBy.
        """
        criteria = self._snapshot.settings.criteria
        if "attribute" not in criteria or "proximity" not in criteria:
            return "attribute" in criteria
        first = criteria.index("attribute") < criteria.index("proximity")
        by = parameters.get("attributeCriteriaComputedBy", "best")
        return (
            first
            and by == "best"
            and not parameters.flag("attributeCriteriaComputedByMinProximity")
        )

    @staticmethod
    def _forced_typo_first(
        criteria: tuple[str, ...], parameters: SearchParameters
    ) -> tuple[str, ...]:
        if parameters.get("typoTolerance", "true") in ("min", "strict") and "typo" in criteria:
            return ("typo", *(name for name in criteria if name != "typo"))
        return criteria

    def ranked(self, documents: Sequence[Document]) -> list[RankedDocument]:
        """The documents, best first; equal ones in the order in which they were written."""
        if not self._words and self._filter_score is None:
            place = self._snapshot.places_without_query
            documents = sorted(documents, key=lambda document: place[document.number])
            return [RankedDocument(one, 0, 0, 0, 0, 0, 0, ()) for one in documents]
        return sorted(map(self.rank, documents), key=lambda ranked: ranked.key)

    def rank(self, document: Document) -> RankedDocument:
        """One document with its criteria."""
        occurrences, exact = self._occurrences(document)
        typos, matched = self._matched(occurrences)
        count = sum(self._words[i].count for i in matched)
        proximity, attribute = self._places([occurrences[i][matched[i]] for i in matched])
        if self._sum_attributes:
            attribute = self._sum_of_attributes(occurrences, matched)
        filters = self._filter_score(document) if self._filter_score else 0
        values = {
            "typo": typos,
            "geo": 0,
            "words": -count,
            "filters": -filters,
            "proximity": proximity,
            "attribute": attribute,
            "exact": -exact,
        }
        keys = self._snapshot.settings.sort_keys
        key = tuple(
            values[name]
            if name in values
            else sort_key(document.sort_values[int(name[5:])], keys[int(name[5:])])
            for name in self._criteria
        )
        return RankedDocument(
            document,
            typos,
            count,
            filters,
            proximity,
            attribute,
            exact,
            (*key, document.number),
        )

    def _occurrences(self, document: Document) -> tuple[list[dict[int, list[int]]], int]:
        """For each word of the query: typos -> places, a place being slot and position in one
        number; and how many words match exactly."""
        found: list[dict[int, list[int]]] = [{} for _ in self._words]
        exact = [False] * len(self._words)
        places, bounds = document.places, document.bounds
        wanted = self._wanted
        single = len(self._words) == 1
        slot, stop = 0, bounds[1] if len(bounds) > 1 else 0
        for at in [at for at, number in enumerate(document.words) if number in wanted]:
            while at >= stop:
                slot += 1
                stop = bounds[slot + 1]
            if slot not in self._slots:
                continue
            number = document.words[at]
            place = slot << _SLOT_SHIFT | places[at]
            for word, match in wanted[number]:
                found[word].setdefault(match.typos, []).append(place)
                if match.exact and slot in self._exact_slots and not exact[word]:
                    exact[word] = not single or self._single_exact(document, at, bounds[slot], stop)
            for word, phrase, match in self._phrases.get(number, ()):
                if _follows(document, at, stop, phrase):
                    found[word].setdefault(match.typos, []).append(place)
        return found, sum(w.count for w, one in zip(self._words, exact, strict=True) if one)

    def _single_exact(self, document: Document, at: int, start: int, stop: int) -> bool:
        """``exactOnSingleWordQuery``: the whole value (default), or any word worth the name."""
        if self._exact_rule == "none":
            return False
        text = self._words[0].text
        if self._exact_rule == "word":
            return len(text) >= 3 and text not in STOP_WORDS
        places, numbers = document.places, document.words
        if at > start and places[at - 1] >= places[at] - 1:
            return False
        # A camelCase word stands before its parts: they spell it again, and then the value ends.
        texts, spelled, after = self._snapshot.vocabulary.words.texts, "", at + 1
        whole = texts[numbers[at]]
        while after < stop and len(spelled) < len(whole):
            if places[after] > places[after - 1] + 1 or not (
                spelled or places[after] == places[at]
            ):
                break
            spelled += texts[numbers[after]]
            after += 1
        if spelled and spelled != whole:
            return False
        return after >= stop or places[after] > places[after - 1] + 1

    def _matched(self, occurrences: Sequence[dict[int, list[int]]]) -> tuple[int, dict[int, int]]:
        """The document's typos, and for each word that counts, the typos that it counts with.

        An optional word matched with a typo does not count beside better ones: typos come before
        words, so leaving the word out ranks the record higher. Algolia does not say what it does.
        """
        matched: dict[int, int] = {}
        for i, (word, places) in enumerate(zip(self._words, occurrences, strict=True)):
            if places:
                typos = min(places)
                if typos == 0 or not word.optional:
                    matched[i] = typos
        if not matched:
            best = min(
                ((min(places), i) for i, places in enumerate(occurrences) if places), default=None
            )
            if best is not None:
                matched[best[1]] = best[0]
        return sum(self._words[i].count * typos for i, typos in matched.items()), matched

    def _places(self, places: Sequence[list[int]]) -> tuple[int, int]:
        """Proximity, the sum over neighbouring words of the query, and the attribute criterion."""
        if not places:
            return 0, 0
        if len(places) == 1 or self._best_attribute:
            attribute = min(self._position(place) for one in places for place in one)
            if len(places) == 1:
                return 0, attribute
            return sum(
                max(_nearest(a, b)[0], self._nearest) for a, b in itertools.pairwise(places)
            ), attribute
        total, attribute = 0, _UNMATCHED
        closest = FARTHEST + 1
        for left, right in itertools.pairwise(places):
            distance, at = _nearest(left, right)
            total += max(distance, self._nearest)
            if distance < closest:
                closest, attribute = distance, _UNMATCHED
            if distance == closest:
                if distance == FARTHEST:
                    at = min((left[0], right[0]), key=self._position)
                attribute = min(attribute, self._position(at))
        return total, attribute

    def _sum_of_attributes(
        self, occurrences: Sequence[dict[int, list[int]]], matched: dict[int, int]
    ) -> int:
        return sum(
            self._words[i].count
            * (
                min(self._position(place) for place in places[matched[i]])
                if i in matched
                else _UNMATCHED
            )
            for i, places in enumerate(occurrences)
        )

    def _position(self, place: int) -> int:
        """Attribute rank times 1000 plus the position, where the attribute is ordered."""
        slot = place >> _SLOT_SHIFT
        rank = self._snapshot.slot_ranks[slot] * POSITIONS
        if not self._snapshot.slot_ordered[slot]:
            return rank
        return rank + min(place & 0xFFFF, POSITIONS - 1)


def _follows(document: Document, at: int, stop: int, phrase: tuple[int, ...]) -> bool:
    numbers, places = document.words, document.places
    for step, number in enumerate(phrase[1:], 1):
        target = places[at] + step
        # A compound may stand between a word and its neighbour.
        near = range(at + 1, min(at + 2 + 3 * step, stop))
        if not any(places[i] == target and numbers[i] == number for i in near):
            return False
    return True


def _nearest(left: Sequence[int], right: Sequence[int]) -> tuple[int, int]:
    """The smallest distance between two words' places, and where it is (the first of the two).

    In the query's order neighbours are 1 apart; the other way round costs one more, which is
    how the engine's authors describe proximity elsewhere; Algolia's pages do not say.
    """
    best, at = FARTHEST, left[0]
    for place in left:
        i = bisect_left(right, place)
        if i < len(right) and (distance := max(right[i] - place, 1)) < best:
            best, at = distance, place
        if i and (distance := place - right[i - 1] + 1) < best:
            best, at = distance, right[i - 1]
        if best == 1:
            break
    return best, at
