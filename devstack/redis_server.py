"""Redis for the embedded stack: REDIS_URL, else ``redis-server`` on the path, else fakeredis.

A started server runs in cluster mode, as ElastiCache Serverless does, so that what a cluster
refuses is refused here as well.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import redis

from devstack.failure import reason

SLOTS = 16384
_READY_SECONDS = 60
_ATTEMPTS = 5


class RedisServer:
    """A Redis for as long as the stack runs; ``url`` and ``kind`` say which one it is."""

    def __init__(self, url: str | None = None, *, executable: str | None = None) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._fake: socketserver.BaseServer | None = None
        executable = executable if executable is not None else shutil.which("redis-server") or ""
        if url:
            _check_address(url)
            self.kind, self.url = "given", url
        elif executable:
            self.kind, self.url = "redis-server", self._start_process(executable)
        else:
            self.kind, self.url = "fakeredis", self._start_fake()

    def stop(self) -> None:
        """End what was started here; a given server is left alone."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._fake is not None:
            self._fake.shutdown()
            self._fake.server_close()
            self._fake = None
        if self._folder is not None:
            self._folder.cleanup()

    def _start_process(self, executable: str) -> str:
        self._folder = tempfile.TemporaryDirectory(prefix="plumbline-redis-")
        try:
            return self._try_ports(executable, Path(self._folder.name))
        except OSError as exc:
            self.stop()
            raise RuntimeError(f"redis-server does not start here: {reason(exc)}.") from exc
        except BaseException:
            self.stop()
            raise

    def _try_ports(self, executable: str, folder: Path) -> str:
        log = folder / "redis.log"
        for _ in range(_ATTEMPTS):
            port = _free_pair()
            self._process = subprocess.Popen(
                [
                    *(executable, "--port", str(port), "--bind", "127.0.0.1", "--save", ""),
                    *("--cluster-enabled", "yes", "--dir", str(folder)),
                    *("--cluster-config-file", f"nodes-{port}.conf", "--appendonly", "no"),
                    *("--logfile", str(log)),
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # The terminal's Ctrl-C is for the command, which then stops this itself.
                start_new_session=True,
            )
            if _form_cluster(f"redis://127.0.0.1:{port}", self._process):
                return f"redis://127.0.0.1:{port}"
            # Somebody took one of its ports first.
            self._process.wait()
        told = log.read_text(encoding="utf-8", errors="replace")[-500:] if log.exists() else ""
        raise RuntimeError(f"redis-server does not start here: {' '.join(told.split())}")

    def _start_fake(self) -> str:
        from fakeredis import TcpFakeServer

        # Without this a pipeline takes 44 ms, through Nagle's algorithm.
        socketserver.StreamRequestHandler.disable_nagle_algorithm = True
        server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True, name="fakeredis").start()
        self._fake = server
        return f"redis://127.0.0.1:{server.server_address[1]}"


def _check_address(url: str) -> None:
    try:
        redis.Redis.from_url(url, protocol=2).close()
    except ValueError as exc:
        # Its own words may hold the password.
        raise RuntimeError("REDIS_URL is no address such as redis://host:6379/0.") from exc


def _free_pair() -> int:
    """A port that is free now, and so is the one 10,000 above: a cluster node listens on both."""
    for _ in range(200):
        port = random.randint(20_000, 50_000)
        with contextlib.suppress(OSError), socket.socket() as own, socket.socket() as bus:
            own.bind(("127.0.0.1", port))
            bus.bind(("127.0.0.1", port + 10_000))
            return port
    raise RuntimeError("no free port")


def _form_cluster(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Give one node every slot, and wait until it says that the cluster is whole.

    False when the process has ended, as it does when a port was taken before it could bind.
    """
    deadline = time.monotonic() + _READY_SECONDS
    with redis.Redis.from_url(url, protocol=2, decode_responses=True) as client:
        assigned = False
        while time.monotonic() < deadline:
            if process.poll() is not None:
                return False
            with contextlib.suppress(redis.RedisError):
                if not assigned:
                    client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
                    assigned = True
                state = client.execute_command("CLUSTER", "INFO")
                text = state if isinstance(state, str) else str(state)
                if "cluster_state:ok" in text or "'cluster_state': 'ok'" in text:
                    return True
            time.sleep(0.02)
    raise RuntimeError("redis-server did not become ready")
