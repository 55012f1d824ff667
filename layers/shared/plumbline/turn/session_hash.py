"""A session as the fields of one Redis hash, and what a turn changes of them.

Fields: ``v``; the counters ``turns``, ``questions`` and ``refusals``; ``persona``; ``handoff``;
``signal:<name>``, ``denied:<name>``, ``asked:<name>``, ``declined:<target>``, ``url:<digest>``
and ``exchange:<turn>:<digest>``. Values but counters are JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from plumbline.instance import MAVERICK
from plumbline.turn.session import (
    MANY_VALUED,
    MAX_CONCEPTS,
    MAX_DENIED_VALUES,
    MAX_EXCHANGES,
    MAX_KNOWN_URLS,
    SIGNALS,
    Exchange,
    PendingHandoff,
    SessionState,
    SignalValue,
)

VERSION = 1

MAX_VALUE_CHARS = 8_192
MAX_FIELDS = 600
MAX_SIGNAL_CHARS = 160
MAX_EXCHANGE_QUERY_CHARS = 500
MAX_EXCHANGE_ANSWER_CHARS = 1_500
# A counter beyond this is corrupt: nobody has so many turns within a session's lifetime.
_MAX_COUNT = 1_000_000

_T = TypeVar("_T")

_COUNTERS = {"turns": "turn_count", "questions": "questions_asked", "refusals": "refusals"}


class SessionChanges(NamedTuple):
    """Hash fields to set, to delete, and counters to increment: one write, in any order."""

    set_fields: dict[str, str]
    delete_fields: list[str]
    increments: dict[str, int]


def read_session(session_id: str, raw: Mapping[str, str]) -> SessionState:
    """The session in these fields. A field of another version, corrupt or oversized is ignored,
    never an error, and listed in ``stale_fields``.
    """
    written = raw.get("v", "")
    if written.isdecimal() and written > str(VERSION):
        # A newer version's fields may mean something else under the same name; an older one's are
        # read as far as they are ours.
        return SessionState(session_id=session_id, stale_fields=tuple(raw))
    reader = _Reader(raw)
    signals = reader.texts("signal:", SIGNALS)
    denied = reader.lists("denied:", SIGNALS, MAX_DENIED_VALUES)
    return SessionState(
        session_id=session_id,
        version=VERSION,
        turn_count=reader.count("turns"),
        signals=MappingProxyType(signals),
        denied=MappingProxyType(denied),
        asked_signals=reader.ordered("asked:", SIGNALS),
        active_persona=reader.text("persona") or MAVERICK,
        pending_handoff=reader.handoff(),
        declined_handoffs=reader.ordered("declined:", None),
        refusals=reader.count("refusals"),
        questions_asked=reader.count("questions"),
        known_urls=reader.urls(),
        exchanges=reader.exchanges(),
        stale_fields=reader.unread(),
    )


def changes(before: SessionState, after: SessionState) -> SessionChanges:
    """What to write so that the hash that held ``before`` holds ``after``.

    Only fields that differ are touched. Counters are increments, except where they fall (a
    session that starts anew), where they are set.
    """
    old, new = _fields(before), _fields(after)
    set_fields = {name: value for name, value in new.items() if old.get(name) != value}
    stale = set(before.stale_fields)
    increments = {}
    for name, attribute in _COUNTERS.items():
        step = getattr(after, attribute) - getattr(before, attribute)
        if step < 0 or name in stale:
            # Redis refuses to increment what is no number.
            set_fields[name] = str(getattr(after, attribute))
        elif step > 0:
            increments[name] = step
    gone = [name for name in old if name not in new]
    gone.extend(name for name in before.stale_fields if name not in set_fields)
    if set_fields or gone or increments:
        set_fields["v"] = str(VERSION)
    return SessionChanges(set_fields, gone, increments)


def _fields(state: SessionState) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in state.signals.items():
        fields[f"signal:{name}"] = _json(list(value) if isinstance(value, tuple) else value)
    for name, values in state.denied.items():
        if values:
            fields[f"denied:{name}"] = _json(list(values[-MAX_DENIED_VALUES:]))
    for order, name in enumerate(state.asked_signals):
        fields[f"asked:{name}"] = str(order)
    for order, name in enumerate(state.declined_handoffs):
        fields[f"declined:{name}"] = str(order)
    if state.active_persona != MAVERICK:
        fields["persona"] = _json(state.active_persona)
    if state.pending_handoff is not None:
        pending = state.pending_handoff
        fields["handoff"] = _json({**pending.public(), "turn": pending.turn})
    for url, turn in state.known_urls.items():
        fields[f"url:{_digest(url)}"] = _json([turn, url])
    for exchange in state.exchanges:
        query = exchange.query[:MAX_EXCHANGE_QUERY_CHARS]
        answer = exchange.answer[:MAX_EXCHANGE_ANSWER_CHARS]
        name = f"exchange:{exchange.turn}:{_digest(query + answer)}"
        fields[name] = _json([exchange.turn, query, answer])
    return fields


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Reader:
    """Takes what is sound out of a hash that anybody may have written."""

    def __init__(self, raw: Mapping[str, str]) -> None:
        self._raw: dict[str, str] = {}
        # The store marks who wrote last; that is no field of a session.
        self._read: set[str] = {"v", "written"}
        self._names = [name for name in raw if isinstance(name, str)]
        for name in self._names[:MAX_FIELDS]:
            value = raw[name]
            if isinstance(value, str) and len(value) <= MAX_VALUE_CHARS:
                self._raw[name] = value

    def unread(self) -> tuple[str, ...]:
        return tuple(name for name in self._names if name not in self._read)

    def count(self, name: str) -> int:
        text = self._raw.get(name, "0")
        if not text.isascii() or not text.isdigit() or len(text) > 7 or int(text) >= _MAX_COUNT:
            return 0
        self._read.add(name)
        return int(text)

    def text(self, name: str) -> str | None:
        value = self._json(name)
        return self._keep(name, value) if isinstance(value, str) and 0 < len(value) <= 64 else None

    def texts(self, prefix: str, names: Iterable[str]) -> dict[str, SignalValue]:
        found: dict[str, SignalValue] = {}
        for name in names:
            key = prefix + name
            value = self._json(key)
            if name == MANY_VALUED:
                values = _short_texts(value)[:MAX_CONCEPTS]
                if values:
                    found[name] = self._keep(key, values)
            elif isinstance(value, str) and 0 < len(value) <= MAX_SIGNAL_CHARS:
                found[name] = self._keep(key, value)
        return found

    def lists(self, prefix: str, names: Iterable[str], limit: int) -> dict[str, tuple[str, ...]]:
        found = {}
        for name in names:
            values = _short_texts(self._json(prefix + name))[-limit:]
            if values:
                found[name] = self._keep(prefix + name, values)
        return found

    def ordered(self, prefix: str, allowed: Iterable[str] | None) -> tuple[str, ...]:
        """The names after the prefix, by the number that each field holds."""
        found = []
        for key in self._starting(prefix):
            order, name = self._json(key), key.removeprefix(prefix)
            if isinstance(order, int) and (allowed is None or name in allowed):
                found.append((order, self._keep(key, name)))
        return tuple(name for _, name in sorted(found))

    def urls(self) -> Mapping[str, int]:
        found = []
        for key in self._starting("url:"):
            match self._json(key):
                case [int(turn), str(url)] if url.startswith(("https://", "http://")):
                    found.append((turn, url, key))
        newest = sorted(found)[-MAX_KNOWN_URLS:]
        return MappingProxyType({self._keep(key, url): turn for turn, url, key in newest})

    def exchanges(self) -> tuple[Exchange, ...]:
        found = []
        for key in self._starting("exchange:"):
            match self._json(key):
                case [int(turn), str(query), str(answer)]:
                    found.append((turn, key, Exchange(turn, query, answer)))
        newest = sorted(found, key=lambda item: item[:2])[-MAX_EXCHANGES:]
        return tuple(self._keep(key, exchange) for _, key, exchange in newest)

    def handoff(self) -> PendingHandoff | None:
        match self._json("handoff"):
            case {
                "target": str(target),
                "reason": str(reason),
                "expanded_question": str(question),
                **rest,
            }:
                turn = rest.get("turn")
                pending = PendingHandoff(
                    target[:64],
                    reason[:500],
                    question[:2_000],
                    _short_texts(rest.get("evidence")),
                    turn if isinstance(turn, int) else 0,
                )
                return self._keep("handoff", pending)
        return None

    def _starting(self, prefix: str) -> list[str]:
        return [name for name in self._raw if name.startswith(prefix)]

    def _json(self, name: str) -> object:
        try:
            return json.loads(self._raw[name]) if name in self._raw else None
        except (ValueError, RecursionError):
            return None

    def _keep(self, name: str, value: _T) -> _T:
        self._read.add(name)
        return value


def _short_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(v for v in value if isinstance(v, str) and 0 < len(v) <= MAX_SIGNAL_CHARS)
