"""One worker process: it is given files through a pipe and answers through another.

The pipes carry marshal's plain values: quick, and no hostile file that got hold of a worker could
have the parent run what it wrote, as pickle would.
"""

from __future__ import annotations

import fcntl
import gc
import marshal
import os
import signal
import struct
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Generic, NoReturn, TypeVar

from plumbline.index.collector import collector_paused
from plumbline.index.file_records import FileRecords

Task = TypeVar("Task")
Work = Callable[[str, bytes], FileRecords]

_LENGTH = struct.Struct("<Q")
_PIPE_BYTES = 1024 * 1024
_BUFFER_BYTES = 128 * 1024


class WorkerLost(Exception):
    """The process ended without an answer to its task."""


class ParseWorker(Generic[Task]):
    """A forked process that does ``work`` on one file after another.

    ``tasks`` are those given and not answered, in order. Neither end's pipe ever blocks the
    parent. ``others`` are the parent's ends of other workers' pipes: a child that kept them would
    keep those workers alive after the parent's end. Raises OSError when there can be no process.
    """

    def __init__(self, work: Work, others: Iterable[int]) -> None:
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            for end in (requests, self.requests, self.answers, answers):
                os.close(end)
            raise
        if self._pid == 0:
            _serve(work, requests, answers, [*others, self.requests, self.answers])
        os.close(requests)
        os.close(answers)
        for end in (self.requests, self.answers):
            _widen(end)
        os.set_blocking(self.requests, False)
        os.set_blocking(self.answers, False)
        self.tasks: deque[Task] = deque()
        self.since = 0.0
        self._outgoing: deque[memoryview] = deque()
        self._incoming = bytearray()

    @property
    def has_to_write(self) -> bool:
        """Whether some of a request waits for room in the pipe."""
        return bool(self._outgoing)

    def give(self, task: Task, path: str, data: bytes, now: float) -> None:
        """Add a task; ``write`` sends it. ``now`` starts its time if it is the only one."""
        if not self.tasks:
            self.since = now
        self.tasks.append(task)
        head = marshal.dumps((path, len(data)))
        # As one piece: a call to the system costs more than the copy.
        self._outgoing.append(memoryview(b"".join((_LENGTH.pack(len(head)), head, data))))

    def write(self) -> None:
        """Send what the pipe takes. A dead worker is found by ``read``."""
        with suppress(BlockingIOError, BrokenPipeError):
            while self._outgoing:
                part = self._outgoing[0]
                sent = os.write(self.requests, part)
                if sent == len(part):
                    self._outgoing.popleft()
                else:
                    self._outgoing[0] = part[sent:]

    def read(self, now: float) -> list[tuple[Task, FileRecords]]:
        """The tasks answered by now, with their answers. Raises WorkerLost at the worker's end."""
        with suppress(BlockingIOError):
            part = os.read(self.answers, _PIPE_BYTES)
            if not part:
                raise WorkerLost
            self._incoming += part
            self.since = now
        with collector_paused():
            return self._answered()

    def _answered(self) -> list[tuple[Task, FileRecords]]:
        done: list[tuple[Task, FileRecords]] = []
        while len(self._incoming) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._incoming)
            end = _LENGTH.size + size
            if len(self._incoming) < end:
                break
            skipped, records = marshal.loads(bytes(self._incoming[_LENGTH.size : end]))  # noqa: S302
            del self._incoming[:end]
            done.append((self.tasks.popleft(), FileRecords(skipped, records)))
        return done

    def stop(self) -> None:
        """End the process, whatever it does, and its pipes."""
        os.close(self.requests)
        os.close(self.answers)
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _widen(end: int) -> None:
    """Let a pipe hold a large file, where the system can: neither side then waits for the other."""
    resize = getattr(fcntl, "F_SETPIPE_SZ", None)
    if resize is not None:
        with suppress(OSError):
            fcntl.fcntl(end, resize, _PIPE_BYTES)


def _serve(work: Work, requests: int, answers: int, others: Iterable[int]) -> NoReturn:
    """The child's life. It never returns: what the parent has open is not the child's to close."""
    status = 1
    try:
        gc.freeze()  # what the parent made is not the child's to look through
        for end in others:
            os.close(end)
        with os.fdopen(requests, "rb", _BUFFER_BYTES) as reader, os.fdopen(answers, "wb") as writer:
            while length := reader.read(_LENGTH.size):
                path, size = marshal.loads(reader.read(_LENGTH.unpack(length)[0]))  # noqa: S302
                found = work(path, reader.read(size))
                answer = marshal.dumps((found.skipped, list(found.records)))
                writer.write(_LENGTH.pack(len(answer)) + answer)
                writer.flush()
        status = 0
    except BaseException:  # the parent sees the end, and reports the file
        status = 1
    finally:
        os._exit(status)
