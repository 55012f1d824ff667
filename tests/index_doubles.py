"""Doubles for the indexer: an index that records, a registry table in memory, archives in bytes."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from plumbline.errors import SearchRefused, SearchUnavailable, StorageConflict
from plumbline.index.archive_source import StoredObject

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Clock:
    """A clock that moves when it is told to; its sleep moves it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def monotonic(self) -> float:
        return self.now.timestamp()

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class RecordingIndex:
    """An index in memory that keeps every call.

    ``failures`` are raised by the coming calls of a method, by its name; ``refused`` says which
    records are refused, ``published`` whether tasks are.
    """

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, Any]] = []
        self.settings: dict[str, object] | None = None
        self.failures: dict[str, list[Exception | None]] = {}
        self.refused: Callable[[Mapping[str, Any]], bool] = lambda record: False
        self.published = True
        self._task = 0

    def batch(self, operations: Sequence[Mapping[str, object]]) -> int:
        self._called("batch", operations)
        bodies: list[tuple[str, Any]] = [(str(op["action"]), op["body"]) for op in operations]
        if any(action == "addObject" and self.refused(body) for action, body in bodies):
            raise SearchRefused("refused", upstream_status=400)
        for action, body in bodies:
            if action == "addObject":
                self.records[body["objectID"]] = deepcopy(body)
            else:
                assert action == "deleteObject"
                self.records.pop(body["objectID"], None)
        return self._next_task()

    def delete_by(self, filters: str) -> int:
        self._called("delete_by", filters)
        self.records = {k: r for k, r in self.records.items() if not _matches(r, filters)}
        return self._next_task()

    def task_published(self, task_id: int) -> bool:
        self._called("task_published", task_id)
        return self.published

    def browse(self, params: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        self._called("browse", params)
        if self.settings is None and not self.records:
            raise SearchRefused("no such index", upstream_status=404)
        found = [r for r in self.records.values() if _matches(r, str(params["filters"]))]
        yield from [{"objectID": record["objectID"]} for record in found]

    def get_settings(self) -> Mapping[str, object] | None:
        self._called("get_settings", None)
        return self.settings

    def set_settings(self, settings: Mapping[str, object]) -> int:
        self._called("set_settings", settings)
        self.settings = dict(settings)
        return self._next_task()

    def sent(self) -> list[dict[str, Any]]:
        """Every record sent so far, refused ones too."""
        return [op["body"] for op in self._operations() if op["action"] == "addObject"]

    def deleted(self) -> list[str]:
        """Every objectID deleted so far."""
        return [
            op["body"]["objectID"] for op in self._operations() if op["action"] == "deleteObject"
        ]

    def names(self) -> set[str]:
        """The entity names that a searcher finds now."""
        return {str(record["entity_name"]) for record in self.records.values()}

    def _operations(self) -> Iterator[Any]:
        for name, argument in self.calls:
            if name == "batch":
                yield from argument

    def _called(self, name: str, argument: object) -> None:
        self.calls.append((name, argument))
        waiting = self.failures.get(name)
        failure = waiting.pop(0) if waiting else None
        if failure is not None:
            raise failure

    def _next_task(self) -> int:
        self._task += 1
        return self._task


def _matches(record: Mapping[str, Any], filters: str) -> bool:
    return filters == f"repository_id={record['repository_id']}"


def unavailable(retry_after: int | None = None) -> SearchUnavailable:
    """What the adapter raises when Algolia does not answer."""
    return SearchUnavailable("down", retry_after=retry_after)


class MemoryTable:
    """The registry's table in memory, with the conditions of the real one."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.last = 0
        self.before_replace: Callable[[], None] | None = None

    def allot(self) -> int:
        self.last += 1
        return self.last

    def get(self, url: str) -> Mapping[str, object] | None:
        return deepcopy(self.items.get(url.lower()))

    def get_number(self, number: int) -> Mapping[str, object] | None:
        return next((deepcopy(i) for i in self.items.values() if i["number"] == number), None)

    def scan(self) -> Iterator[Mapping[str, object]]:
        yield from deepcopy(list(self.items.values()))

    def create(self, item: Mapping[str, object]) -> None:
        key = str(item["url"]).lower()
        if key in self.items:
            raise StorageConflict("taken")
        self.items[key] = deepcopy(dict(item))

    def replace(self, item: Mapping[str, object], *, version: int) -> None:
        if self.before_replace:
            interference, self.before_replace = self.before_replace, None
            interference()
        key = str(item["url"]).lower()
        if self.items[key]["version"] != version:
            raise StorageConflict("changed")
        self.items[key] = deepcopy(dict(item))


class MemoryBucket:
    """The bucket in memory: archives, manifests and snapshots. ``fail`` may raise at any write."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.metadata: dict[str, dict[str, str]] = {}
        self.ranges: list[tuple[int, int]] = []
        self.fail: Callable[[str, str], None] = lambda verb, key: None

    def get(self, key: str) -> bytes | None:
        self.fail("get", key)
        return self.objects.get(key)

    def put(self, key: str, data: bytes) -> None:
        self.fail("put", key)
        self.objects[key] = data

    def keys(self, prefix: str) -> Iterator[str]:
        yield from sorted(key for key in self.objects if key.startswith(prefix))

    def siblings(self, key: str) -> list[str]:
        folder = key.rpartition("/")[0] + "/"
        return [
            k for k in sorted(self.objects) if k.startswith(folder) and "/" not in k[len(folder) :]
        ]

    def delete(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            self.fail("delete", key)
            self.objects.pop(key, None)

    def download(self, key: str, file: BinaryIO, *, max_bytes: int) -> StoredObject | None:
        self.fail("download", key)
        data = self.objects.get(key)
        if data is None:
            return None
        file.write(data)
        return StoredObject(key, f"etag-{hash(data)}", self.metadata.get(key, {}))

    def upload(self, key: str, file: BinaryIO) -> None:
        self.fail("upload", key)
        self.objects[key] = file.read()

    def size(self, key: str) -> int | None:
        data = self.objects.get(key)
        return None if data is None else len(data)

    def read_range(self, key: str, start: int, end: int) -> bytes:
        self.ranges.append((start, end))
        return self.objects[key][start:end]


def make_zip(files: Mapping[str, str | bytes], *, comment: str = "", root: str = "") -> bytes:
    """A zip as git archive writes one."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(root + path, content)
        archive.comment = comment.encode()
    return buffer.getvalue()


def make_tar(
    files: Mapping[str, str | bytes], *, commit: str = "", root: str = "", mode: str = "w:gz"
) -> bytes:
    """A tar as git archive writes one: the commit is the comment of a global header."""
    buffer = io.BytesIO()
    headers = {"comment": commit} if commit else {}
    with tarfile.open(
        fileobj=buffer,
        mode=mode,  # type: ignore[call-overload]
        format=tarfile.PAX_FORMAT,
        pax_headers=headers,
    ) as archive:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(root + path)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def git_archive(folder: str, form: str) -> bytes:
    """What git itself writes for the folder's HEAD."""
    return subprocess.run(
        ["git", "archive", f"--format={form}", "--prefix=repo-main/", "HEAD"],
        cwd=folder,
        check=True,
        capture_output=True,
    ).stdout
