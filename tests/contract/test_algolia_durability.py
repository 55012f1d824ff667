"""What the embedded server acknowledged is there after it was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from devstack.algolia_server import AlgoliaServer
from tests.algolia_world import KEYS, client

ROOT = Path(__file__).resolve().parents[2]
_WRITER = """
import sys
from pathlib import Path
from devstack.engine.engine import Engine
engine = Engine(Path(sys.argv[1]))
engine.set_settings("kept", {"attributesForFaceting": ["kind"], "hitsPerPage": 7})
number = 0
while True:
    requests = [
        {"action": "addObject", "body": {"objectID": f"{number}-{i}", "kind": "a"}}
        for i in range(5)
    ]
    task, _ = engine.batch("kept", requests)
    print(number, task, flush=True)
    number += 1
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().split() for _ in range(10)]
    process.send_signal(signal.SIGKILL)
    acknowledged += [line.split() for line in process.stdout if len(line.split()) == 2]
    process.wait()
    process.stdout.close()
    last, task = (int(word) for word in acknowledged[-1])
    with AlgoliaServer(tmp_path, app_id="APP", api_keys=KEYS) as revived:
        found = client(revived).search_single_index("kept", {"filters": "kind:a"})
        # The batch under way may have been written without being acknowledged; never half of it.
        assert found.nb_hits is not None
        assert found.nb_hits % 5 == 0
        assert found.nb_hits >= (last + 1) * 5
        assert found.hits_per_page == 7
        assert client(revived).get_task("kept", task).status == "published"
        assert client(revived).save_object("kept", {"kind": "b"}).task_id > task
