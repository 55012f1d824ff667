"""Folders and archives on their way to the bucket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from devstack.failure import CommandError
from devstack.packing import Archive, is_address, pack
from plumbline.index.addresses import canonical_url


def names(archive: Archive) -> list[str]:
    with zipfile.ZipFile(archive.path) as opened:
        found = opened.namelist()
    archive.path.unlink()
    return found


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my repo" / "pkg").mkdir(parents=True)
    made = tmp_path / "my repo"
    (made / "pkg" / "a.py").write_text("x = 1\n", encoding="utf-8")
    (made / "b.md").write_text("# B\n", encoding="utf-8")
    (made / "node_modules").mkdir()
    (made / "node_modules" / "c.js").write_text("1", encoding="utf-8")
    return made


@pytest.mark.parametrize(
    ("text", "address"),
    [
        *(("https://github.com/a/b", True), ("HTTP://x/y", True), ("file:///etc", True)),
        *(("./x", False), ("C:\\x", False), ("a/b", False)),
    ],
)
def test_addresses_are_told_from_paths(text: str, address: bool) -> None:
    assert is_address(text) is address


def test_a_plain_folder_is_packed_without_the_usual_clutter(folder: Path) -> None:
    archive = pack(str(folder))
    assert archive.url == "https://localhost/local/my-repo"
    assert archive.key.startswith("archives/localhost/local/my-repo/")
    assert archive.commit is None
    assert names(archive) == ["my repo/b.md", "my repo/pkg/a.py"]


def test_the_same_folder_makes_the_same_archive(folder: Path) -> None:
    first, second = pack(str(folder)), pack(str(folder))
    assert first.key == second.key
    assert first.path.read_bytes() == second.path.read_bytes()
    first.path.unlink()
    second.path.unlink()


def test_a_git_folder_brings_its_commit_its_origin_and_no_ignored_file(folder: Path) -> None:
    git(folder, "init", "-b", "trunk")
    (folder / ".gitignore").write_text("node_modules/\n", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "first")
    git(folder, "remote", "add", "origin", "git@GitHub.com:team/tool.git")
    archive = pack(str(folder))
    assert archive.url == "https://github.com/team/tool"
    assert archive.ref == "trunk"
    assert archive.commit is not None
    assert len(archive.commit) == 40
    assert archive.metadata() == {"commit": archive.commit, "ref": "trunk"}
    assert names(archive) == ["my repo/.gitignore", "my repo/b.md", "my repo/pkg/a.py"]


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (folder / "link.py").symlink_to(tmp_path / "secret")
    assert "my repo/link.py" not in names(pack(str(folder)))


def test_an_archive_goes_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "release v1.tar.gz"
    file.write_bytes(b"whatever it is: the indexer looks")
    archive = pack(str(file))
    assert archive.path == file
    assert archive.url == "https://localhost/local/release-v1"
    assert archive.key.endswith(".tar.gz")


def test_what_cannot_be_packed_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    for reference, says in (
        (tmp_path / "empty", "nothing to index"),
        (tmp_path / "a.txt", "not an archive"),
        (tmp_path / "none", "no such folder or archive"),
    ):
        with pytest.raises(CommandError, match=says):
            pack(str(reference))


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder that anybody can reach, read as a user whom permissions bind."""
    made = Path(tempfile.mkdtemp(prefix="plumbline-test-"))
    made.chmod(0o755)
    root = os.geteuid() == 0
    yield made
    if root:
        os.seteuid(0)
    for path in made.rglob("*"):
        path.chmod(0o755)
    shutil.rmtree(made)


def drop_root() -> None:
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_what_cannot_be_read_is_left_out_and_counted(as_nobody: Path) -> None:
    folder = as_nobody / "tool"
    (folder / "open").mkdir(parents=True)
    (folder / "shut").mkdir()
    for name in ("a.py", "secret.py", "open/b.py", "shut/c.py"):
        (folder / name).write_text("x = 1\n", encoding="utf-8")
    (folder / "secret.py").chmod(0)
    (folder / "shut").chmod(0)
    drop_root()
    archive = pack(str(folder))
    assert archive.left_out == {"unreadable": 2}
    assert names(archive) == ["tool/a.py", "tool/open/b.py"]


