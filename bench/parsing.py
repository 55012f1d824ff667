"""Full records against a bare tree-sitter parse of the same files, beside ctags, and their memory.

The sources are third-party files that the machine has: what the environment installed, the standard
library, headers, node's packages, what ``make sources`` fetched into ``build/sources``, or the
folder of unpacked packages that ``PLUMBLINE_SOURCES`` names instead. Each round runs every measure
over the whole corpus; the least of the rounds counts. The budgets are on time elapsed, with as many
processes as an indexing run takes; what one process needs of the processor stands beside it.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tree_sitter import Parser

from plumbline.index.archive import Member
from plumbline.index.file_records import FileRecords
from plumbline.index.languages import grammar_of, is_prose, language_of
from plumbline.index.parse_pool import ParsePool, usual_workers, workers_that_pay
from plumbline.index.parsing.files import parse_file, refusal
from plumbline.index.parsing.grammars import load
from plumbline.index.parsing.markdown import block_tokens
from plumbline.index.records import build_documents

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 3
CORPUS_BYTES = 20_000_000
LANGUAGE_BYTES = 2_500_000
RECORDS_BUDGET = 1.5
JSON_BUDGET = 2.0
MEMORY_BUDGET = 250

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """A file of the corpus under a path that no rule calls vendored."""

    path: str
    file: Path
    language: str
    data: bytes


def run() -> list[Row]:
    """Rows for ``make bench``."""
    measured = _apart("measure()")
    seconds, sizes = measured["seconds"], Counter(measured["sizes"])
    size, workers = sizes.total(), measured["workers"]
    elapsed, processor = seconds["elapsed"], seconds["processor"]
    rows = [
        _row("parsing corpus", size / 1e6, "MB", None, None, 20, size >= CORPUS_BYTES),
        *(_share(name, count) for name, count in sizes.most_common()),
        _row("processes that read files", workers, "processes", None, None, None, None),
        _ratio("full records / raw tree-sitter parse", elapsed, "shared", "raw", RECORDS_BUDGET),
        _ratio(
            "records with JSON / raw tree-sitter parse", elapsed, "shared json", "raw", JSON_BUDGET
        ),
        _ratio("full records in one process / raw, processor", processor, "records", "raw", None),
        _ratio("with JSON in one process / raw, processor", processor, "json", "raw", None),
        _ratio("two processes / one, time elapsed", elapsed, "shared", "records", None),
        _row("full records", size / 1e6 / elapsed["shared"], "MB/s", None, None, None, None),
    ]
    if "ctags" in elapsed:
        rows.append(_ratio("full records / ctags with JSON", elapsed, "shared", "ctags", None))
    if "blocks" in processor:
        rows.append(_ratio("Markdown records / its blocks", processor, "sections", "blocks", None))
    peak = _apart("index_all()")["kilobytes"] / 1024
    met = peak < MEMORY_BUDGET
    rows.append(
        _row("indexing the corpus, peak memory", peak, "MB", None, None, MEMORY_BUDGET, met)
    )
    return rows


def measure() -> None:
    """Print, as JSON, the least seconds of each measure on the clock and of the processor."""
    code, prose = _corpus()
    size = sum(len(sample.data) for sample in code)
    workers = workers_that_pay(usual_workers(), size)
    measures: dict[str, Callable[[], object]] = {
        "raw": lambda: _raw_parse(code),
        "shared": lambda: _shared(code, workers, json_too=False),
        "records": lambda: _records(code),
        "shared json": lambda: _shared(code, workers, json_too=True),
        "json": lambda: _json(code),
    }
    if prose:
        measures["blocks"] = lambda: _blocks(prose)
        measures["sections"] = lambda: _records(prose)
    if shutil.which("ctags"):
        measures["ctags"] = lambda: _ctags(code)
    print(json.dumps({"seconds": _best(measures), "sizes": _sizes(code), "workers": workers}))


def _corpus() -> tuple[list[Sample], list[Sample]]:
    """Code with a grammar, at least 20 MB where the machine has it, and Markdown."""
    code: list[Sample] = []
    prose: list[Sample] = []
    spare: list[Sample] = []
    taken: Counter[str] = Counter()
    for number, file in enumerate(_files()):
        language = language_of(file.name)
        if language is None or (is_prose(language) and language != "markdown"):
            continue
        if taken[language] >= LANGUAGE_BYTES * 2:
            continue
        data = file.read_bytes()
        path = f"src/{number}/{file.name}"
        # What is refused costs next to nothing, and would flatter the figure.
        if len(data) < 100 or refusal(path, language, data):
            continue
        sample = Sample(path, file, language, data)
        if taken[language] >= LANGUAGE_BYTES:
            spare.append(sample)
        else:
            (prose if language == "markdown" else code).append(sample)
        taken[language] += len(data)
    missing = CORPUS_BYTES - sum(len(sample.data) for sample in code)
    for sample in spare:
        if missing > 0 and sample.language != "markdown":
            code.append(sample)
            missing -= len(sample.data)
    return code, prose


def _files() -> Iterator[Path]:
    roots = [
        os.environ.get("PLUMBLINE_SOURCES", str(ROOT / "build" / "sources")),
        sysconfig.get_path("purelib"),
        sysconfig.get_path("stdlib"),
        "/usr/lib/node_modules",
        "/usr/share/doc",
        "/usr/include",
    ]
    for root in filter(None, roots):
        for folder, folders, names in os.walk(root):
            folders.sort()
            yield from (
                Path(folder, name)
                for name in sorted(names)
                if Path(folder, name).is_file() and not Path(folder, name).is_symlink()
            )


def _raw_parse(samples: Sequence[Sample]) -> None:
    parsers: dict[str, Parser] = {}
    for sample in samples:
        grammar = grammar_of(sample.path, sample.language)
        if grammar not in parsers:
            parsers[grammar] = Parser(load(grammar).language)
        parsers[grammar].parse(sample.data)


def _records(samples: Sequence[Sample]) -> None:
    for sample in samples:
        _documents(sample.path, sample.data)


def _json(samples: Sequence[Sample]) -> None:
    for sample in samples:
        for record in _documents(sample.path, sample.data):
            json.dumps(record)


def _blocks(samples: Sequence[Sample]) -> None:
    for sample in samples:
        block_tokens(sample.data.decode("utf-8", "replace"))


def _documents(path: str, data: bytes) -> list[dict[str, object]]:
    return build_documents(
        parse_file(path, data),
        repository_id=1,
        repository="acme/shop",
        repository_url="https://github.com/acme/shop",
        commit_sha="0" * 40,
    )


def _ctags(samples: Sequence[Sample]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("\n".join(str(sample.file) for sample in samples))
        listing.flush()
        subprocess.run(
            ["ctags", "--output-format=json", "--fields=*", "-f", "-", "-L", listing.name],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _shared(samples: Sequence[Sample], workers: int, *, json_too: bool) -> None:
    """The records as an indexing run makes them: read by its processes, gathered here in order."""
    work = _make_json if json_too else _make
    with ParsePool(work, workers=workers, limit_seconds=60) as pool:
        members = ((Member(sample.path, sample.data), True) for sample in samples)
        for _ in pool.read(members):
            pass


def _make(path: str, data: bytes) -> FileRecords:
    return FileRecords(None, [(record, "") for record in _documents(path, data)])


def _make_json(path: str, data: bytes) -> FileRecords:
    return FileRecords(None, [(record, json.dumps(record)) for record in _documents(path, data)])


def _best(measures: dict[str, Callable[[], object]]) -> dict[str, dict[str, float]]:
    best: dict[str, dict[str, float]] = {"elapsed": {}, "processor": {}}
    for _ in range(ROUNDS):
        for name, measure in measures.items():
            gc.collect()
            begun, processor = time.perf_counter(), _cpu_seconds()
            measure()
            taken = {
                "elapsed": time.perf_counter() - begun,
                "processor": _cpu_seconds() - processor,
            }
            for clock, seconds in taken.items():
                best[clock][name] = min(best[clock].get(name, seconds), seconds)
    return best


def _cpu_seconds() -> float:
    """Of this process and its children: other load on the machine does not count."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _apart(call: str) -> dict[str, Any]:
    """What a function of this module prints, in a fresh process: a fork wants no other threads."""
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'layers' / 'shared'}"}
    name = call.partition("(")[0]
    done = subprocess.run(
        [sys.executable, "-c", f"from bench.parsing import {name}; {call}"],
        env=environ,
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def index_all() -> None:
    """Make the records of every file the corpus could hold; print, as JSON, the kB that this
    process and its workers held at their most, shared pages counted for each.
    """
    workers = workers_that_pay(usual_workers(), CORPUS_BYTES)
    with ParsePool(_make, workers=workers, limit_seconds=60) as pool:
        for _ in pool.read(_all_members()):
            pass
    status = Path("/proc/self/status").read_text()
    peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
    if workers > 1:
        peak += workers * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps({"kilobytes": peak}))


