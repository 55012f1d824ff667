"""The registry's table: one table, key ``pk``.

``repository#<address in lower case>`` holds an entry, ``number#<n>`` points to its address, and
``counter`` holds the last number that was allotted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.exceptions import BotoCoreError, ClientError

from plumbline.errors import StorageConflict, StorageUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ENTRY = "repository#"
_NUMBER = "number#"
_CONFLICTS = frozenset({"ConditionalCheckFailedException", "TransactionConflictException"})
_CONFLICT_REASONS = frozenset({"ConditionalCheckFailed", "TransactionConflict"})


class DynamoTable:
    """Items of the registry. Reads are consistent; every write is conditional.

    Raises ``StorageConflict`` for a condition that does not hold and ``StorageUnavailable`` for
    everything else that DynamoDB answers.
    """

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client, self._table = client, table

    def allot(self) -> int:
        """The next number: atomic, from 1, never given twice."""
        with _mapped_errors():
            answer = self._client.update_item(
                TableName=self._table,
                Key={"pk": {"S": "counter"}},
                UpdateExpression="ADD #last :one",
                ExpressionAttributeNames={"#last": "last"},
                ExpressionAttributeValues={":one": {"N": "1"}},
                ReturnValues="UPDATED_NEW",
            )
        return int(answer["Attributes"]["last"]["N"])

    def get(self, url: str) -> dict[str, object] | None:
        """The item of an address, as last written."""
        return self._get(_entry_key(url))

    def get_number(self, number: int) -> dict[str, object] | None:
        """The item of a number."""
        pointer = self._get(f"{_NUMBER}{number}")
        return self.get(str(pointer["url"])) if pointer else None

    def scan(self) -> Iterator[dict[str, object]]:
        """Every item, in no order."""
        with _mapped_errors():
            pages = self._client.get_paginator("scan").paginate(
                TableName=self._table,
                ConsistentRead=True,
                FilterExpression="begins_with(pk, :entry)",
                ExpressionAttributeValues={":entry": {"S": _ENTRY}},
            )
            found = [_plain(item) for page in pages for item in page["Items"]]
        yield from found

    def create(self, item: Mapping[str, object]) -> None:
        """Write a new item and its number's pointer, both or neither."""
        url = str(item["url"])
        missing = "attribute_not_exists(pk)"
        with _mapped_errors():
            self._client.transact_write_items(
                TransactItems=[
                    {
                        "Put": {
                            "TableName": self._table,
                            "Item": _typed({**item, "pk": _entry_key(url)}),
                            "ConditionExpression": missing,
                        }
                    },
                    {
                        "Put": {
                            "TableName": self._table,
                            "Item": _typed({"pk": f"{_NUMBER}{item['number']}", "url": url}),
                            "ConditionExpression": missing,
                        }
                    },
                ]
            )

    def replace(self, item: Mapping[str, object], *, version: int) -> None:
        """Write over an item; ``StorageConflict`` unless it still has that version."""
        with _mapped_errors():
            self._client.put_item(
                TableName=self._table,
                Item=_typed({**item, "pk": _entry_key(str(item["url"]))}),
                ConditionExpression="#version = :version",
                ExpressionAttributeNames={"#version": "version"},
                ExpressionAttributeValues={":version": {"N": str(version)}},
            )

    def _get(self, key: str) -> dict[str, object] | None:
        with _mapped_errors():
            answer = self._client.get_item(
                TableName=self._table, Key={"pk": {"S": key}}, ConsistentRead=True
            )
        item = answer.get("Item")
        return _plain(item) if item else None


def _entry_key(url: str) -> str:
    return f"{_ENTRY}{url.lower()}"


def _typed(item: Mapping[str, object]) -> dict[str, Any]:
    serializer = TypeSerializer()
    return {name: serializer.serialize(_with_decimals(value)) for name, value in item.items()}


def _plain(item: Mapping[str, Any]) -> dict[str, object]:
    deserializer = TypeDeserializer()
    return {
        name: _without_decimals(deserializer.deserialize(value))
        for name, value in item.items()
        if name != "pk"
    }


def _with_decimals(value: object) -> object:
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, Mapping):
        return {str(name): _with_decimals(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_with_decimals(one) for one in value]
    return value


def _without_decimals(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {name: _without_decimals(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_decimals(one) for one in value]
    return value


@contextmanager
def _mapped_errors() -> Iterator[None]:
    try:
        yield
    except ClientError as exc:
        if _is_conflict(exc):
            raise StorageConflict("The registry was changed from another place.") from exc
        raise StorageUnavailable("The registry did not answer; try again later.") from exc
    except BotoCoreError as exc:
        raise StorageUnavailable("The registry did not answer; try again later.") from exc


def _is_conflict(error: ClientError) -> bool:
    response: Mapping[str, Any] = error.response
    if response.get("Error", {}).get("Code") in _CONFLICTS:
        return True
    reasons = response.get("CancellationReasons") or ()
    return any(reason.get("Code") in _CONFLICT_REASONS for reason in reasons)
