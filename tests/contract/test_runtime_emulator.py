"""The runtime under AWS's own emulator: the binary inside the pinned aws-sam-cli wheel.

It buffers, so it proves the protocol and not the timing; test_lambda_runtime_stream.py does that.
"""

from __future__ import annotations

import http.client
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from devstack.aws import CREDENTIALS
from devstack.redis_server import RedisServer
from devstack.stack import API_KEY, key_hash

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "aws-sam-cli"
PRELUDE_END = b"\0" * 8

Invoke = Callable[[object], tuple[int, bytes]]


class Run(Protocol):
    """Starts the emulator on a function's folder, with further variables."""

    def __call__(self, task_root: Path, **environ: str) -> Invoke: ...


def _unavailable(reason: str) -> None:
    """A skip on a person's machine, a failure in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def emulator() -> Path:
    """The emulator's binary, taken once from the wheel that requirements/sam.txt pins."""
    architecture = {"x86_64": "x86_64", "aarch64": "arm64"}.get(platform.machine())
    if sys.platform != "linux" or architecture is None:
        pytest.skip("the emulator's binaries are for Linux on x86_64 and arm64")
    pin = _pin()
    binary = CACHE / f"{pin.split()[0]}-rie-{architecture}"
    if binary.exists():
        return binary
    CACHE.mkdir(parents=True, exist_ok=True)
    download = CACHE / f"download-{os.getpid()}"
    download.mkdir(exist_ok=True)
    requirement = download / "requirement.txt"
    requirement.write_text(pin)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"),
            *("--dest", str(download), "--requirement", str(requirement)),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        _unavailable(f"pip could not download aws-sam-cli: {done.stderr.strip()[-300:]}")
    with zipfile.ZipFile(next(download.glob("*.whl"))) as wheel:
        name = f"samcli/local/rapid/aws-lambda-rie-{architecture}"
        extracted = Path(wheel.extract(name, download))
    extracted.chmod(0o755)
    extracted.replace(binary)  # atomic: another test process may have been faster
    shutil.rmtree(download)
    return binary


def _pin() -> str:
    """The lines of requirements/sam.txt that pin aws-sam-cli and its hashes."""
    lines = (ROOT / "requirements/sam.txt").read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("aws-sam-cli=="))
    end = next(i for i in range(begin, len(lines)) if not lines[i].endswith("\\"))
    return "\n".join(lines[begin : end + 1]) + "\n"


@pytest.fixture
def run_emulator(emulator: Path, tmp_path: Path) -> Iterator[Run]:
    started: list[subprocess.Popen[bytes]] = []

    def run(task_root: Path, **environ: str) -> Invoke:
        bootstrap = tmp_path / "bootstrap"
        bootstrap.write_text(
            "#!/bin/sh\n"
            f"export PATH={Path(sys.executable).parent}:/usr/bin:/bin\n"
            f"export PYTHONPATH={ROOT / 'layers/shared'}\n"
            f"export LAMBDA_TASK_ROOT={task_root} LAMBDA_RUNTIME_DIR=/var/runtime\n"
            "export _HANDLER=handler.handler\n"
            + "".join(f"export {name}='{value}'\n" for name, value in environ.items())
            + f"exec {ROOT / 'functions/search/stream.sh'} python3 bootstrap.py\n"
        )
        bootstrap.chmod(0o755)
        port = _free_port()
        process = subprocess.Popen(
            [
                str(emulator),
                *("--runtime-interface-emulator-address", f"127.0.0.1:{port}"),
                *("--runtime-api-address", f"127.0.0.1:{_free_port()}"),
                str(bootstrap),
            ],
            env={"AWS_LAMBDA_FUNCTION_TIMEOUT": "20"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        assert process.stderr is not None
        # It says what it will run just before it listens.
        assert b"exec" in process.stderr.readline()
        return lambda event: _invoke(port, event)

    yield run
    for process in started:
        process.terminate()
        process.communicate(timeout=10)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _invoke(port: int, event: object) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    give_up = time.monotonic() + 10
    while connection.sock is None:
        try:
            connection.connect()
        except ConnectionRefusedError:
            if time.monotonic() > give_up:
                raise
    connection.request("POST", "/2015-03-31/functions/function/invocations", body=json.dumps(event))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_streamed_responses_are_accepted(run_emulator: Run) -> None:
    invoke = run_emulator(Path(__file__).parent / "streaming_function")

    status, answer = invoke(
        {"do": "chunks", "chunks": ["event: pulse\n\n", "", "event: final\n\n"]}
    )
    head, _, body = answer.partition(PRELUDE_END)
    assert status == 200
    assert json.loads(head)["statusCode"] == 200
    assert body == b"event: pulse\n\nevent: final\n\n"

    _, answer = invoke({"do": "as_json"})
    head, _, body = answer.partition(PRELUDE_END)
    assert json.loads(head) == {
        "statusCode": 404,
        "headers": {"content-type": "application/json"},
    }
    assert body == b'{"error":{}}'

    # A failure with a long message: trailers past 4 KiB would kill the environment here.
    status, answer = invoke({"do": "fail_after", "length": 100_000})
    assert (status, answer.partition(PRELUDE_END)[2]) == (200, b"paragraph")

    _, answer = invoke({"do": "fail_before"})
    assert json.loads(answer)["errorType"] == "LookupError"

    # One process served all of it.
    _, first = invoke({"do": "about"})
    _, second = invoke({"do": "about"})
    pids = [json.loads(answer.partition(PRELUDE_END)[2])["pid"] for answer in (first, second)]
    assert pids[0] == pids[1]


def test_a_handler_that_cannot_be_loaded_says_why(run_emulator: Run, tmp_path: Path) -> None:
    (tmp_path / "handler.py").write_text("import nowhere_to_be_found\n")
    _, answer = run_emulator(tmp_path)({})
    error = json.loads(answer)
    assert error["errorType"] == "Runtime.ImportModuleError"
    assert "nowhere_to_be_found" in error["errorMessage"]


def test_the_search_function_itself(run_emulator: Run) -> None:
    redis = RedisServer()
    try:
        invoke = run_emulator(
            ROOT / "functions/search",
            REDIS_URL=redis.url,
            API_KEY_HASHES=key_hash(API_KEY),
            ALGOLIA_APP_ID="APP",
            ALGOLIA_SEARCH_API_KEY="key",
            ALGOLIA_URL="http://127.0.0.1:9",  # nothing listens there
            **CREDENTIALS,
            LOG_LEVEL="CRITICAL",
        )
        answers = {
            name: invoke(json.loads((ROOT / f"events/{name}.json").read_text()))[1]
            for name in ("search", "search_without_key", "health")
        }
    finally:
        redis.stop()
    parts = {name: answer.partition(PRELUDE_END) for name, answer in answers.items()}
    heads = {name: json.loads(head) for name, (head, _, _) in parts.items()}
    assert {name: head["statusCode"] for name, head in heads.items()} == {
        "search": 200,
        "search_without_key": 401,
        "health": 503,
    }
    assert heads["search"]["headers"]["content-type"] == "text/event-stream; charset=utf-8"
    events = [line for line in parts["search"][2].splitlines() if line.startswith(b"event: ")]
    assert events[0] == b"event: pulse"
    assert events[-1] == b"event: error"  # search is unavailable, and the reader is told
    assert json.loads(parts["search_without_key"][2])["error"]["code"] == "unauthorized"
