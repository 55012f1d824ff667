"""Every trigger becomes the same request; what asks for nothing becomes none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from plumbline.errors import InvalidRequest
from plumbline.index.index_request import (
    ArchiveObject,
    IndexRequest,
    is_older,
    with_lease,
)
from plumbline.index.requests import (
    parse_message,
    read_requests,
)

EVENTS = Path(__file__).parents[2] / "events"
NOW = datetime(2026, 3, 1, 13, tzinfo=UTC)
FLASK = "https://github.com/pallets/flask"


def load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return loaded


def read(event: dict[str, Any], bucket: str = "plumbline") -> list[IndexRequest]:
    return read_requests(event, bucket=bucket, now=NOW)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "index_s3_eventbridge_created",
            ("index", FLASK, None, "2026-03-01T12:00:00Z", "00617F08299329D189"),
        ),
        (
            "index_s3_eventbridge_deleted",
            ("delete", FLASK, None, "2026-03-02T09:30:00Z", "00617B398000000000"),
        ),
        (
            "index_s3_notification_created",
            (
                "index",
                "https://gitlab.com/acme/tools/cli",
                None,
                "2026-03-01T12:00:00Z",
                "00617F08299329D189",
            ),
        ),
        (
            "index_s3_notification_deleted",
            ("delete", FLASK, None, "2026-03-02T09:30:00Z", "00617F08299329D189"),
        ),
        ("index_reindex", ("index", FLASK, "main", "2026-03-03T08:00:00Z", None)),
        ("index_schedule", ("refresh", "", None, "2026-03-04T02:00:00Z", None)),
        ("index_direct", ("index", FLASK, "main", "2026-03-01T13:00:00Z", None)),
    ],
)
def test_each_trigger_becomes_its_request(name: str, expected: tuple[object, ...]) -> None:
    (request,) = read(load(name))
    sequencer = request.archive.sequencer if request.archive else None
    found = (request.action, request.url, request.ref, request.event_time, sequencer)
    assert found == expected


@pytest.mark.parametrize(
    "name",
    ["index_s3_eventbridge_expired", "index_s3_notification_expired", "index_s3_test_event"],
)
def test_an_expiry_and_the_test_event_ask_for_nothing(name: str) -> None:
    assert read(load(name)) == []


@pytest.mark.parametrize("path", sorted(EVENTS.glob("index_*_sqs.json")), ids=lambda p: p.stem)
def test_a_queue_message_holds_the_same_event(path: Path) -> None:
    (record,) = json.loads(path.read_text())["Records"]
    bare = load(path.stem.removesuffix("_sqs"))
    assert parse_message(record["body"]) == bare


def test_a_direct_notification_decodes_its_key_and_eventbridge_does_not() -> None:
    (request,) = read(load("index_s3_notification_created"))
    assert request.archive is not None
    assert request.archive.key == "archives/gitlab.com/acme/tools/cli/cli main+docs.tar.gz"
    event = load("index_s3_eventbridge_created")
    event["detail"]["object"]["key"] = "archives/github.com/a/b/x+y%20z.zip"
    (plain,) = read(event)
    assert plain.archive is not None
    assert plain.archive.key == "archives/github.com/a/b/x+y%20z.zip"


def test_one_upload_told_twice_is_one_event() -> None:
    event = load("index_s3_notification_created")
    (first,) = read(event)
    bridged = load("index_s3_eventbridge_created")
    bridged["detail"]["object"]["key"] = "archives/gitlab.com/acme/tools/cli/cli main+docs.tar.gz"
    (second,) = read(bridged)
    assert first.event_id == second.event_id


@pytest.mark.parametrize("prefix", ["manifests/1/current.json.gz", "snapshots/1/abc.zip"])
def test_what_the_indexer_writes_does_not_trigger_it(prefix: str) -> None:
    event = load("index_s3_eventbridge_created")
    event["detail"]["object"]["key"] = prefix
    assert read(event) == []


def test_the_mark_of_a_folder_asks_for_nothing() -> None:
    event = load("index_s3_eventbridge_created")
    event["detail"]["object"]["key"] = "archives/github.com/a/b/"
    assert read(event) == []


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({}, "none that the indexer knows"),
        ({"source": "aws.ec2", "detail": {}}, "none that the indexer knows"),
        ({"source": "plumbline", "detail": {}}, "needs repository_url"),
        ({"source": "plumbline", "detail": None}, "malformed at: detail"),
        ({"source": "plumbline", "detail": {"repository_url": 3}}, "malformed at: repository_url"),
        ({"source": "plumbline", "detail": {"repository_url": "x" * 3000}}, "repository_url"),
        ({"repository_url": "https://github.com/a"}, "owner and a repository"),
        ({"repository_url": FLASK, "ref": "a b"}, "ref must be"),
        ({"repository_url": FLASK, "commit": "abc"}, "commit must be"),
        ({"repository_url": FLASK, "force": "perhaps"}, "malformed at: force"),
        ({"source": "plumbline", "detail": {"archive_key": "etc/passwd"}}, "archives/<host>"),
        ({"source": "plumbline", "detail": "{"}, "not valid JSON"),
    ],
)
def test_an_event_that_cannot_be_understood_says_why(event: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        read(event)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("archives/flask.zip", "archives/<host>/<owner>/<name>/<file>"),
        ("archives/github.com/flask.zip", "archives/<host>/<owner>/<name>/<file>"),
        ("archives/github.com/../../x.zip", "no host allows"),
        ("archives/git hub/a/b/x.zip", "owner and a repository"),
    ],
)
def test_a_key_in_the_wrong_place_says_where_archives_go(key: str, message: str) -> None:
    event = load("index_s3_eventbridge_created")
    event["detail"]["object"]["key"] = key
    with pytest.raises(InvalidRequest, match=message):
        read(event)


def test_another_bucket_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="another bucket"):
        read(load("index_s3_eventbridge_created"), bucket="mine")


@pytest.mark.parametrize("body", ["", "{", "[1]", '"x"', "[" * 100_000])
def test_a_message_that_is_no_object_is_refused(body: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_message(body)


def test_a_notification_through_sns_is_unwrapped() -> None:
    inner = load("index_s3_notification_created")
    wrapped = {"Type": "Notification", "Message": json.dumps(inner)}
    assert parse_message(json.dumps(wrapped)) == inner


@pytest.mark.parametrize(
    "request_",
    [
        IndexRequest("index", "e1", "2026-03-01T12:00:00Z", url=FLASK, ref="main", force=True),
        IndexRequest("index", "e2", "2026-03-01T12:00:00Z", url=FLASK, commit="a" * 40),
        IndexRequest("refresh", "e3", "2026-03-01T12:00:00Z", hop=2, after=7),
        IndexRequest(
            "delete",
            "e4",
            "2026-03-01T12:00:00Z",
            url=FLASK,
            archive=ArchiveObject("archives/github.com/pallets/flask/a.zip", "etag", "0A"),
        ),
        with_lease(
            IndexRequest(
                "index",
                "e5",
                "2026-03-01T12:00:00Z",
                url=FLASK,
                archive=ArchiveObject("archives/github.com/pallets/flask/a.zip"),
            ),
            run_id="0" * 32,
            lease="token",
        ),
    ],
    ids=lambda request: request.event_id,
)
def test_a_request_survives_the_queue(request_: IndexRequest) -> None:
    assert read(json.loads(json.dumps(request_.message()))) == [request_]


@pytest.mark.parametrize(
    ("first", "second", "older"),
    [
        (("2026-03-01T12:00:00Z", "", ""), ("2026-03-01T12:00:01Z", "", ""), True),
        (("2026-03-01T12:00:01Z", "", ""), ("2026-03-01T12:00:00Z", "k", "F"), False),
        # One second, one key: the sequencers tell, the shorter padded on its right.
        (("2026-03-01T12:00:00Z", "k", "0A"), ("2026-03-01T12:00:00Z", "k", "0B"), True),
        (("2026-03-01T12:00:00Z", "k", "0A"), ("2026-03-01T12:00:00Z", "k", "0A01"), True),
        (("2026-03-01T12:00:00Z", "k", "0A"), ("2026-03-01T12:00:00Z", "k", "0A00"), False),
        # One second, different things: in no order, so neither is dropped.
        (("2026-03-01T12:00:00Z", "j", "0A"), ("2026-03-01T12:00:00Z", "k", "0B"), False),
        (("2026-03-01T12:00:00Z", "", ""), ("2026-03-01T12:00:00Z", "k", "0B"), False),
    ],
)
def test_which_event_came_first(
    first: tuple[str, str, str], second: tuple[str, str, str], older: bool
) -> None:
    assert is_older(first, second) is older


@pytest.mark.parametrize("time", [None, "yesterday", 1e300, {}, "2026-03-01T13:00:00"])
def test_a_time_that_is_none_is_now(time: object) -> None:
    (request,) = read({"repository_url": FLASK, "time": time})
    assert request.event_time == "2026-03-01T13:00:00Z"
