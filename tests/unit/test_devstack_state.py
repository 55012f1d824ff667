"""The running stack's state: for its owner, one at a time, gone with the process."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from devstack.failure import CommandError
from devstack.state import StackState, StateFile

STATE = StackState("http://127.0.0.1:1", "k", {"BUCKET_NAME": "b"})


def test_what_is_written_is_loaded_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "build" / "devstack.json"
    with StateFile(path) as file:
        assert StackState.load(path) is None
        file.write(STATE)
        assert StackState.load(path) == STATE
    assert not path.exists()
    assert StackState.load(path) is None


def test_only_the_owner_can_read_it_whatever_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "devstack.json"
    path.write_text("x" * 10_000, encoding="utf-8")
    path.chmod(0o666)
    with StateFile(path) as file:
        file.write(STATE)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text(encoding="utf-8"))["url"] == STATE.url


def test_a_second_stack_is_refused_and_leaves_the_first_its_state(tmp_path: Path) -> None:
    path = tmp_path / "devstack.json"
    with StateFile(path) as file:
        file.write(STATE)
        with pytest.raises(CommandError, match=r"runs here already at http://127\.0\.0\.1:1\."):
            StateFile(path).__enter__()
        assert StackState.load(path) == STATE
    with StateFile(path):
        assert path.exists()


def test_one_that_was_killed_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "devstack.json"
    program = (
        "import os, signal; from pathlib import Path; from devstack.state import *;"
        f"file = StateFile(Path({str(path)!r})).__enter__();"
        "file.write(StackState('http://127.0.0.1:2', 'k', {}));"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    root = Path(__file__).resolve().parents[2]
    environ = {**os.environ, "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-c", program], env=environ, timeout=30, check=False)
    left = StackState.load(path)
    assert left is not None
    with StateFile(path) as file:
        file.write(STATE)
        assert StackState.load(path) == STATE


@pytest.mark.parametrize("parent", ["file", "/proc"])
def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, parent: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(CommandError, match="cannot be written"):
        StateFile(tmp_path / parent / "build" / "devstack.json").__enter__()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 1}', "\udcff"])
def test_a_file_of_another_kind_is_no_state(tmp_path: Path, text: str) -> None:
    path = tmp_path / "devstack.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert StackState.load(path) is None
