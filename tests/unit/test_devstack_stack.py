"""A start that fails says why in one line and leaves nothing behind, in whatever phase it fails."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from devstack import aws, stack
from devstack.aws import MAX_RECEIVES, Aws
from devstack.failure import CommandError
from devstack.redis_server import RedisServer
from devstack.stack import Stack


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No thread, no process of Redis, no folder of it, and the environment as it was."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threads, before = set(threading.enumerate()), environment()
    yield
    left = [t.name for t in set(threading.enumerate()) - threads if t.is_alive()]
    assert left == []
    assert environment() == before
    assert list(tmp_path.glob("plumbline-redis-*")) == []
    assert children("redis-server", str(tmp_path)) == []


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def children(name: str, folder: str) -> list[str]:
    """The processes of that name whose command line names the folder."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = line.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if name in command and folder in command:
            found.append(command)
    return found


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"INSTANCE": "nope"}, "no instance of this name ships"),
        ({"REDIS_URL": "nonsense"}, "REDIS_URL is malformed"),
        ({"REDIS_URL": "redis://:secret@127.0.0.1:port"}, "REDIS_URL is no address"),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL is malformed"),
        ({"REPOSITORY_HOSTS": "x", "RATE_LIMIT_PER_MINUTE": "0"}, "RATE_LIMIT_PER_MINUTE"),
    ],
)
def test_a_setting_that_no_function_would_take(given: dict[str, str], says: str) -> None:
    with pytest.raises(CommandError, match=says) as caught, Stack(given):
        pass
    assert "secret" not in str(caught.value)


def test_a_mistake_in_an_instance_file_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: x\nfoo: [\n", encoding="utf-8")
    with pytest.raises(CommandError, match=rf"{file}:\d+: "), Stack({"INSTANCE": str(file)}):
        pass


def test_what_is_given_neither_leads_astray_nor_is_kept() -> None:
    given = {"ALGOLIA_URL": "junk", "QUEUE_URL": "junk", "GEMINI_API_KEY": "gemini"}
    with pytest.MonkeyPatch.context() as own, ExitStack() as entered:
        own.setenv("AWS_PROFILE", "nope")
        own.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        running = entered.enter_context(
            Stack({**os.environ, **given, "AWS_SESSION_TOKEN": "token"})
        )
        assert running.environment["ALGOLIA_URL"].startswith("http://127.0.0.1:")
        assert "AWS_PROFILE" not in os.environ
        assert os.environ["NO_PROXY"].endswith("127.0.0.1,localhost")
        kept = running.state.environment
        entered.close()
        assert os.environ["AWS_PROFILE"] == "nope"
    assert sorted(kept) == [
        "AWS_ACCESS_KEY_ID",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "BUCKET_NAME",
    ]
    assert not {"gemini", "token"} & set(kept.values())


def test_a_folder_that_cannot_keep_the_index(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("", encoding="utf-8")
    with pytest.raises(CommandError, match=f"cannot be kept in {folder}"):
        Stack({}, folder=folder).__enter__()


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} is in use"):
            Stack({}, port=port).__enter__()


@pytest.mark.parametrize("phase", ["_create_resources", "EventSource"])
def test_an_exception_in_any_phase_of_the_start(
    phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(aws if phase == "_create_resources" else stack, phase, fail)
    with pytest.raises(KeyboardInterrupt):
        Stack({}).__enter__()


def test_aws_that_cannot_be_laid_out_stops_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise LookupError

    monkeypatch.setattr(aws, "_create_resources", fail)
    with pytest.raises(LookupError):
        Aws()


def test_a_redis_that_is_no_program_is_said(tmp_path: Path) -> None:
    program = tmp_path / "redis"
    program.write_text("", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"does not start here: Permission denied\."):
        RedisServer(executable=str(program))


def test_the_queue_gives_a_message_up_after_as_many_tries_as_the_indexer_counts() -> None:
    from plumbline.index.triggers import MAX_RECEIVES as COUNTED

    assert MAX_RECEIVES == COUNTED
