"""Every payload in events/ goes through its own handler, on the embedded stack."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest

from devstack.algolia_server import AlgoliaServer
from devstack.aws import Aws, AwsResources
from devstack.function_urls import new_context
from devstack.redis_server import RedisServer
from devstack.stack import API_KEY, key_hash
from functions.index_repo.handler import handler as index_repo
from functions.search.handler import handler as search
from functions.suggestions.handler import handler as suggestions

EVENTS = Path(__file__).resolve().parents[2] / "events"
KEY = "archives/github.com/pallets/flask/flask-3.1.2.zip"
# Another repository than the events': those delete theirs.
OWN_KEY = "archives/github.com/team/audit/audit.zip"
SOURCE = """
def audit_paragraph(text):
    'Audit a paragraph before it reaches the reader.'


def resolve_citations(text):
    'Resolve the numbers of a text.'
"""


def _load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def _archive() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("audit-main/src/audit.py", SOURCE)
    return data.getvalue()


def _own_event() -> dict[str, Any]:
    event = _load("index_s3_eventbridge_created")
    event["id"] = "own"
    event["detail"]["object"]["key"] = OWN_KEY
    return event


@pytest.fixture(scope="module", autouse=True)
def parts() -> Iterator[AwsResources]:
    """The embedded parts, without the loop that would take messages from the queue itself."""
    keys = {"search": frozenset({"search"}), "admin": frozenset({"admin"})}
    with ExitStack() as closing:
        redis, aws = RedisServer(), Aws()
        closing.callback(redis.stop)
        closing.callback(aws.stop)
        algolia = closing.enter_context(AlgoliaServer(None, app_id="APP", api_keys=keys))
        patch = closing.enter_context(pytest.MonkeyPatch.context())
        environment = {
            **aws.resources.environment(),
            "ALGOLIA_APP_ID": "APP",
            "ALGOLIA_SEARCH_API_KEY": "search",
            "ALGOLIA_ADMIN_API_KEY": "admin",
            "ALGOLIA_URL": algolia.url,
            "REDIS_URL": redis.url,
            "API_KEY_HASHES": key_hash(API_KEY),
            "POWERTOOLS_METRICS_DISABLED": "true",
            # Asking any other host is refused before its name is looked up.
            "REPOSITORY_HOSTS": "git.invalid",
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        s3 = boto3.client("s3", endpoint_url=aws.resources.endpoint_url)
        for key in (KEY, OWN_KEY):
            s3.put_object(Bucket=aws.resources.bucket, Key=key, Body=_archive())
        index_repo(_own_event(), new_context("index_repo", 900))
        yield aws.resources


def _body(response: Any) -> bytes:
    return response.body if isinstance(response.body, bytes) else b"".join(response.body)


@pytest.mark.parametrize("name", ["search", "search_base64"])
def test_a_question_is_answered(name: str) -> None:
    response = search(_load(name), new_context("search", 60))
    assert response.status == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = [
        line.removeprefix(b"event: ")
        for line in _body(response).splitlines()
        if line.startswith(b"event: ")
    ]
    assert events[0] == b"pulse"
    assert events[-1] == b"final"
    assert len([event for event in events if event in (b"final", b"error")]) == 1


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        ("search_without_key", 401, b'"unauthorized"'),
        ("search_code", 200, b"resolve_citations"),
        ("mcp", 200, b'"search_code"'),
        ("feedback", 404, b'"not_found"'),
        ("request_index", 202, b'"accepted"'),
        ("repositories", 200, b"https://github.com/team/audit"),
        ("turn", 404, b'"not_found"'),
        ("gaps", 200, b'"gaps"'),
        ("health", 200, b'"ok"'),
        ("delete_session", 204, b""),
        ("preflight", 204, b""),
    ],
)
def test_a_request_of_the_search_function(name: str, status: int, expected: bytes) -> None:
    response = search(_load(name), new_context("search", 60))
    body = _body(response)
    assert response.status == status, body
    assert expected in body


def test_the_page() -> None:
    response = search(_load("page"), new_context("search", 60))
    present = (EVENTS.parent / "functions/search/web/index.html").exists()
    assert response.status == (200 if present else 404)


def test_suggestions() -> None:
    result = suggestions(_load("suggestions"), new_context("suggestions", 10))
    assert result["statusCode"] == 200
    assert json.loads(result["body"])["suggestions"][0] == "audit_paragraph"


def _status_of_flask() -> str | None:
    listed = json.loads(_body(search(_load("repositories"), new_context("search", 60))))
    by_name = {it["name"]: it["status"] for it in listed["repositories"]}
    return by_name.get("pallets/flask")


DONE_BEFORE = ["unchanged"]
# In this order: the event, what a direct invocation says once the queue's delivery of the same
# event was handled, and the repository's status after it.
TRIGGERS: list[tuple[str, list[str], str | None]] = [
    ("index_s3_test_event", [], None),
    ("index_s3_eventbridge_created", DONE_BEFORE, "completed"),
    ("index_s3_eventbridge_expired", [], "completed"),
    ("index_s3_notification_expired", [], "completed"),
    ("index_s3_notification_created", DONE_BEFORE, "completed"),
    ("index_schedule", ["completed"], "completed"),
    ("index_s3_eventbridge_deleted", DONE_BEFORE, None),
    ("index_s3_notification_deleted", DONE_BEFORE, None),
    ("index_reindex", DONE_BEFORE, "failed"),
    # Without an id of its own it is a new request each time.
    ("index_direct", ["failed"], "failed"),
]


def test_the_triggers_of_indexing_in_turn(parts: AwsResources) -> None:
    s3 = boto3.client("s3", endpoint_url=parts.endpoint_url)
    for name, outcomes, status in TRIGGERS:
        if name == "index_s3_eventbridge_deleted":
            s3.delete_object(Bucket=parts.bucket, Key=KEY)
        queued = index_repo(_load(f"{name}_sqs"), new_context("index_repo", 900))
        assert queued == {"batchItemFailures": []}, name
        assert _status_of_flask() == status, name
        direct = index_repo(_load(name), new_context("index_repo", 900))
        told = direct["outcomes"]
        assert isinstance(told, list)
        assert [outcome["status"] for outcome in told] == outcomes, name


def test_no_trigger_is_left_out() -> None:
    names = {path.stem.removesuffix("_sqs") for path in EVENTS.glob("index_*.json")}
    assert names == {name for name, _, _ in TRIGGERS}
