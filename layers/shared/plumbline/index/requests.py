"""Any trigger becomes index requests: S3, EventBridge, the schedule, a direct invocation.

Source: design, section 6; the event shapes are those under ``events/``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote_plus

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from plumbline.errors import InvalidRequest
from plumbline.index.addresses import canonical_url, checked_ref, is_commit, repository_url
from plumbline.index.index_request import REINDEX, SOURCE, Action, ArchiveObject, IndexRequest, iso

ARCHIVES = "archives/"
SCHEDULE = "plumbline.schedule"


class _Detail(BaseModel):
    """The detail of plumbline.reindex: ``repository_url``, ``ref?``, ``force?``; the other fields
    are the indexer's own, in the messages that it sends itself.
    """

    model_config = ConfigDict(extra="ignore")

    action: Action = "index"
    repository_url: str | None = Field(default=None, max_length=2000)
    ref: str | None = Field(default=None, max_length=200)
    commit: str | None = Field(default=None, max_length=64)
    force: bool = False
    hop: int = Field(default=0, ge=0, le=100)
    run_id: str | None = Field(default=None, pattern=r"^[0-9a-f]{8,64}$")
    lease: str | None = Field(default=None, max_length=64)
    after: int = Field(default=0, ge=0)
    archive_key: str | None = Field(default=None, max_length=1024)
    archive_etag: str = Field(default="", max_length=100)
    archive_sequencer: str = Field(default="", max_length=64)


def read_requests(event: Mapping[str, Any], *, bucket: str, now: datetime) -> list[IndexRequest]:
    """The requests in one event; none for an event that asks for nothing, such as S3's test event
    or a lifecycle expiry. ``InvalidRequest`` says why an event cannot be understood.

    Takes S3 events through EventBridge and direct S3 notifications (of ``bucket`` only), the events
    plumbline.reindex and plumbline.schedule, EventBridge's own scheduled event, and the bare detail
    of plumbline.reindex.
    """
    if event.get("Event") == "s3:TestEvent":
        return []
    records = event.get("Records")
    if isinstance(records, list):
        found = (_from_notification(record, bucket, now) for record in records)
        return [request for request in found if request]
    source = event.get("source")
    if source == "aws.s3":
        request = _from_s3_event(event, bucket, now)
        return [request] if request else []
    if source in ("aws.events", "aws.scheduler") or event.get("detail-type") == SCHEDULE:
        return [IndexRequest("refresh", _id(event), _time(event.get("time"), now))]
    if source == SOURCE or event.get("detail-type") == REINDEX:
        return [_from_detail(event.get("detail"), _id(event), _time(event.get("time"), now))]
    if "repository_url" in event:
        return [_from_detail(event, _id(event), _time(event.get("time"), now))]
    raise InvalidRequest(
        "The event is none that the indexer knows; send plumbline.reindex with repository_url."
    )


def parse_message(body: str) -> Mapping[str, Any]:
    """A queue message's body as the event in it; ``InvalidRequest`` if it holds none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise InvalidRequest("The message is not valid JSON.") from exc
    if not isinstance(value, dict):
        raise InvalidRequest("The message must be a JSON object.")
    # SNS between S3 and SQS wraps the notification once more.
    if isinstance(value.get("Message"), str) and value.get("Type") == "Notification":
        return parse_message(value["Message"])
    return value


def _from_s3_event(event: Mapping[str, Any], bucket: str, now: datetime) -> IndexRequest | None:
    detail = _mapping(event.get("detail"))
    item = _mapping(detail.get("object"))
    kind = event.get("detail-type")
    action: Action
    if kind == "Object Created":
        action = "index"
    elif kind == "Object Deleted" and detail.get("reason") == "DeleteObject":
        action = "delete"
    else:
        # A lifecycle expiry also says "Object Deleted": nobody asked for the repository to go.
        return None
    return _from_object(
        action,
        bucket=str(_mapping(detail.get("bucket")).get("name", "")),
        expected_bucket=bucket,
        key=str(item.get("key", "")),
        item=item,
        event_time=_time(event.get("time"), now),
    )


