"""IndexRequest: one thing for the indexer to do, and which of two was asked first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

SOURCE = "plumbline"
REINDEX = "plumbline.reindex"

Action = Literal["index", "delete", "refresh"]
# The time of an event, and for an archive's its key and sequencer.
Order = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ArchiveObject:
    """An archive in the bucket; ``etag`` says which content the event meant."""

    key: str
    etag: str = ""
    sequencer: str = ""


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """One thing to do. ``refresh`` looks at every repository and has no address.

    ``event_id`` names the event that asked, whatever message carried it; ``event_time`` is ISO 8601
    in UTC to the second, so that texts compare as times. ``hop`` counts the continuations
    behind this one, ``run_id`` and ``lease`` come with a continuation only.
    """

    action: Action
    event_id: str
    event_time: str
    url: str = ""
    ref: str | None = None
    commit: str | None = None
    force: bool = False
    archive: ArchiveObject | None = None
    hop: int = 0
    run_id: str | None = None
    lease: str | None = None
    after: int = 0

    def order(self) -> Order:
        """When its event happened, for ``is_older``."""
        if self.archive is None:
            return self.event_time, "", ""
        return self.event_time, self.archive.key, self.archive.sequencer

    def message(self) -> dict[str, object]:
        """The request as a message that ``read_requests`` turns into the same request."""
        detail: dict[str, object] = {
            "action": self.action,
            "repository_url": self.url or None,
            "ref": self.ref,
            "commit": self.commit,
            "force": self.force or None,
            "hop": self.hop or None,
            "run_id": self.run_id,
            "lease": self.lease,
            "after": self.after or None,
        }
        if self.archive:
            detail |= {
                "archive_key": self.archive.key,
                "archive_etag": self.archive.etag or None,
                "archive_sequencer": self.archive.sequencer or None,
            }
        return {
            "id": self.event_id,
            "time": self.event_time,
            "source": SOURCE,
            "detail-type": REINDEX,
            "detail": {name: value for name, value in detail.items() if value is not None},
        }


def is_older(order: Order, than: Order) -> bool:
    """Whether an event certainly happened before another.

    S3 and EventBridge tell the second only, so events of one second are in no order, except two of
    one key: S3's sequencers compare as texts, the shorter one padded with zeros.
    """
    if order[0] != than[0]:
        return order[0] < than[0]
    if not order[2] or not than[2] or order[1] != than[1]:
        return False
    width = max(len(order[2]), len(than[2]))
    return order[2].ljust(width, "0") < than[2].ljust(width, "0")


def with_lease(request: IndexRequest, *, run_id: str, lease: str) -> IndexRequest:
    """The continuation of a request: the same event, one hop on."""
    return replace(request, hop=request.hop + 1, run_id=run_id, lease=lease)


def iso(moment: datetime, *, timespec: str = "milliseconds") -> str:
    """ISO 8601 in UTC: of one length, so that texts compare as times."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
