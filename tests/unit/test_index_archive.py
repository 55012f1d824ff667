"""Archives: what is read of honest ones, what is refused or skipped of hostile ones."""

from __future__ import annotations

import gzip
import importlib.util
import io
import stat
import struct
import subprocess
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import ArchiveRefused
from plumbline.index.archive import (
    ArchiveLimits,
    Member,
    RepositoryArchive,
    open_archive,
    safe_path,
)
from tests.index_doubles import COMMIT, git_archive, make_tar, make_zip

FILES = {"src/a.py": "def f(): ...\n", "README.md": "# T\n", "ü/ñ.py": "x = 1\n"}
MIB = 1024 * 1024


def opened(data: bytes, **limits: int) -> RepositoryArchive:
    return open_archive(io.BytesIO(data), ArchiveLimits(**limits))


def members(data: bytes, **limits: int) -> list[Member]:
    return list(opened(data, **limits).read())


def read(data: bytes, **limits: int) -> dict[str, bytes]:
    return {m.path: m.data for m in members(data, **limits) if m.skipped is None}


def skipped(data: bytes, **limits: int) -> dict[str, str]:
    return {m.path: m.skipped for m in members(data, **limits) if m.skipped is not None}


def zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


HAS_ZSTD = importlib.util.find_spec("zstandard") is not None
FORMS: dict[str, Callable[[Mapping[str, str | bytes], str], bytes]] = {
    "zip": lambda files, root: make_zip(files, comment=COMMIT, root=root),
    "tar": lambda files, root: make_tar(files, commit=COMMIT, root=root, mode="w"),
    "tar.gz": lambda files, root: make_tar(files, commit=COMMIT, root=root),
}
if HAS_ZSTD:
    FORMS["tar.zst"] = lambda files, root: zstd(make_tar(files, commit=COMMIT, root=root, mode="w"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("root", ["", "app-main/"])
def test_an_honest_archive_is_read_whole(form: str, root: str) -> None:
    data = FORMS[form](FILES, root)
    archive = opened(data)
    assert {m.path: m.data.decode() for m in archive.read()} == FILES
    assert archive.commit == COMMIT
    assert archive.members == 3


@pytest.mark.parametrize("form", ["zip", "tar.gz", "tar"])
def test_what_git_writes_is_read_with_its_commit(form: str, tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True
        )
        return done.stdout.decode().strip()

    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    (tmp_path / "link.py").symlink_to("src/a.py")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "x")
    data = git_archive(str(tmp_path), form)
    assert {k: v.decode() for k, v in read(data).items()} == FILES
    assert skipped(data) == {"link.py": "symbolic link"}
    assert opened(data).commit == git("rev-parse", "HEAD")


def test_the_folder_that_holds_all_is_left_out_only_if_it_holds_all() -> None:
    assert set(read(make_zip({"a/x.py": "1", "b.py": "2"}))) == {"a/x.py", "b.py"}
    assert set(read(make_zip({"a/x.py": "1", "a/b/y.py": "2"}))) == {"x.py", "b/y.py"}
    clutter = {"a/x.py": "1", "__MACOSX/a/._x.py": "", "a/.DS_Store": "", "a/._x.py": ""}
    assert set(read(make_zip(clutter))) == {"x.py"}


@pytest.mark.parametrize(
    ("folder", "left_out"),
    [
        ("flask", True),
        ("Flask-main", True),
        ("flask-3.1.2", True),
        ("pallets-flask-85c5d93cbd04", True),
        ("renamed-85c5d93cbd049c4bd0679c36fd1ddcae8c37b642", True),
        ("src", False),
        ("flasks", False),
        ("docs-de", False),
    ],
)
def test_of_an_upload_a_checkouts_folder_is_left_out(folder: str, left_out: bool) -> None:
    data = io.BytesIO(make_zip({"a.py": "1"}, root=f"{folder}/"))
    (member,) = open_archive(data, repository="pallets/flask").read()
    assert member.path == ("a.py" if left_out else f"{folder}/a.py")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../evil.py", "path leads out of the archive"),
        ("a/../../evil.py", "path leads out of the archive"),
        ("/etc/passwd", "absolute path"),
        ("C:/evil.py", "absolute path"),
        ("\\\\host\\evil.py", "absolute path"),
        ("a\\..\\evil.py", "backslash in the name"),
        ("a\nb.py", "control character in the name"),
        ("a\x1b[31m.py", "control character in the name"),
        ("x" * 2000, "name too long"),
        (".", "empty name"),
    ],
)
@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_a_hostile_name_is_skipped_and_told(form: str, name: str, reason: str) -> None:
    data = FORMS[form]({"ok.py": "1", name: "2"}, "")
    assert read(data) == {"ok.py": b"1"}
    ((told, why),) = skipped(data).items()
    assert why == reason
    assert told.isprintable()


