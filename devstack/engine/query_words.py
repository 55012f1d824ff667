"""What each word of a query may match: itself, its plural, a prefix, a typo, a split, a joint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from devstack.engine.english import STOP_WORDS, inflections
from devstack.engine.parameters import SearchParameters
from devstack.engine.tokens import camel_parts, normalise, split
from devstack.engine.vocabulary import VocabularyView

# Algolia joins neighbours among the first words of a query only.
JOINED_WORDS = 5
MAX_SPLIT_HEAD = 12
MAX_WORDS = 64


@dataclass(frozen=True, slots=True)
class Match:
    """How a word of the index answers a word of the query."""

    typos: int
    exact: bool


EXACT, INEXACT = Match(0, True), Match(0, False)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Several words of the index, side by side, that together answer one word of the query."""

    words: tuple[int, ...]
    match: Match


@dataclass(frozen=True)
class QueryWord:
    """One word of the query. ``singles`` maps a word's number to how well it answers; ``count``
    is how often the query has the word.
    """

    text: str
    prefix: bool
    optional: bool
    singles: dict[int, Match] = field(default_factory=dict)
    phrases: tuple[Phrase, ...] = ()
    count: int = 1

    @property
    def answerable(self) -> bool:
        """Whether any record could match."""
        return bool(self.singles or self.phrases)


@dataclass(frozen=True, slots=True)
class Token:
    """A word as it was typed, before anything was made of it."""

    text: str
    raw: str
    prefix: bool
    optional: bool = False
    count: int = 1


def tokens_of(parameters: SearchParameters) -> list[Token]:
    """The words of the query, stop words gone, the optional ones marked.

    A stop word that is read as a prefix stays, and a query of stop words alone stays whole.
    Source: facts, "Semantics"; Algolia's reference, removeStopWords, queryType.
    """
    words = list(split(parameters.query))[:MAX_WORDS]
    query_type = parameters.get("queryType", "prefixLast")
    tokens = [
        Token(
            word.text,
            parameters.query[word.start : word.end],
            query_type == "prefixAll" or (query_type == "prefixLast" and i == len(words) - 1),
        )
        for i, word in enumerate(words)
    ]
    if parameters.english("removeStopWords"):
        kept = [token for token in tokens if token.prefix or token.text not in STOP_WORDS]
        tokens = kept or tokens
    optional = {word.text for entry in parameters.strings("optionalWords") for word in split(entry)}
    return _counted(replace(token, optional=token.text in optional) for token in tokens)


def _counted(tokens: Iterable[Token]) -> list[Token]:
    """Each word once, with how often it stands in the query.

    Algolia does not say what a repeated word is worth; as the words criterion counts words of
    the query, each repeat counts here.
    """
    found: dict[tuple[str, bool], Token] = {}
    for token in tokens:
        key = (token.text, token.prefix)
        known = found.get(key)
        found[key] = token if known is None else replace(known, count=known.count + 1)
    return list(found.values())


def expand(
    tokens: Sequence[Token], parameters: SearchParameters, vocabulary: VocabularyView
) -> list[QueryWord]:
    """The words of the query with everything that they may match in this index."""
    words = [_expand(token, parameters, vocabulary) for token in tokens]
    if parameters.get("typoTolerance", "true") != "false":
        _join(tokens, words, vocabulary)
    return words


def _expand(token: Token, parameters: SearchParameters, vocabulary: VocabularyView) -> QueryWord:
    singles: dict[int, Match] = {}
    if token.prefix:
        singles.update(dict.fromkeys(vocabulary.prefixed(token.text), INEXACT))
    if parameters.english("ignorePlurals"):
        for form in inflections(token.text):
            number = vocabulary.number(form)
            if number is not None:
                singles[number] = _plural_match(parameters)
    number = vocabulary.number(token.text)
    if number is not None:
        singles[number] = EXACT
    phrases: list[Phrase] = []
    if parameters.get("typoTolerance", "true") != "false":
        # An optional word that is answered as typed gets no typos: a record that has it only with
        # one ranks below every record that has it, and as low as one that lacks it. Algolia
        # approximates here too, and says so as ``exhaustiveTypo: false``.
        if not (token.optional and singles):
            _add_typos(token, parameters, vocabulary, singles)
        phrases = _splits(token, parameters, vocabulary)
    return QueryWord(token.text, token.prefix, token.optional, singles, tuple(phrases), token.count)


def _plural_match(parameters: SearchParameters) -> Match:
    alternatives = parameters.get("alternativesAsExact", ["ignorePlurals"])
    return EXACT if "ignorePlurals" in alternatives else INEXACT


def _add_typos(
    token: Token,
    parameters: SearchParameters,
    vocabulary: VocabularyView,
    singles: dict[int, Match],
) -> None:
    """One edit from 4 letters on, two from 8; an edit of the first letter counts once more."""
    edits = allowed_typos(token.text, parameters)
    if not edits:
        return
    near = vocabulary.near(token.text, edits, prefix=token.prefix)
    fresh = [number for number in near if number not in singles]
    texts = vocabulary.words.texts
    for number in vocabulary.commonest(fresh):
        first_letter = texts[number][:1] != token.text[:1]
        singles[number] = Match(near[number] + first_letter, False)


def allowed_typos(word: str, parameters: SearchParameters) -> int:
    """How many edits a word of the query may be away."""
    if word.isdigit() and parameters.get("allowTyposOnNumericTokens", True) is False:
        return 0
    if len(word) >= parameters.get("minWordSizefor2Typos", 8):
        return 2
    return 1 if len(word) >= parameters.get("minWordSizefor1Typo", 4) else 0


def _splits(token: Token, parameters: SearchParameters, vocabulary: VocabularyView) -> list[Phrase]:
    """The word as several: by its camelCase, and as the two words that records have most.

    Algolia cuts in two only and does not say what it costs: one typo here. The reader's own
    camelCase is taken as the spaces that it stands for, at no cost: UserById finds getUserById.
    """
    phrases: list[Phrase] = []
    parts = [normalise(part) for part in camel_parts(token.raw)]
    numbers = [vocabulary.number(part) for part in parts]
    if len(parts) > 1 and all(number is not None for number in numbers):
        phrases.append(Phrase(tuple(n for n in numbers if n is not None), INEXACT))
    word = token.text
    if len(word) >= parameters.get("minWordSizefor1Typo", 4):
        frequency = vocabulary.words.frequency
        best: tuple[int, tuple[int, int]] | None = None
        for cut in range(1, min(len(word) - 1, MAX_SPLIT_HEAD) + 1):
            head, tail = vocabulary.number(word[:cut]), vocabulary.number(word[cut:])
            if head is not None and tail is not None:
                weight = min(frequency[head], frequency[tail])
                if best is None or weight > best[0]:
                    best = (weight, (head, tail))
        if best is not None and all(best[1] != phrase.words for phrase in phrases):
            phrases.append(Phrase(best[1], Match(1, False)))
    return phrases


def _join(tokens: Sequence[Token], words: Sequence[QueryWord], vocabulary: VocabularyView) -> None:
    """Neighbours written as one word answer both, at the cost of one typo."""
    joints: list[tuple[int, int]] = [(i, 2) for i in range(min(len(tokens), JOINED_WORDS) - 1)]
    if len(tokens) > 2:
        joints.append((0, len(tokens)))
    for start, length in joints:
        number = vocabulary.number("".join(t.text for t in tokens[start : start + length]))
        if number is None:
            continue
        for offset in range(length):
            words[start + offset].singles.setdefault(number, Match(0 if offset else 1, False))
