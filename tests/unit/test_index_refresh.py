"""The schedule: branches as git tells them, and what is asked for when one has moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import PlumblineError, RepositoryUnreachable
from plumbline.index.index_request import (
    IndexRequest,
)
from plumbline.index.leases import Lease, acquire
from plumbline.index.refresh import BranchRefresher, Refs
from plumbline.index.registry import Registry
from plumbline.index.requests import (
    read_requests,
)
from tests.index_doubles import Clock, MemoryTable

HOSTS = ("github.com",)
FLASK = "https://github.com/pallets/flask"
OLD, NEW, TAG = "a" * 40, "b" * 40, "c" * 40
REQUEST = IndexRequest("refresh", "r", "2026-03-01T02:00:00Z")


def packet(text: str) -> bytes:
    data = text.encode() + b"\n"
    return f"{len(data) + 4:04x}".encode() + data


def advertisement(main: str = NEW) -> bytes:
    """What a host answers to git-upload-pack's info/refs."""
    return b"".join(
        [
            packet("# service=git-upload-pack"),
            b"0000",
            packet(f"{main} HEAD\0multi_ack symref=HEAD:refs/heads/main agent=git/github"),
            packet(f"{OLD} refs/heads/dev"),
            packet(f"{main} refs/heads/main"),
            packet(f"{TAG} refs/tags/main-1"),
            packet(f"{TAG} refs/tags/v1"),
            packet(f"{OLD} refs/tags/v1^{{}}"),
            b"0000",
        ]
    )


class Host:
    """Answers each address with bytes or an error, in pieces of a few bytes."""

    def __init__(
        self, answers: Mapping[str, bytes | PlumblineError] | bytes, size: int = 7
    ) -> None:
        self.answers, self.size = answers, size
        self.asked: list[str] = []

    @contextmanager
    def stream(self, address: str, *, accept: str = "*/*") -> Iterator[Iterator[bytes]]:
        self.asked.append(address)
        answer = self.answers if isinstance(self.answers, bytes) else self.answers[address]
        if isinstance(answer, PlumblineError):
            raise answer
        yield (answer[n : n + self.size] for n in range(0, len(answer), self.size))


def refs(answer: bytes, size: int = 7) -> Refs:
    return Refs(Host(answer, size), HOSTS)


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        (None, ("main", NEW)),
        ("main", ("main", NEW)),
        ("dev", ("dev", OLD)),
        ("v1", ("v1", TAG)),
        ("gone", None),
        ("mai", None),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_ref_is_found_as_git_tells_it(
    ref: str | None, found: tuple[str, str] | None, size: int
) -> None:
    assert refs(advertisement(), size).resolve(FLASK, ref) == found


@pytest.mark.parametrize(
    "answer", [b"", b"<html>no git here</html>", b"zzzz", b"0008ab", b"0000" * 9]
)
def test_an_answer_that_is_none_has_no_refs(answer: bytes) -> None:
    assert refs(answer).resolve(FLASK, None) is None


@given(st.binary(max_size=300))
def test_any_answer_ends(answer: bytes) -> None:
    assert refs(answer).resolve(FLASK, "main") is None


class Setting:
    def __init__(self, answers: Mapping[str, bytes | PlumblineError] | bytes) -> None:
        self.clock = Clock()
        self.registry = Registry(MemoryTable(), self.clock)
        self.sent: list[Mapping[str, object]] = []
        self.reported: list[tuple[str, str]] = []
        self.host = Host(answers)
        self.refresher = BranchRefresher(
            self.registry,
            Refs(self.host, HOSTS),
            self,
            hosts=HOSTS,
            clock=self.clock,
            report=lambda url, error: self.reported.append((url, error.code)),
        )

    def send(self, message: Mapping[str, object]) -> None:
        self.sent.append(message)

    def indexed(self, url: str, commit: str | None, branch: str | None = None) -> None:
        self.registry.change(
            url,
            lambda entry: replace(
                entry,
                repository=replace(entry.repository, commit_sha=commit, branch=branch),
            ),
        )

    def requests(self) -> list[IndexRequest]:
        return [read_requests(message, bucket="b", now=self.clock())[0] for message in self.sent]

    def refresh(self, request: IndexRequest = REQUEST, seconds: float = 900) -> int:
        return self.refresher.refresh(request, lambda: seconds)