def _all_members() -> Iterator[tuple[Member, bool]]:
    read = 0
    for number, file in enumerate(_files()):
        if language_of(file.name) is not None:
            data = file.read_bytes()
            read += len(data)
            yield Member(f"src/{number}/{file.name}", data), True
        if read > CORPUS_BYTES * 2:
            break


def _sizes(samples: Sequence[Sample]) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for sample in samples:
        sizes[sample.language] += len(sample.data)
    return sizes


def _share(language: str, size: int) -> Row:
    return _row(f"parsing corpus, {language}", size / 1e6, "MB", None, None, None, None)


def _ratio(name: str, seconds: dict[str, float], what: str, to: str, budget: float | None) -> Row:
    ratio = seconds[what] / seconds[to]
    met = None if budget is None else ratio <= budget
    return _row(name, seconds[what], "s", seconds[to], ratio, budget, met)


def _row(
    name: str,
    value: float,
    unit: str,
    compared_with: float | None,
    ratio: float | None,
    budget: float | None,
    met: bool | None,
) -> Row:
    return {
        "name": name,
        "value": round(value, 3),
        "unit": unit,
        "compared_with": None if compared_with is None else round(compared_with, 3),
        "ratio": None if ratio is None else round(ratio, 3),
        "budget": budget,
        "met": met,
    }
