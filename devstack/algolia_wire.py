"""Algolia's HTTP: the routes, and bodies in and out."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from devstack.engine.errors import BadRequest, TooLarge

MAX_BODY = 64 * 1024 * 1024

_RULES = Map(
    [
        Rule("/1/indexes", endpoint="list", methods=["GET"]),
        Rule("/1/indexes/*/queries", endpoint="queries", methods=["POST"]),
        Rule("/1/indexes/*/objects", endpoint="objects", methods=["POST"]),
        Rule("/1/indexes/*/batch", endpoint="multi_batch", methods=["POST"]),
        Rule("/1/indexes/<name>/query", endpoint="query", methods=["POST"]),
        Rule("/1/indexes/<name>/browse", endpoint="browse", methods=["POST", "GET"]),
        Rule("/1/indexes/<name>/batch", endpoint="batch", methods=["POST"]),
        Rule("/1/indexes/<name>/settings", endpoint="settings", methods=["GET"]),
        Rule("/1/indexes/<name>/settings", endpoint="set_settings", methods=["PUT"]),
        Rule("/1/indexes/<name>/task/<int(max=9223372036854775807):task>", endpoint="task"),
        Rule("/1/indexes/<name>/deleteByQuery", endpoint="delete_by", methods=["POST"]),
        Rule("/1/indexes/<name>/clear", endpoint="clear", methods=["POST"]),
        Rule("/1/indexes/<name>/operation", endpoint="operation", methods=["POST"]),
        Rule("/1/indexes/<name>/facets/<facet>/query", endpoint="facet", methods=["POST"]),
        Rule("/1/indexes/<name>/rules/batch", endpoint="extras", methods=["POST"]),
        Rule("/1/indexes/<name>/synonyms/batch", endpoint="extras", methods=["POST"]),
        Rule("/1/indexes/<name>/<object_id>/partial", endpoint="partial", methods=["POST"]),
        Rule("/1/indexes/<name>/<object_id>", endpoint="object", methods=["GET"]),
        Rule("/1/indexes/<name>/<object_id>", endpoint="put_object", methods=["PUT"]),
        Rule("/1/indexes/<name>/<object_id>", endpoint="delete_object", methods=["DELETE"]),
        Rule("/1/indexes/<name>", endpoint="save_object", methods=["POST"]),
        Rule("/1/indexes/<name>", endpoint="delete_index", methods=["DELETE"]),
        Rule("/1/events", endpoint="events", methods=["POST"]),
        Rule("/1/isalive", endpoint="alive", methods=["GET"]),
    ],
    strict_slashes=False,
    merge_slashes=False,
)


def route(request: Request) -> tuple[str, dict[str, Any]]:
    """The endpoint and its arguments. The path is matched as it was sent, since an objectID may
    hold an escaped slash, and its parts are unescaped afterwards.
    """
    raw = request.environ.get("REQUEST_URI") or quote(request.path)
    path = raw.partition("?")[0].replace("%2A", "*")
    endpoint, found = _RULES.bind("localhost").match(path, method=request.method)
    arguments = {
        name: unquote(value) if isinstance(value, str) else value for name, value in found.items()
    }
    return str(endpoint), arguments


def json_response(status: int, payload: Any) -> Response:
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return Response(
        text.encode("utf-8", "surrogatepass"),
        status,
        content_type="application/json; charset=UTF-8",
    )


def json_object(request: Request) -> dict[str, Any]:
    value = json_value(request)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadRequest("The body should be a JSON object")
    return value


def json_value(request: Request) -> Any:
    data = request.get_data()
    if request.headers.get("content-encoding", "").lower() == "gzip":
        data = _unzipped(data)
    if not data.strip():
        return None
    try:
        return json.loads(data)
    except ValueError as exc:
        raise BadRequest("Invalid JSON in the request body") from exc


def _unzipped(data: bytes) -> bytes:
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        plain = decoder.decompress(data, MAX_BODY)
    except zlib.error as exc:
        raise BadRequest("The body is not valid gzip") from exc
    if decoder.unconsumed_tail:
        raise TooLarge("The request body is too large")
    return plain


def query_number(request: Request, name: str, default: int) -> int:
    text = request.args.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise BadRequest(f'Invalid value for "{name}" parameter, expected an integer')
    return int(text)


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def updated(task: int) -> dict[str, Any]:
    return {"updatedAt": timestamp(), "taskID": task}
