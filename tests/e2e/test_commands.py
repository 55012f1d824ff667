"""The commands as a newcomer types them, each a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]
TRACEBACK = "Traceback (most recent call last)"


STATE = ROOT / "build" / "devstack.json"
ENVIRON = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'layers' / 'shared'}"}


def plumbline(
    *arguments: str, cwd: Path = ROOT, **environ: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "devstack.cli", *arguments]
    return subprocess.run(
        command, cwd=cwd, env={**ENVIRON, **environ}, capture_output=True, text=True, timeout=100
    )


def start(*arguments: str, cwd: Path = ROOT, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "devstack.cli", *arguments],
        cwd=cwd,
        env={**ENVIRON, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sources_of(package: str) -> Path:
    """The installed sources of a dependency: a real tree that nobody here wrote."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def events_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_demo_answers_about_a_real_source_tree() -> None:
    done = plumbline(
        *("demo", "--repo", str(sources_of("markdown_it"))),
        *("--ask", "How does StateInline push a pending token?", "--format", "events"),
    )
    assert done.returncode == 0, done.stderr
    events = events_of(done)
    assert [events[0]["event"], events[-1]["event"]] == ["pulse", "final"]
    assert [e["id"].split(":")[1] for e in events] == [str(n) for n in range(len(events))]
    final = events[-1]["data"]
    shown = "".join(e["data"]["content"] for e in events if e["event"] == "chunk")
    assert final["content"] == shown
    assert "StateInline" in shown
    assert any("state_inline.py" in source["file_path"] for source in final["sources"])
    assert "Ready at http://127.0.0.1:" in done.stderr
    assert "100%" in done.stderr
    assert "function" in done.stderr


def test_the_demo_reads_an_archive_and_prints_text(tmp_path: Path) -> None:
    archive = tmp_path / "idna.tar.gz"
    with tarfile.open(archive, "w:gz") as out:
        out.add(sources_of("idna"), "idna-1.0")
    done = plumbline("demo", "--repo", str(archive), "--ask", "What does uts46_remap do?")
    assert done.returncode == 0, done.stderr
    assert "`uts46_remap` is a Python function in `core.py`" in done.stdout
    assert "Sources\n  [1] " in done.stdout
    assert "Audit: " in done.stdout


@dataclass(frozen=True)
class Dev:
    """A `plumbline dev` of the tests' own."""

    process: subprocess.Popen[str]
    port: int
    greeting: str


@pytest.fixture(scope="module")
def dev() -> Iterator[Dev]:
    """The stack as `make dev` keeps it up; stopped by Ctrl-C, which must end it cleanly."""
    if STATE.exists():
        pytest.skip("a stack of the developer's own is running")
    port = free_port()
    process = start("dev", "--port", str(port))
    try:
        assert process.stderr is not None
        greeting = ""
        while "Ctrl-C stops it." not in greeting:
            line = process.stderr.readline()
            assert line, greeting
            greeting += line
        yield Dev(process, port, greeting)
    finally:
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Stopped." in rest
    assert TRACEBACK not in rest
    assert not STATE.exists()
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{port}/health", timeout=2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        ("missing", "no such folder or archive"),
        ("empty", "nothing to index"),
        ("broken", "This is no archive"),
        ("useless", "nothing that can be indexed"),
    ],
)
def test_a_repository_that_is_none_is_one_clear_line(
    dev: Dev, tmp_path: Path, make: str, says: str
) -> None:
    target = tmp_path / ("x.zip" if make == "broken" else "x")
    if make == "broken":
        target.write_bytes(b"this is no zip")
    elif make != "missing":
        target.mkdir()
    if make == "useless":
        (target / "data.bin").write_bytes(bytes(range(256)))
    refuse(plumbline("index", str(target)), says)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("https://example.invalid/a/b", "are not fetched"),
        ("ftp://github.com/a/b", "https"),
        ("https://github.com/a", "must name an owner"),
    ],
)
def test_an_address_that_is_none_is_one_clear_line(dev: Dev, address: str, says: str) -> None:
    refuse(plumbline("index", address), says)


def test_a_question_of_three_thousand_characters_is_refused(dev: Dev) -> None:
    refuse(plumbline("ask", "x" * 3000), "query must be 1 to 2000 characters.")


def test_a_demo_that_fails_says_so_in_one_line(tmp_path: Path) -> None:
    refuse(plumbline("demo", "--repo", str(tmp_path / "none")), "no such folder or archive")


def test_without_a_stack_the_commands_say_how_to_start_one() -> None:
    for command in (["ask", "x"], ["suggest", "xy"], ["index", "https://github.com/a/b"]):
        refuse(plumbline(*command, "--url", f"http://127.0.0.1:{free_port()}", "--api-key", "k"),
               "Nothing answers at")  # fmt: skip


