"""What the streaming runtime adds to a handler: a turn, and each of its chunks.

The runtime runs as a process of its own, as on Lambda, against a loopback Runtime API that reads
what comes and looks at nothing but the end.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TURN_BUDGET_MS = 2.0
CHUNK_BUDGET_MS = 0.1
TURNS = 60
CHUNKS = 1_000

# A paragraph's event of usual size; the handler makes it anew each time.
HANDLER = """
class Response:
    status = 200
    headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
    def __init__(self, count):
        self.body = (b"id: 0:%d\\nevent: chunk\\ndata: %s\\n\\n" % (n, b"x" * 600)
                     for n in range(count))

def handler(event, context):
    return Response(event["chunks"])
"""


class _Api:
    """One client, one connection for ``next``, one for each response."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        self.address = f"{host}:{port}"

    def accept_next(self) -> socket.socket:
        """The connection over which the runtime asks what to do."""
        connection, _ = self._listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _read_until(connection, b"\r\n\r\n")
        return connection

    def turn(self, next_connection: socket.socket, chunks: int) -> float:
        """Seconds from handing an event over to being asked for the next one."""
        event = json.dumps({"chunks": chunks}).encode()
        head = (
            "HTTP/1.1 200 OK\r\n"
            "Lambda-Runtime-Aws-Request-Id: 8476a536-e9f4-11e8-9739-2dfe598c3fcd\r\n"
            f"Lambda-Runtime-Deadline-Ms: {int((time.time() + 60) * 1000)}\r\n"
            f"Content-Length: {len(event)}\r\n\r\n"
        )
        begun = time.perf_counter()
        next_connection.sendall(head.encode() + event)
        response, _ = self._listener.accept()
        with response:
            _read_until(response, b"0\r\n\r\n")
            response.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
            _read_until(next_connection, b"\r\n\r\n")
            return time.perf_counter() - begun

    def close(self) -> None:
        self._listener.close()


def _read_until(connection: socket.socket, end: bytes) -> None:
    tail = b""
    while not tail.endswith(end):
        received = connection.recv(1 << 18)
        if not received:
            raise ConnectionError("the runtime hung up")
        tail = (tail + received)[-len(end) :]


def _through_the_runtime(folder: Path, counts: tuple[int, ...]) -> list[float]:
    api = _Api()
    process = subprocess.Popen(
        [ROOT / "functions/search/stream.sh"],
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "layers/shared"),
            "AWS_LAMBDA_RUNTIME_API": api.address,
            "LAMBDA_TASK_ROOT": str(folder),
            "LAMBDA_RUNTIME_DIR": str(folder),
            "_HANDLER": "handler.handler",
        },
        stderr=subprocess.DEVNULL,
    )
    try:
        with api.accept_next() as next_connection:
            api.turn(next_connection, 1)
            # Alternating, so that a change of the machine's load meets all of them.
            taken = [[api.turn(next_connection, n) for n in counts] for _ in range(TURNS)]
        return [statistics.median(times) for times in zip(*taken, strict=True)]
    finally:
        api.close()
        process.kill()
        process.wait()


def _called_directly(counts: tuple[int, ...]) -> list[float]:
    scope: dict[str, Any] = {}
    exec(HANDLER, scope)
    taken: list[list[float]] = []
    for _ in range(TURNS):
        row = []
        for count in counts:
            begun = time.perf_counter()
            for _chunk in scope["handler"]({"chunks": count}, None).body:
                pass
            row.append(time.perf_counter() - begun)
        taken.append(row)
    return [statistics.median(times) for times in zip(*taken, strict=True)]


def run() -> list[dict[str, Any]]:
    """Two rows: milliseconds added to a turn of one chunk, and to each further chunk."""
    counts = (1, 1 + CHUNKS)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "handler.py").write_text(HANDLER)
        short, long = _through_the_runtime(Path(folder), counts)
    direct_short, direct_long = _called_directly(counts)
    turn = (short - direct_short) * 1000
    chunk = ((long - short) - (direct_long - direct_short)) / CHUNKS * 1000
    return [
        _row("Lambda runtime, added to a turn", turn, TURN_BUDGET_MS),
        _row("Lambda runtime, added to a chunk", chunk, CHUNK_BUDGET_MS),
    ]


def _row(name: str, value: float, budget: float) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(value, 4),
        "unit": "ms",
        "compared_with": "calling the handler directly",
        "ratio": None,
        "budget": budget,
        "met": value < budget,
    }
