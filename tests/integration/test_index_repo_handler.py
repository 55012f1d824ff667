"""The indexing function by its real triggers: moto's S3, bus and queue, and the embedded engine.

The rules and the queue's limits are the template's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
import yaml
from moto import mock_aws
from moto.events.models import EventPattern

from devstack.algolia_server import AlgoliaServer
from functions.index_repo.handler import handler
from plumbline.adapters.dynamodb import DynamoTable
from plumbline.adapters.events import EventBus
from plumbline.adapters.s3 import S3Bucket
from plumbline.index.registry import Registry
from plumbline.index.snapshots import Snapshots
from plumbline.wiring.upstreams import now
from tests.index_doubles import COMMIT, make_tar, make_zip
from tests.index_world import Countdown, python_files

ROOT = Path(__file__).parents[2]
REGION: Final = "eu-central-1"
URL = "https://github.com/acme/app"
KEY = "archives/github.com/acme/app/app.zip"
OTHER = "f" * 40


class Loader(yaml.SafeLoader):
    """Reads the template: an intrinsic function is the name that it refers to."""


Loader.add_multi_constructor(
    "!", lambda loader, suffix, node: node.value if isinstance(node, yaml.ScalarNode) else str(node)
)
TEMPLATE = yaml.load((ROOT / "template.yaml").read_text(), Loader)["Resources"]


def _with_bucket(pattern: Any) -> Any:
    return json.loads(json.dumps(pattern).replace('"Bucket"', '"plumbline"'))


RULES = {
    name: _with_bucket(resource["Properties"]["EventPattern"])
    for name, resource in TEMPLATE.items()
    if resource["Type"] == "AWS::Events::Rule" and "EventPattern" in resource["Properties"]
}
RECEIVES = TEMPLATE["IndexQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"]


class Context:
    """Lambda's context; ``remaining`` is looked at for the time that is left."""

    def __init__(self, remaining: Callable[[], float] = lambda: 900.0) -> None:
        self._remaining = remaining

    def get_remaining_time_in_millis(self) -> int:
        return round(self._remaining() * 1000)


class Stack:
    """The function's surroundings, and the event source that polls the queue."""

    def __init__(self) -> None:
        self.s3 = boto3.client("s3", region_name=REGION)
        self.sqs = boto3.client("sqs", region_name=REGION)
        self.bus = boto3.client("events", region_name=REGION)
        dynamodb = boto3.client("dynamodb", region_name=REGION)
        self.s3.create_bucket(
            Bucket="plumbline", CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        self.s3.put_bucket_notification_configuration(
            Bucket="plumbline", NotificationConfiguration={"EventBridgeConfiguration": {}}
        )
        self.dead = self.sqs.create_queue(QueueName="dead")["QueueUrl"]
        policy = {
            "deadLetterTargetArn": f"arn:aws:sqs:{REGION}:123456789012:dead",
            "maxReceiveCount": str(RECEIVES),
        }
        self.queue = self.sqs.create_queue(
            QueueName="index",
            Attributes={"RedrivePolicy": json.dumps(policy), "VisibilityTimeout": "5400"},
        )["QueueUrl"]
        for name, pattern in RULES.items():
            self.bus.put_rule(Name=name, EventPattern=json.dumps(pattern))
            arn = f"arn:aws:sqs:{REGION}:123456789012:index"
            self.bus.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn}])
        dynamodb.create_table(
            TableName="registry",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        self.registry = Registry(DynamoTable(dynamodb, "registry"), now)
        self.snapshots = Snapshots(S3Bucket(self.s3, "plumbline"))

    def put(self, data: bytes, key: str = KEY, **metadata: str) -> None:
        self.s3.put_object(Bucket="plumbline", Key=key, Body=data, Metadata=metadata)

    def put_event(self, event: Mapping[str, Any]) -> None:
        """A message with an event that moto does not send itself."""
        self.sqs.send_message(QueueUrl=self.queue, MessageBody=json.dumps(event))

    def receive(self) -> list[dict[str, Any]]:
        """The messages that are visible, as the event's records."""
        answer = self.sqs.receive_message(
            QueueUrl=self.queue, MaxNumberOfMessages=10, AttributeNames=["All"]
        )
        return [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "eventSource": "aws:sqs",
            }
            for message in answer.get("Messages", [])
        ]

    def pump(self, context: Callable[[], Context] = Context) -> int:
        """Handle what is visible until nothing is, as the event source mapping does."""
        handled = 0
        while records := self.receive():
            for record in records:
                answer = handler({"Records": [record]}, context())
                handled += 1
                if not answer["batchItemFailures"]:
                    self.sqs.delete_message(
                        QueueUrl=self.queue, ReceiptHandle=record["receiptHandle"]
                    )
        return handled

    def hidden(self) -> int:
        """How many messages wait to be seen again."""
        answer = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=["All"])
        return int(answer["Attributes"]["ApproximateNumberOfMessagesNotVisible"])


@pytest.fixture
def algolia() -> Iterator[AlgoliaServer]:
    keys = {"a": frozenset({"search", "admin"})}
    with AlgoliaServer(None, app_id="APP", api_keys=keys) as server:
        yield server


