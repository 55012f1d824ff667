"""The embedded engine over HTTP: 50,000 real records built, then asked."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any

from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.index.parsing.files import parse_file
from plumbline.index.records import build_documents
from plumbline.search.code_search import QUERY_PARAMETERS
from plumbline.search.query_building import build_query
from plumbline.search.results import RETRIEVED

RECORDS = 50_000
BATCH = 1000
ASKED = 400
MEDIAN_MS, P99_MS = 20.0, 80.0
RECORDS_A_SECOND = 3000.0
MEMORY_MB = 400.0
_ROOT = Path(__file__).resolve().parent.parent
_SERVER = """
import sys
from devstack.algolia_server import AlgoliaServer
server = AlgoliaServer(None, app_id="APP", api_keys={"key": frozenset({"search", "admin"})})
server.start()
print(server.address[1], flush=True)
sys.stdin.read()
server.stop()
"""


def run() -> list[dict[str, object]]:
    """Rows: records a second, query times in ms by kind and over all, memory in MB."""
    records = list(islice(_records(), RECORDS))
    with _server() as (connection, pid):
        _call(connection, "PUT", "/1/indexes/bench/settings", dict(INDEX_SETTINGS))
        begun = time.perf_counter()
        for start in range(0, len(records), BATCH):
            requests = [
                {"action": "addObject", "body": record} for record in records[start : start + BATCH]
            ]
            _call(connection, "POST", "/1/indexes/bench/batch", {"requests": requests})
        rate = len(records) / (time.perf_counter() - begun)
        times = _ask(connection, records)
        memory = _peak_memory(pid)
    every = sorted(one for kind in times.values() for one in kind)
    rows = [
        _row(
            f"embedded engine: build of {len(records):,} records",
            rate,
            "records/s",
            RECORDS_A_SECOND,
            rate >= RECORDS_A_SECOND,
        ),
        _row(
            "embedded engine: query over HTTP, median",
            statistics.median(every),
            "ms",
            MEDIAN_MS,
            statistics.median(every) < MEDIAN_MS,
        ),
        _row(
            "embedded engine: query over HTTP, p99", _p99(every), "ms", P99_MS, _p99(every) < P99_MS
        ),
        _row("embedded engine: peak memory", memory, "MB", MEMORY_MB, memory < MEMORY_MB),
    ]
    for kind, own in times.items():
        rows.append(_row(f"embedded engine: {kind}, median", statistics.median(own), "ms"))
        rows.append(_row(f"embedded engine: {kind}, p99", _p99(sorted(own)), "ms"))
    return rows


def _row(
    name: str, value: float, unit: str, budget: float | None = None, met: bool | None = None
) -> dict[str, object]:
    return {
        "name": name,
        "value": round(value, 2),
        "unit": unit,
        "compared_with": None,
        "ratio": None if budget is None else round(value / budget, 3),
        "budget": budget,
        "met": met,
    }


def _p99(ordered: Sequence[float]) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def _records() -> Iterator[dict[str, Any]]:
    """Records of the Python sources that this interpreter came with, then of what is installed."""
    folders = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder).as_posix()
            if folder == folders[0] and name.startswith("site-packages/"):
                continue
            yield from build_documents(
                parse_file(name, path.read_bytes()),
                repository_id=folders.index(folder) + 1,
                repository="bench/sources",
                repository_url="https://github.com/bench/sources",
                commit_sha="0" * 40,
            )


def _ask(connection: HTTPConnection, records: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    chooser = random.Random(7)
    named = [one for one in records if len(one["entity_name"]) > 5]
    told = [one for one in named if len(one["description"].split()) > 8]
    kinds: dict[str, Callable[[], dict[str, object]]] = {
        "name": lambda: {"query": chooser.choice(named)["entity_name"]},
        "fragment": lambda: {"query": chooser.choice(named)["entity_name"][:4]},
        "typo": lambda: {"query": _typo(chooser.choice(named)["entity_name"], chooser)},
        "question": lambda: _question(chooser.choice(told)["description"]),
        "question with every word optional": lambda: {
            "query": " ".join(chooser.choice(told)["description"].split()[3:12])
        },
    }
    times: dict[str, list[float]] = {}
    for _ in range(ASKED // len(kinds)):
        for kind, make in kinds.items():
            body = {
                **QUERY_PARAMETERS,
                "hitsPerPage": 10,
                "filters": 'NOT entity_type:"import"',
                "attributesToRetrieve": RETRIEVED,
                "attributesToHighlight": [],
                **make(),
            }
            begun = time.perf_counter()
            _call(connection, "POST", "/1/indexes/bench/query", body)
            times.setdefault(kind, []).append((time.perf_counter() - begun) * 1000)
    return times


def _typo(word: str, chooser: random.Random) -> str:
    at = chooser.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _question(description: str) -> dict[str, object]:
    built = build_query("how do I " + " ".join(description.split()[3:12]) + " in python?")
    return built.parameters()


@contextmanager
def _server() -> Iterator[tuple[HTTPConnection, int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        cwd=_ROOT,
        env={"PYTHONPATH": f"{_ROOT}:{_ROOT / 'layers' / 'shared'}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield HTTPConnection("127.0.0.1", int(process.stdout.readline())), process.pid
    finally:
        process.stdin.close()
        process.wait(timeout=20)
        process.stdout.close()


def _call(connection: HTTPConnection, method: str, path: str, body: object) -> dict[str, Any]:
    connection.request(
        method,
        path,
        json.dumps(body).encode(),
        {
            "content-type": "application/json",
            "x-algolia-application-id": "APP",
            "x-algolia-api-key": "key",
        },
    )
    response = connection.getresponse()
    answer: dict[str, Any] = json.loads(response.read())
    if response.status != 200:
        raise RuntimeError(f"{path}: {response.status} {answer.get('message')}")
    return answer


def _peak_memory(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmHWM in /proc")
