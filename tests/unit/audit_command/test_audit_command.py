"""``plumbline audit``: the audited text, the decisions, and clear refusals."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from devstack import audit_command
from devstack.failure import CommandError

SOURCES = [
    {"n": 1, "title": "Sessions", "url": "https://github.com/a/b/blob/m/s.py", "content": "text"},
    {"n": 2, "title": "Foo", "url": None, "content": "Foo grew 30%", "customer": "Foo", "more": 1},
]


def run(tmp_path: Path, answer: str, *options: str, sources: object = SOURCES) -> int:
    (tmp_path / "sources.json").write_text(json.dumps(sources))
    (tmp_path / "answer.md").write_text(answer, newline="")
    parser = argparse.ArgumentParser()
    audit_command.add_arguments(parser)
    paths = [str(tmp_path / "answer.md"), "--sources", str(tmp_path / "sources.json")]
    return audit_command.run(parser.parse_args([*paths, *options]))


def test_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "A [1] and [x](https://evil.com).\r\n\r\nB\n") == 0
    expected = "A [1](https://github.com/a/b/blob/m/s.py) and x.\r\n\r\nB\n"
    assert capsys.readouterr().out == expected


def test_the_decisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "A [x](https://evil.com) `nope()` ![i](//evil.com)", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["content"] == "A x `nope()` i"
    assert report["stripped"] == 2
    assert report["images_removed"] == 1
    assert report["unverified"] == ["nope()"]
    assert report["decisions"][0] == {
        "label": "x",
        "url": "https://evil.com",
        "action": "strip",
        "reason": "hostname_not_allowed",
        "replacement": None,
    }
    assert report["paragraphs"][0]["verdict"] == "edited"


def test_the_question_makes_an_address_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "See [it](https://github.com/a/b/issues/7)."
    run(tmp_path, text)
    assert capsys.readouterr().out == "See it."
    run(tmp_path, text, "--question", "What is https://github.com/a/b/issues/7?")
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({}, "expected a list of"),
        ([{"n": 1}], "at [0].title"),
        ([{"n": 0, "title": "x", "content": ""}], "at [0].n"),
        ([SOURCES[0], SOURCES[0]], "two sources have the same n"),
    ],
)
def test_sources_that_are_refused(tmp_path: Path, sources: object, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(tmp_path, "x", sources=sources)
    assert message in str(caught.value)


def test_an_unknown_instance_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        run(tmp_path, "x", "--instance", "no-such-instance")
    with pytest.raises(CommandError, match="cannot be read"):
        audit_command.read_sources(tmp_path / "none.json")