@pytest.fixture
def stack(algolia: AlgoliaServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": REGION,
        "ALGOLIA_APP_ID": "APP",
        "ALGOLIA_ADMIN_API_KEY": "a",
        "ALGOLIA_URL": algolia.url,
        "ALGOLIA_INDEX_NAME": "code",
        "BUCKET_NAME": "plumbline",
        "REGISTRY_TABLE": "registry",
        "POWERTOOLS_METRICS_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        made = Stack()
        monkeypatch.setenv("QUEUE_URL", made.queue)
        yield made


def found(algolia: AlgoliaServer) -> dict[str, dict[str, Any]]:
    """Every record in the index by its name, as a browse through the admin's client gives it."""
    from plumbline.adapters.algolia import AlgoliaIndex

    index = AlgoliaIndex("APP", "a", "code", url=algolia.url)
    return {hit["entity_name"]: hit for hit in index.browse({"filters": "repository_id=1"})}


def test_an_upload_becomes_searchable(stack: Stack, algolia: AlgoliaServer) -> None:
    files = {
        "src/auth/tokens.py": "\n" * 41
        + "def refresh_token(session, token: str) -> str:\n"
        + '    """Return a new access token for a refresh token."""\n'
        + "    record = session.get(RefreshToken, token)\n"
        + "    if record is None or record.expired:\n"
        + '        raise InvalidToken("refresh token is not valid")\n'
        + "    record.rotate()\n"
        + "    return record.access_token\n",
        "README.md": "# Tokens\n\nHow they work.\n",
    }
    stack.put(make_zip(files, comment=COMMIT, root="app-main/"), ref="main")
    assert stack.pump() == 1
    records = found(algolia)
    assert set(records) == {"refresh_token", "Tokens"}
    token = records["refresh_token"]
    assert (token["file_path"], token["line_start"], token["line_end"]) == (
        "src/auth/tokens.py",
        42,
        48,
    )
    assert token["signature"] == "def refresh_token(session, token: str) -> str:"
    assert token["commit_sha"] == COMMIT
    (repository,) = stack.registry.list()
    assert (repository.status, repository.number, repository.branch) == ("completed", 1, "main")
    assert repository.counts_by_type == {"function": 1, "doc_section": 1}
    assert stack.snapshots.read_file(1, COMMIT, "README.md") == files["README.md"].encode()
    # What the indexer wrote to the bucket itself has triggered nothing.
    assert stack.receive() == []
    assert stack.hidden() == 0


def test_a_reindex_replaces_and_deletes(stack: Stack, algolia: AlgoliaServer) -> None:
    stack.put(make_zip(python_files(["alpha", "beta"]), comment=COMMIT))
    stack.pump()
    stack.put(make_tar(python_files(["alpha", "gamma"]), commit=OTHER), key=f"{KEY[:-4]}.tar.gz")
    stack.pump()
    assert set(found(algolia)) == {"alpha", "gamma"}
    assert stack.registry.list()[0].commit_sha == OTHER


def test_a_multipart_upload_is_told_twice_and_indexed_once(
    stack: Stack, algolia: AlgoliaServer
) -> None:
    data = make_zip(python_files(["alpha"]), comment=COMMIT)
    started = stack.s3.create_multipart_upload(Bucket="plumbline", Key=KEY)
    part = stack.s3.upload_part(
        Bucket="plumbline", Key=KEY, PartNumber=1, UploadId=started["UploadId"], Body=data
    )
    stack.s3.complete_multipart_upload(
        Bucket="plumbline",
        Key=KEY,
        UploadId=started["UploadId"],
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
    )
    assert stack.pump() == 2
    assert set(found(algolia)) == {"alpha"}
    assert stack.registry.list()[0].status == "completed"


def test_a_request_on_the_bus_reads_the_upload_again(stack: Stack, algolia: AlgoliaServer) -> None:
    stack.put(make_zip(python_files(["alpha"]), comment=COMMIT))
    stack.pump()
    before = stack.registry.list()[0].indexed_at
    EventBus(stack.bus, "default").request_reindex(URL, None, True)
    assert stack.pump() == 1
    after = stack.registry.list()[0]
    assert after.status == "completed"
    assert str(after.indexed_at) > str(before)


def test_a_person_deletes_the_archive(stack: Stack, algolia: AlgoliaServer) -> None:
    stack.put(make_zip(python_files(["alpha"]), comment=COMMIT))
    stack.pump()
    stack.s3.delete_object(Bucket="plumbline", Key=KEY)
    event = json.loads((ROOT / "events" / "index_s3_eventbridge_deleted.json").read_text())
    event["detail"]["object"]["key"] = KEY
    event["detail"]["object"]["sequencer"] = "FF"
    event["time"] = now().isoformat()
    assert matches("ArchiveDeletedRule", event)
    stack.put_event(event)
    stack.pump()
    assert found(algolia) == {}
    assert stack.registry.list() == []
    left = stack.s3.list_objects_v2(Bucket="plumbline")
    assert left["KeyCount"] == 0


def matches(rule: str, event: Any) -> bool:
    """Whether a rule of the template matches an event, by moto's reading of patterns."""
    pattern = EventPattern.load(json.dumps(RULES[rule]))
    return bool(pattern.matches_event(event))


def test_a_lifecycle_expiry_deletes_nothing(stack: Stack, algolia: AlgoliaServer) -> None:
    stack.put(make_zip(python_files(["alpha"]), comment=COMMIT))
    stack.pump()
    event = json.loads((ROOT / "events" / "index_s3_eventbridge_expired.json").read_text())
    event["detail"]["object"]["key"] = KEY
    stack.put_event(event)
    assert stack.pump() == 1
    assert set(found(algolia)) == {"alpha"}


def test_a_bad_archive_is_told_in_the_registry(stack: Stack, algolia: AlgoliaServer) -> None:
    whole = make_zip(python_files(["alpha"]), comment=COMMIT)
    stack.put(whole[:50])
    assert stack.pump() == 1
    (repository,) = stack.registry.list()
    assert repository.status == "failed"
    assert repository.reason == "The zip is broken or only half there; upload it again."
    stack.put(whole)
    stack.pump()
    assert stack.registry.list()[0].status == "completed"
    assert set(found(algolia)) == {"alpha"}


def test_a_run_short_of_time_sends_itself_the_rest(stack: Stack, algolia: AlgoliaServer) -> None:
    names = {f"f{n:02d}" for n in range(12)}
    stack.put(make_zip(python_files(sorted(names)), comment=COMMIT))
    handled = stack.pump(lambda: Context(Countdown(4)))
    assert 2 < handled < 12
    assert set(found(algolia)) == names
    (repository,) = stack.registry.list()
    assert (repository.status, repository.counts_by_type) == ("completed", {"function": 12})
    assert len(stack.snapshots.paths(1, COMMIT)) == 12
    assert stack.hidden() == 0


def test_a_message_that_is_none_ends_in_the_dead_letter_queue(stack: Stack) -> None:
    stack.sqs.send_message(QueueUrl=stack.queue, MessageBody="{")
    stack.put(make_zip(python_files(["alpha"]), comment=COMMIT))
    seen = 0
    for _ in range(RECEIVES):
        records = stack.receive()
        answer = handler({"Records": records}, Context())
        seen += len(records)
        bad = [record for record in records if record["body"] == "{"]
        assert answer["batchItemFailures"] == [{"itemIdentifier": bad[0]["messageId"]}]
        for record in records:
            handle = record["receiptHandle"]
            if record in bad:
                # In place of the second that the handler asked for.
                stack.sqs.change_message_visibility(
                    QueueUrl=stack.queue, ReceiptHandle=handle, VisibilityTimeout=0
                )
            else:
                stack.sqs.delete_message(QueueUrl=stack.queue, ReceiptHandle=handle)
    assert seen == RECEIVES + 1
    assert stack.receive() == []
    dead = stack.sqs.receive_message(QueueUrl=stack.dead)
    assert [message["Body"] for message in dead["Messages"]] == ["{"]
    assert stack.registry.list()[0].status == "completed"


def test_an_outage_waits_for_its_own_time_and_searchers_see_the_old_index(
    stack: Stack, algolia: AlgoliaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.put(make_zip(python_files(["alpha"]), comment=COMMIT))
    stack.pump()
    monkeypatch.setenv("ALGOLIA_URL", "http://127.0.0.1:9")
    stack.put(make_zip(python_files(["beta"]), comment=OTHER))
    assert stack.pump() == 1
    assert stack.hidden() == 1
    (repository,) = stack.registry.list()
    assert repository.status == "pending"
    assert repository.reason == "Algolia did not answer. It is tried again."
    assert set(found(algolia)) == {"alpha"}


def test_a_direct_invocation_takes_the_same_detail(stack: Stack, algolia: AlgoliaServer) -> None:
    def direct(**detail: object) -> dict[str, Any]:
        answer: dict[str, Any] = handler(detail, Context())
        (outcome,) = answer["outcomes"]
        return dict(outcome)

    stack.put(make_zip(python_files(["alpha"]), comment=COMMIT))
    stack.pump()
    outcome = direct(repository_url=URL, force=True)
    assert outcome["status"] == "completed"
    assert outcome["summary"]["sent"] == 1
    refused = direct(repository_url="https://example.org/a/b")
    assert refused["status"] == "failed"
    assert "configured hosts" in refused["reason"]


def test_the_rules_match_archives_and_nothing_else(stack: Stack) -> None:
    def load(name: str) -> Any:
        return json.loads((ROOT / "events" / f"index_{name}.json").read_text())

    created = load("s3_eventbridge_created")
    assert matches("ArchiveCreatedRule", created)
    created["detail"]["object"]["key"] = "manifests/1/current.json.gz"
    assert not matches("ArchiveCreatedRule", created)
    assert not matches("ArchiveDeletedRule", load("s3_eventbridge_expired"))
    assert matches("ArchiveDeletedRule", load("s3_eventbridge_deleted"))
    assert matches("ReindexRule", load("reindex"))
