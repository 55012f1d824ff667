"""Folders and archives on their way to the bucket."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from devstack.failure import CommandError
from devstack.packing import Archive, is_address, pack


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
