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
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.indexing_surroundings import (
    CountingIndex,
    FolderBucket,
    Nothing,
    OneRepositoryTable,
)
from devstack.algolia_server import AlgoliaServer
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.index.archive_source import ArchiveSource
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
from plumbline.index.writer import WritableIndex

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
        whole = _apart(_index_this_repository, folder)
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
        _row(
            "indexing this repository into the embedded engine",
            whole["records"] / whole["seconds"],
            "records/s",
        ),
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
    bucket = FolderBucket(folder / "bucket")
    indexer = _indexer(bucket, CountingIndex())
    times: list[float] = []
    summary = RunSummary()
    for name in ("a.tar.gz", "a.zip"):
        begun = time.process_time()
        summary = _index(indexer, bucket, folder / name)
        times.append(time.process_time() - begun)
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


def _index_this_repository(folder: Path, answer: Any) -> None:
    """Through the real client to the engine: time on the clock, with the engine's work in it."""
    root = Path(__file__).resolve().parent.parent
    with zipfile.ZipFile(folder / "this.zip", "w") as archive:
        for path in sorted(root.rglob("*.*")):
            relative = path.relative_to(root)
            if path.suffix in _SUFFIXES and not any(p.startswith(".") for p in relative.parts):
                archive.write(path, str(relative))
    bucket = FolderBucket(folder / "this")
    keys = {"key": frozenset({"search", "admin"})}
    with AlgoliaServer(None, app_id="APP", api_keys=keys) as server:
        indexer = _indexer(bucket, AlgoliaIndex("APP", "key", "bench", url=server.url))
        begun = time.perf_counter()
        summary = _index(indexer, bucket, folder / "this.zip")
        answer.send({"seconds": time.perf_counter() - begun, "records": summary.records})


def _indexer(bucket: FolderBucket, index: WritableIndex) -> Indexer:
    return Indexer(
        # Processor time is what is measured, of this process.
        parts=RunParts(index, Manifests(bucket), bucket, workers=1),
        registry=Registry(OneRepositoryTable(), lambda: datetime.now(UTC)),
        archives=ArchiveSource(bucket, Downloader(()), hosts=()),
        queue=Nothing(),
        refresher=Nothing(),
        clock=lambda: datetime.now(UTC),
    )


def _index(indexer: Indexer, bucket: FolderBucket, archive: Path) -> RunSummary:
    key = f"{_FOLDER}/{archive.name}"
    bucket.take(key, archive)
    request = IndexRequest(
        "index",
        archive.name,
        iso(datetime.now(UTC), timespec="seconds"),
        url=URL,
        archive=ArchiveObject(key),
    )
    outcome = indexer.handle(request, lambda: 900.0)
    if outcome.status != "completed" or outcome.summary is None:
        raise RuntimeError(f"indexing ended as {outcome.status}: {outcome.reason}")
    return outcome.summary


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