def _from_notification(record: object, bucket: str, now: datetime) -> IndexRequest | None:
    entry = _mapping(record)
    name = str(entry.get("eventName", "")).removeprefix("s3:")
    s3 = _mapping(entry.get("s3"))
    item = _mapping(s3.get("object"))
    action: Action
    if name.startswith("ObjectCreated:"):
        action = "index"
    elif name in ("ObjectRemoved:Delete", "ObjectRemoved:DeleteMarkerCreated"):
        action = "delete"
    else:
        return None
    # A direct notification encodes its key as a form does; EventBridge's key is plain.
    key = unquote_plus(str(item.get("key", "")))
    return _from_object(
        action,
        bucket=str(_mapping(s3.get("bucket")).get("name", "")),
        expected_bucket=bucket,
        key=key,
        item=item,
        event_time=_time(entry.get("eventTime"), now),
    )


def _from_object(
    action: Action,
    *,
    bucket: str,
    expected_bucket: str,
    key: str,
    item: Mapping[str, Any],
    event_time: str,
) -> IndexRequest | None:
    if bucket != expected_bucket:
        raise InvalidRequest("The event is of another bucket than the one configured.")
    # manifests/ and snapshots/ are written by the indexer itself; folders are marked by a slash.
    if not key.startswith(ARCHIVES) or key.endswith("/"):
        return None
    archive = ArchiveObject(
        key,
        etag=str(item.get("etag") or item.get("eTag") or ""),
        sequencer=str(item.get("sequencer") or "").upper(),
    )
    # What happened to the object, not which message told it: the same upload may come through
    # EventBridge and as a direct notification.
    event_id = f"{action}:{key}:{archive.etag}:{archive.sequencer}:{event_time}"
    return IndexRequest(action, event_id, event_time, url=url_of_key(key), archive=archive)


def url_of_key(key: str) -> str:
    """The repository of ``archives/<host>/<owner>/<name>/<file>``."""
    parts = key.split("/")
    if len(parts) < 5 or parts[0] != ARCHIVES.rstrip("/"):
        raise InvalidRequest("Put archives at archives/<host>/<owner>/<name>/<file>.")
    return repository_url(parts[1], "/".join(parts[2:-1]))


def _from_detail(detail: object, event_id: str, event_time: str) -> IndexRequest:
    if isinstance(detail, str):
        detail = parse_message(detail)
    try:
        fields = _Detail.model_validate(detail)
    except ValidationError as exc:
        names = ", ".join(".".join(str(part) for part in e["loc"]) for e in exc.errors())
        raise InvalidRequest(f"plumbline.reindex is malformed at: {names or 'detail'}.") from exc
    if fields.action == "refresh":
        return IndexRequest("refresh", event_id, event_time, hop=fields.hop, after=fields.after)
    archive = None
    if fields.archive_key:
        url = url_of_key(fields.archive_key)
        archive = ArchiveObject(fields.archive_key, fields.archive_etag, fields.archive_sequencer)
    elif fields.repository_url:
        url = canonical_url(fields.repository_url)
    else:
        raise InvalidRequest("plumbline.reindex needs repository_url.")
    if fields.commit is not None and not is_commit(fields.commit):
        raise InvalidRequest("commit must be a whole commit id in lower-case hex.")
    return IndexRequest(
        fields.action,
        event_id,
        event_time,
        url=url,
        ref=checked_ref(fields.ref) if fields.ref else None,
        commit=fields.commit,
        force=fields.force,
        archive=archive,
        hop=fields.hop,
        run_id=fields.run_id,
        lease=fields.lease,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _id(event: Mapping[str, Any]) -> str:
    value = event.get("id")
    return value if isinstance(value, str) and 0 < len(value) <= 1500 else uuid.uuid4().hex


def _time(value: object, now: datetime) -> str:
    moment = now
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
        elif isinstance(value, int | float):
            moment = datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        moment = now
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return iso(moment, timespec="seconds")
