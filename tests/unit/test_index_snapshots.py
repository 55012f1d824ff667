"""Snapshots: the exact bytes back, read in ranges."""

from __future__ import annotations

import io
import random
import zipfile

import pytest

from plumbline.errors import StorageUnavailable
from plumbline.index.snapshots import Snapshots, SnapshotWriter, snapshot_key
from tests.index_doubles import COMMIT, MemoryBucket

FILES = {
    "a.py": b"x = 1\r\ny\x0c\n",
    "ü/ñ.md": "# Ü\n".encode(),
    "empty": b"",
    "latin.txt": b"\xe9\n",
}


def kept(files: dict[str, bytes], bucket: MemoryBucket) -> Snapshots:
    with SnapshotWriter() as writer:
        for path, data in files.items():
            writer.add(path, data)
        writer.upload(bucket, snapshot_key(3, COMMIT))
    return Snapshots(bucket)


def test_every_file_comes_back_byte_for_byte() -> None:
    snapshots = kept(FILES, MemoryBucket())
    assert {path: snapshots.read_file(3, COMMIT, path) for path in FILES} == FILES
    assert snapshots.paths(3, COMMIT) == list(FILES)


def test_one_file_is_read_without_the_rest() -> None:
    random.seed(5)
    files = {f"{n}.bin": random.randbytes(300_000) for n in range(20)}
    bucket = MemoryBucket()
    snapshots = kept(files, bucket)
    assert snapshots.read_file(3, COMMIT, "11.bin") == files["11.bin"]
    size = len(bucket.objects[snapshot_key(3, COMMIT)])
    assert sum(end - start for start, end in bucket.ranges) < size / 5
    assert all(0 <= start < end <= size for start, end in bucket.ranges)


def test_what_is_not_there_is_none() -> None:
    snapshots = kept(FILES, MemoryBucket())
    assert snapshots.read_file(3, COMMIT, "b.py") is None
    assert snapshots.read_file(3, "f" * 40, "a.py") is None
    assert snapshots.read_file(4, COMMIT, "a.py") is None
    assert snapshots.paths(4, COMMIT) == []


def test_a_broken_snapshot_is_unavailable() -> None:
    bucket = MemoryBucket()
    snapshots = kept({"a.py": b"x" * 1000}, bucket)
    key = snapshot_key(3, COMMIT)
    whole = bucket.objects[key]
    bucket.objects[key] = whole[: len(whole) // 2]
    with pytest.raises(StorageUnavailable, match="index again"):
        snapshots.read_file(3, COMMIT, "a.py")
    bucket.objects[key] = whole[:40] + bytes([whole[40] ^ 255]) + whole[41:]
    with pytest.raises(StorageUnavailable, match="index again"):
        snapshots.read_file(3, COMMIT, "a.py")


def test_equal_trees_give_equal_snapshots() -> None:
    first, second = MemoryBucket(), MemoryBucket()
    kept(FILES, first)
    kept(FILES, second)
    assert first.objects == second.objects
    with zipfile.ZipFile(io.BytesIO(next(iter(first.objects.values())))) as archive:
        assert archive.testzip() is None


def test_old_snapshots_of_one_repository_are_deleted() -> None:
    bucket = MemoryBucket()
    for number, commit in ((3, "a"), (3, "b"), (3, None), (30, "a")):
        bucket.put(snapshot_key(number, commit), b"")
    Snapshots(bucket).keep_only(3, ["b", None])
    assert sorted(bucket.objects) == [
        "snapshots/3/b.zip",
        "snapshots/3/uncommitted.zip",
        "snapshots/30/a.zip",
    ]
