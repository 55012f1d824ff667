"""Batches of record operations: checked whole, then resolved into a final state per objectID."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from devstack.engine.errors import BadRequest
from devstack.engine.schema import well_formed

# Source: facts, "Semantics": 10 KB a record on the smallest plan, which file 002 assumes.
MAX_RECORD_BYTES = 10_000
MAX_DEPTH = 50
ACTIONS = frozenset(
    [
        "addObject",
        "updateObject",
        "partialUpdateObject",
        "partialUpdateObjectNoCreate",
        "deleteObject",
        "delete",
        "clear",
    ]
)
Record = dict[str, Any]


def resolve_batch(
    requests: Any, current: Callable[[str], Record | None]
) -> tuple[dict[str, Record | None], list[str], bool, bool]:
    """What a batch leaves behind: records by objectID (None is deleted), the objectIDs in the
    order of the requests, whether everything was cleared first, whether the index goes.

    Raises ``BadRequest`` before anything is changed: a batch holds whole or not at all.
    """
    if not isinstance(requests, list):
        raise BadRequest('Attribute "requests" should be an array')
    state: dict[str, Record | None] = {}
    ids: list[str] = []
    cleared = dropped = False
    for position, request in enumerate(requests):
        action, body = _request(request, position)
        if action in ("clear", "delete"):
            state, cleared, dropped = {}, True, action == "delete"
            continue
        object_id = _object_id(body, action, position)
        ids.append(object_id)
        known = state.get(object_id) if object_id in state or cleared else current(object_id)
        record = _after(action, known, body)
        if action != "deleteObject" and record is None:
            continue
        if record is not None:
            record = checked(record, object_id, position)
            dropped = False
        state.pop(object_id, None)
        state[object_id] = record
    return state, ids, cleared, dropped


def _request(request: Any, position: int) -> tuple[str, Record]:
    if not isinstance(request, Mapping):
        raise BadRequest(f"Request at position {position} should be an object")
    action, body = request.get("action"), request.get("body", {})
    if action not in ACTIONS:
        raise BadRequest(f'Invalid action "{action}" at position {position}')
    if not isinstance(body, dict):
        raise BadRequest(f"Body of the request at position {position} should be an object")
    return str(action), body


def _object_id(body: Record, action: str, position: int) -> str:
    value = body.get("objectID")
    if value is None and action == "addObject":
        return uuid.uuid4().hex
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise BadRequest(f"objectID is missing or invalid at position {position}")
    return str(well_formed(value))


def _after(action: str, known: Record | None, body: Record) -> Record | None:
    if action == "deleteObject":
        return None
    if action in ("addObject", "updateObject"):
        return dict(body)
    if known is None and action == "partialUpdateObjectNoCreate":
        return None
    record = dict(known or {})
    for name, value in body.items():
        if isinstance(value, dict) and "_operation" in value:
            _operate(record, name, value)
        else:
            record[name] = value
    return record


def _operate(record: Record, name: str, operation: Record) -> None:
    """Algolia's built-in operations on a number or an array."""
    kind, value = operation["_operation"], operation.get("value")
    held = record.get(name)
    if kind in ("Increment", "Decrement", "IncrementFrom", "IncrementSet"):
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise BadRequest(f"{kind} needs a number in attribute {name}")
        start = held if isinstance(held, int | float) else 0
        if kind == "Increment":
            record[name] = start + value
        elif kind == "Decrement":
            record[name] = start - value
        # The conditional two leave the attribute alone where their condition does not hold.
        elif kind == "IncrementFrom" and start == value:
            record[name] = value + 1
        elif kind == "IncrementSet" and start < value:
            record[name] = value
        return
    items: list[Any] = list(held) if isinstance(held, list) else [] if held is None else [held]
    match kind:
        case "Add":
            items.append(value)
        case "AddUnique":
            items += [] if value in items else [value]
        case "Remove":
            items = [item for item in items if item != value]
        case _:
            raise BadRequest(f'Invalid _operation "{kind}" in attribute {name}')
    record[name] = items


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encoded(record: Mapping[str, Any]) -> str:
    """A record as it is kept and measured: compact JSON."""
    return _encode(record)


def checked(record: Record, object_id: str, position: int) -> Record:
    """The record with its objectID and without lone surrogates.

    Refuses one over 10 KB or nested too deeply; the batch that holds it is refused whole.
    """
    if _depth(record) > MAX_DEPTH:
        raise BadRequest(f"Record at the position {position} is nested too deeply")
    record["objectID"] = object_id
    try:
        text = encoded(record)
    except ValueError as exc:
        raise BadRequest(f"Record at the position {position} has a number out of range") from exc
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        record = well_formed(record)
        size = len(encoded(record).encode())
    if size > MAX_RECORD_BYTES:
        raise BadRequest(
            f"Record is too big: the record at the position {position} objectID={object_id} "
            f"has {size} bytes, the limit is {MAX_RECORD_BYTES}. "
            "Have a look at https://www.algolia.com/doc/guides/sending-and-managing-data/"
        )
    return record


def _depth(record: Record) -> int:
    depth, level = 0, [value for value in record.values() if isinstance(value, dict | list)]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
    return depth


def object_requests(value: Any) -> Sequence[Mapping[str, Any]]:
    """The ``requests`` of a getObjects call, checked."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadRequest('Attribute "requests" should be an array of objects')
    for item in value:
        if not isinstance(item.get("indexName"), str) or not isinstance(item.get("objectID"), str):
            raise BadRequest("Every request needs an indexName and an objectID")
    return value
