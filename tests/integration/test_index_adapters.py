"""The registry, the bucket, the queue and the bus against moto, and every failure mapped."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import boto3
import botocore.exceptions
import pytest
from boto3.exceptions import Boto3Error, S3UploadFailedError
from botocore.exceptions import BotoCoreError, ClientError
from moto import mock_aws

from plumbline.adapters import dynamodb, events, s3
from plumbline.adapters.dynamodb import DynamoTable
from plumbline.adapters.events import EventBus, SqsQueue
from plumbline.adapters.s3 import S3Bucket
from plumbline.errors import ArchiveRefused, StorageConflict, StorageUnavailable
from plumbline.index.registry import Registry, RegistryEntry, Repository, entry_of, item_of
from plumbline.index.requests import (
    read_requests,
)
from plumbline.index.snapshots import Snapshots, SnapshotWriter, snapshot_key
from tests.index_doubles import COMMIT, Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

REGION = "eu-central-1"
TABLE = "registry"
FLASK = "https://github.com/pallets/flask"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield


@pytest.fixture
def dynamo(aws: None) -> DynamoDBClient:
    client = boto3.client("dynamodb", region_name=REGION)
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    return client


@pytest.fixture
def table(dynamo: DynamoDBClient) -> DynamoTable:
    return DynamoTable(dynamo, TABLE)


@pytest.fixture
def client(aws: None) -> S3Client:
    made = boto3.client("s3", region_name=REGION)
    made.create_bucket(
        Bucket="plumbline", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )
    return made


@pytest.fixture
def bucket(client: S3Client) -> S3Bucket:
    return S3Bucket(client, "plumbline")


def entry(number: int, url: str = FLASK) -> RegistryEntry:
    return RegistryEntry(
        Repository(
            number,
            url,
            "pallets/flask",
            status="processing",
            progress=0.125,
            counts_by_type={"class": 3},
            counts_by_language={},
        ),
        lease="token",
        lease_until=1772366400.513,
        pending={"id": "e", "detail": {"force": True, "hop": 2}},
        event_order=("t", "k", ""),
    )


def test_numbers_are_allotted_in_turn(table: DynamoTable) -> None:
    assert [table.allot() for _ in range(3)] == [1, 2, 3]


def test_an_item_comes_back_as_it_was(table: DynamoTable) -> None:
    table.create(item_of(entry(1)))
    item = table.get(FLASK)
    assert item is not None
    assert entry_of(item) == entry(1)
    assert type(item["number"]) is int
    assert table.get_number(1) == item
    assert list(table.scan()) == [item]
    assert table.get("https://github.com/PALLETS/Flask") == item


def test_what_is_not_there_is_none(table: DynamoTable) -> None:
    assert table.get(FLASK) is None
    assert table.get_number(4) is None
    table.allot()
    assert list(table.scan()) == []


def test_an_address_or_a_number_is_taken_once(table: DynamoTable) -> None:
    table.create(item_of(entry(1)))
    with pytest.raises(StorageConflict):
        table.create(item_of(entry(2)))
    assert table.get_number(2) is None
    with pytest.raises(StorageConflict):
        table.create(item_of(entry(1, "https://github.com/a/b")))
    assert table.get("https://github.com/a/b") is None


def test_a_write_needs_the_version_that_is_there(table: DynamoTable) -> None:
    table.create(item_of(entry(1)))
    table.replace(item_of(replace(entry(1), version=1)), version=0)
    with pytest.raises(StorageConflict):
        table.replace(item_of(replace(entry(1), version=1)), version=0)
    with pytest.raises(StorageConflict):
        table.replace(item_of(entry(9, "https://github.com/a/b")), version=0)


def test_the_registry_works_on_the_real_table(table: DynamoTable) -> None:
    registry = Registry(table, Clock())
    assert registry.register(FLASK).number == 1
    assert registry.register("https://gitlab.com/g/s/n").number == 2
    changed = registry.change(FLASK, lambda one: replace(one, lease="x", lease_until=1.25))
    assert registry.entry(FLASK) == changed
    assert [one.name for one in registry.list()] == ["pallets/flask", "g/s/n"]
    assert registry.find(2) == registry.find("g/s/n")


def test_more_entries_than_a_page_are_listed(table: DynamoTable) -> None:
    registry = Registry(table, Clock())
    for number in range(5):
        url = f"https://github.com/a/r{number}"
        registry.register(url)
        registry.change(
            url,
            lambda one: replace(one, repository=replace(one.repository, reason="x" * 350_000)),
        )
    assert [one.number for one in registry.list()] == [1, 2, 3, 4, 5]


def test_objects_are_written_listed_and_deleted(bucket: S3Bucket) -> None:
    assert bucket.get("a/1") is None
    for key in ("a/1", "a/2", "b/1"):
        bucket.put(key, key.encode())
    assert bucket.get("a/2") == b"a/2"
    assert list(bucket.keys("a/")) == ["a/1", "a/2"]
    bucket.delete(["a/1", "never/there"])
    assert list(bucket.keys("")) == ["a/2", "b/1"]
    bucket.delete([])


def test_more_objects_than_a_page_are_listed(
    bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")
    wanted = [f"j/{number}" for number in range(5)]
    for key in wanted:
        bucket.put(key, b"")
    assert list(bucket.keys("j/")) == wanted
    assert bucket.siblings("j/0") == wanted


def test_siblings_are_of_one_folder(bucket: S3Bucket) -> None:
    for name in ("app/", "app/1.zip", "app/2.zip", "app/deep/3.zip", "app2/4.zip"):
        bucket.put(f"archives/github.com/acme/{name}", b"")
    assert bucket.siblings("archives/github.com/acme/app/1.zip") == [
        "archives/github.com/acme/app/1.zip",
        "archives/github.com/acme/app/2.zip",
    ]


def test_an_archive_is_downloaded_with_its_metadata(bucket: S3Bucket, client: S3Client) -> None:
    data = bytes(range(256)) * 10_000
    client.put_object(
        Bucket="plumbline", Key="k", Body=data, Metadata={"Commit": COMMIT, "ref": "main"}
    )
    file = io.BytesIO()
    stored = bucket.download("k", file, max_bytes=len(data))
    assert stored is not None
    assert file.getvalue() == data
    assert stored.metadata == {"commit": COMMIT, "ref": "main"}
    assert len(stored.etag) == 32
    with pytest.raises(ArchiveRefused, match="larger than 1,000 bytes"):
        bucket.download("k", io.BytesIO(), max_bytes=1000)
    assert bucket.download("gone", io.BytesIO(), max_bytes=1) is None


def test_a_snapshot_is_read_in_ranges_of_the_real_bucket(bucket: S3Bucket) -> None:
    with SnapshotWriter() as writer:
        for number in range(50):
            writer.add(f"src/{number}.py", f"x = {number}\n".encode() * 500)
        writer.upload(bucket, snapshot_key(1, COMMIT))
    snapshots = Snapshots(bucket)
    assert snapshots.read_file(1, COMMIT, "src/49.py") == b"x = 49\n" * 500
    assert snapshots.read_file(2, COMMIT, "src/49.py") is None


@pytest.mark.usefixtures("aws")
def test_a_message_is_sent_and_shown_again() -> None:
    sqs = boto3.client("sqs", region_name=REGION)
    url = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "5400"})["QueueUrl"]
    queue = SqsQueue(sqs, url)
    queue.send({"detail": {"ü": 1}})
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert json.loads(message["Body"]) == {"detail": {"ü": 1}}
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    queue.show_again(message["ReceiptHandle"], 0)
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


@pytest.mark.usefixtures("aws")
def test_a_request_on_the_bus_is_the_event_that_the_indexer_knows() -> None:
    sqs = boto3.client("sqs", region_name=REGION)
    bus = boto3.client("events", region_name=REGION)
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    pattern = {"source": ["plumbline"], "detail-type": ["plumbline.reindex"]}
    bus.put_rule(Name="reindex", EventPattern=json.dumps(pattern))
    arn = f"arn:aws:sqs:{REGION}:123456789012:q"
    bus.put_targets(Rule="reindex", Targets=[{"Id": "queue", "Arn": arn}])
    EventBus(bus, "default").request_reindex(FLASK, "main", True)
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    event = json.loads(message["Body"])
    (request,) = read_requests(event, bucket="plumbline", now=Clock()())
    assert (request.url, request.ref, request.force) == (FLASK, "main", True)


class Failing:
    """A client of which every call raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def call(*args: object, **kwargs: object) -> Any:
            raise self._error

        return call


