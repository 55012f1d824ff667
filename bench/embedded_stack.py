"""The demo's own figures: how soon it is ready, how fast it indexes, how fast it answers."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from devstack.client import Client
from devstack.indexing import index_repository
from devstack.stack import API_KEY, Stack

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = (
    "How does the gate admit a request?",
    "Where are links classified?",
    "What does fit_record cut?",
    "How are breakers opened?",
    "Which events end a stream?",
)
ROUNDS = 4
# What is timed from a new process: the commands' imports and the whole start.
_READY = """
import time
begun = time.perf_counter()
import os
from devstack.stack import Stack
with Stack({**os.environ, "LOG_LEVEL": "CRITICAL"}):
    print(time.perf_counter() - begun)
"""


def run() -> list[dict[str, Any]]:
    """Ready time, records a second, and a turn's times beside a bare query of the engine."""
    rows = [_row("demo: stack ready, imports included", _ready_seconds() * 1000, "ms")]
    many = {"TURN_RATE_LIMIT_PER_MINUTE": "10000", "RATE_LIMIT_PER_MINUTE": "10000"}
    with Stack({**os.environ, **many, "LOG_LEVEL": "CRITICAL"}) as stack:
        client = Client(stack.url, API_KEY)
        begun = time.perf_counter()
        repository = index_repository(client, str(ROOT), stack.environment)
        took = time.perf_counter() - begun
        records = sum(repository["counts_by_type"].values())
        rows.append(
            _row("indexing this repository, archive to searchable", records / took, "records/s")
        )
        list(client.ask({"query": QUESTIONS[0]}))
        query = _median(_query_ms(client))
        first, final = zip(*_turns(client), strict=True)
        rows.append(_row("embedded server: a search_code query over HTTP", query, "ms"))
        for name, times in (("first paragraph", first), ("final", final)):
            value = _median(list(times))
            row = _row(f"embedded turn: question to {name}", value, "ms")
            rows.append({**row, "compared_with": "a search_code query", "ratio": value / query})
    return rows


def _ready_seconds() -> float:
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'layers' / 'shared'}"}
    times = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _READY],
            cwd=ROOT, env=environ, capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        times.append(float(done.stdout))
    return min(times)


def _query_ms(client: Client) -> list[float]:
    times = []
    for _ in range(ROUNDS):
        for question in QUESTIONS:
            begun = time.perf_counter()
            client.search_code({"query": question})
            times.append((time.perf_counter() - begun) * 1000)
    return times


def _turns(client: Client) -> list[tuple[float, float]]:
    """Milliseconds to the first paragraph and to the final event, a pair a turn."""
    turns = []
    for _ in range(ROUNDS):
        for question in QUESTIONS:
            begun = time.perf_counter()
            first = 0.0
            for event in client.ask({"query": question}):
                if event.event == "chunk" and not first:
                    first = (time.perf_counter() - begun) * 1000
            turns.append((first, (time.perf_counter() - begun) * 1000))
    return turns


def _median(times: list[float]) -> float:
    return statistics.median(times)


def _row(name: str, value: float, unit: str) -> dict[str, Any]:
    empty = {"compared_with": None, "ratio": None, "budget": None, "met": None}
    return {"name": name, "value": round(value, 1), "unit": unit, **empty}
