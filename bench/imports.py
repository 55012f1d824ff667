"""Cold starts: importing each handler, and reaching a turn's first event, against all vendors.

Each figure is the best of several fresh processes that take turns, so that the machine's load meets
all of them; bytecode is warm, as in the built layer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from devstack.redis_server import RedisServer

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 7
BUDGET = 0.3

VENDORS = """
import algoliasearch.search.client, boto3, google.genai, pydantic, redis
import aws_lambda_powertools
from aws_lambda_powertools.utilities import parameters
"""
# From what stream.sh starts to the bytes of `pulse`.
FIRST_EVENT = """
import plumbline.lambda_runtime
from functions.search.handler import handler
response = handler(event, None)
first = next(iter(response.body))
assert response.status == 200 and b"event: pulse" in first, (response.status, first)
"""
# With the serverless cache, the first connection is opened with a token that is signed here.
LOGIN = """
import os
from plumbline.adapters.elasticache import IamCredentials
IamCredentials("plumbline", "plumbline", os.environ).get_credentials()
"""
CODE = {
    "all vendors": VENDORS,
    "search: import": "import plumbline.lambda_runtime, functions.search.handler",
    "search: import to the first event byte": FIRST_EVENT,
    "search: the same, with the cache's login": FIRST_EVENT + LOGIN,
    "suggestions: import": "import functions.suggestions.handler",
    "index_repo: import": "import functions.index_repo.handler",
}
BUDGETS = {name: BUDGET for name in CODE if name.startswith(("search", "suggestions"))}


def _seconds(code: str, environ: dict[str, str]) -> float:
    program = (
        "import json, sys, time\n"
        "event = json.load(open('events/search.json'))\n"
        f"begun = time.perf_counter()\n{code}\n"
        "print('seconds', time.perf_counter() - begun)\n"
        # The turn's threads have nothing to finish.
        "import os; sys.stdout.flush(); os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environ,
        timeout=120,
    )
    if done.returncode:
        raise RuntimeError(f"A cold start failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.rpartition("seconds ")[2])


def _environment(redis_url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT}:{ROOT / 'layers/shared'}",
        "ALGOLIA_APP_ID": "PLUMBLINE",
        "ALGOLIA_SEARCH_API_KEY": "embedded-search-key",
        "ALGOLIA_URL": "http://127.0.0.1:9",
        "REDIS_URL": redis_url,
        "API_KEY_HASHES": _key_hash(),
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "LOG_LEVEL": "CRITICAL",
        "POWERTOOLS_METRICS_DISABLED": "true",
    }


def _key_hash() -> str:
    import hashlib

    event = json.loads((ROOT / "events/search.json").read_text())
    digest = hashlib.sha256(event["headers"]["x-api-key"].encode()).hexdigest()
    return f"{digest}:turn|search|suggest|index"


def run() -> list[dict[str, Any]]:
    """One row for the vendors and one for each start, with its ratio to the vendors."""
    redis = RedisServer(None)
    try:
        environ = _environment(redis.url)
        for code in CODE.values():
            _seconds(code, environ)
        best = dict.fromkeys(CODE, float("inf"))
        for _ in range(ROUNDS):
            for name, code in CODE.items():
                best[name] = min(best[name], _seconds(code, environ))
    finally:
        redis.stop()
    vendors = best.pop("all vendors")
    rows = [_row("Importing all vendors", vendors, None)]
    rows.extend(_row(name, seconds, vendors) for name, seconds in best.items())
    return rows


def _row(name: str, seconds: float, vendors: float | None) -> dict[str, Any]:
    ratio = seconds / vendors if vendors else None
    budget = BUDGETS.get(name)
    return {
        "name": name,
        "value": round(seconds * 1000, 1),
        "unit": "ms",
        "compared_with": "importing all vendors" if vendors else None,
        "ratio": round(ratio, 3) if ratio else None,
        "budget": budget,
        "met": ratio <= budget if ratio and budget else None,
    }
