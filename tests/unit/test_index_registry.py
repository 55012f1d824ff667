"""The registry: numbers, look-ups, and writes that lost to others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plumbline.errors import InvalidRequest, StorageConflict
from plumbline.index.registry import Registry, RegistryEntry, Repository, entry_of, item_of
from tests.index_doubles import Clock, MemoryTable

FLASK = "https://github.com/pallets/flask"
FORK = "https://gitlab.com/pallets/flask"


@pytest.fixture
def table() -> MemoryTable:
    return MemoryTable()


@pytest.fixture
def registry(table: MemoryTable) -> Registry:
    return Registry(table, Clock())


def test_numbers_count_from_one_and_stay(registry: Registry) -> None:
    first = registry.register(FLASK)
    second = registry.register("https://github.com/psf/requests")
    assert (first.number, second.number) == (1, 2)
    assert registry.register(FLASK) == first
    assert first == Repository(1, FLASK, "pallets/flask", updated_at="2026-03-01T12:00:00.000Z")


@pytest.mark.parametrize(
    "reference",
    [
        1,
        "1",
        " 1 ",
        FLASK,
        "https://GitHub.com/Pallets/Flask.git/",
        "git@github.com:pallets/flask.git",
        "pallets/flask",
        "Pallets/FLASK",
        "/pallets/flask/",
    ],
    ids=repr,
)
def test_a_repository_is_found_by_number_address_and_name(
    registry: Registry, reference: str | int
) -> None:
    registry.register(FLASK)
    found = registry.find(reference)
    assert found is not None
    assert found.url == FLASK


@pytest.mark.parametrize(
    "reference", [9, "9", "a/b", "https://github.com/a/b", "", "flask"], ids=repr
)
def test_what_is_not_there_is_none(registry: Registry, reference: str | int) -> None:
    registry.register(FLASK)
    assert registry.find(reference) is None


def test_a_name_on_two_hosts_must_be_told_apart(registry: Registry) -> None:
    registry.register(FLASK)
    registry.register(FORK)
    with pytest.raises(InvalidRequest, match="2 repositories are called pallets/flask"):
        registry.find("pallets/flask")
    assert [one.number for one in registry.list()] == [1, 2]


def test_a_deleted_repository_is_not_shown_and_keeps_its_number(registry: Registry) -> None:
    registry.register(FLASK)
    registry.change(FLASK, lambda entry: replace(entry, deleted=True))
    assert registry.find(1) is None
    assert registry.find(FLASK) is None
    assert registry.list() == []
    assert registry.register(FLASK).number == 1
    assert registry.known(FLASK)


def test_a_change_that_lost_is_decided_again(registry: Registry, table: MemoryTable) -> None:
    registry.register(FLASK)

    def other() -> None:
        registry.change(FLASK, lambda entry: replace(entry, running_event="other"))

    table.before_replace = other
    seen: list[str | None] = []

    def decide(entry: RegistryEntry) -> RegistryEntry:
        seen.append(entry.running_event)
        return replace(entry, archive_key="mine")

    written = registry.change(FLASK, decide)
    assert seen == [None, "other"]
    assert (written.running_event, written.archive_key) == ("other", "mine")
    assert written.version == 2


def test_a_change_that_never_wins_gives_up(registry: Registry, table: MemoryTable) -> None:
    registry.register(FLASK)

    def interfere() -> None:
        item = table.items[FLASK]
        item["version"] += 1
        table.before_replace = interfere

    table.before_replace = interfere
    with pytest.raises(StorageConflict, match="try again"):
        registry.change(FLASK, lambda entry: replace(entry, archive_key="x"))


def test_two_that_register_at_once_get_one_number(registry: Registry, table: MemoryTable) -> None:
    allot = table.allot

    def raced() -> int:
        table.allot = allot  # type: ignore[method-assign]
        registry.register(FLASK)
        return allot()

    table.allot = raced  # type: ignore[method-assign]
    assert registry.register(FLASK).number == 1
    assert len(registry.list()) == 1


def test_an_entry_survives_its_item() -> None:
    entry = RegistryEntry(
        Repository(
            3,
            FLASK,
            "pallets/flask",
            status="completed",
            branch="main",
            commit_sha="a" * 40,
            progress=0.5,
            counts_by_type={"class": 2},
            files_skipped={"binary": 1},
        ),
        version=4,
        lease="token",
        lease_until=1.5,
        pending={"id": "e"},
        event_order=("t", "k", "s"),
        deleted=True,
    )
    item = item_of(entry)
    assert entry_of({**item, "unknown": 1}) == entry
    assert "reason" not in item
    minimal = {"number": 1, "url": FLASK, "name": "pallets/flask"}
    assert entry_of(minimal) == RegistryEntry(Repository(1, FLASK, "pallets/flask"))
