"""The indexer with everything around it in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from plumbline.index.archive_source import ArchiveSource, Downloads
from plumbline.index.download import Downloader
from plumbline.index.index_request import (
    ArchiveObject,
    IndexRequest,
    iso,
)
from plumbline.index.indexer import Indexer, IndexSettings, Outcome
from plumbline.index.manifests import Manifests
from plumbline.index.registry import Registry, Repository
from plumbline.index.requests import (
    read_requests,
)
from plumbline.index.run import RunParts
from tests.index_doubles import Clock, MemoryBucket, MemoryTable, RecordingIndex, make_zip

URL = "https://github.com/acme/app"
FOLDER = "archives/github.com/acme/app"


class Queue:
    """Messages that were sent; ``fail`` may raise instead."""

    def __init__(self) -> None:
        self.messages: list[Mapping[str, object]] = []
        self.fail: Callable[[], None] = lambda: None

    def send(self, message: Mapping[str, object]) -> None:
        self.fail()
        self.messages.append(message)


class NoRefresher:
    def refresh(self, request: IndexRequest, remaining_seconds: Callable[[], float]) -> int:
        return 0


class World:
    """One repository's archives, the bucket, the index, the registry, the queue, and the clock."""

    def __init__(
        self, settings: IndexSettings | None = None, *, downloads: Downloads | None = None
    ) -> None:
        self.clock, self.index, self.bucket = Clock(), RecordingIndex(), MemoryBucket()
        self.table, self.queue = MemoryTable(), Queue()
        self.registry = Registry(self.table, self.clock)
        self.settings = settings
        self.downloads: Downloads = downloads or Downloader(())
        self.hosts = ("github.com",) if downloads else ()
        self.remaining: Callable[[], float] = lambda: 900.0
        self.indexer = self.restart()

    def restart(self) -> Indexer:
        """A new process over the same outside world."""
        self.indexer = Indexer(
            parts=RunParts(self.index, Manifests(self.bucket), self.bucket),
            registry=self.registry,
            archives=ArchiveSource(self.bucket, self.downloads, hosts=self.hosts),
            queue=self.queue,
            refresher=NoRefresher(),
            clock=self.clock,
            settings=self.settings,
            sleep=self.clock.sleep,
            monotonic=self.clock.monotonic,
        )
        return self.indexer

    def upload(
        self,
        files: Mapping[str, str | bytes] | bytes,
        *,
        name: str = "a.zip",
        comment: str = "",
        **metadata: str,
    ) -> IndexRequest:
        """Put an archive into the bucket; the request that S3's event becomes."""
        self.clock.sleep(10)
        key = f"{FOLDER}/{name}"
        data = files if isinstance(files, bytes) else make_zip(files, comment=comment)
        self.bucket.objects[key] = data
        self.bucket.metadata[key] = metadata
        when = iso(self.clock(), timespec="seconds")
        return IndexRequest(
            "index",
            f"index:{key}:{when}",
            when,
            url=URL,
            archive=ArchiveObject(key, sequencer="0A"),
        )

    def ask(self, **fields: Any) -> IndexRequest:
        """A plumbline.reindex of now."""
        self.clock.sleep(10)
        event: dict[str, Any] = {
            "id": f"ask-{self.clock.now}",
            "source": "plumbline",
            "detail-type": "x",
        }
        event |= {"time": iso(self.clock()), "detail": {"repository_url": URL, **fields}}
        return read_requests(event, bucket="b", now=self.clock())[0]

    def delete_event(self, name: str = "a.zip") -> IndexRequest:
        """A person deletes an archive."""
        self.clock.sleep(10)
        key = f"{FOLDER}/{name}"
        self.bucket.objects.pop(key, None)
        when = iso(self.clock(), timespec="seconds")
        return IndexRequest(
            "delete", f"delete:{key}:{when}", when, url=URL, archive=ArchiveObject(key)
        )

    def handle(self, request: IndexRequest, *, last_try: bool = False) -> Outcome:
        return self.indexer.handle(request, lambda: self.remaining(), last_try=last_try)

    def deliver(self) -> list[Outcome]:
        """Handle what is in the queue, and what that sends, to the end."""
        outcomes = []
        while self.queue.messages:
            message = self.queue.messages.pop(0)
            (request,) = read_requests(message, bucket="b", now=self.clock())
            outcomes.append(self.handle(request))
        return outcomes

    @property
    def repository(self) -> Repository:
        found = self.registry.find(URL)
        assert found is not None
        return found

    def batches(self) -> int:
        """How many batches were sent so far."""
        return sum(name == "batch" for name, _ in self.index.calls)


def python_files(names: Sequence[str], *, body: str = "return 1") -> dict[str, str | bytes]:
    """One file a function."""
    return {f"src/{name}.py": f"def {name}():\n    {body}\n" for name in names}


class Countdown:
    """Time that runs short after so many looks at it."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self) -> float:
        self.left -= 1
        return 900.0 if self.left > 0 else 59.0


def later(world: World, seconds: float) -> None:
    """Let time pass."""
    world.clock.now += timedelta(seconds=seconds)
