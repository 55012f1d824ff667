"""Files become records in several processes, and come back in the order in which they went.

Threads would not do: the parser holds the interpreter's lock. Pipes and fork, since Lambda has no
/dev/shm. Source: design, section 6; docs/decisions/2026-11-29-parsing-speed.md.
"""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from plumbline.index.archive import Member
from plumbline.index.file_records import FileRecords
from plumbline.index.parse_worker import ParseWorker, Work, WorkerLost

# A worker computes one file while the next waits in its pipe.
_FILES_A_WORKER = 2
_WINDOW_FILES = 32
_WINDOW_BYTES = 8 * 1024 * 1024
# What Lambda gives for a whole processor.
_LAMBDA_MB_A_PROCESSOR = 1769
# Under this, starting the processes and their grammars costs more than they save.
_PAYS_FROM_BYTES = 4 * 1024 * 1024
_TASKS = Path("/proc/self/task")


def usual_workers(environ: Mapping[str, str] = os.environ) -> int:
    """How many processes the machine has processors for, at most two; 1 means no other process.

    On Lambda the function's memory tells: ``os.cpu_count`` counts what it may use a share of.
    """
    processors = os.cpu_count() or 1
    memory = environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")
    if memory.isdecimal():
        processors = min(processors, int(memory) // _LAMBDA_MB_A_PROCESSOR)
    return max(1, min(processors, 2))


def workers_that_pay(workers: int, total_bytes: int) -> int:
    """``workers``, or 1 where a fork would cost more than it saves or is not safe: an archive that
    unpacks to less than 4 MB, a process that has other threads.
    """
    if workers < 2 or total_bytes < _PAYS_FROM_BYTES or not hasattr(os, "fork"):
        return 1
    return workers if _threads() == 1 else 1


def _threads() -> int:
    return len(list(_TASKS.iterdir())) if _TASKS.is_dir() else threading.active_count()


@dataclass(slots=True)
class _Slot:
    """A member's place in the order: without its bytes once it is answered."""

    member: Member
    size: int
    done: bool = False
    answer: FileRecords | None = None


class ParsePool(AbstractContextManager["ParsePool"]):
    """Does ``work`` on files, in ``workers`` processes beside this one if that is more than 1.

    A worker that dies, or takes longer than ``limit_seconds`` for a file, costs that file only: it
    is skipped with a reason, and another worker goes on. At most 32 files or 8 MB are under way.
    Use as a context manager: its end stops the workers.
    """

    def __init__(
        self,
        work: Work,
        *,
        workers: int,
        limit_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._work, self._limit, self._clock = work, limit_seconds, clock
        self._workers: list[ParseWorker[_Slot]] = []
        self._order: deque[_Slot] = deque()
        self._queue: deque[_Slot] = deque()
        self._under_way = 0
        if workers > 1:
            for _ in range(workers):
                self._start()

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def read(
        self, members: Iterable[tuple[Member, bool]]
    ) -> Iterator[tuple[Member, FileRecords | None]]:
        """Each member in order, with its records if they are wanted and it has bytes."""
        for member, wanted in members:
            slot = _Slot(member, len(member.data), not wanted or member.skipped is not None)
            self._order.append(slot)
            self._under_way += slot.size
            if not slot.done:
                self._queue.append(slot)
                self._hand_out()
            while len(self._order) > _WINDOW_FILES or self._under_way > _WINDOW_BYTES:
                if self._order[0].done:
                    break
                self._wait()
            yield from self._finished()
        while self._order:
            self._wait()
            yield from self._finished()

    def _finished(self) -> Iterator[tuple[Member, FileRecords | None]]:
        while self._order and self._order[0].done:
            slot = self._order.popleft()
            self._under_way -= slot.size
            yield slot.member, slot.answer

    def _hand_out(self) -> None:
        for depth in range(1, _FILES_A_WORKER + 1):
            for worker in self._workers:
                if self._queue and len(worker.tasks) < depth:
                    slot = self._queue.popleft()
                    worker.give(slot, slot.member.path, slot.member.data, self._clock())
                    worker.write()
        if not self._workers:
            while self._queue:
                slot = self._queue.popleft()
                self._settle(slot, self._work(slot.member.path, slot.member.data))

    def _wait(self) -> None:
        """Move bytes until something changes, and deal with workers that died or hang."""
        if self._order[0].done or not self._workers:
            return
        # Poll, not epoll, which would take a call to the system for each pipe.
        with selectors.PollSelector() as selector:
            for worker in self._workers:
                selector.register(worker.answers, selectors.EVENT_READ, worker)
                if worker.has_to_write:
                    selector.register(worker.requests, selectors.EVENT_WRITE, worker)
            ready = {(key.data, events) for key, events in selector.select(self._patience())}
        for worker, events in ready:
            if events == selectors.EVENT_WRITE:
                worker.write()
        heard = {worker for worker, events in ready if events == selectors.EVENT_READ}
        for worker in list(self._workers):
            if worker in heard:
                self._hear(worker)
            elif worker.tasks and self._clock() - worker.since > self._limit:
                self._replace(worker, "parse timeout")
        self._hand_out()

    def _patience(self) -> float:
        now = self._clock()
        return max(
            0.0,
            min(
                (worker.since + self._limit - now for worker in self._workers if worker.tasks),
                default=self._limit,
            ),
        )

    def _hear(self, worker: ParseWorker[_Slot]) -> None:
        try:
            for slot, answer in worker.read(self._clock()):
                self._settle(slot, answer)
        except WorkerLost:
            self._replace(worker, "parse failed: the parser crashed")

    def _replace(self, worker: ParseWorker[_Slot], reason: str) -> None:
        """Give up the file that the worker was at; the others that it was given go to another."""
        worker.stop()
        self._workers.remove(worker)
        if worker.tasks:
            self._settle(worker.tasks.popleft(), FileRecords(reason))
        self._queue.extendleft(reversed(worker.tasks))
        self._start()

    def _start(self) -> None:
        others = [end for worker in self._workers for end in (worker.requests, worker.answers)]
        try:
            self._workers.append(ParseWorker(self._work, others))
        except OSError:
            return  # fewer workers, or none: then the files are read here

    def _settle(self, slot: _Slot, answer: FileRecords) -> None:
        slot.member = Member(slot.member.path)
        slot.answer, slot.done = answer, True
