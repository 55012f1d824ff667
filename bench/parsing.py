"""Full records against a bare tree-sitter parse of the same files, beside ctags, and their memory.

The sources are third-party files that the machine has: what the environment installed, the standard
library, headers, node's packages, and whatever ``PLUMBLINE_SOURCES`` names (a folder of unpacked
packages). Each round runs every measure over the whole corpus; the round with the least CPU time
counts.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tree_sitter import Parser

from plumbline.index.languages import grammar_of, is_prose, language_of
from plumbline.index.parsing.files import parse_file, refusal
from plumbline.index.parsing.grammars import load
from plumbline.index.parsing.markdown import block_tokens
from plumbline.index.records import build_documents

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 3
CORPUS_BYTES = 20_000_000
LANGUAGE_BYTES = 3_500_000
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
    code, prose = _corpus()
    size = sum(len(sample.data) for sample in code)
    measures: dict[str, Callable[[], object]] = {
        "raw": lambda: _raw_parse(code),
        "records": lambda: _records(code),
        "json": lambda: _json(code),
        "blocks": lambda: _blocks(prose),
        "sections": lambda: _records(prose),
    }
    if shutil.which("ctags"):
        measures["ctags"] = lambda: _ctags(code)
    seconds = _best(measures)
    rows = [
        _row("parsing corpus", size / 1e6, "MB", None, None, 20, size >= CORPUS_BYTES),
        *(_share(name, count) for name, count in _sizes(code).most_common()),
        _ratio("full records / raw tree-sitter parse", seconds, "records", "raw", RECORDS_BUDGET),
        _ratio("records with JSON / raw tree-sitter parse", seconds, "json", "raw", JSON_BUDGET),
        _row("full records", size / 1e6 / seconds["records"], "MB/s", None, None, None, None),
    ]
    if "ctags" in seconds:
        rows.append(_ratio("full records / ctags with JSON", seconds, "records", "ctags", None))
    if prose:
        rows.append(_ratio("Markdown records / its blocks", seconds, "sections", "blocks", None))
    peak = _peak_memory()
    rows.append(
        _row(
            "indexing the corpus, peak memory",
            peak,
            "MB",
            None,
            None,
            MEMORY_BUDGET,
            peak < MEMORY_BUDGET,
        )
    )
    return rows


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
        os.environ.get("PLUMBLINE_SOURCES", ""),
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


def _best(measures: dict[str, Callable[[], object]]) -> dict[str, float]:
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, measure in measures.items():
            gc.collect()
            begun = _cpu_seconds()
            measure()
            taken = _cpu_seconds() - begun
            best[name] = min(best.get(name, taken), taken)
    return best


def _cpu_seconds() -> float:
    """Of this process and its children: other load on the machine does not count."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak_memory() -> float:
    """MB at the most, in a fresh process that indexes the corpus file by file."""
    program = "from bench.parsing import index_all; index_all()"
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'layers' / 'shared'}"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout) / 1024


def index_all() -> None:
    """Make the records of every file the corpus could hold, one file in memory at a time; print
    the process's peak resident memory in kB.
    """
    read = 0
    for number, file in enumerate(_files()):
        if language_of(file.name) is not None:
            data = file.read_bytes()
            read += len(data)
            _documents(f"src/{number}/{file.name}", data)
        if read > CORPUS_BYTES * 2:
            break
    status = Path("/proc/self/status").read_text()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


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
