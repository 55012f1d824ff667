"""The event source mapping: polls the queue and invokes the indexing function, as Lambda does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from devstack.function_urls import LambdaContext, new_context

FUNCTION_SECONDS = 900.0
_POLL_SECONDS = 1

log = logging.getLogger("plumbline.devstack")


class EventSource:
    """Invokes ``handler`` with each message of a queue, one at a time.

    A message that the answer does not list under ``batchItemFailures`` is deleted; the others
    come again when their visibility ends, and go to the dead-letter queue after as many tries as
    the queue's redrive policy says (``devstack.aws.MAX_RECEIVES``).
    """

    def __init__(
        self, queue_url: str, handler: Callable[[dict[str, Any], LambdaContext], Any]
    ) -> None:
        self._queue_url, self._handler = queue_url, handler
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="event-source")

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """End after the message at hand."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        import boto3

        sqs = boto3.client("sqs")
        while not self._stopping.is_set():
            try:
                answer = sqs.receive_message(
                    QueueUrl=self._queue_url,
                    MaxNumberOfMessages=1,
                    WaitTimeSeconds=_POLL_SECONDS,
                    AttributeNames=["All"],
                    MessageAttributeNames=["All"],
                )
                for message in answer.get("Messages", ()):
                    if self._succeeds(message):
                        sqs.delete_message(
                            QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"]
                        )
            except Exception:
                # The stack is being torn down, or the queue is gone: neither is the demo's news.
                if not self._stopping.wait(_POLL_SECONDS):
                    log.debug("polling failed", exc_info=True)

    def _succeeds(self, message: Any) -> bool:
        event = {"Records": [to_record(message, self._queue_url)]}
        try:
            answer = self._handler(event, new_context("plumbline-index-repo", FUNCTION_SECONDS))
        except Exception:
            log.exception("the indexing function failed")
            return False
        failures = (answer or {}).get("batchItemFailures", ())
        return not any(item.get("itemIdentifier") == message["MessageId"] for item in failures)


def to_record(message: Any, queue_url: str) -> dict[str, Any]:
    """A received message as the SQS event's record."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {},
        "md5OfBody": message.get("MD5OfBody", ""),
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{queue_url.rpartition('/')[2]}",
        "awsRegion": "us-east-1",
    }
