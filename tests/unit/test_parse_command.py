"""plumbline parse: what a person sees, and what a script reads."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from devstack import parse_command


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("class K:\n    def m(self): pass\n")
    (tmp_path / "src" / "old.py").write_text("print 'x'\ndef f(): pass\n")
    (tmp_path / "logo.png").write_bytes(b"\x89PNG")
    (tmp_path / "page.md").write_text("---\nurl: https://docs.example.com/a\n---\n# A\n")
    return tmp_path


def run(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    parse_command.add_arguments(parser)
    return parse_command.run(parser.parse_args([str(argument) for argument in arguments]))


def test_text(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repository / "src" / "a.py", repository / "logo.png") == 0
    assert capsys.readouterr().out.splitlines() == [
        "src/a.py  [python]  2 records",
        "  1-2  Python class: K  |  class K:",
        "  2-2  Python method: K.m  |  def m(self):",
        "logo.png  [no known language]  nothing indexed: unsupported file type",
    ]


def test_a_folder(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repository) == 0
    headers = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [line.split("  ")[0] for line in headers] == [
        "logo.png",
        "page.md",
        "src/a.py",
        "src/old.py",
    ]


def test_a_degraded_file_shows_both(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repository / "src" / "old.py") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("src/old.py  [python]  1 record: syntax error: Missing parentheses")
    assert "Python function: f" in second


def test_json(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", repository / "src", repository / "logo.png") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row.get("entity_name"), row.get("skipped", "")[:12]) for row in rows] == [
        ("K", ""),
        ("m", ""),
        ("f", ""),
        (None, "syntax error"),
        (None, "unsupported "),
    ]
    method = rows[1]
    assert method["file_path"] == "src/a.py"
    assert method["description"] == "Python method: K.m"
    assert method["content"] == "def m(self): pass"
    assert set(rows[-1]) == {"file_path", "language", "skipped"}


def test_addresses_need_their_host(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--json", repository / "page.md")
    assert "url" not in json.loads(capsys.readouterr().out)
    run("--json", "--host", "docs.example.com", repository / "page.md")
    assert json.loads(capsys.readouterr().out)["url"] == "https://docs.example.com/a"


def test_what_cannot_be_read_is_said_and_the_rest_shown(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(repository / "none.py", "/dev/zero", repository / "src" / "a.py") == 1
    said = capsys.readouterr()
    assert "none.py: no such file or folder" in said.err
    assert "/dev/zero: not a regular file" in said.err
    assert said.out.startswith("src/a.py")


def test_a_file_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text("# \x1b]0;owned\x07 \x9b31m\n")
    run(tmp_path / "a.md")
    run("--json", tmp_path / "a.md")
    assert not {"\x1b", "\x07", "\x9b"} & set(capsys.readouterr().out)


def test_a_file_outside_any_repository_goes_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "a.py").write_text("def f(): pass\n")
    run(tmp_path / "vendor" / "a.py")
    assert capsys.readouterr().out.startswith("a.py  [python]  1 record")