def test_a_name_with_a_nul_is_not_cut_at_it() -> None:
    data = make_zip({"ok.py": "1", "evilXpy": "2"}).replace(b"evilXpy", b"evil\0py")
    assert read(data) == {"ok.py": b"1"}
    assert skipped(data) == {"evil\\x00py": "control character in the name"}


def test_a_zip_name_without_the_flag_is_utf8_all_the_same() -> None:
    assert set(read(_flagless("ü.py".encode()))) == {"ok.py", "ü.py"}


def test_a_name_that_is_not_utf8_is_skipped_and_told() -> None:
    assert skipped(_flagless(b"\xfc.py")) == {"\\udcfc.py": "name is not UTF-8"}
    info = tarfile.TarInfo("\udcfc.py")
    data = _tar(info)
    assert skipped(data) == {"\\udcfc.py": "name is not UTF-8"}


def _flagless(name: bytes) -> bytes:
    """A zip with a name whose bytes are no UTF-8 by its flags."""
    stand_in = b"Q" * len(name)
    return make_zip({"ok.py": "1", stand_in.decode(): "2"}).replace(stand_in, name)


def _tar(*infos: tarfile.TarInfo, form: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form, errors="surrogateescape") as archive:
        ok = tarfile.TarInfo("ok.py")
        ok.size = 1
        archive.addfile(ok, io.BytesIO(b"1"))
        for info in infos:
            archive.addfile(info, io.BytesIO(b"\0" * info.size))
    return buffer.getvalue()


