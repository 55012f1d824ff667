"""``make bench``: every measurement, into build/bench.json and docs/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.report import machine, run_modules, table, write_json

DOCUMENT = Path("docs", "benchmarks.md")


def main() -> int:
    """Run all benchmarks, or those named on the command line; 1 when one could not be run."""
    only = sys.argv[1:]
    rows, missing = run_modules("bench", only)
    write_json(Path("build", "bench.json"), rows)
    text = f"""# Benchmarks

Made by `make bench` on {machine()}. Ratios are of one run on one machine; single times vary with
what else the machine does. A budget is the design's; `met` says whether this run kept it.

{table(rows)}
"""
    print(text)
    if not only and not missing:
        DOCUMENT.write_text(text, encoding="utf-8")
    for reason in missing:
        print(f"not measured: {reason}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
