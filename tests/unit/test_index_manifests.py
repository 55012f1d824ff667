"""Manifests: what the index holds, and what is in doubt after a crash."""

from __future__ import annotations

import gzip
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.index.manifests import Manifest, Manifests
from tests.index_doubles import MemoryBucket


def oid(name: str, number: int = 7) -> str:
    return f"{number}_{hashlib.sha1(name.encode()).hexdigest()}"


def manifest(number: int = 7, **hashes: str) -> Manifest:
    made = Manifest(number)
    for name, digest in hashes.items():
        made.add(oid(name, number), digest)
    return made


def test_a_manifest_knows_what_it_was_told() -> None:
    made = manifest(a="h1")
    assert made.holds(oid("a"), "h1")
    assert not made.holds(oid("a"), "h2")
    assert not made.holds(oid("b"), "h1")
    made.doubt([oid("a")])
    assert not made.holds(oid("a"), "h1")
    assert not made.holds(oid("a"), "")
    made.discard(oid("a"))
    assert len(made) == 0


def test_what_is_gone_is_what_the_other_lacks() -> None:
    before, now = manifest(a="1", b="1", c="1"), manifest(b="2", d="1")
    assert before.missing_from(now) == sorted([oid("a"), oid("c")])
    assert now.missing_from(before) == [oid("d")]


@given(st.lists(st.text(min_size=1, max_size=50), unique=True, max_size=20))
def test_any_object_id_is_given_back_as_it_was(names: list[str]) -> None:
    made = Manifest(7)
    for name in names:
        made.add(name, "h")
    assert sorted(object_id for object_id, _ in made.items()) == sorted(names)


@pytest.mark.parametrize(
    "object_id",
    [f"8_{'a' * 40}", f"7_{'A' * 40}", f"7_{'g' * 40}", "7_abc", "x" * 20, f"7_{' a' * 20}"],
)
def test_an_id_of_another_shape_is_kept_whole(object_id: str) -> None:
    made = Manifest(7)
    made.add(object_id, "h")
    assert list(made.items()) == [(object_id, "h")]


def test_a_manifest_survives_the_bucket() -> None:
    manifests = Manifests(MemoryBucket())
    assert manifests.load(7) is None
    manifests.save(manifest(a="h1", b="h2"))
    loaded = manifests.load(7)
    assert loaded is not None
    assert sorted(loaded.items()) == sorted([(oid("a"), "h1"), (oid("b"), "h2")])
    assert manifests.load(8) is None


def test_what_a_journal_names_is_in_doubt_until_a_run_ends_well() -> None:
    bucket = MemoryBucket()
    manifests = Manifests(bucket)
    manifests.save(manifest(a="h1", b="h2"))
    manifests.journal(7, "run", 0, [oid("a"), oid("new")])
    loaded = manifests.load(7)
    assert loaded is not None
    assert dict(loaded.items()) == {oid("a"): "", oid("b"): "h2", oid("new"): ""}
    manifests.save(manifest(a="h3"))
    again = manifests.load(7)
    assert again is not None
    assert dict(again.items()) == {oid("a"): "h3"}


@pytest.mark.parametrize(
    "data",
    [b"", b"junk", gzip.compress(b"junk"), gzip.compress(b"[]"), gzip.compress(b"{}")[:9]],
    ids=["empty", "junk", "zipped-junk", "zipped-list", "cut"],
)
def test_a_broken_manifest_is_a_lost_one(data: bytes) -> None:
    bucket = MemoryBucket()
    bucket.put("manifests/7/current.json.gz", data)
    assert Manifests(bucket).load(7) is None


def test_a_place_survives_the_bucket_and_can_be_dropped() -> None:
    bucket = MemoryBucket()
    manifests = Manifests(bucket)
    manifests.save_place(7, "abc", {"position": 3}, manifest(a="h1"))
    found = manifests.load_place(7, "abc")
    assert found is not None
    assert found[0] == {"position": 3}
    assert dict(found[1].items()) == {oid("a"): "h1"}
    manifests.drop_places(7)
    assert manifests.load_place(7, "abc") is None


def test_deleting_one_repository_leaves_the_others() -> None:
    bucket = MemoryBucket()
    manifests = Manifests(bucket)
    for number in (7, 70):
        manifests.save(manifest(number, a="h"))
        manifests.journal(number, "run", 0, ["x"])
    manifests.delete(7)
    assert manifests.load(7) is None
    assert manifests.load(70) is not None
