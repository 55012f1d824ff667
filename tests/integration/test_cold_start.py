"""What a fresh process loads before the reader has `pulse`: no vendor that can wait."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.redis_server import RedisServer
from devstack.stack import API_KEY, key_hash

ROOT = Path(__file__).resolve().parents[2]
# Each of them takes longer to import than everything that `pulse` needs.
LATE = ("boto3", "botocore.session", "google.genai", "algoliasearch", "mcp", "aiohttp")

PROGRAM = """
import json, os, sys
import plumbline.lambda_runtime
{steps}
print("loaded", json.dumps(sorted(sys.modules)))
sys.stdout.flush()
os._exit(0)
"""
FIRST_EVENT = """
from functions.search.handler import handler
response = handler(json.load(open("events/search.json")), None)
first = next(iter(response.body))
assert response.status == 200, (response.status, first)
assert b"event: pulse" in first, first
"""


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    server = RedisServer()
    yield server.url
    server.stop()


def _loaded(steps: str, redis_url: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(steps=steps)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT}:{ROOT / 'layers/shared'}",
            "REDIS_URL": redis_url,
            "API_KEY_HASHES": key_hash(API_KEY),
            "ALGOLIA_APP_ID": "APP",
            "ALGOLIA_SEARCH_API_KEY_PARAMETER": "/plumbline/algolia-search-key",
            "GEMINI_API_KEY_PARAMETER": "/plumbline/gemini-key",
            "AWS_REGION": "eu-west-1",
            "POWERTOOLS_METRICS_DISABLED": "true",
        },
    )
    assert done.returncode == 0, done.stderr
    modules: list[str] = json.loads(done.stdout.rpartition("loaded ")[2])
    return set(modules)


@pytest.mark.parametrize(
    "steps",
    [
        FIRST_EVENT,
        "import functions.search.handler",
        "import functions.suggestions.handler",
        "import functions.index_repo.handler",
    ],
    ids=["search, to its first event", "search", "suggestions", "index_repo"],
)
def test_no_vendor_that_can_wait_is_loaded(steps: str, redis_url: str) -> None:
    loaded = _loaded(steps, redis_url)
    assert "plumbline.lambda_runtime" in loaded
    assert [module for module in LATE if module in loaded] == []
