"""What must hold of the stack that template.yaml describes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from plumbline.index.triggers import MAX_RECEIVES
from tests.unit.template import PARAMETERS, RESOURCES, ROOT, TEMPLATE, of_type, properties

FUNCTIONS = ("SearchFunction", "SuggestionsFunction", "IndexRepoFunction")


@pytest.fixture(params=FUNCTIONS)
def function(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# ------------------------------------------------------------------ the functions
def test_the_functions_are_built_for_their_platform() -> None:
    shared = TEMPLATE["Globals"]["Function"]
    assert (shared["Runtime"], shared["Architectures"]) == ("python3.13", ["arm64"])
    assert shared["Layers"] == [{"Ref": "SharedLayer"}]
    layer = properties("SharedLayer")
    assert layer["CompatibleRuntimes"] == ["python3.13"]
    assert layer["CompatibleArchitectures"] == ["arm64"]
    recipes = (ROOT / "build.mk").read_text()
    assert "_aarch64" in recipes
    assert "--python-version 3.13" in recipes


@pytest.mark.parametrize("name", [*FUNCTIONS, "SharedLayer"])
def test_everything_that_is_built_has_a_recipe(name: str) -> None:
    metadata = RESOURCES[name]["Metadata"]
    assert metadata["BuildMethod"] == "makefile"
    assert metadata["WorkingDirectory"] == "."
    code = ROOT / (properties(name).get("CodeUri") or properties(name)["ContentUri"])
    assert "include build.mk" in (code / "Makefile").read_text()
    assert f"\nbuild-{name}:\n" in (ROOT / "build.mk").read_text()


def test_the_search_function_streams() -> None:
    search = properties("SearchFunction")
    assert search["FunctionUrlConfig"]["InvokeMode"] == "RESPONSE_STREAM"
    wrapper = search["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"]
    script = ROOT / search["CodeUri"] / Path(wrapper).name
    assert wrapper == f"/var/task/{script.name}"
    assert os.access(script, os.X_OK)
    assert "python3 -u -m plumbline.lambda_runtime" in script.read_text()
    assert properties("SuggestionsFunction")["FunctionUrlConfig"]["InvokeMode"] == "BUFFERED"


def test_a_turn_ends_before_its_function_does() -> None:
    search = properties("SearchFunction")
    deadline = float(search["Environment"]["Variables"]["TURN_DEADLINE_SECONDS"])
    assert deadline + 3 <= search["Timeout"]


@pytest.mark.parametrize("function", ["SearchFunction", "SuggestionsFunction"])
def test_a_public_address_has_both_permissions(function: str) -> None:
    assert properties(function)["FunctionUrlConfig"]["AuthType"] == {"Ref": "FunctionUrlAuth"}
    granted = {
        name: it
        for name, it in of_type("AWS::Lambda::Permission").items()
        if it["FunctionName"] == {"Ref": function}
    }
    assert all(RESOURCES[name]["Condition"] == "IsPublic" for name in granted)
    assert all(it["Principal"] == "*" for it in granted.values())
    by_action = {it["Action"]: it for it in granted.values()}
    assert by_action["lambda:InvokeFunctionUrl"]["FunctionUrlAuthType"] == "NONE"
    assert by_action["lambda:InvokeFunction"]["InvokedViaFunctionUrl"] is True


def test_nothing_is_reserved_by_default() -> None:
    assert PARAMETERS["SearchReservedConcurrency"]["Default"] == 0
    reserved = properties("SearchFunction")["ReservedConcurrentExecutions"]
    assert reserved["Fn::If"][0] == "ReservesSearch"
    assert reserved["Fn::If"][2] == {"Ref": "AWS::NoValue"}
    others = [name for name in FUNCTIONS if "ReservedConcurrentExecutions" in properties(name)]
    assert others == ["SearchFunction"]


def test_every_function_logs_where_logs_expire(function: str) -> None:
    group = properties(function)["LoggingConfig"]["LogGroup"]["Ref"]
    assert properties(group)["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def _statements(function: str) -> Iterator[dict[str, Any]]:
    for policy in properties(function)["Policies"]:
        for statement in policy["Statement"]:
            yield statement["Fn::If"][1] if "Fn::If" in statement else statement


def test_no_function_may_do_everything(function: str) -> None:
    for statement in _statements(function):
        actions, resources = statement["Action"], statement["Resource"]
        for action in actions if isinstance(actions, list) else [actions]:
            assert "*" not in action
        for resource in resources if isinstance(resources, list) else [resources]:
            assert resource != "*"


def test_only_the_indexer_may_write() -> None:
    for function in ("SearchFunction", "SuggestionsFunction"):
        actions = [it["Action"] for it in _statements(function)]
        assert not any(verb in str(actions) for verb in ("Put", "Delete", "Update", "Send")) or (
            "events:PutEvents" in actions
        )
        assert "AlgoliaAdminKeyParameter" not in str(list(_statements(function)))
    assert "AlgoliaSearchKeyParameter" not in str(list(_statements("IndexRepoFunction")))


# boto3's methods, as the adapters call them, and the rights that they take.
RIGHTS = {
    "get_object": {"s3:GetObject"},
    "head_object": {"s3:GetObject"},
    "put_object": {"s3:PutObject"},
    "upload_fileobj": {"s3:PutObject", "s3:AbortMultipartUpload"},
    "delete_objects": {"s3:DeleteObject"},
    "list_objects_v2": {"s3:ListBucket"},
    "get_item": {"dynamodb:GetItem"},
    "put_item": {"dynamodb:PutItem"},
    "update_item": {"dynamodb:UpdateItem"},
    "transact_write_items": {"dynamodb:PutItem", "dynamodb:ConditionCheckItem"},
    "scan": {"dynamodb:Scan"},
    "send_message": {"sqs:SendMessage"},
    "change_message_visibility": {"sqs:ChangeMessageVisibility"},
    "put_events": {"events:PutEvents"},
}


def _calls(adapter: str) -> set[str]:
    source = (ROOT / f"layers/shared/plumbline/adapters/{adapter}.py").read_text()
    called = set(re.findall(r"_client\.(\w+)\(", source))
    return (called - {"get_paginator"}) | set(re.findall(r'get_paginator\("(\w+)"\)', source))


def _granted(function: str) -> set[str]:
    actions: set[str] = set()
    for statement in _statements(function):
        action = statement["Action"]
        actions |= set(action) if isinstance(action, list) else {action}
    return actions


def test_what_the_adapters_call_is_granted() -> None:
    needed = set.union(
        *(RIGHTS[call] for adapter in ("s3", "dynamodb", "events") for call in _calls(adapter))
    )
    assert len(needed) > 8
    secrets = {"ssm:GetParameter", "kms:Decrypt"}
    assert _granted("IndexRepoFunction") - secrets == needed - {"events:PutEvents"}
    readers = {"s3:GetObject", "s3:ListBucket", "dynamodb:GetItem", "dynamodb:Scan"}
    assert readers | {"events:PutEvents"} <= _granted("SearchFunction")


@pytest.mark.parametrize("name", ["ApiKeyHashes", "RedisUrl"])
def test_what_opens_doors_is_not_echoed(name: str) -> None:
    assert PARAMETERS[name]["NoEcho"] is True


# ------------------------------------------------------------------ what starts indexing
def test_one_bad_message_is_retried_alone_then_set_aside() -> None:
    (event,) = properties("IndexRepoFunction")["Events"].values()
    assert event["Type"] == "SQS"
    assert event["Properties"]["BatchSize"] == 1
    assert event["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    queue = properties("IndexQueue")
    assert queue["VisibilityTimeout"] == 6 * properties("IndexRepoFunction")["Timeout"]
    assert queue["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": "IndexDeadLetters.Arn"}
    # The indexer treats its last try otherwise: the two must mean the same one.
    assert queue["RedrivePolicy"]["maxReceiveCount"] == MAX_RECEIVES
    assert properties("IndexDeadLetters")["MessageRetentionPeriod"] == 14 * 86_400


def test_every_rule_reaches_the_queue_and_nobody_else_does() -> None:
    rules = of_type("AWS::Events::Rule")
    for rule in rules.values():
        assert [target["Arn"] for target in rule["Targets"]] == [{"Fn::GetAtt": "IndexQueue.Arn"}]
    allowed, bucket, denied = properties("IndexQueuePolicy")["PolicyDocument"]["Statement"]
    assert allowed["Condition"]["ArnEquals"]["aws:SourceArn"] == [
        {"Fn::GetAtt": f"{name}.Arn"} for name in rules
    ]
    assert bucket["Principal"] == {"Service": "s3.amazonaws.com"}
    assert bucket["Condition"]["ArnEquals"] == {"aws:SourceArn": {"Fn::GetAtt": "Bucket.Arn"}}
    assert denied["Effect"] == "Deny"


def _matches(pattern: Any, value: Any) -> bool:
    """EventBridge's matching, for the forms that the template uses."""
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(
            _matches(inner, value.get(name)) for name, inner in pattern.items()
        )
    for allowed in pattern:
        if isinstance(allowed, dict) and "prefix" in allowed:
            if str(value).startswith(allowed["prefix"]):
                return True
        elif allowed == value:
            return True
    return False


