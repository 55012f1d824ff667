"""A failure at every step in turn: the index is searchable, and the next run mends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plumbline.errors import StorageUnavailable
from plumbline.index.index_request import (
    IndexRequest,
)
from plumbline.index.snapshots import Snapshots
from tests.index_doubles import COMMIT, unavailable
from tests.index_world import Countdown, World, later, python_files

OTHER = "f" * 40
KEPT = ["alpha", "beta"]
BEFORE = {**python_files(KEPT), **python_files(["changed"]), **python_files(["gone1", "gone2"])}
AFTER = {
    **python_files(KEPT),
    **python_files(["changed"], body="return 2"),
    **python_files(["new1", "new2"]),
}


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


class Steps:
    """Counts every call to the outside and fails one of them, or all from that one on.

    After each write to the index it is checked that a searcher misses nothing.
    """

    def __init__(self, world: World, must_be_found: set[str]) -> None:
        self.count = 0
        self.log: list[str] = []
        self.fail_at: int | None = None
        self.error: Callable[[str], BaseException] = lambda name: Killed(name)
        self.after_the_call = False
        self.dead = False
        self._world, self._must_be_found = world, must_be_found
        for target, names in (
            (world.index, ["batch", "delete_by", "get_settings", "set_settings", "browse"]),
            (world.bucket, ["get", "put", "keys", "delete", "download", "upload"]),
            (world.table, ["get", "create", "replace"]),
            (world.queue, ["send"]),
        ):
            for name in names:
                setattr(target, name, self._counted(getattr(target, name), name))

    def _counted(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                raise Killed(name)
            self.count += 1
            self.log.append(name)
            fails = self.count == self.fail_at
            if fails and not self.after_the_call:
                raise self._failure(name)
            result = call(*args, **kwargs)
            self.check()
            if fails:
                raise self._failure(name)
            return result

        return counted

    def _failure(self, name: str) -> BaseException:
        error = self.error(name)
        self.dead = isinstance(error, Killed)
        return error

    def check(self) -> None:
        """A searcher finds, at this moment, everything that is in both commits."""
        assert self._must_be_found <= self._world.index.names()

    def revive(self) -> None:
        """A new process over what the dead one left."""
        self.dead, self.fail_at = False, None
        self._world.restart()


def started() -> tuple[World, IndexRequest]:
    """A repository indexed at one commit, and the request for the next."""
    world = World()
    world.handle(world.upload(BEFORE, comment=COMMIT))
    # The next run is another process's, which looks at the index's settings again.
    world.restart()
    return world, world.upload(AFTER, comment=OTHER)


def steps_of_a_run() -> list[str]:
    world, request = started()
    steps = Steps(world, set())
    world.handle(request)
    return steps.log


STEPS = steps_of_a_run()


def mended(world: World, request: IndexRequest) -> None:
    """The message comes again, and the index is exactly the new commit's."""
    later(world, 1000)
    outcome = world.handle(request)
    assert outcome.status in ("completed", "unchanged")
    assert world.index.names() == {*KEPT, "changed", "new1", "new2"}
    changed = [r for r in world.index.records.values() if r["entity_name"] == "changed"]
    assert [r["content"] for r in changed] == ["def changed():\n    return 2"]
    assert len(world.index.records) == 5
    assert (world.repository.status, world.repository.commit_sha) == ("completed", OTHER)
    assert Snapshots(world.bucket).read_file(1, OTHER, "src/new1.py")
    assert list(world.bucket.keys("manifests/1/journal/")) == []
    # The manifest tells the truth: the next commit's difference is found from it.
    before = len(world.index.sent())
    world.handle(world.upload({**AFTER, **python_files(["last"])}, comment="e" * 40))
    assert len(world.index.sent()) == before + 1


def test_the_steps_are_those_meant() -> None:
    assert {"batch", "put", "upload", "download", "replace", "get_settings"} <= set(STEPS)
    assert len(STEPS) > 20


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("at", range(1, len(STEPS) + 1))
def test_a_process_killed_at_any_step(at: int, after: bool) -> None:
    world, request = started()
    steps = Steps(world, {*KEPT, "changed"})
    steps.fail_at, steps.after_the_call = at, after
    with pytest.raises(Killed):
        world.handle(request)
    steps.revive()
    steps.check()
    mended(world, request)


@pytest.mark.parametrize("after", [False, True], ids=["not arrived", "answer lost"])
@pytest.mark.parametrize("at", range(1, len(STEPS) + 1))
def test_an_upstream_that_fails_once_at_any_step(at: int, after: bool) -> None:
    world, request = started()
    steps = Steps(world, {*KEPT, "changed"})
    steps.fail_at, steps.after_the_call = at, after
    searching = {"batch", "get_settings", "set_settings", "browse"}
    steps.error = lambda name: (
        unavailable() if name in searching else StorageUnavailable("the store is down")
    )
    try:
        outcome = world.handle(request)
        assert outcome.status in ("retry", "completed")
        if outcome.status == "retry":
            # Completed all the same if only the answer to that was lost.
            expected = {("pending", COMMIT), ("completed", OTHER)}
            assert (world.repository.status, world.repository.commit_sha) in expected
    except StorageUnavailable:
        # The registry itself: the message is left to the queue.
        pass
    steps.check()
    mended(world, request)


@pytest.mark.parametrize("at", range(1, len(STEPS) + 1))
def test_another_commit_mends_it_as_well(at: int) -> None:
    world, request = started()
    steps = Steps(world, set(KEPT))
    steps.fail_at, steps.after_the_call = at, True
    with pytest.raises(Killed):
        world.handle(request)
    steps.revive()
    later(world, 1000)
    # Back to what the last whole run had: its hashes are equal, its records may not be.
    world.handle(world.upload(BEFORE, name="b.zip", comment="d" * 40))
    assert world.index.names() == {*KEPT, "changed", "gone1", "gone2"}
    changed = [r for r in world.index.records.values() if r["entity_name"] == "changed"]
    assert [r["content"] for r in changed] == ["def changed():\n    return 1"]
    assert world.repository.commit_sha == "d" * 40


def steps_of_a_continued_run() -> int:
    world, request = started()
    steps = Steps(world, set())
    world.remaining = Countdown(4)
    assert world.handle(request).status == "continued"
    world.remaining = lambda: 900.0
    assert [outcome.status for outcome in world.deliver()] == ["completed"]
    return steps.count


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("at", range(1, steps_of_a_continued_run() + 1))
def test_a_continued_run_killed_at_any_step(at: int, after: bool) -> None:
    world, request = started()
    steps = Steps(world, {*KEPT, "changed"})
    steps.fail_at, steps.after_the_call = at, after
    waiting = _continued_until_killed(world, request)
    steps.revive()
    steps.check()
    world.remaining = lambda: 900.0
    world.queue.messages = waiting
    later(world, 1000)
    world.deliver()
    mended(world, request)


def _continued_until_killed(world: World, request: IndexRequest) -> list[Any]:
    """What is in the queue when the process dies: a message is its until it is done with."""
    world.remaining = Countdown(4)
    waiting: list[Any] = world.queue.messages
    try:
        world.handle(request)
        world.remaining = lambda: 900.0
        waiting = list(world.queue.messages)
        world.deliver()
    except Killed:
        return waiting
    raise AssertionError("nothing was killed")
