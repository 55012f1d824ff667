"""``make eval``: every grading on real data, into build/eval.json."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.report import machine, run_modules, table, write_json


def main() -> int:
    """Run all evaluations, or those named; what is missing is said by name, and is no failure."""
    rows, missing = run_modules("evals", sys.argv[1:])
    write_json(Path("build", "eval.json"), rows)
    print(f"Evaluated on {machine()}.\n\n{table(rows)}\n")
    for reason in missing:
        print(f"not evaluated: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