def _rules_for(event: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, rule in of_type("AWS::Events::Rule").items()
        if "EventPattern" in rule and _matches(rule["EventPattern"], event)
    ]


def _object_event(kind: str, key: str, reason: str) -> dict[str, Any]:
    detail = {"bucket": {"name": {"Ref": "Bucket"}}, "object": {"key": key}, "reason": reason}
    return {"source": "aws.s3", "detail-type": kind, "detail": detail}


@pytest.mark.parametrize(
    ("event", "rules"),
    [
        (
            _object_event("Object Created", "archives/github.com/a/b/c.zip", "PutObject"),
            ["ArchiveCreatedRule"],
        ),
        (
            _object_event("Object Created", "archives/h/a/b/c.zip", "CompleteMultipartUpload"),
            ["ArchiveCreatedRule"],
        ),
        (
            _object_event("Object Deleted", "archives/github.com/a/b/c.zip", "DeleteObject"),
            ["ArchiveDeletedRule"],
        ),
        (_object_event("Object Deleted", "archives/h/a/b/c.zip", "Lifecycle Expiration"), []),
        (_object_event("Object Created", "manifests/1/current.json.gz", "PutObject"), []),
        (_object_event("Object Created", "snapshots/1/abc.zip", "PutObject"), []),
        (_object_event("Object Deleted", "snapshots/1/abc.zip", "DeleteObject"), []),
        (
            {"source": "plumbline", "detail-type": "plumbline.reindex", "detail": {}},
            ["ReindexRule"],
        ),
        ({"source": "somebody", "detail-type": "plumbline.reindex", "detail": {}}, []),
    ],
)
def test_what_starts_indexing(event: dict[str, Any], rules: list[str]) -> None:
    assert _rules_for(event) == rules


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("index_s3_eventbridge_created", ["ArchiveCreatedRule"]),
        ("index_s3_eventbridge_deleted", ["ArchiveDeletedRule"]),
        ("index_s3_eventbridge_expired", []),
        ("index_reindex", ["ReindexRule"]),
    ],
)
def test_what_real_events_start(name: str, rules: list[str]) -> None:
    event = json.loads((ROOT / f"events/{name}.json").read_text())
    if "bucket" in event["detail"]:
        event["detail"]["bucket"]["name"] = {"Ref": "Bucket"}
    assert _rules_for(event) == rules


