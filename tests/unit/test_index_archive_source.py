"""Which archive a request means, and the road over the repository's host."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO

import pytest

from plumbline.errors import InvalidRequest, NotFound, PlumblineError, RepositoryUnreachable
from plumbline.index.archive_source import ArchiveSource, Fetched
from plumbline.index.index_request import (
    ArchiveObject,
    IndexRequest,
)
from tests.index_doubles import COMMIT, MemoryBucket, make_tar
from tests.index_world import FOLDER, URL, Countdown, World, python_files

OTHER = "f" * 40
HOSTS = ("github.com",)


class Downloads:
    """A host that serves archives by address."""

    def __init__(self) -> None:
        self.archives: dict[str, bytes | PlumblineError] = {}
        self.asked: list[str] = []

    def download(self, address: str, file: BinaryIO) -> int:
        self.asked.append(address)
        answer = self.archives.get(address, NotFound("nothing there"))
        if isinstance(answer, PlumblineError):
            raise answer
        return file.write(answer)


def request(**fields: object) -> IndexRequest:
    return IndexRequest("index", "e", "2026-03-01T12:00:00Z", url=URL, **fields)  # type: ignore[arg-type]


@pytest.fixture
def downloads() -> Downloads:
    made = Downloads()
    made.archives = {
        f"{URL}/archive/{ref}.tar.gz": ref.encode() for ref in ("HEAD", "main", COMMIT)
    }
    return made


@pytest.mark.parametrize(
    ("asked", "last_key", "content", "fetched"),
    [
        (request(), None, b"HEAD", Fetched("")),
        (request(ref="main"), None, b"main", Fetched("", ref="main")),
        (request(ref="main"), f"{FOLDER}/a.zip", b"main", Fetched("", ref="main")),
        (request(ref=COMMIT), None, COMMIT.encode(), Fetched(COMMIT, ref=COMMIT, commit=COMMIT)),
        (
            request(ref="main", commit=COMMIT),
            f"{FOLDER}/a.zip",
            COMMIT.encode(),
            Fetched(COMMIT, ref="main", commit=COMMIT),
        ),
    ],
    ids=["default", "branch", "branch of an upload", "commit", "branch at a commit"],
)
def test_an_archive_comes_from_the_host(
    downloads: Downloads,
    asked: IndexRequest,
    last_key: str | None,
    content: bytes,
    fetched: Fetched,
) -> None:
    file = io.BytesIO()
    source = ArchiveSource(MemoryBucket(), downloads, hosts=HOSTS)
    assert source.fetch(asked, last_key, file) == fetched
    assert file.getvalue() == content


@pytest.mark.parametrize(
    ("asked", "last_key"),
    [
        (request(archive=ArchiveObject(f"{FOLDER}/a.zip")), None),
        (request(archive=ArchiveObject(f"{FOLDER}/a.zip"), ref="main"), None),
        (request(), f"{FOLDER}/a.zip"),
    ],
    ids=["event", "event with a ref", "asked again"],
)
def test_an_archive_comes_from_the_bucket(
    downloads: Downloads, asked: IndexRequest, last_key: str | None
) -> None:
    bucket = MemoryBucket()
    bucket.objects[f"{FOLDER}/a.zip"] = b"zip"
    bucket.metadata[f"{FOLDER}/a.zip"] = {"ref": " dev ", "commit": COMMIT.upper()}
    file = io.BytesIO()
    found = ArchiveSource(bucket, downloads, hosts=HOSTS).fetch(asked, last_key, file)
    assert (found.ref, found.commit, found.key) == ("dev", COMMIT, f"{FOLDER}/a.zip")
    assert file.getvalue() == b"zip"
    assert downloads.asked == []


def test_an_upload_that_has_expired_is_fetched_from_its_host(downloads: Downloads) -> None:
    file = io.BytesIO()
    source = ArchiveSource(MemoryBucket(), downloads, hosts=HOSTS)
    assert source.fetch(request(), f"{FOLDER}/a.zip", file) == Fetched("")
    assert file.getvalue() == b"HEAD"
    with pytest.raises(NotFound, match="no longer in the bucket"):
        source.fetch(request(archive=ArchiveObject(f"{FOLDER}/a.zip")), None, io.BytesIO())
    private = ArchiveSource(MemoryBucket(), downloads, hosts=())
    with pytest.raises(NotFound, match="no longer in the bucket"):
        private.fetch(request(), f"{FOLDER}/a.zip", io.BytesIO())


def test_another_host_is_not_asked(downloads: Downloads) -> None:
    source = ArchiveSource(MemoryBucket(), downloads, hosts=("gitlab.com",))
    with pytest.raises(InvalidRequest, match=r"configured hosts are: gitlab\.com"):
        source.fetch(request(), None, io.BytesIO())
    assert downloads.asked == []


@pytest.fixture
def serve(downloads: Downloads) -> tuple[World, Callable[[str, list[str]], None]]:
    """A world whose host serves main at a commit."""
    world = World(downloads=downloads)

    def at(commit: str, names: list[str]) -> None:
        data = make_tar(python_files(names), commit=commit, root="app-x/")
        downloads.archives[f"{URL}/archive/main.tar.gz"] = data
        downloads.archives[f"{URL}/archive/{commit}.tar.gz"] = data

    return world, at


Serve = tuple[World, Callable[[str, list[str]], None]]


def test_a_branch_is_indexed_at_the_archives_commit(serve: Serve) -> None:
    world, at = serve
    at(COMMIT, ["alpha"])
    assert world.handle(world.ask(ref="main")).status == "completed"
    assert (world.repository.branch, world.repository.commit_sha) == ("main", COMMIT)
    (record,) = world.index.records.values()
    assert record["file_path"] == "src/alpha.py"


def test_a_branch_that_stands_is_not_indexed_again(serve: Serve) -> None:
    world, at = serve
    at(COMMIT, ["alpha"])
    world.handle(world.ask(ref="main"))
    assert world.handle(world.ask(ref="main")).status == "unchanged"
    assert world.handle(world.ask(ref="main", force=True)).status == "completed"
    at(OTHER, ["beta"])
    assert world.handle(world.ask(ref="main")).status == "completed"
    assert world.index.names() == {"beta"}


def test_a_continuation_stays_at_its_commit_when_the_branch_moves(serve: Serve) -> None:
    world, at = serve
    at(COMMIT, [f"f{n}" for n in range(9)])
    world.remaining = Countdown(5)
    assert world.handle(world.ask(ref="main")).status == "continued"
    sent = len(world.index.sent())
    at(OTHER, ["beta"])
    world.remaining = lambda: 900.0
    assert [outcome.status for outcome in world.deliver()] == ["completed"]
    assert world.index.names() == {f"f{n}" for n in range(9)}
    assert len(world.index.sent()) == 9
    assert 0 < sent < 9
    assert (world.repository.branch, world.repository.commit_sha) == ("main", COMMIT)


@pytest.mark.parametrize(
    ("error", "outcome", "status"),
    [
        (NotFound("no such repository"), "failed", "failed"),
        (RepositoryUnreachable("github.com did not answer"), "retry", "pending"),
    ],
)
def test_a_host_that_does_not_give_it_is_told(
    serve: Serve, downloads: Downloads, error: PlumblineError, outcome: str, status: str
) -> None:
    world, _ = serve
    downloads.archives[f"{URL}/archive/main.tar.gz"] = error
    assert world.handle(world.ask(ref="main")).status == outcome
    assert world.repository.status == status
    assert (world.repository.reason or "").startswith(error.message)
