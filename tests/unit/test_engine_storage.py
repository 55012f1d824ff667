"""Records, settings, tasks, and what is there after a restart."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from devstack.engine.browse import browse
from devstack.engine.engine import Engine
from devstack.engine.errors import BadRequest, NoSuchThing
from devstack.engine.records import MAX_RECORD_BYTES, encoded


def add(engine: Engine, *records: dict[str, Any], index: str = "i") -> int:
    task, _ = engine.batch(index, [{"action": "addObject", "body": one} for one in records])
    return task


def found(engine: Engine, query: str = "", index: str = "i", **more: object) -> list[str]:
    return [hit["objectID"] for hit in engine.search(index, {"query": query, **more})["hits"]]


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    engine.set_settings("i", {"searchableAttributes": ["t"], "attributesForFaceting": ["k"]})
    add(engine, {"objectID": "a", "t": "old", "k": "x"}, {"objectID": "b", "t": "old", "k": "y"})
    add(engine, {"objectID": "a", "t": "new", "k": "x"})
    engine.batch("i", [{"action": "deleteObject", "body": {"objectID": "b"}}])
    add(engine, {"objectID": "gone"}, index="dropped")
    engine.delete_index("dropped")
    last = engine.delete_by("i", {"filters": "k:nothing"})
    created = engine.list_indices()[0]["createdAt"]
    engine.close()
    again = Engine(tmp_path)
    assert found(again, "new", filters="k:x") == ["a"]
    assert found(again, "old") == []
    assert again.settings("i")["searchableAttributes"] == ["t"]
    assert [one["name"] for one in again.list_indices()] == ["i"]
    assert again.list_indices()[0]["createdAt"] == created
    assert again.task_status(last)["status"] == "published"
    assert add(again, {"objectID": "c"}) == last + 1
    again.close()


def test_a_failed_write_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(tmp_path)
    task = add(engine, {"objectID": "a", "t": "kept"})

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk full")

    monkeypatch.setattr(engine._journal, "_apply", fail)
    with pytest.raises(sqlite3.OperationalError):
        add(engine, {"objectID": "b"})
    monkeypatch.undo()
    assert found(engine) == ["a"]
    assert add(engine, {"objectID": "c"}) == task + 1
    engine.close()
    again = Engine(tmp_path)
    assert sorted(found(again)) == ["a", "c"]
    again.close()


def test_a_settings_change_reindexes_what_is_there() -> None:
    engine = Engine()
    add(engine, {"objectID": "1", "name": "getUserById", "secret": "hidden", "rank": 1})
    add(engine, {"objectID": "2", "name": "other", "secret": "getUser", "rank": 2})
    assert found(engine, "user") == []
    engine.set_settings("i", {"searchableAttributes": ["name"], "camelCaseAttributes": ["name"]})
    assert found(engine, "user") == ["1"]
    assert found(engine, "hidden") == []
    engine.set_settings("i", {"customRanking": ["desc(rank)"]})
    assert found(engine) == ["2", "1"]
    engine.set_settings("i", {"searchableAttributes": None})
    assert found(engine, "hidden") == ["1"]
    assert engine.settings("i")["searchableAttributes"] is None


def test_a_batch_holds_whole_or_not_at_all() -> None:
    engine = Engine()
    add(engine, {"objectID": "1", "t": "x"})
    bad: list[Any] = [
        {"action": "addObject", "body": {"objectID": "2"}},
        {"action": "addObject", "body": {"objectID": "3", "t": "x" * MAX_RECORD_BYTES}},
    ]
    with pytest.raises(BadRequest):
        engine.batch("i", bad)
    assert found(engine) == ["1"]
    with pytest.raises(BadRequest):
        engine.multi_batch(
            [{**one, "indexName": name} for one, name in zip(bad, "ij", strict=True)]
        )
    assert [one["entries"] for one in engine.list_indices()] == [1]


def test_a_record_of_just_the_limit_fits() -> None:
    engine = Engine()
    room = MAX_RECORD_BYTES - len(encoded({"t": "", "objectID": "1"}))
    add(engine, {"objectID": "1", "t": "é" * (room // 2)})
    with pytest.raises(BadRequest, match="Record is too big"):
        add(engine, {"objectID": "1", "t": "é" * (room // 2 + 1)})


def test_later_requests_of_a_batch_see_the_earlier() -> None:
    engine = Engine()
    requests = [
        ("addObject", {"objectID": "1", "n": 1}),
        ("partialUpdateObject", {"objectID": "1", "n": {"_operation": "Decrement", "value": 3}}),
        ("partialUpdateObject", {"objectID": "1", "l": {"_operation": "Add", "value": "a"}}),
        ("partialUpdateObject", {"objectID": "1", "l": {"_operation": "Remove", "value": "a"}}),
        ("addObject", {"objectID": "2"}),
        ("deleteObject", {"objectID": "2"}),
        ("deleteObject", {"objectID": "never"}),
        ("partialUpdateObjectNoCreate", {"objectID": "2", "n": 1}),
    ]
    engine.batch("i", [{"action": action, "body": body} for action, body in requests])
    assert engine.get_object("i", "1", None) == {"objectID": "1", "n": -2, "l": []}
    assert found(engine) == ["1"]


@pytest.mark.parametrize(
    "operation", [{"_operation": "Increment", "value": "x"}, {"_operation": "Eat", "value": 1}]
)
def test_an_operation_that_makes_no_sense(operation: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        Engine().batch(
            "i", [{"action": "partialUpdateObject", "body": {"objectID": "1", "n": operation}}]
        )


def test_numbers_follow_the_records() -> None:
    engine = Engine()
    add(engine, *({"objectID": str(n), "v": n / 2, "deep": {"w": [n, n + 1]}} for n in range(6)))
    assert sorted(found(engine, filters="v>=1.5 AND v<2.5")) == ["3", "4"]
    assert found(engine, filters="deep.w=6") == ["5"]
    assert sorted(found(engine, filters="v!=0 AND v!=0.5", numericFilters=["v<=1.5"])) == ["2", "3"]
    add(engine, {"objectID": "0", "v": 9})
    assert found(engine, filters="v:8 TO 10") == ["0"]
    assert found(engine, filters="v=0") == []
    assert found(engine, tagFilters=["x"]) == []


def test_browse_goes_on_past_records_that_come_and_go() -> None:
    engine = Engine()
    add(engine, *({"objectID": str(n)} for n in range(5)))
    first = browse(engine.snapshot("i"), {"hitsPerPage": 2})
    engine.batch("i", [{"action": "deleteObject", "body": {"objectID": "2"}}])
    add(engine, {"objectID": "9"})
    rest = browse(engine.snapshot("i"), {"cursor": first["cursor"]})
    assert [hit["objectID"] for hit in rest["hits"]] == ["3", "4"]
    last = browse(engine.snapshot("i"), {"cursor": rest["cursor"]})
    assert [hit["objectID"] for hit in last["hits"]] == ["9"]
    assert "cursor" not in last
    for cursor in ("", "x", "bnVsbA=="):
        with pytest.raises(BadRequest):
            browse(engine.snapshot("i"), {"cursor": cursor})


def test_what_is_not_there_is_404() -> None:
    engine = Engine()
    for call in (
        lambda: engine.search("none", {}),
        lambda: engine.settings("none"),
        lambda: engine.clear("none"),
        lambda: engine.delete_by("none", {"filters": "a:b"}),
        lambda: engine.operate("none", "copy", "x", None),
        lambda: engine.task_status(1),
    ):
        with pytest.raises(NoSuchThing):
            call()
    assert engine.delete_index("none") == 1


def test_an_old_snapshot_keeps_its_answers() -> None:
    engine = Engine()
    add(engine, {"objectID": "1", "t": "word"})
    old = engine.snapshot("i")
    engine.batch("i", [{"action": "clear", "body": {}}])
    assert found(engine, "word") == []
    assert [one.object_id for one in old.documents.values()] == ["1"]
    assert browse(old, {"query": "word"})["nbHits"] == 1


def test_what_json_can_spell_and_utf_8_cannot(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    engine.batch(
        "i", [{"action": "addObject", "body": {"objectID": "\ud800", "\udfff": "a\ud800"}}]
    )
    assert found(engine) == ["?"]
    with pytest.raises(BadRequest, match="out of range"):
        add(engine, {"objectID": "1", "n": float("nan")})
    deep: list[Any] = []
    for _ in range(60):
        deep = [deep]
    with pytest.raises(BadRequest, match="nested too deeply"):
        add(engine, {"objectID": "1", "deep": deep})
    with pytest.raises(BadRequest, match="index name"):
        add(engine, {"objectID": "1"}, index="a\ud800")
    engine.close()
    again = Engine(tmp_path)
    assert found(again) == ["?"]
    again.close()


def test_neural_mode_without_a_model_is_keyword_mode() -> None:
    """As in an Algolia application without NeuralSearch; the extra ``neural`` is not needed."""
    engine = Engine()
    engine.set_settings("i", {"searchableAttributes": ["t"], "mode": "neuralSearch"})
    task = add(engine, {"objectID": "1", "t": "writes a picture to disk"})
    assert engine.task_status(task)["status"] == "published"
    assert found(engine, "store a photograph") == []
    assert engine.settings("i")["mode"] == "neuralSearch"
    answer = engine.search("i", {"query": "picture disk", "getRankingInfo": True})
    assert "neuralScore" not in answer["hits"][0]["_rankingInfo"]
