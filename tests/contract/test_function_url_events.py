"""events/: each function URL payload is decoded to the request that its name promises."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from plumbline.http import decode

EVENTS = Path(__file__).resolve().parents[2] / "events"

REQUESTS = {
    "delete_session": "DELETE /sessions/3f1f7a5e0c8b4d6e9a2c1b0d8e7f6a54",
    "feedback": "POST /feedback",
    "gaps": "GET /gaps",
    "health": "GET /health",
    "mcp": "POST /mcp",
    "page": "GET /",
    "preflight": "OPTIONS /",
    "repositories": "GET /repositories",
    "request_index": "POST /index",
    "search": "POST /",
    "search_base64": "POST /",
    "search_code": "POST /search_code",
    "search_without_key": "POST /",
    "suggestions": "GET /",
    "turn": "GET /turns/9d4c2b1a0f8e7d6c5b4a39281706f5e4",
}


def _load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def test_every_function_url_payload_is_listed() -> None:
    found = {path.stem for path in EVENTS.glob("*.json") if "rawPath" in _load(path.stem)}
    assert found == set(REQUESTS)


@pytest.mark.parametrize(("name", "request_line"), REQUESTS.items())
def test_a_payload_is_the_request_of_its_name(name: str, request_line: str) -> None:
    event = _load(name)
    request = decode(event)
    assert f"{request.method} {request.path}" == request_line
    assert request.source_ip == "203.0.113.7"
    assert request.request_id == event["requestContext"]["requestId"]
    assert request.headers["x-forwarded-proto"] == "https"
    assert dict(request.query) == event.get("queryStringParameters", {})
    if request.method == "POST":
        assert request.json()
        assert int(request.headers["content-length"]) == len(request.body)


def test_every_event_has_its_line_in_the_docs() -> None:
    """docs/deploying.md says how to run each one with ``sam local invoke``."""
    documented = re.findall(
        r"^sam local invoke (\w+) -e events/(\w+)\.json$",
        (EVENTS.parent / "docs/deploying.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert sorted(name for _, name in documented) == sorted(p.stem for p in EVENTS.glob("*.json"))
    for function, name in documented:
        indexing = function == "IndexRepoFunction"
        assert indexing == ("rawPath" not in _load(name)), name
        assert (function == "SuggestionsFunction") == (name == "suggestions")


def test_a_base64_body_is_text_again() -> None:
    assert decode(_load("search_base64")).json()["query"] == "Wie wird ein Absatz geprüft?"
