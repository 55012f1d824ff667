"""``make verify-cloud``: AB-ENTITY-BOOST on a real Algolia application, for those who have one.

It makes an index of its own name, fills it, asks the same questions with and without boosts, and
deletes the index. With ``CLOUD_INDEX`` an index that is there already, such as one that
NeuralSearch was trained for, is filled and asked instead, and stays.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from pathlib import Path

from bench.report import table, write_json
from evals.entity_boost import fill, measure
from evals.versioned_docs import documentation, load_pages
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.errors import SearchError

_WAIT_SECONDS = 300.0
_MARKER = "everything-is-there"


def main() -> int:
    """Measure in the cloud; 1 with one line when there is no account or no answer."""
    app, key = os.environ.get("ALGOLIA_APP_ID"), os.environ.get("ALGOLIA_ADMIN_API_KEY")
    if not app or not key:
        print("Give ALGOLIA_APP_ID and ALGOLIA_ADMIN_API_KEY.", file=sys.stderr)
        return 1
    given = os.environ.get("CLOUD_INDEX")
    name = given or f"plumbline_verify_{secrets.token_hex(4)}"
    index = AlgoliaIndex(app, key, name, url=os.environ.get("ALGOLIA_URL"))
    try:
        pages = load_pages(documentation())
        fill(index, pages)
        _wait(index)
        rows = [
            {**row, "name": row["name"].replace("embedded engine", "Algolia")}
            for row in measure(index, pages)
        ]
    except SearchError as exc:
        print(f"{exc.message} ({exc.__cause__})", file=sys.stderr)
        return 1
    finally:
        if not given:
            _remove(index)
    write_json(Path("build", "cloud.json"), rows)
    print(f"AB-ENTITY-BOOST on Algolia, index {name}.\n\n{table(rows)}")
    return 0


def _wait(index: AlgoliaIndex) -> None:
    """Until the writes so far are searchable: an index applies its tasks in order."""
    task = index.batch(
        [{"action": "addObject", "body": {"objectID": _MARKER, "entity_type": "import"}}]
    )
    deadline = time.monotonic() + _WAIT_SECONDS
    pause = 0.1
    while not index.task_published(task) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(2.0, pause * 2)


def _remove(index: AlgoliaIndex) -> None:
    try:
        index.batch([{"action": "delete", "body": {}}])
    except SearchError as exc:
        print(f"The index {index.index_name} is left: {exc.__cause__}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
