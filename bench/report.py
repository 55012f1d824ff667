"""Rows of figures: run the modules that make them, print them, keep them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

Row = dict[str, Any]
COLUMNS = ("name", "value", "unit", "compared_with", "ratio", "budget", "met")
_NOT_MEASURES = frozenset({"__main__", "report"})
# The last line of its output is the report; what a module prints itself stands before it.
_RUN = """
import importlib, json, sys
run = getattr(importlib.import_module(sys.argv[1]), "run", None)
try:
    report = {"rows": run() if run else []}
except (Exception, SystemExit) as exc:
    report = {"problem": str(exc)}
print()
print(json.dumps(report), end="")
"""


def run_modules(package: str, only: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The rows of every module of a package (or of those named), and what could not be run.

    Each runs in a process of its own, so that one's memory is not counted as another's. A module
    that fails costs its own rows; the reason is listed.
    """
    folder = Path(__file__).resolve().parent.parent / package
    names = [m.name for m in iter_modules([str(folder)]) if m.name not in _NOT_MEASURES]
    rows: list[Row] = []
    missing: list[str] = []
    for name in names:
        if only and name not in only:
            continue
        begun = time.monotonic()
        print(f"{name} ...", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-c", _RUN, f"{package}.{name}"],
            cwd=folder.parent,
            stdout=subprocess.PIPE,
            text=True,
        )
        report = json.loads(done.stdout.rpartition("\n")[2] or "{}") if not done.returncode else {}
        rows.extend(
            {column: row.get(column) for column in COLUMNS} for row in report.get("rows", ())
        )
        if done.returncode or "problem" in report:
            missing.append(f"{name}: {report.get('problem', 'it broke')}")
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return rows, missing


def write_json(path: Path, rows: Sequence[Row]) -> None:
    """The rows as a list of objects."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| what | value | compared with | ratio | budget | met |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = (
            row["name"],
            f"{_number(row['value'])} {row['unit'] or ''}".strip(),
            _compared(row["compared_with"]),
            _number(row["ratio"]),
            _number(row["budget"]),
            {True: "yes", False: "**no**", None: ""}[row["met"]],
        )
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines)


def machine() -> str:
    """What the figures were measured on."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


def _compared(value: object) -> str:
    return "" if value is None else str(_number(value))


def _number(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value