def client_error(code: str, reasons: list[dict[str, str]] | None = None) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "secret words"}}
    if reasons:
        response["CancellationReasons"] = reasons
    return ClientError(response, "Call")


def calls(error: Exception) -> dict[str, Callable[[], object]]:
    """Every method of every adapter, on a client that fails."""
    failing: Any = Failing(error)
    table, bucket = DynamoTable(failing, "t"), S3Bucket(failing, "b")
    queue, bus = SqsQueue(failing, "u"), EventBus(failing, "b")
    item = item_of(entry(1))
    return {
        "allot": table.allot,
        "get item": lambda: table.get("u"),
        "get number": lambda: table.get_number(1),
        "scan": lambda: list(table.scan()),
        "create": lambda: table.create(item),
        "replace": lambda: table.replace(item, version=0),
        "get": lambda: bucket.get("k"),
        "put": lambda: bucket.put("k", b""),
        "keys": lambda: list(bucket.keys("k")),
        "siblings": lambda: bucket.siblings("a/k"),
        "delete": lambda: bucket.delete(["k"]),
        "download": lambda: bucket.download("k", io.BytesIO(), max_bytes=1),
        "upload": lambda: bucket.upload("k", io.BytesIO()),
        "size": lambda: bucket.size("k"),
        "read_range": lambda: bucket.read_range("k", 0, 1),
        "send": lambda: queue.send({}),
        "show_again": lambda: queue.show_again("r", 1),
        "request_reindex": lambda: bus.request_reindex("u", None, False),
    }


