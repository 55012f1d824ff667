"""The schedule: which repositories' branches have moved, as git itself would ask.

The host's smart HTTP answer lists every ref with its commit, with no key and no API quota.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from plumbline.errors import PlumblineError
from plumbline.index.addresses import is_commit, refs_address, repository_host
from plumbline.index.index_request import (
    IndexRequest,
    iso,
)
from plumbline.index.leases import give_up, rescue
from plumbline.index.registry import Registry, RegistryEntry

_MAX_LINES = 200_000
_SHORT_OF_TIME_SECONDS = 60.0


class SendQueue(Protocol):
    """The queue that index requests go to."""

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message."""


class Streams(Protocol):
    """What fetches over the network; see ``download``."""

    def stream(
        self, address: str, *, accept: str = "*/*"
    ) -> AbstractContextManager[Iterator[bytes]]:
        """The body of an address in pieces."""


class Refs:
    """Asks a repository's host for the commit of a branch or tag."""

    def __init__(self, downloader: Streams, hosts: Sequence[str]) -> None:
        self._downloader, self._hosts = downloader, tuple(hosts)

    def resolve(self, url: str, ref: str | None) -> tuple[str, str] | None:
        """The name and commit of a branch or tag, of the default branch when ``ref`` is None; None
        if there is no such ref. Raises what ``Downloader`` raises.
        """
        wanted = {f"refs/heads/{ref}", f"refs/tags/{ref}"} if ref else set()
        with self._downloader.stream(refs_address(url, self._hosts)) as pieces:
            for name, commit, head in _refs(_packet_lines(pieces)):
                if ref is None and head:
                    wanted = {head}
                if name in wanted:
                    return name.split("/", 2)[2], commit
        return None


class BranchRefresher:
    """Sends a request for every repository whose branch has moved since it was indexed."""

    def __init__(
        self,
        registry: Registry,
        refs: Refs,
        queue: SendQueue,
        *,
        hosts: Sequence[str],
        clock: Callable[[], datetime],
        report: Callable[[str, PlumblineError], None],
    ) -> None:
        self._registry, self._refs, self._queue = registry, refs, queue
        self._hosts, self._clock, self._report = tuple(hosts), clock, report

    def refresh(self, request: IndexRequest, remaining_seconds: Callable[[], float]) -> int:
        """Look at every repository after ``request.after``; how many requests were sent.

        When time runs short the rest is sent to the queue. Requests that a dead run left waiting
        are sent too, and a run that never came back is called failed. A host that fails is
        reported and costs only its own repositories.
        """
        sent = 0
        for entry in list(self._registry.entries()):
            number = entry.repository.number
            if number <= request.after:
                continue
            if remaining_seconds() < _SHORT_OF_TIME_SECONDS:
                rest = replace(request, after=number - 1, hop=request.hop + 1)
                self._queue.send(rest.message())
                return sent
            sent += self._refresh(entry, request)
        return sent

    def _refresh(self, entry: RegistryEntry, request: IndexRequest) -> int:
        repository = entry.repository
        if rescue(self._registry, repository.url, self._queue.send, self._clock):
            return 1
        give_up(self._registry, repository.url, self._clock)
        if entry.deleted or repository_host(repository.url) not in self._hosts:
            return 0
        if repository.branch and is_commit(repository.branch):
            return 0
        try:
            found = self._refs.resolve(repository.url, repository.branch)
        except PlumblineError as exc:
            self._report(repository.url, exc)
            return 0
        if found is None or found[1] == repository.commit_sha:
            return 0
        commit = found[1]
        moved = IndexRequest(
            "index",
            # One id for one commit: an archive that was refused is not asked for every night.
            f"refresh-{repository.number}-{commit}",
            iso(self._clock(), timespec="seconds"),
            url=repository.url,
            # The default branch stays the default branch, whatever it is called next year.
            ref=repository.branch,
            commit=commit,
        )
        self._queue.send(moved.message())
        return 1


def _packet_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """git's packet lines: four hex digits of length, themselves counted; 0000 to 0002 are marks."""
    buffer = b""
    source = iter(pieces)
    for _ in range(_MAX_LINES):
        while len(buffer) < 4 or len(buffer) < _length(buffer):
            piece = next(source, b"")
            if not piece:
                return
            buffer += piece
        length = _length(buffer)
        if length > 4:
            yield buffer[4:length]
        buffer = buffer[max(4, length) :]


def _length(buffer: bytes) -> int:
    try:
        return int(buffer[:4], 16)
    except ValueError:
        # No git server: an error page, say.
        return 0


def _refs(lines: Iterable[bytes]) -> Iterator[tuple[str, str, str | None]]:
    """Refs as name, commit, and for the first what HEAD stands for."""
    for line in lines:
        data, _, capabilities = line.partition(b"\0")
        commit, _, name = data.strip().decode("utf-8", "replace").partition(" ")
        if not is_commit(commit):
            continue
        head = None
        for word in capabilities.decode("utf-8", "replace").split():
            if word.startswith("symref=HEAD:"):
                head = word.removeprefix("symref=HEAD:")
        yield name, commit, head