def _special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (_special("l", tarfile.SYMTYPE, "../../etc/passwd"), "symbolic link"),
        (_special("l", tarfile.SYMTYPE, "l"), "symbolic link"),
        (_special("l", tarfile.LNKTYPE, "/etc/passwd"), "hard link"),
        (_special("l", tarfile.CHRTYPE), "not a regular file"),
        (_special("l", tarfile.BLKTYPE), "not a regular file"),
        (_special("l", tarfile.FIFOTYPE), "not a regular file"),
    ],
    ids=["out of the tree", "loop", "hard", "character device", "block device", "pipe"],
)
def test_what_is_no_file_in_a_tar_is_skipped(info: tarfile.TarInfo, reason: str) -> None:
    data = _tar(info)
    assert read(data) == {"ok.py": b"1"}
    assert skipped(data) == {"l": reason}


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (stat.S_IFLNK | 0o777, "symbolic link"),
        (stat.S_IFCHR | 0o666, "not a regular file"),
        (stat.S_IFIFO | 0o666, "not a regular file"),
    ],
)
def test_what_is_no_file_in_a_zip_is_skipped(mode: int, reason: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("ok.py", "1")
        info = zipfile.ZipInfo("l")
        info.create_system, info.external_attr = 3, mode << 16
        archive.writestr(info, "../../etc/passwd")
    assert read(buffer.getvalue()) == {"ok.py": b"1"}
    assert skipped(buffer.getvalue()) == {"l": reason}


def test_a_file_through_a_link_stays_in_memory(tmp_path: Path) -> None:
    data = _tar(_special("d", tarfile.SYMTYPE, str(tmp_path)), tarfile.TarInfo("d/evil.py"))
    assert set(read(data)) == {"ok.py", "d/evil.py"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_duplicate_members_the_first_counts() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.py", "first")
        archive.writestr("a.py", "second")
        archive.writestr("./a.py", "third")
    assert read(buffer.getvalue()) == {"a.py": b"first"}
    found = [m.skipped for m in members(buffer.getvalue())]
    assert found == [None, "duplicate member", "duplicate member"]


def test_an_encrypted_member_is_skipped() -> None:
    data = bytearray(make_zip({"ok.py": "1", "secret.py": "2"}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    assert read(bytes(data)) == {"ok.py": b"1"}
    assert skipped(bytes(data)) == {"secret.py": "encrypted"}


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_method_that_cannot_be_bounded_is_skipped(method: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("ok.py", "1")
        archive.writestr("b.py", "2", compress_type=method)
    assert skipped(buffer.getvalue()) == {"b.py": "compression method"}


def test_a_corrupt_member_costs_itself() -> None:
    data = bytearray(make_zip({"bad.py": "x" * 500, "ok.py": "1"}))
    data[40] ^= 0xFF
    assert read(bytes(data)) == {"ok.py": b"1"}
    assert skipped(bytes(data)) == {"bad.py": "corrupt member"}


@pytest.mark.parametrize("form", FORMS)
def test_a_large_member_is_skipped_with_its_name(form: str) -> None:
    data = FORMS[form]({"big.py": "x" * 2000, "ok.py": "1"}, "")
    assert skipped(data, member_bytes=1000) == {"big.py": "too large"}
    assert read(data, member_bytes=1000) == {"ok.py": b"1"}


@pytest.mark.parametrize("form", FORMS)
def test_bombs_are_refused_before_a_member_is_handed_out(form: str) -> None:
    bomb = FORMS[form]({f"{n}.py": b"\0" * MIB for n in range(8)}, "")
    with pytest.raises(ArchiveRefused, match="more than 4,194,304 bytes"):
        opened(bomb, total_bytes=4 * MIB)
    with pytest.raises(ArchiveRefused, match="more than 7 members"):
        opened(bomb, members=7)
    if form != "tar":
        with pytest.raises(ArchiveRefused, match="more than 50 times its size"):
            opened(bomb, ratio=50, ratio_from_bytes=MIB)


def test_a_small_archive_may_be_very_compressible() -> None:
    assert len(read(make_zip({"a.py": b"\0" * MIB}))) == 1


def test_a_member_that_lies_about_its_size_takes_no_memory() -> None:
    data = bytearray(make_zip({"a.py": b"\0" * (64 * MIB)}))
    # The size is in the directory and before the data; both say 10.
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        struct.pack_into("<L", data, data.index(mark) + offset, 10)
    packed = bytes(data)
    tracemalloc.start()
    try:
        found = members(packed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [m.skipped for m in found] == ["corrupt member"]
    assert peak < 4 * MIB


def test_overlapping_members_are_refused() -> None:
    data = make_zip({"a.py": "x" * 50_000, "b.py": "y"})
    first, second = (i for i in range(len(data)) if data.startswith(b"PK\x01\x02", i))
    forged = bytearray(data)
    # The second entry points at the first member's data.
    forged[second + 42 : second + 46] = forged[first + 42 : first + 46]
    with pytest.raises(ArchiveRefused, match="overlap"):
        opened(bytes(forged))


def test_a_directory_too_large_to_hold_is_refused_unread() -> None:
    data = make_zip({f"{n}.py": "" for n in range(200)})
    with pytest.raises(ArchiveRefused, match="directory is too large"):
        opened(data, directory_bytes=1000)


def test_a_huge_extended_header_is_refused_unread() -> None:
    data = make_tar({"a.py": "1"}, commit="c" * 500_000, mode="w")
    with pytest.raises(ArchiveRefused, match="header in the tar archive is too large"):
        opened(data)


def test_a_chain_of_extended_headers_is_refused() -> None:
    header = tarfile.TarInfo("h")
    header.type, header.size = tarfile.XHDTYPE, 0
    block = header.tobuf(tarfile.USTAR_FORMAT)
    with pytest.raises(ArchiveRefused, match="broken"):
        opened(block * 20_000 + bytes(10_240))


def test_zeros_behind_the_end_mark_are_counted() -> None:
    data = make_tar({"a.py": "1"}, mode="w") + bytes(9 * MIB)
    with pytest.raises(ArchiveRefused, match="more than 8,388,608 bytes"):
        opened(gzip.compress(data, 9), total_bytes=8 * MIB)


def test_a_sparse_file_is_skipped() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("hole.py")
        info.size = 0
        info.pax_headers = {"GNU.sparse.size": "1099511627776", "GNU.sparse.numblocks": "0"}
        archive.addfile(info)
    assert list(skipped(buffer.getvalue()).values()) == ["sparse file"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.99])
def test_half_an_upload_is_refused_before_a_member_is_handed_out(form: str, part: float) -> None:
    noise = {f"{n}.py": bytes((i * n * 7919) % 251 for i in range(3000)) for n in range(9)}
    data = FORMS[form](noise, "")
    # A tar's end mark is twenty times as long as it need be.
    whole = data.rstrip(b"\0") if form == "tar" else data
    with pytest.raises(ArchiveRefused):
        opened(data[: int(len(whole) * part)])


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd" + b"x" * 50, b"%PDF-1.7"],
)
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(ArchiveRefused):
        opened(data)


def test_an_empty_archive_has_no_members() -> None:
    assert members(make_zip({})) == []
    assert opened(make_zip({})).members == 0


def test_memory_is_bounded_by_the_largest_file() -> None:
    files = {f"f{n}.py": bytes([n % 251]) * MIB for n in range(40)}
    for form in ("zip", "tar.gz"):
        packed = io.BytesIO(FORMS[form](files, ""))
        tracemalloc.start()
        try:
            archive = open_archive(packed, ArchiveLimits())
            count = sum(len(member.data) == MIB for member in archive.read())
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert count == 40
        assert peak < 5 * MIB


@given(data=st.data())
def test_a_damaged_archive_is_read_or_refused_and_nothing_else(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(sorted(FORMS)))
    archive = bytearray(FORMS[form]({**FILES, "big.txt": "abc" * 500}, ""))
    for _ in range(data.draw(st.integers(1, 8))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(archive)))
    try:
        found = members(bytes(archive[: len(archive) if cut % 2 else cut]))
    except ArchiveRefused:
        return
    for member in found:
        if member.skipped is None:
            assert safe_path(member.path) == (member.path, None)


@given(st.text(max_size=60))
def test_a_safe_path_is_safe(name: str) -> None:
    path, problem = safe_path(name)
    path.encode()
    if problem is None:
        assert path
        assert not path.startswith("/")
        assert ".." not in path.split("/")
        assert path.isprintable() or not path.isascii()
