"""Vendor keys by the name of an SSM parameter, as template.yaml deploys them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import boto3
import pytest
from aws_lambda_powertools.utilities import parameters

from devstack.algolia_server import AlgoliaServer
from devstack.aws import Aws
from devstack.function_urls import new_context
from devstack.redis_server import RedisServer
from devstack.stack import API_KEY, key_hash
from functions.search.handler import handler as search
from plumbline.adapters.secrets import read_secret
from plumbline.errors import SettingsError
from plumbline.http import encode
from plumbline.wiring.index_function import write_index_settings

EVENTS = Path(__file__).resolve().parents[2] / "events"


@pytest.fixture(scope="module", autouse=True)
def parts() -> Iterator[None]:
    keys = {"search-secret": frozenset({"search"}), "admin-secret": frozenset({"admin"})}
    with ExitStack() as closing:
        redis, aws = RedisServer(), Aws()
        closing.callback(redis.stop)
        closing.callback(aws.stop)
        algolia = closing.enter_context(AlgoliaServer(None, app_id="APP", api_keys=keys))
        patch = closing.enter_context(pytest.MonkeyPatch.context())
        for name in ("ALGOLIA_SEARCH_API_KEY", "ALGOLIA_ADMIN_API_KEY"):
            patch.delenv(name, raising=False)
        environment = {
            **aws.resources.environment(),
            "ALGOLIA_APP_ID": "APP",
            "ALGOLIA_URL": algolia.url,
            "ALGOLIA_SEARCH_API_KEY_PARAMETER": "/plumbline/algolia-search-key",
            "ALGOLIA_ADMIN_API_KEY_PARAMETER": "/plumbline/algolia-admin-key",
            "REDIS_URL": redis.url,
            "API_KEY_HASHES": key_hash(API_KEY),
            "POWERTOOLS_METRICS_DISABLED": "true",
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        parameters.clear_caches()  # type: ignore[no-untyped-call]
        closing.callback(parameters.clear_caches)
        ssm = boto3.client("ssm", endpoint_url=aws.resources.endpoint_url)
        for kind in ("search", "admin"):
            ssm.put_parameter(
                Name=f"/plumbline/algolia-{kind}-key", Value=f"{kind}-secret", Type="SecureString"
            )
        yield


def _event(name: str) -> dict[str, object]:
    loaded: dict[str, object] = json.loads((EVENTS / f"{name}.json").read_text())
    return loaded


def test_the_keys_are_read_where_they_are_needed() -> None:
    # The admin key writes the index's settings, the search key reads the index: the embedded
    # server refuses each in the other's place.
    assert write_index_settings(os.environ)
    found = encode(search(_event("search_code"), new_context("search", 60)))
    assert found["statusCode"] == 200, found


def test_a_parameter_that_is_not_there_is_named() -> None:
    with pytest.raises(SettingsError, match="/plumbline/nowhere"):
        read_secret("/plumbline/nowhere")
