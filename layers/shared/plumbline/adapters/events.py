"""SQS and EventBridge: the queue that the indexer reads, the bus that requests go to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from plumbline.errors import StorageUnavailable
from plumbline.index.index_request import (
    REINDEX,
    SOURCE,
)

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sqs import SQSClient


class SqsQueue:
    """One queue. Raises ``StorageUnavailable``."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client, self._url = client, url

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message as JSON."""
        with _mapped_errors():
            self._client.send_message(
                QueueUrl=self._url, MessageBody=json.dumps(message, separators=(",", ":"))
            )

    def show_again(self, receipt_handle: str, seconds: int) -> None:
        """Make a received message visible in so many seconds."""
        with _mapped_errors():
            self._client.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )


class EventBus:
    """One EventBridge bus. Raises ``StorageUnavailable``."""

    def __init__(self, client: EventBridgeClient, name: str) -> None:
        self._client, self._name = client, name

    def request_reindex(self, repository_url: str, ref: str | None, force: bool) -> None:
        """Send plumbline.reindex."""
        detail: dict[str, object] = {"repository_url": repository_url}
        if ref:
            detail["ref"] = ref
        if force:
            detail["force"] = True
        with _mapped_errors():
            answer = self._client.put_events(
                Entries=[
                    {
                        "EventBusName": self._name,
                        "Source": SOURCE,
                        "DetailType": REINDEX,
                        "Detail": json.dumps(detail),
                    }
                ]
            )
        # A 200 may hold an entry that failed.
        if answer["FailedEntryCount"]:
            raise StorageUnavailable("The event bus did not take the event; try again later.")


@contextmanager
def _mapped_errors() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as exc:
        raise StorageUnavailable("The queue did not answer; try again later.") from exc
