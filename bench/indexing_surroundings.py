"""What the indexing benchmark puts around the indexer: as little as there can be."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from plumbline.errors import StorageConflict
from plumbline.index.archive_source import StoredObject
from plumbline.index.index_request import IndexRequest


class CountingIndex:
    """An index that takes everything at once and keeps nothing."""

    def batch(self, operations: Sequence[Mapping[str, object]]) -> int:
        return len(operations)

    def delete_by(self, filters: str) -> int:
        return 1

    def task_published(self, task_id: int) -> bool:
        return True

    def browse(self, params: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        return iter(())

    def get_settings(self) -> Mapping[str, object] | None:
        return None

    def set_settings(self, settings: Mapping[str, object]) -> int:
        return 1


class FolderBucket:
    """A bucket on the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, key: str, source: Path) -> None:
        """Put a file into the bucket."""
        shutil.copy(source, self._path(key))

    def get(self, key: str) -> bytes | None:
        path = self._path(key)
        return path.read_bytes() if path.exists() else None

    def put(self, key: str, data: bytes) -> None:
        self._path(key).write_bytes(data)

    def keys(self, prefix: str) -> Iterator[str]:
        names = (str(p.relative_to(self._folder)) for p in self._folder.rglob("*") if p.is_file())
        yield from sorted(name for name in names if name.startswith(prefix))

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with suppress(FileNotFoundError):
                self._path(key).unlink()

    def download(self, key: str, file: BinaryIO, *, max_bytes: int) -> StoredObject | None:
        with self._path(key).open("rb") as source:
            shutil.copyfileobj(source, file)
        return StoredObject(key, key, {})

    def siblings(self, key: str) -> list[str]:
        return []

    def upload(self, key: str, file: BinaryIO) -> None:
        with self._path(key).open("wb") as target:
            shutil.copyfileobj(file, target)

    def size(self, key: str) -> int | None:
        path = self._path(key)
        return path.stat().st_size if path.exists() else None

    def read_range(self, key: str, start: int, end: int) -> bytes:
        with self._path(key).open("rb") as source:
            source.seek(start)
            return source.read(end - start)

    def _path(self, key: str) -> Path:
        path = self._folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


class OneRepositoryTable:
    """A registry of one repository."""

    def __init__(self) -> None:
        self._item: Mapping[str, object] | None = None

    def allot(self) -> int:
        return 1

    def get(self, url: str) -> Mapping[str, object] | None:
        return self._item

    def get_number(self, number: int) -> Mapping[str, object] | None:
        return self._item

    def scan(self) -> Iterator[Mapping[str, object]]:
        return iter([self._item] if self._item else [])

    def create(self, item: Mapping[str, object]) -> None:
        self._item = item

    def replace(self, item: Mapping[str, object], *, version: int) -> None:
        if self._item is None or self._item["version"] != version:
            raise StorageConflict("changed")
        self._item = item


class Nothing:
    """Neither a queue nor a schedule is needed here."""

    def send(self, message: Mapping[str, object]) -> None:
        raise RuntimeError("nothing should be sent")

    def refresh(self, request: IndexRequest, remaining_seconds: object) -> int:
        return 0
