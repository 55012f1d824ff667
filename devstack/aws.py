"""S3, SQS, EventBridge and DynamoDB on loopback: moto's server, laid out like template.yaml."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from moto.server import ThreadedMotoServer

REGION = "us-east-1"
ACCOUNT = "123456789012"
BUCKET = "plumbline"
QUEUE = "plumbline-index"
TABLE = "plumbline-registry"
# As template.yaml says it.
MAX_RECEIVES = 5
# Far from AWS's own keys, so that nobody mistakes them for real ones.
CREDENTIALS: Mapping[str, str] = {
    "AWS_ACCESS_KEY_ID": "plumbline",
    "AWS_SECRET_ACCESS_KEY": "plumbline",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
}


@dataclass(frozen=True, slots=True)
class AwsResources:
    """What was made, by the names that the functions' settings ask for."""

    endpoint_url: str
    bucket: str
    queue_url: str
    dead_letter_url: str
    table: str

    def environment(self) -> dict[str, str]:
        """The variables that point the functions and boto3 here."""
        return {
            **CREDENTIALS,
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "BUCKET_NAME": self.bucket,
            "QUEUE_URL": self.queue_url,
            "REGISTRY_TABLE": self.table,
            "EVENT_BUS_NAME": "default",
        }


class Aws:
    """Moto's server with the bundle's resources in it."""

    def __init__(self, port: int = 0) -> None:
        from moto.server import ThreadedMotoServer

        for name in ("werkzeug", "botocore"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self._server: ThreadedMotoServer = ThreadedMotoServer(
            ip_address="127.0.0.1", port=port, verbose=False
        )
        self._server.start()
        try:
            host, bound = self._server.get_host_and_port()
            self.endpoint_url = f"http://{host}:{bound}"
            # Moto's state is the process's: what an earlier stack left is not this one's.
            requests.post(f"{self.endpoint_url}/moto-api/reset", timeout=10).raise_for_status()
            self.resources = _create_resources(self.endpoint_url)
        except BaseException:
            self._server.stop()
            raise

    def stop(self) -> None:
        """Stop the server; everything in it is gone."""
        self._server.stop()


def _create_resources(endpoint_url: str) -> AwsResources:
    import boto3

    session = boto3.Session(
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
    )
    s3 = session.client("s3", endpoint_url=endpoint_url)
    sqs = session.client("sqs", endpoint_url=endpoint_url)
    events = session.client("events", endpoint_url=endpoint_url)
    dynamodb = session.client("dynamodb", endpoint_url=endpoint_url)

    s3.create_bucket(Bucket=BUCKET)
    s3.put_bucket_notification_configuration(
        Bucket=BUCKET, NotificationConfiguration={"EventBridgeConfiguration": {}}
    )
    dead = sqs.create_queue(QueueName=f"{QUEUE}-dead")["QueueUrl"]
    redrive = {
        "deadLetterTargetArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{QUEUE}-dead",
        "maxReceiveCount": str(MAX_RECEIVES),
    }
    queue = sqs.create_queue(
        QueueName=QUEUE,
        Attributes={"RedrivePolicy": json.dumps(redrive), "VisibilityTimeout": "900"},
    )["QueueUrl"]
    for name, pattern in _rules().items():
        events.put_rule(Name=name, EventPattern=json.dumps(pattern))
        events.put_targets(
            Rule=name,
            Targets=[{"Id": "queue", "Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{QUEUE}"}],
        )
    dynamodb.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    return AwsResources(endpoint_url, BUCKET, queue, dead, TABLE)


def _rules() -> dict[str, dict[str, object]]:
    archives = {"object": {"key": [{"prefix": "archives/"}]}}
    return {
        "archive-created": {
            "source": ["aws.s3"],
            "detail-type": ["Object Created"],
            "detail": archives,
        },
        "archive-deleted": {
            "source": ["aws.s3"],
            "detail-type": ["Object Deleted"],
            "detail": archives,
        },
        "reindex": {"source": ["plumbline"], "detail-type": ["plumbline.reindex"]},
    }
