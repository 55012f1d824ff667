"""Suggestions end to end (HTTP, function URL, gate, Redis, Algolia's client) beside the engine."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

from devstack.algolia_server import AlgoliaServer
from devstack.function_urls import FunctionUrls
from devstack.redis_server import RedisServer
from devstack.stack import API_KEY, APP_ID, SEARCH_KEY, key_hash
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.search.suggestions import suggest

RECORDS = 50_000
QUERIES = 200
BUDGET_MS = 30.0
_ADMIN_KEY = "bench-admin-key"
_VERBS = (  # noqa: SIM905
    "get set read write parse render build open close create delete find load save sync"
).split()
_NOUNS = (  # noqa: SIM905
    "user session token template store query index record repository archive commit filter result"
    " snippet header request response stream paragraph signal source customer chunk event budget"
).split()
_ENDS = ["", "ById", "_with_state", "Async", "_or_none", "FromCache", "_batch", "V2"]


def run() -> list[dict[str, object]]:
    """Rows for 50,000 records: the median and the 99th percentile, in milliseconds."""
    with ExitStack() as closing:
        keys = {SEARCH_KEY: frozenset({"search"}), _ADMIN_KEY: frozenset({"admin"})}
        algolia = closing.enter_context(AlgoliaServer(None, app_id=APP_ID, api_keys=keys))
        redis = RedisServer(os.environ.get("REDIS_URL"))
        closing.callback(redis.stop)
        _fill(AlgoliaIndex(APP_ID, _ADMIN_KEY, "bench", url=algolia.url))
        environment = {
            "ALGOLIA_APP_ID": APP_ID,
            "ALGOLIA_SEARCH_API_KEY": SEARCH_KEY,
            "ALGOLIA_INDEX_NAME": "bench",
            "ALGOLIA_URL": algolia.url,
            "REDIS_URL": redis.url,
            "API_KEY_HASHES": key_hash(API_KEY),
            "RATE_LIMIT_PER_MINUTE": "100000",
            "POWERTOOLS_METRICS_DISABLED": "true",
            "LOG_LEVEL": "ERROR",
        }
        closing.enter_context(_environment(environment))
        from functions.suggestions.handler import handler

        urls = FunctionUrls({"": ("bench-suggestions", handler)})
        urls.start()
        closing.callback(urls.stop)
        queries = _queries()
        bare = _timed(queries, _engine(algolia))
        whole = _timed(queries, _over_http(urls.url, closing))
    median, bare_median = statistics.median(whole), statistics.median(bare)
    return [
        _row("suggestions, bare engine call, median", bare_median, None, None),
        _row("suggestions, end to end, median", median, BUDGET_MS, bare_median),
        _row("suggestions, end to end, p99", sorted(whole)[len(whole) * 99 // 100], None, None),
    ]


def _row(name: str, value: float, budget: float | None, beside: float | None) -> dict[str, object]:
    return {
        "name": name,
        "value": round(value, 2),
        "unit": "ms",
        "compared_with": "bare engine call" if beside else None,
        "ratio": round(value / beside, 2) if beside else None,
        "budget": budget,
        "met": value < budget if budget else None,
    }


def _fill(writer: AlgoliaIndex) -> None:
    chance = random.Random(7)
    names = [verb + "_" + noun + end for verb in _VERBS for noun in _NOUNS for end in _ENDS]
    writer.set_settings(INDEX_SETTINGS)
    records = (
        {
            "objectID": f"1_{number:040x}",
            "repository_id": 1,
            "entity_type": "import" if number % 5 == 0 else "function",
            "entity_name": chance.choice(names),
            "description": " ".join(chance.choices(_NOUNS, k=6)),
            "content": " ".join(chance.choices(names, k=25)),
            "file_path": f"src/{chance.choice(_NOUNS)}/{chance.choice(_VERBS)}.py",
            "language": "python",
            "is_test": number % 7 == 0,
            "rank_weight": 2,
        }
        for number in range(RECORDS)
    )
    while batch := list(itertools.islice(records, 1000)):
        task = writer.batch([{"action": "addObject", "body": record} for record in batch])
    while not writer.task_published(task):
        time.sleep(0.05)


def _queries() -> list[str]:
    """What is in a search box while a name is typed: its beginnings."""
    chance = random.Random(11)
    typed = (chance.choice(_VERBS) + "_" + chance.choice(_NOUNS) for _ in range(QUERIES))
    return [name[: chance.randint(3, len(name))] for name in typed]


class _Bare:
    """The engine in this process, behind the interface that ``suggest`` needs."""

    def __init__(self, server: AlgoliaServer) -> None:
        self._engine = server.engine

    def search(self, params: Mapping[str, object]) -> dict[str, Any]:
        return self._engine.search("bench", dict(params))


def _engine(server: AlgoliaServer) -> Callable[[str], object]:
    index = _Bare(server)
    return lambda query: suggest(query, index=index)


def _over_http(url: str, closing: ExitStack) -> Callable[[str], object]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    closing.callback(connection.close)

    def ask(query: str) -> object:
        connection.request("GET", f"/?q={quote(query)}", headers={"x-api-key": API_KEY})
        response = connection.getresponse()
        body = json.loads(response.read())
        if response.status != 200 or not body["suggestions"]:
            raise RuntimeError(f"{query!r}: {response.status} {body}")
        return body

    return ask


def _timed(queries: list[str], ask: Callable[[str], object]) -> list[float]:
    """Milliseconds of each query, after ten that warm up."""
    for query in queries[:10]:
        ask(query)
    times = []
    for query in queries:
        begun = time.perf_counter()
        ask(query)
        times.append((time.perf_counter() - begun) * 1000)
    return times


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
