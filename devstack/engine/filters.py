"""Filters: Algolia's ``filters`` grammar, and its array forms, as an AND of ORs.

    filters  := clause (AND clause)*
    clause   := leaf (OR leaf)* | '(' leaf (OR leaf)* ')'
    leaf     := [NOT] ( name:value[<score=N>] | name:low TO high | name op number | tag )

Without parentheses OR binds tighter than AND, so that every filter is an AND of ORs; Algolia's
pages show no other reading, but never say so outright.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from devstack.engine.errors import BadRequest

OPERATORS = ("<=", ">=", "!=", "=", "<", ">")
MAX_SCORE = 65535
_TOKEN = re.compile(
    r"""\s*(?:(?P<paren>[()])
    |(?P<quoted>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<score><score=(?P<points>\d+)>)
    |(?P<op><=|>=|!=|=|<|>|:)
    |(?P<bare>(?:\\.|[^\s()"':<>=!])(?:\\.|(?!!=)[^\s()":<>=])*))""",
    re.VERBOSE,
)
_SCORE = re.compile(r"<score=(\d+)>$")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One comparison. ``operator`` is ":" for a facet or a tag, "TO" for a range."""

    attribute: str
    operator: str
    value: str = ""
    low: float = 0.0
    high: float = 0.0
    negated: bool = False
    score: int = 1

    @property
    def kind(self) -> Literal["facetFilter", "numericFilter", "tagFilter"]:
        """The type that may not be mixed with another in one OR."""
        if self.operator != ":":
            return "numericFilter"
        return "tagFilter" if self.attribute == "_tags" else "facetFilter"


# An AND of ORs.
Filter = tuple[tuple[Leaf, ...], ...]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._end = len(text)

    def parse(self) -> Filter:
        groups = [self._clause()]
        while (token := self._next()) is not None:
            if token.kind == "bare" and token.text == "OR":
                raise BadRequest(
                    "filters: (X AND Y) OR Z is not allowed, only (X OR Y) AND Z is allowed"
                )
            if token.kind != "bare" or token.text != "AND":
                raise _unexpected(token, "AND, OR or end of filter")
            groups.append(self._clause())
        return tuple(groups)

    def _clause(self) -> tuple[Leaf, ...]:
        token = self._peek()
        if token is not None and token.text == "(" and token.kind == "paren":
            self._at += 1
            group = self._ors()
            closing = self._next()
            if closing is not None and closing.kind == "bare" and closing.text == "AND":
                raise BadRequest(
                    "filters: (X AND Y) OR Z is not allowed, only (X OR Y) AND Z is allowed"
                )
            if closing is None or closing.text != ")":
                raise _unexpected(closing, ")", self._end)
            return _same_kind(group)
        return _same_kind(self._ors())

    def _ors(self) -> list[Leaf]:
        group = [self._leaf()]
        while (token := self._peek()) is not None and token.kind == "bare" and token.text == "OR":
            self._at += 1
            group.append(self._leaf())
        return group

    def _leaf(self) -> Leaf:
        token = self._next()
        negated = token is not None and token.kind == "bare" and token.text == "NOT"
        if negated:
            token = self._next()
            if token is not None and token.text == "(" and token.kind == "paren":
                raise BadRequest("filters: NOT is not allowed before a parenthesis")
        if token is None or token.kind not in ("bare", "quoted") or _keyword(token):
            raise _unexpected(token, "a filter", self._end)
        operator = self._peek()
        if operator is None or operator.kind != "op":
            return replace(Leaf("_tags", ":", token.text), negated=negated, score=self._score())
        self._at += 1
        value = self._next()
        if value is None or value.kind not in ("bare", "quoted") or _keyword(value):
            raise _unexpected(value, "a value", self._end)
        if operator.text != ":":
            number = _number(value.text)
            if number is None or value.kind == "quoted":
                raise _unexpected(value, "a number")
            return Leaf(token.text, operator.text, low=number, negated=negated, score=self._score())
        upto = self._peek()
        if upto is not None and upto.kind == "bare" and upto.text == "TO":
            self._at += 1
            return replace(self._range(token.text, value), negated=negated, score=self._score())
        return Leaf(token.text, ":", value.text, negated=negated, score=self._score())

    def _range(self, attribute: str, first: _Token) -> Leaf:
        last = self._next()
        low = _number(first.text)
        high = None if last is None else _number(last.text)
        if low is None:
            raise _unexpected(first, "a number")
        if high is None:
            raise _unexpected(last, "a number", self._end)
        return Leaf(attribute, "TO", low=low, high=high)

    def _score(self) -> int:
        token = self._peek()
        if token is None or token.kind != "score":
            return 1
        self._at += 1
        return _points(token.text)

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self) -> _Token | None:
        token = self._peek()
        self._at += 1
        return token


