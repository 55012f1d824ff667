"""Numbers and code names that no source has: listed, never removed (design, decision 10)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from plumbline.audit.bare_addresses import explicit_addresses
from plumbline.audit.markdown import survey
from plumbline.audit.regions import References, Survey, TooComplex
from plumbline.audit.values import Value, ValueSet, values
from plumbline.sources import Source

MAX_LISTED = 50
MAX_READ = 64 * 1024
_NOTEWORTHY = re.compile(r"[\d`_(]|\w\.\w|[a-z][A-Z]")

# CamelCase, dotted, snake_case and call() names in running text.
_CODE_NAME = re.compile(
    r"(?<![\w./@-])(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?|[A-Za-z_]\w*\(\)"
    r"|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|[a-z]+\d*(?:[A-Z][a-z0-9]+)+"
    r"|_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_{0,2})(?![\w/-])"
)
_IN_TICKS = re.compile(r"`+([^`\n]+)`+")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_NAME_PARTS = re.compile(r"[A-Za-z_][\w.]*")
_NO_NAME = frozenset(("e.g", "i.e", "a.m", "p.m", "u.s"))


class UnverifiedNames:
    """Collects over a turn what the sources and the question do not have."""

    def __init__(self, sources: Sequence[Source], question: str) -> None:
        texts = [question]
        for source in sources:
            texts.extend((source.title, source.content, source.file_path or "", source.url or ""))
        self._text = "\n".join(texts)
        self._words: frozenset[str] | None = None
        self._values: ValueSet | None = None
        self._digits: frozenset[str] | None = None
        self._lines = frozenset(
            float(line)
            for source in sources
            for line in (source.line_start, source.line_end, source.n)
            if line is not None
        )
        self._found: dict[str, None] = {}

    @property
    def found(self) -> tuple[str, ...]:
        """What was found so far, in the order of its first use, at most 50."""
        return tuple(self._found)[:MAX_LISTED]

    def read(
        self, content: str, references: References | None = None, seen: Survey | None = None
    ) -> None:
        """Takes one audited paragraph in; ``seen`` is its survey, if there is one already."""
        for item in self.missing(content, references, seen):
            if len(self._found) >= MAX_LISTED:
                return
            self._found.setdefault(item)

    def missing(
        self, content: str, references: References | None = None, seen: Survey | None = None
    ) -> Iterator[str]:
        """The numbers and code names of a text that neither sources nor question have."""
        if len(content) > MAX_READ or not _NOTEWORTHY.search(content):
            return
        if seen is None or seen.text != content:
            try:
                seen = survey(content, references)
            except TooComplex:
                return
        plain = _running_text(seen)
        for name in code_names(content, plain):
            if not self._knows_name(name):
                yield name
        for value in values(_CODE_NAME.sub(" ", plain)):
            if self._counts(value) and not self._knows_value(value):
                yield value.text

    def _knows_name(self, name: str) -> bool:
        if self._words is None:
            self._words = frozenset(
                part.casefold()
                for word in _NAME_PARTS.findall(self._text)
                for part in (word.rstrip("."), *word.split("."))
            )
        bare = name.removesuffix("()").casefold()
        if bare in self._words or name in self._text:
            return True
        # ``module.Class.method`` is known if each of its parts is.
        return "." in bare and all(part in self._words for part in bare.split("."))

    def _knows_value(self, value: Value) -> bool:
        if self._values is None:
            self._values = ValueSet.of(self._text)
        if not value.unit and not value.scaled and value.magnitude in self._lines:
            return True
        if self._values.has(value, strict=False):
            return True
        # The same digits in another dress: "401(k)" and "401k", a date and its parts.
        if self._digits is None:
            self._digits = frozenset(_DIGITS.findall(self._text))
        return not value.scaled and all(d in self._digits for d in _DIGITS.findall(value.text))

    @staticmethod
    def _counts(value: Value) -> bool:
        # Small counts and numbers in words are the writer's own arithmetic.
        return not value.word and (bool(value.unit) or value.scaled or value.magnitude > 3)


def code_names(content: str, plain: str) -> Iterator[str]:
    """The code names of a text: back-quoted, CamelCase, dotted, with underscores, ``call()``."""
    for match in _IN_TICKS.finditer(content):
        name = match[1].strip()
        if re.fullmatch(r"[A-Za-z_@.][\w.:]*(?:\([^()]*\))?", name) and len(name) <= 80:
            yield re.sub(r"\(.*\)\Z", "()", name.lstrip("@.").replace("::", "."))
    for match in _CODE_NAME.finditer(plain):
        if match[0].lower() not in _NO_NAME:
            yield match[0]


def _running_text(seen: Survey) -> str:
    """The text outside code, destinations and list numbers."""
    parts = []
    for region in seen.regions:
        chars = list(region.free_text())
        for span in region.spans:
            label = region.content[span.label_start : span.label_end]
            if span.kind == "link" and re.fullmatch(r"[\d,; ]+", label):
                for i in range(span.label_start, span.label_end):
                    chars[i] = " "
        parts.append("".join(chars).replace("\x00", " "))
    return re.sub(r"(?<!\w)\[\d+\]|https?://\S+", " ", "\n".join(parts))


def addresses_in(text: str) -> list[str]:
    """The addresses that a reader wrote out in a question."""
    found = [text[start:end] for start, end in explicit_addresses(text)]
    return [f"https://{url}" if url[:4].lower() == "www." else url for url in found]