def test_a_folder_that_cannot_be_read_is_said(as_nobody: Path) -> None:
    folder = as_nobody / "shut"
    folder.mkdir()
    (folder / "a.py").write_text("x", encoding="utf-8")
    (as_nobody / "x.zip").write_bytes(b"x")
    folder.chmod(0)
    (as_nobody / "x.zip").chmod(0)
    drop_root()
    for name in ("shut", "shut/inner", "x.zip"):
        with pytest.raises(CommandError, match=f"{name}: Permission denied"):
            pack(str(as_nobody / name))


def test_a_folder_of_unreadable_files_is_not_called_empty(as_nobody: Path) -> None:
    (as_nobody / "a.py").write_text("x", encoding="utf-8")
    (as_nobody / "a.py").chmod(0)
    before = set(Path(tempfile.gettempdir()).glob("plumbline-*.zip"))
    drop_root()
    with pytest.raises(CommandError, match=r"can be packed \(1 unreadable\)"):
        pack(str(as_nobody))
    assert set(Path(tempfile.gettempdir()).glob("plumbline-*.zip")) <= before


def test_a_file_that_vanishes_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def vanishing(self: Path, mode: str) -> IO[Any]:
        if self.name == "b.md":
            self.unlink()
        return opened(self, mode)

    monkeypatch.setattr(Path, "open", vanishing)
    archive = pack(str(folder))
    monkeypatch.undo()
    assert archive.left_out == {"unreadable": 1}
    assert names(archive) == ["my repo/pkg/a.py"]


def test_a_name_that_no_archive_can_say_is_left_out(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.py")).write_text("x", encoding="utf-8")
    archive = pack(str(folder))
    assert archive.left_out == {"with a name that is no UTF-8": 1}
    assert "my repo/b.md" in names(archive)


def test_a_file_that_the_indexer_would_not_take_is_not_sent(folder: Path) -> None:
    with (folder / "big.csv").open("wb") as big:
        big.truncate(16 * 1024 * 1024 + 1)
    archive = pack(str(folder))
    assert archive.left_out == {"too large": 1}
    assert "my repo/big.csv" not in names(archive)


@pytest.mark.parametrize("name", ["café", "проект", "プロジェクト", "x" * 200, "...", "a b c"])
def test_every_folder_has_an_address_that_the_indexer_takes(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "a.py").write_text("x", encoding="utf-8")
    archive = pack(str(tmp_path / name))
    assert canonical_url(archive.url) == archive.url
    assert archive.key.isascii()
    assert names(archive) == [f"{name}/a.py"]


def test_names_of_other_scripts_do_not_become_one(tmp_path: Path) -> None:
    urls = set()
    for name in ("проект", "другой", "folder", "cafe", "café"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("x", encoding="utf-8")
        archive = pack(str(tmp_path / name))
        urls.add(archive.url)
        archive.path.unlink()
    assert len(urls) == 5


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("https://github.com/a/b.git", "https://github.com/a/b"),
        ("https://user:token@github.com/a/b", "https://github.com/a/b"),
        ("ssh://git@git.example.org:2222/a/b.git", "https://git.example.org/a/b"),
        ("git@gitlab.com:group/sub/tool.git", "https://gitlab.com/group/sub/tool"),
        ("https://github.com/a/../b", "https://localhost/local/my-repo"),
        ("https://github.com/a/проект", "https://localhost/local/my-repo"),
        ("/srv/git/tool.git", "https://localhost/local/my-repo"),
    ],
)
def test_an_origin_is_an_address_or_none(folder: Path, remote: str, url: str) -> None:
    git(folder, "init")
    git(folder, "remote", "add", "origin", remote)
    archive = pack(str(folder))
    archive.path.unlink()
    assert archive.url == url
    assert canonical_url(url) == url


def test_a_branch_that_s3_cannot_say_is_told_by_its_commit(folder: Path) -> None:
    git(folder, "init", "-b", "ветка")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "first")
    archive = pack(str(folder))
    archive.path.unlink()
    assert archive.ref == "ветка"
    assert archive.metadata() == {"commit": archive.commit}