@pytest.mark.parametrize("branch", [None, "main"])
def test_a_branch_that_moved_is_asked_for_at_its_commit(branch: str | None) -> None:
    s = Setting(advertisement())
    s.indexed(FLASK, OLD, branch)
    assert s.refresh() == 1
    (request,) = s.requests()
    assert (request.url, request.ref, request.commit) == (FLASK, branch, NEW)
    assert request.event_id == f"refresh-1-{NEW}"


@pytest.mark.parametrize(
    ("commit", "branch"), [(NEW, None), (NEW, "main"), (OLD, "dev"), (OLD, OLD), (OLD, "gone")]
)
def test_a_branch_that_stands_is_left_alone(commit: str, branch: str | None) -> None:
    s = Setting(advertisement())
    s.indexed(FLASK, commit, branch)
    assert s.refresh() == 0
    assert s.sent == []


def test_other_hosts_and_deleted_repositories_are_not_asked() -> None:
    s = Setting(advertisement())
    s.indexed("https://git.example.org/a/b", OLD)
    s.indexed(FLASK, OLD)
    s.registry.change(FLASK, lambda entry: replace(entry, deleted=True))
    assert s.refresh() == 0
    assert s.host.asked == []


def test_a_host_that_fails_costs_only_its_repositories() -> None:
    other = "https://github.com/a/b"
    s = Setting(
        {
            f"{FLASK}.git/info/refs?service=git-upload-pack": RepositoryUnreachable("down"),
            f"{other}.git/info/refs?service=git-upload-pack": advertisement(),
        }
    )
    s.indexed(FLASK, OLD)
    s.indexed(other, OLD)
    assert s.refresh() == 1
    assert s.reported == [(FLASK, "repository_unreachable")]
    assert [request.url for request in s.requests()] == [other]


def test_short_of_time_the_rest_is_sent_on() -> None:
    s = Setting(advertisement())
    for name in "abc":
        s.indexed(f"https://github.com/x/{name}", OLD)
    times = iter([900.0, 900.0, 30.0])
    assert s.refresher.refresh(REQUEST, lambda: next(times)) == 2
    rest = s.requests()[-1]
    assert (rest.action, rest.after, rest.hop) == ("refresh", 2, 1)
    s.sent.clear()
    assert s.refresh(rest) == 1
    assert [request.url for request in s.requests()] == ["https://github.com/x/c"]


def test_what_waits_for_a_dead_run_is_sent() -> None:
    s = Setting(advertisement())
    first = IndexRequest("index", "one", "2026-03-01T11:00:00Z", url=FLASK)
    second = IndexRequest("index", "two", "2026-03-01T11:01:00Z", url=FLASK)
    acquire(s.registry, first, s.clock)
    acquire(s.registry, second, s.clock)
    s.indexed(FLASK, NEW)
    assert s.refresh() == 0
    s.clock.sleep(3600)
    assert s.refresh() == 1
    assert [request.event_id for request in s.requests()] == ["two"]
    assert s.refresh() == 0


def test_a_run_that_never_came_back_is_called_failed() -> None:
    s = Setting(advertisement())
    acquire(s.registry, IndexRequest("index", "e", "2026-03-01T11:00:00Z", url=FLASK), s.clock)
    s.indexed(FLASK, NEW)
    s.clock.sleep(7 * 3600)
    s.refresh()
    assert s.registry.list()[0].status == "processing"
    s.clock.sleep(2 * 3600)
    s.refresh()
    repository = s.registry.list()[0]
    assert repository.status == "failed"
    assert "broke off" in (repository.reason or "")
    again = IndexRequest("index", "f", "2026-03-01T12:00:00Z", url=FLASK)
    assert isinstance(acquire(s.registry, again, s.clock), Lease)