def test_the_stack_answers_every_command(dev: Dev, tmp_path: Path) -> None:
    assert f"http://127.0.0.1:{dev.port}/" in dev.greeting
    refuse(plumbline("dev", "--port", str(free_port())), "An embedded stack runs here already")
    refuse(plumbline("dev", "--port", str(dev.port), cwd=tmp_path), "is in use.")
    assert STATE.exists(), "a second start leaves the first one's state alone"
    assert STATE.stat().st_mode & 0o777 == 0o600

    assert plumbline("index", str(ROOT / "functions")).returncode == 0
    asked = plumbline("ask", "Where are suggestions made?")
    assert "suggestions/handler.py" in asked.stdout, asked.stderr
    found = plumbline("search", "handler", "--json")
    assert json.loads(found.stdout)["total_hits"] >= 3
    assert "handler" in plumbline("suggest", "hand").stdout.splitlines()
    assert plumbline("suggest", "zzzz").stderr == "No suggestions.\n"
    assert (
        " found, page 2 of " in plumbline("search", "handler", "--limit", "1", "--page", "2").stdout
    )
    assert "past the last, which is" in plumbline("search", "handler", "--page", "9").stdout
    refuse(plumbline("search", "x", "--entity-type", "zzz"), "entity_type must be one of")

    for _ in range(2):
        lost = plumbline("ask", "Where are pink elephants quantised?", "--session", "lost")
        assert "The session lost is not known; this is a new one." in lost.stderr
    session = lost.stdout.split("Session: ")[1].split()[0]
    assert "not known" not in plumbline("ask", "More", "--session", session).stderr
    assert "nothing found  2 times" in plumbline("gaps").stdout


def test_the_curl_line_that_is_printed_works(dev: Dev) -> None:
    curl = next(line for line in dev.greeting.splitlines() if "curl -N" in line)
    streamed = subprocess.run(
        curl.strip(), shell=True, capture_output=True, text=True, timeout=30, check=True
    )
    assert streamed.stdout.startswith("id: ")
    assert "event: final" in streamed.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_nothing_running(number: int, tmp_path: Path) -> None:
    demo = start("demo", "--repo", str(ROOT), TMPDIR=str(tmp_path))
    assert demo.stderr is not None
    line = ""
    while "Ready at" not in line:
        line = demo.stderr.readline()
        assert line
    demo.send_signal(number)
    if number == signal.SIGHUP:
        # A closing terminal tells twice: once through the shell.
        demo.send_signal(number)
    _, rest = demo.communicate(timeout=30)
    assert demo.returncode == 130
    assert TRACEBACK not in rest
    assert list(tmp_path.iterdir()) == []
    port = int(line.split("127.0.0.1:")[1].split(" ")[0])
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), 1)


def test_a_closed_terminal_ends_dev_and_its_redis(tmp_path: Path) -> None:
    process = start("dev", "--port", "0", cwd=tmp_path)
    assert process.stderr is not None
    assert process.stdout is not None
    redis = None
    while redis is None:
        line = process.stderr.readline()
        assert line
        redis = re.search(r"^Redis +\S+ at 127\.0\.0\.1:(\d+)$", line)
    # As when the window is closed: nobody reads what is said last.
    process.stderr.close()
    process.stdout.close()
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=30) == 0
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(redis[1])), 1)
    assert not (tmp_path / "build" / "devstack.json").exists()


@pytest.mark.parametrize(
    ("arguments", "environ", "says"),
    [
        (["dev", "--port", "99999"], {}, "99999 is no port (0 to 65535)"),
        (["dev", "--port", "-1"], {}, "-1 is no port"),
        (["dev", "--folder", "/proc/nope"], {}, "The index cannot be kept in /proc/nope"),
        (["dev"], {"INSTANCE": "nope"}, "nope:1: no instance of this name ships"),
        (["demo"], {"REDIS_URL": "nonsense"}, "REDIS_URL is malformed"),
        (["nonsense"], {}, "invalid choice: 'nonsense'"),
        (["search", "x", "--page", "0"], {}, "0 is no page"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], environ: dict[str, str], says: str, tmp_path: Path
) -> None:
    refuse(plumbline(*arguments, cwd=tmp_path, **environ), says)


def test_dev_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "build").write_text("", encoding="utf-8")
    refuse(plumbline("dev", cwd=tmp_path), "cannot be written")


def test_an_answer_is_printed_in_whatever_encoding(tmp_path: Path) -> None:
    (tmp_path / "проект").mkdir()
    (tmp_path / "проект" / "a.md").write_text("# Кэш\n\nКэш хранит ответы.\n", encoding="utf-8")
    done = plumbline("demo", "--repo", str(tmp_path / "проект"), "--ask", "Кэш",
                     PYTHONIOENCODING="ascii")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert TRACEBACK not in done.stderr
    assert "Sources" in done.stdout


def refuse(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("plumbline: ")
    assert says in last
    assert TRACEBACK not in done.stderr


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