def test_no_method_is_missing_from_the_mapping_test() -> None:
    classes = (DynamoTable, S3Bucket, SqsQueue, EventBus)
    public = [
        name
        for kind in classes
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    ]
    assert len(calls(ValueError())) == len(public)


@pytest.mark.parametrize("name", calls(ValueError()))
@pytest.mark.parametrize(
    "error",
    [
        client_error("AccessDenied"),
        client_error("ProvisionedThroughputExceededException"),
        client_error("NoSuchBucket"),
        botocore.exceptions.EndpointConnectionError(endpoint_url="https://secret"),
        botocore.exceptions.ReadTimeoutError(endpoint_url="https://secret"),
        botocore.exceptions.NoCredentialsError(),
        botocore.exceptions.ResponseStreamingError(error="broken off"),
    ],
    ids=["denied", "throttled", "no bucket", "no endpoint", "timeout", "no keys", "cut off"],
)
def test_every_failure_of_every_method_is_unavailable(name: str, error: Exception) -> None:
    with pytest.raises(StorageUnavailable) as caught:
        calls(error)[name]()
    assert not isinstance(caught.value, StorageConflict)
    assert caught.value.__cause__ is error
    assert "secret" not in caught.value.message


def _vendor_errors(root: type[Exception]) -> set[type[Exception]]:
    found = {root}
    for child in root.__subclasses__():
        found |= _vendor_errors(child)
    return found


@pytest.mark.parametrize("module", [s3, dynamodb, events], ids=lambda module: module.__name__)
def test_no_error_of_the_vendor_escapes_the_mapping(module: Any) -> None:
    """The whole tree, made without its arguments; a new branch beside these roots fails here."""
    roots: tuple[type[Exception], ...] = (BotoCoreError, ClientError)
    if module is s3:
        roots = (*roots, Boto3Error)
    for kind in set().union(*(_vendor_errors(root) for root in roots)):
        error = kind.__new__(kind)
        if isinstance(error, ClientError):
            error.response, error.operation_name = {}, "Call"
        with pytest.raises(StorageUnavailable), module._mapped_errors():
            raise error
    top = [
        value
        for _, value in inspect.getmembers(botocore.exceptions, inspect.isclass)
        if issubclass(value, Exception) and value.__module__ == "botocore.exceptions"
    ]
    strays = {kind.__name__ for kind in top if not issubclass(kind, BotoCoreError | ClientError)}
    # Two are warnings, two tell of a broken installation.
    assert strays == {
        "ImminentRemovalWarning",
        "UnsupportedTLSVersionWarning",
        "MissingServiceIdError",
        "UndefinedModelAttributeError",
    }


@pytest.mark.parametrize(
    "error",
    [
        client_error("ConditionalCheckFailedException"),
        client_error("TransactionConflictException"),
        client_error(
            "TransactionCanceledException",
            reasons=[{"Code": "None"}, {"Code": "ConditionalCheckFailed"}],
        ),
    ],
    ids=["condition", "conflict", "transaction"],
)
def test_a_condition_that_fails_is_a_conflict(error: ClientError) -> None:
    with pytest.raises(StorageConflict), dynamodb._mapped_errors():
        raise error


def test_a_transaction_that_fails_otherwise_is_unavailable() -> None:
    error = client_error("TransactionCanceledException", reasons=[{"Code": "ThrottlingError"}])
    with pytest.raises(StorageUnavailable) as caught, dynamodb._mapped_errors():
        raise error
    assert not isinstance(caught.value, StorageConflict)


def test_an_upload_that_fails_is_unavailable() -> None:
    with pytest.raises(StorageUnavailable), s3._mapped_errors():
        raise S3UploadFailedError("x")


@pytest.mark.parametrize("code", ["NoSuchKey", "404", "NotFound"])
def test_a_missing_object_is_no_failure(code: str) -> None:
    failing: Any = Failing(client_error(code))
    bucket = S3Bucket(failing, "b")
    assert bucket.get("k") is None
    assert bucket.size("k") is None
    assert bucket.download("k", io.BytesIO(), max_bytes=1) is None


class Answering:
    """A client that answers 200, with failures inside."""

    def __init__(self, *errors: dict[str, str]) -> None:
        self.errors = errors
        self.deleted: list[int] = []

    def put_events(self, **_: object) -> dict[str, object]:
        return {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException"}]}

    def delete_objects(self, **request: Any) -> dict[str, object]:
        self.deleted.append(len(request["Delete"]["Objects"]))
        return {"Errors": self.errors}


def test_a_failure_inside_an_answer_is_unavailable() -> None:
    answering: Any = Answering({"Key": "k", "Code": "AccessDenied"})
    with pytest.raises(StorageUnavailable, match="did not take the event"):
        EventBus(answering, "b").request_reindex(FLASK, None, False)
    with pytest.raises(StorageUnavailable, match="could not be deleted"):
        S3Bucket(answering, "b").delete(["k"])


def test_objects_are_deleted_a_thousand_at_a_time() -> None:
    answering: Any = Answering()
    S3Bucket(answering, "b").delete(f"k{n}" for n in range(2001))
    assert answering.deleted == [1000, 1000, 1]
