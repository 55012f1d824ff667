"""Mutated real files: nothing leaves parse_file, and no file passes its budget."""

from __future__ import annotations

import itertools
import json
import os
import random
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plumbline.index.entities import MAX_BODY_CHARS, MAX_BODY_LINES
from plumbline.index.parsing.files import decode, parse_file
from plumbline.index.records import build_documents

BUDGET_SECONDS = 5.0
FILES_A_SUFFIX = 4
MUTANTS_A_FILE = 8
MAX_BYTES = 60_000
LANGUAGES = (".py", ".pyi", ".js", ".ts", ".h", ".c", ".md", ".rst", ".sh", ".ipynb", ".mdx")
# Read as another language: what a suffix promises is often not what a file holds.
DISGUISES = (".go", ".rs", ".java", ".kt", ".cs", ".rb", ".php", ".swift", ".scala", ".tf", ".tsx")

Mutation = Callable[[random.Random, bytes], bytes]


def _flip(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(max(len(data) // 200, 1)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(chance: random.Random, data: bytes) -> bytes:
    start = chance.randrange(len(data))
    return data[:start] + data[start + chance.randrange(len(data)) :]


def _truncate(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def _repeat(chance: random.Random, data: bytes) -> bytes:
    start = chance.randrange(len(data))
    piece = data[start : start + chance.randrange(1, 200)]
    return data[:start] + piece * chance.randrange(2, 300) + data[start:]


def _drop_closers(chance: random.Random, data: bytes) -> bytes:
    return data.translate(None, chance.choice([b")", b"}", b"]", b"\"'", b"`", b">", b" ", b"\n"]))


def _insert(chance: random.Random, data: bytes) -> bytes:
    pieces = [b"\0", b"\r", b"\x0c", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xff", b"\xed\xa0\x80",
              b"{{ x }}", b"<<<<<<< HEAD\n", b"(" * 500, b"[" * 500, b"{" * 500, b"---\n", b"```",
              b'"""', b"/*", b"\\", b"#" * 50, b"> " * 50, b"- " * 50]  # fmt: skip
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.choice(pieces) + data[at:]
    return data


def _shuffle(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return chance.choice([b"\n", b"\r\n", b"\r", b" "]).join(lines)


MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _cut,
    _truncate,
    _repeat,
    _drop_closers,
    _insert,
    _shuffle,
)


@pytest.fixture(scope="module")
def samples() -> dict[str, list[Path]]:
    """A few installed files of each kind, the same ones on each run in one environment."""
    found: dict[str, list[Path]] = {suffix: [] for suffix in LANGUAGES}
    for root in sorted({sysconfig.get_path(name) for name in ("purelib", "stdlib", "include")}):
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name != "site-packages")
            for name in sorted(names):
                suffix = os.path.splitext(name)[1]
                if suffix in found:
                    found[suffix].append(Path(folder, name))
    return {suffix: list(_a_few(suffix, paths)) for suffix, paths in found.items()}


def _a_few(suffix: str, paths: list[Path]) -> Iterator[Path]:
    random.Random(suffix).shuffle(paths)
    fitting = (path for path in paths if 200 < path.stat().st_size < MAX_BYTES)
    return itertools.islice(fitting, FILES_A_SUFFIX)


def mutants(data: bytes, seed: str) -> Iterator[bytes]:
    chance = random.Random(seed)
    for _ in range(MUTANTS_A_FILE):
        changed = data
        for mutation in chance.sample(MUTATIONS, chance.randrange(1, 3)):
            changed = mutation(chance, changed) if changed else changed
        yield changed


def check(path: str, data: bytes) -> None:
    started = time.process_time()
    parsed = parse_file(path, data, budget_seconds=BUDGET_SECONDS, allowed_hosts=["example.com"])
    assert time.process_time() - started < BUDGET_SECONDS + 5, path
    assert not (parsed.skipped or "").startswith("parse failed"), (path, parsed.skipped)
    last_line = decode(data).count("\n") + 1
    for entity in parsed.entities:
        if not path.endswith(".ipynb"):
            assert 1 <= entity.line_start <= entity.line_end <= last_line, (path, entity)
        assert len(entity.body) <= MAX_BODY_CHARS
        assert entity.body.count("\n") < MAX_BODY_LINES
        assert "\n" not in entity.signature
        assert entity.name
    records = build_documents(
        parsed, repository_id=1, repository="a/b", repository_url="u", commit_sha=None
    )
    for record in records:
        written = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        assert len(written.encode()) < 9_000
    assert len({record["objectID"] for record in records}) == len(records)


@pytest.mark.parametrize("suffix", LANGUAGES)
def test_real_files_and_their_mutants(samples: dict[str, list[Path]], suffix: str) -> None:
    for number, path in enumerate(samples[suffix]):
        data = path.read_bytes()
        check(f"src/file{number}{suffix}", data)
        for mutant in mutants(data, f"{suffix}{number}"):
            check(f"src/file{number}{suffix}", mutant)


@pytest.mark.parametrize("suffix", DISGUISES)
def test_mutants_under_the_name_of_another_language(
    samples: dict[str, list[Path]], suffix: str
) -> None:
    for number, path in enumerate((*samples[".py"][:2], *samples[".js"][:1])):
        for mutant in mutants(path.read_bytes(), f"{suffix}{number}"):
            check(f"src/file{number}{suffix}", mutant)


@pytest.mark.parametrize("suffix", [*LANGUAGES, *DISGUISES])
def test_random_bytes(suffix: str) -> None:
    chance = random.Random(suffix)
    for size in (1, 17, 400, 20_000):
        noise = chance.randbytes(size)
        check(f"a{suffix}", noise)
        check(f"a{suffix}", noise.translate(None, bytes(range(32))))
        check(f"a{suffix}", bytes(chance.choices(b"(){}[]<>\"'`#*_-=+;:,.!?\\/ \n\tab1", k=size)))