def test_the_schedule_can_be_changed_and_switched_off() -> None:
    rule = properties("ReindexScheduleRule")
    assert rule["ScheduleExpression"] == {"Ref": "ReindexSchedule"}
    assert rule["State"] == {"Ref": "ReindexScheduleState"}


# ------------------------------------------------------------------ what is kept
def test_the_bucket_is_closed_and_tells_eventbridge() -> None:
    bucket = properties("Bucket")
    assert all(bucket["PublicAccessBlockConfiguration"].values())
    notify = bucket["NotificationConfiguration"]["EventBridgeConfiguration"]
    assert notify == {"EventBridgeEnabled": True}
    expiring = {
        rule["Prefix"]: rule["ExpirationInDays"]
        for rule in bucket["LifecycleConfiguration"]["Rules"]
        if "ExpirationInDays" in rule
    }
    # Manifests and snapshots are the index's own; they never expire.
    assert expiring == {"archives/": {"Ref": "ArchiveRetentionDays"}}


@pytest.mark.parametrize("name", ["Bucket", "RegistryTable"])
def test_deleting_the_stack_keeps_what_cannot_be_made_again(name: str) -> None:
    assert RESOURCES[name]["DeletionPolicy"] == RESOURCES[name]["UpdateReplacePolicy"] == "Retain"


def test_the_cache_is_public_and_opened_by_iam_alone() -> None:
    cache = properties("Cache")
    assert (cache["Engine"], cache["MajorEngineVersion"]) == ("valkey", "9")
    assert cache["ConnectionType"] == "public"
    assert cache["UserGroupId"] == {"Ref": "CacheUserGroup"}
    assert properties("CacheUserGroup")["UserIds"] == [{"Ref": "CacheUser"}]
    user = properties("CacheUser")
    assert user["AuthenticationMode"] == {"Type": "iam"}
    assert user["UserId"] == user["UserName"]
    for name in ("Cache", "CacheUser", "CacheUserGroup"):
        assert RESOURCES[name]["Condition"] == "MakesCache"
