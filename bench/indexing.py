"""The indexing pipeline over 24 MB of installed sources, in a process of its own.

The archive, the parser, the records, the manifest and the snapshot are the product's; the index
only counts what it is sent, the bucket is a folder and the registry lies in memory, so the figures
are the indexer's own. Times are of the processor: it has one thread, and others share the machine.
"""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import resource
import shutil
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from plumbline.errors import StorageConflict
from plumbline.index.archive_source import ArchiveSource, StoredObject
from plumbline.index.download import Downloader
from plumbline.index.index_request import (
    ArchiveObject,
    IndexRequest,
    iso,
)
from plumbline.index.indexer import Indexer
from plumbline.index.manifests import Manifests
from plumbline.index.parsing.files import parse_file
from plumbline.index.records import build_documents
from plumbline.index.registry import Registry
from plumbline.index.run import RunParts, RunSummary

CORPUS_BYTES = 24_000_000
PEAK_BUDGET_MB = 250
COMMIT = "0123456789abcdef0123456789abcdef01234567"
URL = "https://bench.example.org/acme/sources"
_FOLDER = "archives/bench.example.org/acme/sources"
_CODE = (".py", ".pyi", ".c", ".h", ".cpp", ".js", ".ts", ".rb", ".sh", ".go", ".rs", ".java")
_SUFFIXES = (*_CODE, ".md", ".rst", ".txt", ".toml", ".json", ".ipynb")


def run() -> list[dict[str, object]]:
    """Rows: speed, what the pipeline costs beside parsing alone, peak memory, the second run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size, files = _corpus(folder)
        measured = _apart(_index_twice, folder)
        alone = _apart(_parse_alone, folder)
    first, second = measured["first"], measured["second"]
    return [
        _row("indexed sources", size / 1e6, "MB"),
        _row("indexed files", files, "files"),
        _row("indexing, first run", measured["records"] / first, "records/s"),
        _row("indexing, first run", size / 1e6 / first, "MB/s"),
        _row(
            "indexing, whole pipeline",
            first,
            "s",
            compared_with="parsing and records alone",
            ratio=first / alone["seconds"],
        ),
        _row(
            "indexing, second run over the same commit",
            second,
            "s",
            compared_with="first run",
            ratio=second / first,
        ),
        _row("records sent by the second run", measured["sent"], "records", budget=0),
        _row("records deleted by the second run", measured["deleted"], "records", budget=0),
        _row("indexing, peak memory", measured["peak_mb"], "MB", budget=PEAK_BUDGET_MB),
    ]


def _row(
    name: str,
    value: float,
    unit: str,
    *,
    compared_with: str | None = None,
    ratio: float | None = None,
    budget: float | None = None,
) -> dict[str, object]:
    return {
        "name": name,
        "value": round(value, 2),
        "unit": unit,
        "compared_with": compared_with,
        "ratio": round(ratio, 2) if ratio is not None else None,
        "budget": budget,
        "met": value <= budget if budget is not None else None,
    }


def _corpus(folder: Path) -> tuple[int, int]:
    """One tree as a tar.gz and as a zip, of files spread over everything that is installed."""
    root = Path(sysconfig.get_path("purelib"))
    found = [path for path in root.rglob("*") if path.suffix in _SUFFIXES and path.is_file()]
    found.sort(key=lambda path: hashlib.sha1(str(path).encode(), usedforsecurity=False).digest())
    size = files = 0
    with (
        tarfile.open(
            folder / "a.tar.gz",
            "w:gz",
            compresslevel=3,
            format=tarfile.PAX_FORMAT,
            pax_headers={"comment": COMMIT},
        ) as tar,
        zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive,
    ):
        archive.comment = COMMIT.encode()
        for path in found:
            data = path.read_bytes()
            if size + len(data) > CORPUS_BYTES:
                continue
            relative = str(path.relative_to(root))
            info = tarfile.TarInfo(relative)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
            archive.writestr(relative, data)
            size, files = size + len(data), files + 1
    return size, files


def _apart(work: Any, folder: Path) -> dict[str, float]:
    """The figures of ``work`` in a fresh process, so that its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(folder, theirs))
    process.start()
    theirs.close()
    try:
        figures: dict[str, float] = ours.recv()
    finally:
        process.join()
    return figures


def _index_twice(folder: Path, answer: Any) -> None:
    bucket, index = _FolderBucket(folder / "bucket"), _CountingIndex()
    registry = Registry(_Table(), lambda: datetime.now(UTC))
    indexer = Indexer(
        parts=RunParts(index, Manifests(bucket), bucket),
        registry=registry,
        archives=ArchiveSource(bucket, Downloader(()), hosts=()),
        queue=_Nothing(),
        refresher=_Nothing(),
        clock=lambda: datetime.now(UTC),
    )
    times: list[float] = []
    summary = RunSummary()
    for name in ("a.tar.gz", "a.zip"):
        key = f"{_FOLDER}/{name}"
        bucket.take(key, folder / name)
        request = IndexRequest(
            "index",
            name,
            iso(datetime.now(UTC), timespec="seconds"),
            url=URL,
            archive=ArchiveObject(key),
        )
        begun = time.process_time()
        outcome = indexer.handle(request, lambda: 900.0)
        times.append(time.process_time() - begun)
        if outcome.status != "completed" or outcome.summary is None:
            raise RuntimeError(f"indexing ended as {outcome.status}: {outcome.reason}")
        summary = outcome.summary
    answer.send(
        {
            "first": times[0],
            "second": times[1],
            "records": summary.records,
            "sent": summary.sent,
            "deleted": summary.deleted,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    )


def _parse_alone(folder: Path, answer: Any) -> None:
    """The same files already unpacked in memory: what nothing around the parser could beat."""
    with zipfile.ZipFile(folder / "a.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    begun = time.process_time()
    for path, data in files.items():
        build_documents(
            parse_file(path, data),
            repository_id=1,
            repository="acme/sources",
            repository_url=URL,
            commit_sha=COMMIT,
        )
    answer.send({"seconds": time.process_time() - begun})


class _CountingIndex:
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


class _FolderBucket:
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


class _Table:
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


class _Nothing:
    """Neither a queue nor a schedule is needed here."""

    def send(self, message: Mapping[str, object]) -> None:
        raise RuntimeError("nothing should be sent")

    def refresh(self, request: IndexRequest, remaining_seconds: object) -> int:
        return 0