def _tokens(text: str) -> Sequence[_Token]:
    found: list[_Token] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip())
            raise BadRequest(f"filters: Unexpected token {text[column]} at col {column}")
        at = match.end()
        kind = str(match.lastgroup if match.lastgroup != "points" else "score")
        kind = "score" if match["score"] else kind
        value = match["points"] if kind == "score" else match[kind]
        if kind == "quoted":
            value = re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL)
        elif kind == "bare":
            value = re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)
        found.append(_Token(kind, value, match.start(kind)))
    return found


def _keyword(token: _Token) -> bool:
    return token.kind == "bare" and token.text in ("AND", "OR", "NOT", "TO")


def _unexpected(token: _Token | None, expected: str, end: int = 0) -> BadRequest:
    what = f"token {token.text}" if token else "end of filter"
    return BadRequest(
        f"filters: Unexpected {what}, expected {expected} at col {token.column if token else end}"
    )


def _same_kind(group: list[Leaf]) -> tuple[Leaf, ...]:
    kinds = {leaf.kind for leaf in group}
    if len(kinds) > 1:
        first, *others = (leaf.kind for leaf in group)
        other = next(kind for kind in others if kind != first)
        raise BadRequest(
            "filters: Different types are not allowed in the same OR. "
            f"Expected {first} but got {other}"
        )
    return tuple(group)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def _points(text: str) -> int:
    score = int(text[:9])
    if score > MAX_SCORE:
        raise BadRequest(f"filters: score must be between 0 and {MAX_SCORE}")
    return score


def parse_filters(text: str) -> Filter:
    """The ``filters`` string as an AND of ORs, or ``BadRequest`` with Algolia's complaint."""
    return _Parser(text).parse() if text.strip() else ()


def parse_facet_filters(value: Any, name: str = "facetFilters") -> Filter:
    """``facetFilters`` or ``optionalFilters``: outer AND, inner OR, ``attribute:-value`` negates.

    A single string is one filter; commas in it separate filters that all hold.
    """
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    return tuple(
        tuple(_facet_leaf(item, name) for item in group) for group in _groups(value, name) if group
    )


def parse_numeric_filters(value: Any) -> Filter:
    """``numericFilters``: outer AND, inner OR, the comparisons of the ``filters`` grammar."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    clauses = []
    for group in _groups(value, "numericFilters"):
        leaves = []
        for item in group:
            parsed = parse_filters(item)
            if len(parsed) != 1 or len(parsed[0]) != 1 or parsed[0][0].kind != "numericFilter":
                raise BadRequest(f"numericFilters: {item} is not a numeric filter")
            leaves.append(parsed[0][0])
        if leaves:
            clauses.append(tuple(leaves))
    return tuple(clauses)


def parse_tag_filters(value: Any) -> Filter:
    """``tagFilters``: outer AND, inner OR, each a value of ``_tags``."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    return tuple(
        tuple(_facet_leaf(f"_tags:{item.strip()}", "tagFilters") for item in group)
        for group in _groups(value, "tagFilters")
        if group
    )


def _groups(value: Any, name: str) -> list[list[str]]:
    if not isinstance(value, list):
        raise BadRequest(f"{name}: expected an array of strings or of arrays of strings")
    groups = [item if isinstance(item, list) else [item] for item in value]
    for group in groups:
        if not all(isinstance(item, str) for item in group):
            raise BadRequest(f"{name}: only two levels of arrays of strings are allowed")
    return groups


def _facet_leaf(text: str, name: str) -> Leaf:
    score = _SCORE.search(text)
    points = _points(score[1]) if score else 1
    attribute, colon, value = (text[: score.start()] if score else text).partition(":")
    if not colon or not attribute.strip():
        raise BadRequest(f"{name}: {text} should be of the form attribute:value")
    value = value.strip()
    negated = value.startswith("-")
    if negated or value.startswith("\\-"):
        value = value[1:]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return Leaf(attribute.strip(), ":", value, negated=negated, score=points)
