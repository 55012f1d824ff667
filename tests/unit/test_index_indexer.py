"""A request to its end: what is sent, what the registry tells, what a searcher sees meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.errors import SearchRefused, StorageUnavailable
from plumbline.index.index_request import (
    IndexRequest,
)
from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.index.indexer import IndexSettings
from plumbline.index.snapshots import Snapshots
from tests.index_doubles import COMMIT, make_tar, unavailable
from tests.index_world import URL, Countdown, World, later, python_files

OTHER = "f" * 40


@pytest.fixture
def world() -> World:
    return World()


def test_an_archive_becomes_records(world: World) -> None:
    files = python_files(["alpha"]) | {"README.md": "# Title\n\nText\n", "logo.png": b"\x89PNG\0"}
    outcome = world.handle(world.upload(files, comment=COMMIT, ref="main"))
    assert outcome.status == "completed"
    assert world.index.names() == {"alpha", "Title"}
    record = next(r for r in world.index.records.values() if r["entity_name"] == "alpha")
    assert (record["repository_id"], record["file_path"]) == (1, "src/alpha.py")
    assert (record["repository"], record["repository_url"]) == ("acme/app", URL)
    assert record["commit_sha"] == COMMIT
    repository = world.repository
    assert (repository.status, repository.progress) == ("completed", 1.0)
    assert (repository.commit_sha, repository.branch) == (COMMIT, "main")
    assert repository.counts_by_type == {"function": 1, "doc_section": 1}
    assert repository.counts_by_language == {"python": 1, "markdown": 1}
    assert repository.files_skipped == {"unsupported file type": 1}
    assert repository.indexed_at == "2026-03-01T12:00:10.000Z"
    assert outcome.summary is not None
    assert outcome.summary.listed == ["logo.png: unsupported file type"]
    kept = json.loads(world.bucket.objects["manifests/1/summary.json"])
    assert kept["listed"] == ["logo.png: unsupported file type"]
    assert (kept["records"], kept["sent"], kept["deleted"]) == (2, 2, 0)


def test_the_snapshot_holds_the_text_and_nothing_else(world: World) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "x = 1\r\n",
        "LICENSE": "free\n",
        "logo.png": b"\x89PNG\0\0",
        "b.py": "def f(): ...\n",
    }
    world.handle(world.upload(files, comment=COMMIT))
    snapshots = Snapshots(world.bucket)
    assert snapshots.paths(1, COMMIT) == ["a.py", "LICENSE", "b.py"]
    assert snapshots.read_file(1, COMMIT, "a.py") == b"x = 1\r\n"


def test_the_last_snapshot_is_kept_beside_the_new_one(world: World) -> None:
    for number, commit in enumerate(["a" * 40, "b" * 40, "c" * 40]):
        world.handle(world.upload(python_files([f"f{number}"]), comment=commit))
    kept = sorted(world.bucket.keys("snapshots/"))
    assert kept == [f"snapshots/1/{c * 40}.zip" for c in "bc"]


def test_a_second_run_over_the_same_commit_sends_nothing(world: World) -> None:
    files = python_files(["alpha", "beta"])
    world.handle(world.upload(files, comment=COMMIT))
    sent = len(world.index.sent())
    again = make_tar(files, commit=COMMIT)
    outcome = world.handle(world.upload(again, name="again.tar.gz"))
    assert outcome.status == "completed"
    assert outcome.summary is not None
    assert (outcome.summary.records, outcome.summary.sent) == (2, 0)
    assert len(world.index.sent()) == sent
    assert world.index.deleted() == []


def test_a_new_commit_alone_rewrites_nothing(world: World) -> None:
    files = python_files(["alpha", "beta"])
    world.handle(world.upload(files, comment=COMMIT))
    outcome = world.handle(world.upload({**files, **python_files(["gamma"])}, comment=OTHER))
    assert outcome.summary is not None
    assert outcome.summary.sent == 1
    assert world.repository.commit_sha == OTHER


def test_what_changed_is_sent_and_what_is_gone_deleted_after_it(world: World) -> None:
    world.handle(world.upload(python_files(["alpha", "beta", "gamma"]), comment=COMMIT))
    before = len(world.index.calls)
    changed = {
        **python_files(["alpha"]),
        **python_files(["beta"], body="return 2"),
        **python_files(["delta"]),
    }
    outcome = world.handle(world.upload(changed, comment=OTHER))
    assert outcome.summary is not None
    assert (outcome.summary.sent, outcome.summary.deleted) == (2, 1)
    assert world.index.names() == {"alpha", "beta", "delta"}
    actions = [
        {op["action"] for op in argument}
        for name, argument in world.index.calls[before:]
        if name == "batch"
    ]
    assert actions == [{"addObject"}, {"deleteObject"}]


def test_the_very_same_archive_is_not_read_again(world: World) -> None:
    files = python_files(["alpha"])
    world.handle(world.upload(files, comment=COMMIT))
    outcome = world.handle(world.upload(files, comment=COMMIT))
    assert outcome.status == "unchanged"
    assert world.repository.status == "completed"


def test_force_sends_everything_again(world: World) -> None:
    world.handle(world.upload(python_files(["alpha", "beta"]), comment=COMMIT))
    world.index.records.clear()
    outcome = world.handle(world.ask(force=True))
    assert outcome.summary is not None
    assert outcome.summary.sent == 2
    assert world.index.names() == {"alpha", "beta"}


def test_settings_are_written_once_and_only_if_they_differ(world: World) -> None:
    world.handle(world.upload(python_files(["alpha"])))
    world.handle(world.upload(python_files(["beta"])))
    assert [n for n, _ in world.index.calls if "settings" in n] == ["get_settings", "set_settings"]
    assert world.index.settings == dict(INDEX_SETTINGS)
    world.restart()
    world.handle(world.upload(python_files(["gamma"])))
    names = [n for n, _ in world.index.calls if "settings" in n]
    assert names == ["get_settings", "set_settings", "get_settings"]


@pytest.mark.parametrize(
    ("comment", "metadata", "commit"),
    [
        (COMMIT, {}, COMMIT),
        (COMMIT, {"commit": OTHER}, COMMIT),
        ("", {"commit": OTHER}, OTHER),
        ("", {"commit": "not a commit"}, None),
        ("made by hand", {}, None),
    ],
)
def test_the_commit_is_the_archives_or_else_the_events(
    world: World, comment: str, metadata: dict[str, str], commit: str | None
) -> None:
    world.handle(world.upload(python_files(["alpha"]), comment=comment, **metadata))
    assert world.repository.commit_sha == commit
    assert Snapshots(world.bucket).read_file(1, commit, "src/alpha.py")


def test_a_tar_is_indexed_like_a_zip(world: World) -> None:
    data = make_tar(python_files(["alpha"]), commit=COMMIT, root="app-1/")
    world.handle(world.upload(data, name="app.tar.gz"))
    assert world.index.names() == {"alpha"}
    assert world.repository.commit_sha == COMMIT


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no archive", "This is no archive; send a zip, a tar.gz or a tar.zst."),
        (b"PK\x03\x04 half", "The zip is broken or only half there; upload it again."),
        ({}, "nothing that can be indexed"),
        ({"logo.png": b"\0"}, "(files skipped: 1 unsupported file type)."),
    ],
)
def test_a_bad_archive_is_told_and_the_old_index_stands(
    world: World, data: Any, reason: str
) -> None:
    world.handle(world.upload(python_files(["alpha"]), comment=COMMIT))
    request = world.upload(data)
    outcome = world.handle(request)
    assert outcome.status == "failed"
    repository = world.repository
    assert repository.status == "failed"
    assert repository.reason is not None
    assert reason in repository.reason
    assert (repository.commit_sha, repository.indexed_at is None) == (COMMIT, False)
    assert world.index.names() == {"alpha"}
    # The message is done; once more it does nothing, and a good archive mends it.
    assert world.handle(request).status == "unchanged"
    world.handle(world.upload(python_files(["beta"]), comment=OTHER))
    assert world.repository.status == "completed"
    assert world.repository.reason is None


def test_an_archive_that_was_deleted_meanwhile_is_told(world: World) -> None:
    request = world.upload(python_files(["alpha"]))
    world.bucket.objects.clear()
    assert world.handle(request).status == "failed"
    assert world.repository.reason == "The archive is no longer in the bucket; upload it again."


def test_a_host_that_is_not_configured_is_told(world: World) -> None:
    assert world.handle(world.ask(ref="main")).status == "failed"
    assert "configured hosts are: none" in (world.repository.reason or "")


def test_a_refused_record_is_reported_and_the_rest_is_found(world: World) -> None:
    world.index.refused = lambda record: record["entity_name"] == "beta"
    files = python_files(["alpha", "beta", "gamma"])
    outcome = world.handle(world.upload(files, comment=COMMIT))
    assert outcome.status == "completed"
    assert world.index.names() == {"alpha", "gamma"}
    assert world.repository.files_skipped == {"record refused by Algolia": 1}
    # It is in no manifest, so the next run tries again.
    world.index.refused = lambda record: False
    world.handle(world.upload({**files, "x.py": "x = 1\n"}, comment=OTHER))
    assert world.index.names() >= {"alpha", "beta", "gamma"}


@pytest.mark.parametrize("last_try", [False, True])
def test_an_outage_is_tried_again_and_at_last_told(world: World, last_try: bool) -> None:
    world.handle(world.upload(python_files(["alpha"]), comment=COMMIT))
    world.index.failures["batch"] = [unavailable()] * 4
    request = world.upload(python_files(["alpha", "beta"]), comment=OTHER)
    outcome = world.handle(request, last_try=last_try)
    assert (outcome.status, outcome.retry_after) == ("retry", 30)
    repository = world.repository
    assert repository.status == ("failed" if last_try else "pending")
    assert (repository.reason or "").startswith("Algolia did not answer.")
    assert world.index.names() == {"alpha"}
    assert world.handle(request).status == "completed"
    assert world.index.names() == {"alpha", "beta"}


def test_a_refused_key_is_told_to_whoever_can_mend_it(world: World) -> None:
    world.index.failures["get_settings"] = [SearchRefused("no", upstream_status=403)]
    outcome = world.handle(world.upload(python_files(["alpha"])))
    assert outcome.status == "retry"
    assert world.repository.status == "failed"
    assert world.repository.reason == (
        "Algolia refused the key; check that it may write to the index."
    )


def test_a_newer_request_that_lost_its_lease_to_an_older_one_is_done_in_the_end(
    world: World,
) -> None:
    older = world.upload(python_files(["older"]), name="b.zip", comment=OTHER)
    newer = world.upload(python_files(["newer"]), comment=COMMIT)
    done: list[str] = []

    def steal(verb: str, key: str) -> None:
        if verb == "put" and "journal" in key and not done:
            done.append("stealing")
            later(world, 1000)
            done.append(world.handle(older).status)

    world.bucket.fail = steal
    assert world.handle(newer).status == "retry"
    assert done == ["stealing", "completed"]
    later(world, 200)
    assert world.handle(newer).status == "completed"
    assert world.index.names() == {"newer"}


def test_what_an_operator_should_see_comes_with_its_cause(world: World) -> None:
    world.index.failures["batch"] = [unavailable()] * 4
    assert world.handle(world.upload(python_files(["alpha"]))).error is not None
    assert world.handle(world.upload(b"no archive")).error is None


def test_a_defect_is_told_and_not_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    request = world.upload(python_files(["alpha"]))
    monkeypatch.setattr("plumbline.index.file_records.build_documents", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        world.handle(request)
    assert world.repository.status == "failed"
    monkeypatch.undo()
    assert world.handle(request).status == "completed"


def test_deleting_the_archive_deletes_the_repository(world: World) -> None:
    world.handle(world.upload(python_files(["alpha"]), comment=COMMIT))
    outcome = world.handle(world.delete_event())
    assert outcome.status == "deleted"
    assert world.index.records == {}
    assert ("delete_by", "repository_id=1") in world.index.calls
    assert list(world.bucket.objects) == []
    assert world.registry.list() == []


def test_a_repository_without_an_archive_is_deleted_by_its_address(world: World) -> None:
    world.handle(world.upload(python_files(["alpha"]), comment=COMMIT))
    assert world.handle(world.ask(action="delete")).status == "deleted"
    assert world.index.records == {}
    assert world.registry.list() == []


def test_deleting_an_old_archive_deletes_nothing(world: World) -> None:
    world.handle(world.upload(python_files(["alpha"]), name="1.zip", comment=COMMIT))
    world.handle(world.upload(python_files(["beta"]), name="2.zip", comment=OTHER))
    world.handle(world.upload(b"no archive", name="3.zip"))
    before = world.repository
    outcome = world.handle(world.delete_event("1.zip"))
    assert outcome.status == "unchanged"
    assert world.index.names() == {"beta"}
    assert (world.repository.status, world.repository.reason) == ("failed", before.reason)


def test_a_deletion_older_than_the_index_is_dropped(world: World) -> None:
    world.handle(world.upload(python_files(["alpha"]), comment=COMMIT))
    late = world.delete_event()
    world.handle(world.upload(python_files(["beta"]), comment=OTHER))
    assert world.handle(late).status == "unchanged"
    assert world.index.names() == {"beta"}


def test_a_repository_that_comes_back_is_indexed_whole(world: World) -> None:
    files = python_files(["alpha"])
    world.handle(world.upload(files, comment=COMMIT))
    world.handle(world.delete_event())
    outcome = world.handle(world.upload(files, comment=COMMIT))
    assert outcome.status == "completed"
    assert world.index.names() == {"alpha"}
    assert world.repository.number == 1


def test_a_lost_manifest_is_made_up_from_the_index(world: World) -> None:
    world.handle(world.upload(python_files(["alpha", "beta"]), comment=COMMIT))
    world.bucket.objects.pop("manifests/1/current.json.gz")
    outcome = world.handle(world.upload(python_files(["alpha", "gamma"]), comment=OTHER))
    assert outcome.summary is not None
    assert (outcome.summary.sent, outcome.summary.deleted) == (2, 1)
    assert world.index.names() == {"alpha", "gamma"}


def test_what_another_registry_left_under_the_number_goes(world: World) -> None:
    world.index.settings = {}
    world.index.records["1_stray"] = {"objectID": "1_stray", "repository_id": 1, "entity_name": "x"}
    world.index.records["2_other"] = {"objectID": "2_other", "repository_id": 2, "entity_name": "y"}
    world.handle(world.upload(python_files(["alpha"])))
    assert world.index.names() == {"alpha", "y"}


def test_progress_is_written_at_most_once_a_second(world: World) -> None:
    files = python_files([f"f{n}" for n in range(200)])
    request = world.upload(files)
    writes: list[float] = []
    replace = world.table.replace

    def counted(item: Any, *, version: int) -> None:
        replace(item, version=version)
        if item["status"] == "processing":
            writes.append(item["progress"])

    world.table.replace = counted  # type: ignore[method-assign]
    monotonic = world.clock.monotonic

    # Each look at the clock takes 50 ms, so 200 files take ten seconds.
    def slow() -> float:
        later(world, 0.05)
        return monotonic()

    world.indexer._monotonic = slow
    world.handle(request)
    assert 8 <= len(writes) <= 25
    assert writes == sorted(writes)
    assert all(0 <= progress < 1 for progress in writes)


def test_two_uploads_do_not_interleave_and_the_newest_is_last(world: World) -> None:
    first = world.upload(python_files(["alpha"]), name="1.zip", comment=COMMIT)
    second = world.upload(python_files(["beta"]), name="2.zip", comment=OTHER)
    third = world.upload(python_files(["gamma"]), name="3.zip", comment="c" * 40)
    seen: list[str] = []

    def arrive(verb: str, key: str) -> None:
        if verb == "upload" and not seen:
            for request in (third, second):
                seen.append(world.handle(request).status)

    world.bucket.fail = arrive
    assert world.handle(first).status == "completed"
    assert seen == ["waiting", "waiting"]
    assert [outcome.status for outcome in world.deliver()] == ["completed"]
    assert world.index.names() == {"gamma"}


def test_a_run_that_lost_its_lease_stops_writing(world: World) -> None:
    request = world.upload(python_files([f"f{n}" for n in range(5)]), comment=COMMIT)
    other = world.upload(python_files(["other"]), name="b.zip", comment=OTHER)
    done: list[str] = []

    def steal(verb: str, key: str) -> None:
        if verb == "put" and "journal" in key and not done:
            done.append("stealing")
            later(world, 1000)
            done.append(world.handle(other).status)

    world.bucket.fail = steal
    outcome = world.handle(request)
    assert done == ["stealing", "completed"]
    assert (outcome.status, outcome.retry_after) == ("retry", 180)
    assert world.index.names() == {"other"}
    assert world.repository.commit_sha == OTHER
    # It was asked for before what stands now; had it been asked for later, it would be done now.
    assert world.handle(request).status == "unchanged"


def test_a_run_short_of_time_goes_on_in_another(world: World) -> None:
    names = [f"f{n:02d}" for n in range(30)]
    request = world.upload({**python_files(names), "z.png": b"\0"}, comment=COMMIT)
    world.remaining = Countdown(12)
    outcome = world.handle(request)
    assert outcome.status == "continued"
    assert world.repository.status == "processing"
    assert 5 < len(world.index.records) < 30
    (message,) = world.queue.messages
    detail = message["detail"]
    assert isinstance(detail, dict)
    assert detail["hop"] == 1
    world.restart()
    world.remaining = lambda: 900.0
    assert [one.status for one in world.deliver()] == ["completed"]
    assert world.index.names() == set(names)
    assert len(world.index.sent()) == 30
    repository = world.repository
    assert repository.counts_by_type == {"function": 30}
    assert repository.files_skipped == {"unsupported file type": 1}
    assert len(Snapshots(world.bucket).paths(1, COMMIT)) == 30
    assert list(world.bucket.keys("manifests/1/place/")) == []
    assert list(world.bucket.keys("manifests/1/journal/")) == []
    # Nothing is left to do for the first message, nor for the continuation.
    assert world.handle(request).status == "unchanged"


def test_many_short_parts_make_the_same_whole(world: World) -> None:
    world.handle(world.upload(python_files(["old", "f00"]), comment=COMMIT))
    names = [f"f{n:02d}" for n in range(20)]
    request = world.upload(python_files(names), comment=OTHER)

    def part(request: IndexRequest) -> str:
        world.remaining = Countdown(5)
        return world.handle(request).status

    statuses = [part(request)]
    while world.queue.messages:
        message = world.queue.messages[0]
        world.queue.messages.clear()
        statuses.append(part(_request(world, message)))
    assert statuses[-1] == "completed"
    assert 3 <= statuses.count("continued") <= 11
    assert world.index.names() == set(names)
    assert world.index.deleted() == [op for op in world.index.deleted() if op.startswith("1_")]
    assert len(world.index.deleted()) == 1


def _request(world: World, message: Any) -> IndexRequest:
    from plumbline.index.requests import read_requests

    return read_requests(message, bucket="b", now=world.clock())[0]


def test_a_run_that_never_ends_is_stopped() -> None:
    world = World(IndexSettings(max_hops=3))
    request = world.upload(python_files([f"f{n}" for n in range(9)]), comment=COMMIT)
    world.remaining = lambda: 10.0
    world.handle(request)
    statuses = [outcome.status for outcome in world.deliver()]
    assert statuses == ["continued", "continued", "continued", "failed"]
    assert "too large" in (world.repository.reason or "")


def test_a_place_in_another_archive_is_not_used(world: World) -> None:
    request = world.upload(python_files([f"f{n}" for n in range(9)]))
    world.remaining = Countdown(5)
    assert world.handle(request).status == "continued"
    world.upload(python_files([f"g{n}" for n in range(9)]))
    world.remaining = lambda: 900.0
    assert [outcome.status for outcome in world.deliver()] == ["completed"]
    assert world.index.names() == {f"g{n}" for n in range(9)}


def test_the_registry_down_leaves_the_message(world: World) -> None:
    request = world.upload(python_files(["alpha"]))

    def down(url: str) -> None:
        raise StorageUnavailable("no table")

    world.table.get = down  # type: ignore[method-assign]
    with pytest.raises(StorageUnavailable):
        world.handle(request)


def test_a_run_that_dies_at_its_end_loses_nobodys_request(world: World) -> None:
    first = world.upload(python_files(["alpha"]), name="1.zip", comment=COMMIT)
    second = world.upload(python_files(["beta"]), name="2.zip", comment=OTHER)

    class Killed(BaseException):
        pass

    def die() -> None:
        raise Killed

    def arrive(verb: str, key: str) -> None:
        if verb == "upload":
            assert world.handle(second).status == "waiting"

    world.bucket.fail, world.queue.fail = arrive, die
    with pytest.raises(Killed):
        world.handle(first)
    world.bucket.fail, world.queue.fail = lambda verb, key: None, lambda: None
    later(world, 6000)
    assert world.handle(first).status == "unchanged"
    assert [outcome.status for outcome in world.deliver()] == ["completed"]
    assert world.index.names() == {"beta"}


def test_a_schedule_that_never_ends_is_stopped(world: World) -> None:
    endless = IndexRequest("refresh", "r", "2026-03-01T02:00:00Z", hop=13)
    assert world.handle(endless).status == "failed"
