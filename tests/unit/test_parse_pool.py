"""Files read by several processes come back as one process would give them, whatever they do."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping

import pytest

from plumbline.index import parse_pool
from plumbline.index.archive import Member
from plumbline.index.entities import ParsedFile
from plumbline.index.file_records import FileRecords, RecordMaker
from plumbline.index.parse_pool import ParsePool, usual_workers, workers_that_pay
from plumbline.index.parse_worker import Work
from plumbline.index.parsing.files import parse_file
from tests.index_world import World, python_files

# The children of these tests touch nothing that a thread of the test runner could hold.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

MAKE = RecordMaker(7, "acme/shop", "https://github.com/acme/shop", "0" * 40, 5.0, ())


def source(number: int) -> Member:
    """A file of its own size and language."""
    functions = "".join(f"def f{n}(a, b={number}):\n    return a\n\n" for n in range(number % 17))
    if number % 3 == 0:
        return Member(f"src/m{number}.py", functions.encode())
    if number % 3 == 1:
        return Member(
            f"src/m{number}.go", b"package m\n\nfunc F(a int) int { return a }\n" * number
        )
    return Member(f"docs/p{number}.md", b"# Title\n\ntext\n\n" * number)


def read(
    work: Work, members: list[Member], *, workers: int = 2, limit: float = 30.0
) -> list[tuple[str, FileRecords | None]]:
    with ParsePool(work, workers=workers, limit_seconds=limit) as pool:
        return [
            (member.path, found)
            for member, found in pool.read((member, True) for member in members)
        ]


def shown(found: FileRecords | None) -> str | None:
    return found.skipped if found else None


def test_two_processes_give_what_one_gives_in_the_same_order() -> None:
    members = [source(number) for number in range(120)]
    alone, shared = read(MAKE, members, workers=1), read(MAKE, members, workers=2)
    assert [path for path, _ in shared] == [member.path for member in members]
    assert [(path, f.skipped, list(f.records)) for path, f in shared if f] == [
        (path, f.skipped, list(f.records)) for path, f in alone if f
    ]
    assert sum(len(found.records) for _, found in shared if found) > 1000


def test_files_larger_than_a_pipe_pass_in_both_directions() -> None:
    def echo(path: str, data: bytes) -> FileRecords:
        return FileRecords(None, [({"objectID": path, "content": data.decode()}, "hash")])

    members = [Member(f"f{n}.py", bytes([97 + n]) * 3_000_000) for n in range(6)]
    for (path, found), member in zip(read(echo, members), members, strict=True):
        assert found is not None
        assert found.records[0][0] == {"objectID": path, "content": member.data.decode()}


def crash(path: str, data: bytes) -> FileRecords:
    if "killed" in path:
        os.kill(os.getpid(), signal.SIGKILL)
    if "raises" in path:
        raise RuntimeError(path)
    return MAKE(path, data)


@pytest.mark.parametrize("bad", [[3], [0], [19], [3, 4, 5], list(range(20))])
@pytest.mark.parametrize("how", ["killed", "raises"])
def test_a_worker_that_dies_costs_one_file(how: str, bad: list[int]) -> None:
    members = [
        Member(f"{how}{n}.py" if n in bad else f"m{n}.py", b"def f(): pass\n") for n in range(20)
    ]
    found = read(crash, members)
    assert [path for path, _ in found] == [member.path for member in members]
    for number, (_, answer) in enumerate(found):
        assert answer is not None
        if number in bad:
            assert answer == FileRecords("parse failed: the parser crashed")
        else:
            assert answer.skipped is None
            assert len(answer.records) == 1


def test_a_worker_that_hangs_is_stopped_after_its_time() -> None:
    def hang(path: str, data: bytes) -> FileRecords:
        if path == "m4.py":
            signal.pause()
        return MAKE(path, data)

    found = read(hang, [Member(f"m{n}.py", b"def f(): pass\n") for n in range(12)], limit=0.3)
    assert [shown(answer) for _, answer in found] == [
        "parse timeout" if n == 4 else None for n in range(12)
    ]


def test_members_that_nobody_wants_keep_their_place() -> None:
    members = [
        (Member("a.py", b"def f(): pass\n"), True),
        (Member("link", skipped="link"), True),
        (Member("seen.py", b"def g(): pass\n"), False),
        (Member("b.py", b"def h(): pass\n"), True),
    ]
    with ParsePool(MAKE, workers=2, limit_seconds=30) as pool:
        found = [(m.path, m.skipped, answer is not None) for m, answer in pool.read(members)]
    assert found == [
        ("a.py", None, True),
        ("link", "link", False),
        ("seen.py", None, False),
        ("b.py", None, True),
    ]


def process(path: str, data: bytes) -> FileRecords:
    return FileRecords(str(os.getpid()))


def test_the_end_of_the_pool_is_the_end_of_its_processes() -> None:
    with ParsePool(process, workers=2, limit_seconds=30) as pool:
        reading = pool.read((Member(f"m{n}.py"), True) for n in range(50))
        numbers = {shown(next(reading)[1]) for _ in range(20)}
    assert str(os.getpid()) not in numbers
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(int(str(number)), 0)


def test_one_worker_is_this_process() -> None:
    assert shown(read(process, [Member("m.py")], workers=1)[0][1]) == str(os.getpid())


def test_where_no_process_can_be_had_this_one_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    found = read(process, [Member(f"m{n}.py") for n in range(5)])
    assert {shown(answer) for _, answer in found} == {str(os.getpid())}


def test_only_so_much_is_under_way() -> None:
    taken = 0

    def members() -> Iterator[tuple[Member, bool]]:
        nonlocal taken
        for number in range(60):
            taken += 1
            size = 1_000_000 if number < 20 else 10
            yield Member(f"m{number}.py", b"#" * size), True

    with ParsePool(process, workers=2, limit_seconds=30) as pool:
        for given, (member, _) in enumerate(pool.read(members()), start=1):
            assert member.data == b""
            assert taken - given <= (9 if given <= 10 else 32)


@pytest.mark.parametrize(
    ("processors", "environ", "workers"),
    [
        (1, {}, 1),
        (2, {}, 2),
        (8, {}, 2),
        (None, {}, 1),
        (2, {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "2048"}, 1),
        (2, {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "3538"}, 2),
        (2, {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512"}, 1),
    ],
)
def test_usual_workers(
    monkeypatch: pytest.MonkeyPatch,
    processors: int | None,
    environ: Mapping[str, str],
    workers: int,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert usual_workers(environ) == workers


@pytest.mark.parametrize(
    ("asked", "size", "threads", "workers"),
    [
        (2, 100_000_000, 1, 2),
        (2, 100_000, 1, 1),
        (2, 100_000_000, 3, 1),
        (1, 100_000_000, 1, 1),
    ],
)
def test_workers_that_pay(
    monkeypatch: pytest.MonkeyPatch, asked: int, size: int, threads: int, workers: int
) -> None:
    monkeypatch.setattr(parse_pool, "_threads", lambda: threads)
    assert workers_that_pay(asked, size) == workers


def test_a_run_leaves_the_same_index_with_two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {member.path: member.data for member in map(source, range(60))}
    files |= {"logo.png": b"\x89PNG\0", "broken.py": b"def f(:\n"}
    left = []
    for workers in (1, 2):
        monkeypatch.setattr("plumbline.index.run.workers_that_pay", lambda *_, w=workers: w)
        world = World()
        summary = world.handle(world.upload(files)).summary
        assert summary is not None
        left.append((list(world.index.records.items()), summary.shown()))
    assert left[0] == left[1]
    assert left[0][1]["skipped"] == {"unsupported file type": 1, "syntax error": 1}


def test_a_run_reports_the_file_that_killed_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def deadly(path: str, data: bytes, **_: object) -> ParsedFile:
        if path == "src/deadly.py":
            os.kill(os.getpid(), signal.SIGKILL)
        return parse_file(path, data)

    monkeypatch.setattr("plumbline.index.run.workers_that_pay", lambda *_: 2)
    monkeypatch.setattr("plumbline.index.file_records.parse_file", deadly)
    world = World()
    outcome = world.handle(world.upload(python_files(["alpha", "deadly", "beta"])))
    assert outcome.summary is not None
    assert outcome.summary.listed == ["src/deadly.py: parse failed: the parser crashed"]
    assert world.index.names() == {"alpha", "beta"}
