"""``_highlightResult`` and ``_snippetResult``: which words of a hit answered the query."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.engine.parameters import SearchParameters
from devstack.engine.query_words import QueryWord
from devstack.engine.text_index import Snapshot
from devstack.engine.tokens import Word, split

DEFAULT_SNIPPET_WORDS = 10
# Source: facts, "Semantics": highlighting stops after this many characters of a result set.
MAX_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    word: int


class Highlighter:
    """Marks the words of one query in the hits of one response.

    The text around the marks is left as it is: whoever shows it escapes it.
    """

    def __init__(
        self, snapshot: Snapshot, words: Sequence[QueryWord], parameters: SearchParameters
    ) -> None:
        self._snapshot = snapshot
        self._words = words
        settings = snapshot.settings
        self._camel_case = settings.camel_case
        self._before = parameters.get("highlightPreTag", "<em>")
        self._after = parameters.get("highlightPostTag", "</em>")
        self._ellipsis = parameters.get("snippetEllipsisText", "…")
        self._only_matches = parameters.flag("restrictHighlightAndSnippetArrays")
        chosen = parameters.values.get("attributesToHighlight")
        self._highlighted = list(snapshot.slot_names) if chosen is None else list(chosen)
        self._snippets = dict(
            _snippet_size(entry) for entry in parameters.get("attributesToSnippet", [])
        )
        self._characters = MAX_CHARACTERS
        self._answers: dict[str, list[int]] = {}
        texts = snapshot.vocabulary.words.texts
        for i, word in enumerate(words):
            for number in word.singles:
                self._answers.setdefault(texts[number], []).append(i)
        self._phrases = [
            (i, [texts[number] for number in phrase.words])
            for i, word in enumerate(words)
            for phrase in word.phrases
        ]

    def highlights(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The ``_highlightResult`` of a hit."""
        return self._walk(record, self._highlighted, self._highlight)

    def snippets(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The ``_snippetResult`` of a hit."""
        return self._walk(record, list(self._snippets), self._snippet)

    def _walk(
        self,
        record: Mapping[str, Any],
        attributes: Sequence[str],
        mark: Callable[[str, str], dict[str, Any]],
    ) -> dict[str, Any]:
        everything = "*" in attributes
        heads = {attribute.split(".")[0] for attribute in attributes}
        result: dict[str, Any] = {}
        for name, value in record.items():
            if name == "objectID" or not (everything or name in heads):
                continue
            marked = self._value(name, value, attributes, everything, mark)
            if marked is not None:
                result[name] = marked
        return result

    def _value(
        self,
        path: str,
        value: Any,
        attributes: Sequence[str],
        everything: bool,
        mark: Callable[[str, str], dict[str, Any]],
    ) -> Any:
        wanted = everything or any(path == a or path.startswith(a + ".") for a in attributes)
        if isinstance(value, Mapping):
            inner = {
                key: marked
                for key, item in value.items()
                if (marked := self._value(f"{path}.{key}", item, attributes, everything, mark))
                is not None
            }
            return inner or None
        if isinstance(value, list):
            items = [self._value(path, item, attributes, everything, mark) for item in value]
            marked_items = [item for item in items if item is not None]
            if self._only_matches:
                marked_items = [i for i in marked_items if i.get("matchLevel") != "none"]
            return marked_items if marked_items or wanted else None
        if not wanted or value is None or isinstance(value, bool):
            return None
        if isinstance(value, str | int | float):
            return mark(path, str(value))
        return None

    def _highlight(self, path: str, text: str) -> dict[str, Any]:
        if self._characters <= 0:
            return {"value": text, "matchLevel": "none", "matchedWords": []}
        self._characters -= len(text)
        words, spans = self._spans(path, text)
        return self._result(text, spans, words)

    def _result(self, text: str, spans: Sequence[_Span], words: Sequence[Word]) -> dict[str, Any]:
        matched = [self._words[i].text for i in sorted({span.word for span in spans})]
        result: dict[str, Any] = {
            "value": self._marked(text, spans),
            "matchLevel": self._level(spans),
            "matchedWords": matched,
        }
        if spans:
            covered = sum(span.end - span.start for span in _merged(spans))
            result["fullyHighlighted"] = covered == sum(
                word.end - word.start for word in words if not word.compound
            )
        return result

    def _level(self, spans: Sequence[_Span]) -> str:
        count = len({span.word for span in spans})
        return "none" if not count else "full" if count == len(self._words) else "partial"

    def _spans(self, path: str, text: str) -> tuple[list[Word], list[_Span]]:
        words = list(split(text, camel_case=path in self._camel_case))
        spans: list[_Span] = []
        for word in words:
            for i in self._answers.get(word.text, ()):
                query = self._words[i]
                # Of a prefix match only the letters that were typed are marked.
                typed = query.prefix and word.text.startswith(query.text)
                end = word.start + len(query.text) if typed else word.end
                spans.append(_Span(word.start, min(end, word.end), i))
        simple = [word for word in words if not word.compound] if self._phrases else []
        for i, phrase in self._phrases:
            for at, word in enumerate(simple):
                if word.text == phrase[0]:
                    window = simple[at : at + len(phrase)]
                    if [one.text for one in window] == phrase:
                        spans.extend(_Span(one.start, one.end, i) for one in window)
        return words, spans

    def _marked(self, text: str, spans: Sequence[_Span]) -> str:
        pieces, at = [], 0
        for span in _merged(spans):
            pieces += [text[at : span.start], self._before, text[span.start : span.end]]
            pieces.append(self._after)
            at = span.end
        return "".join([*pieces, text[at:]])

    def _snippet(self, path: str, text: str) -> dict[str, Any]:
        size = next(
            (self._snippets[a] for a in self._snippets if a == path or path.startswith(a + ".")),
            self._snippets.get("*", DEFAULT_SNIPPET_WORDS),
        )
        words, spans = self._spans(path, text)
        plain = [word for word in words if not word.compound]
        first, last = _best_window(plain, spans, size)
        if first >= last:
            return {"value": "", "matchLevel": "none"}
        start = plain[first].start if first else 0
        end = plain[last - 1].end if last < len(plain) else len(text)
        inside = [
            _Span(span.start - start, span.end - start, span.word)
            for span in spans
            if start <= span.start and span.end <= end
        ]
        value = self._marked(text[start:end], inside)
        value = f"{self._ellipsis if first else ''}{value}"
        value += self._ellipsis if last < len(plain) else ""
        return {"value": value, "matchLevel": self._level(inside)}


def _merged(spans: Sequence[_Span]) -> list[_Span]:
    """Overlapping spans as one; spans that only touch stay apart."""
    merged: list[_Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = _Span(last.start, max(last.end, span.end), last.word)
        else:
            merged.append(span)
    return merged


def _best_window(words: Sequence[Word], spans: Sequence[_Span], size: int) -> tuple[int, int]:
    """The stretch of ``size`` words with the most different words of the query, centred."""
    if len(words) <= size or not spans:
        return 0, min(size, len(words))
    hits = sorted(
        (i, span.word)
        for i, word in enumerate(words)
        for span in spans
        if word.start <= span.start < word.end
    )
    if not hits:
        return 0, size
    best, best_count = (hits[0][0], hits[0][0]), 0
    for at, _ in hits:
        inside = [(i, query) for i, query in hits if at <= i < at + size]
        count = len({query for _, query in inside})
        if count > best_count:
            best, best_count = (at, inside[-1][0]), count
    slack = size - (best[1] - best[0] + 1)
    first = min(max(0, best[0] - slack // 2), len(words) - size)
    return first, first + size


_SNIPPET = re.compile(r"^(.+?)(?::(\d{1,4}))?$")


def _snippet_size(entry: str) -> tuple[str, int]:
    match = _SNIPPET.match(entry)
    if match is None:
        return entry, DEFAULT_SNIPPET_WORDS
    return match[1], int(match[2]) if match[2] else DEFAULT_SNIPPET_WORDS
