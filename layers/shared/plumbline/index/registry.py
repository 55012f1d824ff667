"""Repositories: number, address, commit, status, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Literal, Protocol

from plumbline.errors import InvalidRequest, StorageConflict
from plumbline.index.addresses import canonical_url, repository_name
from plumbline.index.index_request import (
    Order,
    iso,
)

RepositoryStatus = Literal["pending", "processing", "completed", "failed"]

_ATTEMPTS = 12


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository as the registry knows it.

    ``number`` is file 002's repository_id. ``url`` is canonical: ``https://<host>/<path>``, lower
    case host, no ``.git``, no trailing slash. ``name`` is ``owner/name``. ``progress`` runs from
    0 to 1. ``reason`` says what a person can do about a failure. Times are ISO 8601 in UTC.
    ``commit_sha`` and ``indexed_at`` are the last whole run's, through every later status.
    """

    number: int
    url: str
    name: str
    status: RepositoryStatus = "pending"
    branch: str | None = None
    commit_sha: str | None = None
    reason: str | None = None
    progress: float = 0.0
    counts_by_type: Mapping[str, int] = field(default_factory=dict)
    counts_by_language: Mapping[str, int] = field(default_factory=dict)
    files_skipped: Mapping[str, int] = field(default_factory=dict)
    indexed_at: str | None = None
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """A repository with what the indexer alone needs to know of it.

    ``version`` is the entry's own, raised by each write. The lease is held until ``lease_until``
    (seconds since 1970) by ``lease``, working on ``running_event``. ``pending`` is the newest
    request that came meanwhile. ``event_id`` is the last event handled, ``event_order`` that of the
    index as it stands. ``archive_key`` and ``archive_etag`` say what it was read from.
    """

    repository: Repository
    version: int = 0
    lease: str | None = None
    lease_until: float = 0.0
    running_event: str | None = None
    pending: Mapping[str, object] | None = None
    event_id: str | None = None
    event_order: Order = ("", "", "")
    archive_key: str | None = None
    archive_etag: str | None = None
    deleted: bool = False


class RegistryTable(Protocol):
    """What keeps the registry's items: mappings of text, numbers, truth values and mappings.

    Every item has ``url``, ``number``, ``name`` and ``version``; keys are told apart by lower-case
    address. Raises ``StorageUnavailable`` when it cannot answer.
    """

    def allot(self) -> int:
        """The next number: atomic, from 1, never given twice."""

    def get(self, url: str) -> Mapping[str, object] | None:
        """The item of an address, as last written."""

    def get_number(self, number: int) -> Mapping[str, object] | None:
        """The item of a number."""

    def scan(self) -> Iterator[Mapping[str, object]]:
        """Every item, in no order."""

    def create(self, item: Mapping[str, object]) -> None:
        """Write a new item; ``StorageConflict`` if its address is taken."""

    def replace(self, item: Mapping[str, object], *, version: int) -> None:
        """Write over an item; ``StorageConflict`` unless it still has that version."""


class Registry:
    """The repositories, for readers (``find``, ``list``) and for the indexer (the rest).

    Every write carries the version that it was decided on; one that lost is decided again on what
    is there now.
    """

    def __init__(self, table: RegistryTable, clock: Callable[[], datetime]) -> None:
        self._table = table
        self._clock = clock

    def find(self, reference: str | int) -> Repository | None:
        """The repository of a number, an address or an ``owner/name``; None if there is none.

        ``InvalidRequest`` when two hosts have a repository of that name.
        """
        if isinstance(reference, int) or reference.strip().isdecimal():
            return _visible(self._table.get_number(int(reference)))
        text = reference.strip()
        if "://" in text or text.startswith("git@"):
            return _visible(self._table.get(canonical_url(text)))
        name = text.strip("/").lower()
        matches = [found for found in self.list() if found.name.lower() == name]
        if len(matches) > 1:
            raise InvalidRequest(
                f"{len(matches)} repositories are called {matches[0].name}; give the address."
            )
        return matches[0] if matches else None

    def list(self) -> list[Repository]:
        """Every repository, by number."""
        found = (_visible(item) for item in self._table.scan())
        return sorted((one for one in found if one), key=lambda one: one.number)

    def entries(self) -> Iterator[RegistryEntry]:
        """Every entry, deleted ones too, by number."""
        entries = [entry_of(item) for item in self._table.scan()]
        yield from sorted(entries, key=lambda entry: entry.repository.number)

    def register(self, url: str) -> Repository:
        """The repository of a canonical address, as pending with a number of its own if new."""
        return self.entry(url, create=True).repository

    def known(self, url: str) -> bool:
        """Whether the address has an entry, a deleted one too."""
        return self._table.get(url) is not None

    def entry(self, url: str, *, create: bool = False) -> RegistryEntry:
        """The entry of an address; made if ``create``, else ``KeyError`` where there is none."""
        item = self._table.get(url)
        if item is not None:
            return entry_of(item)
        if not create:
            raise KeyError(url)
        new = RegistryEntry(
            Repository(
                self._table.allot(), url, repository_name(url), updated_at=iso(self._clock())
            )
        )
        try:
            self._table.create(item_of(new))
        except StorageConflict:
            # Somebody else registered it between the two calls; the number stays unused.
            item = self._table.get(url)
            if item is None:
                raise
            return entry_of(item)
        return new

    def change(
        self, url: str, decide: Callable[[RegistryEntry], RegistryEntry | None]
    ) -> RegistryEntry:
        """Replace the entry by ``decide``'s, None for no change; the entry that stands then.

        ``decide`` is asked again whenever another write came between. ``StorageConflict`` after
        too many of them.
        """
        for _ in range(_ATTEMPTS):
            entry = self.entry(url, create=True)
            decided = decide(entry)
            if decided is None:
                return entry
            stamped = replace(decided.repository, updated_at=iso(self._clock()))
            written = replace(decided, repository=stamped, version=entry.version + 1)
            try:
                self._table.replace(item_of(written), version=entry.version)
            except StorageConflict:
                continue
            return written
        raise StorageConflict("The repository is being changed from too many places; try again.")


def item_of(entry: RegistryEntry) -> dict[str, object]:
    """The entry as a flat item, empty fields left out."""
    item: dict[str, object] = {
        field_.name: getattr(entry.repository, field_.name) for field_ in fields(Repository)
    }
    for field_ in fields(RegistryEntry):
        if field_.name != "repository":
            item[field_.name] = getattr(entry, field_.name)
    item["event_order"] = list(entry.event_order)
    return {name: value for name, value in item.items() if value is not None}


def entry_of(item: Mapping[str, object]) -> RegistryEntry:
    """The entry of an item; fields that it lacks have their defaults, unknown ones are left out."""
    repository = Repository(**_known(item, Repository))  # type: ignore[arg-type]
    own = _known(item, RegistryEntry)
    order = own.pop("event_order", None)
    if isinstance(order, list | tuple) and len(order) == 3:
        own["event_order"] = tuple(str(part) for part in order)
    return RegistryEntry(repository, **own)  # type: ignore[arg-type]


def _known(item: Mapping[str, object], kind: type) -> dict[str, object]:
    names = {field_.name for field_ in fields(kind)} - {"repository"}
    return {name: value for name, value in item.items() if name in names}


def _visible(item: Mapping[str, object] | None) -> Repository | None:
    if item is None:
        return None
    entry = entry_of(item)
    return None if entry.deleted else entry.repository
