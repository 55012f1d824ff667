"""What the index holds of a repository: objectIDs and content hashes, kept in the bucket.

``manifests/<number>/current`` is what the last whole run left. Before a run sends a batch it writes
the batch's ids to a journal beside it; so after a crash the next run knows which records it cannot
trust, sends those again and deletes those that are gone. Source: design, decision 12.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

_UNKNOWN = b""
_SHA1 = re.compile(r"[0-9a-f]{40}")


class ObjectStore(Protocol):
    """Small objects of the bucket, whole. Raises ``StorageUnavailable``."""

    def get(self, key: str) -> bytes | None:
        """The object, or None."""

    def put(self, key: str, data: bytes) -> None:
        """Write the object; it is there whole or not at all."""

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with ``prefix``, in order."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are not there are no error."""


class Manifest:
    """ObjectIDs with their content hashes: 20 and at most 20 bytes each, so that a million fit.

    A hash that is not known equals none, so its record is sent again.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._hashes: dict[bytes | str, bytes] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, object_id: str, content_hash: str) -> None:
        """Note that the index holds the record with this content."""
        self._hashes[self._key(object_id)] = content_hash.encode()

    def doubt(self, object_ids: Iterable[str]) -> None:
        """Note that the index may hold these records, with a content that is not known."""
        for object_id in object_ids:
            self._hashes[self._key(object_id)] = _UNKNOWN

    def discard(self, object_id: str) -> None:
        """Forget a record."""
        self._hashes.pop(self._key(object_id), None)

    def holds(self, object_id: str, content_hash: str) -> bool:
        """Whether the index certainly holds the record with this content."""
        known = self._hashes.get(self._key(object_id), _UNKNOWN)
        return known != _UNKNOWN and known == content_hash.encode()

    def missing_from(self, other: Manifest) -> list[str]:
        """The objectIDs that this manifest has and the other lacks, in order."""
        gone = self._hashes.keys() - other._hashes.keys()
        return sorted(self._object_id(key) for key in gone)

    def items(self) -> Iterator[tuple[str, str]]:
        """Every objectID with its hash, empty where it is not known."""
        for key, value in self._hashes.items():
            yield self._object_id(key), value.decode()

    def _key(self, object_id: str) -> bytes | str:
        # The ids of one repository share its number, and end in a SHA-1.
        prefix, _, digest = object_id.partition("_")
        if prefix == str(self.number) and _SHA1.fullmatch(digest):
            return bytes.fromhex(digest)
        return object_id

    def _object_id(self, key: bytes | str) -> str:
        return key if isinstance(key, str) else f"{self.number}_{key.hex()}"


class Manifests:
    """The manifests, journals and saved places in the bucket."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def load(self, number: int) -> Manifest | None:
        """What the last whole run left, with everything in doubt that a journal names; None if the
        manifest is lost or was never written, though there may be journals.
        """
        data = self._objects.get(_current(number))
        manifest = _unpack(number, data)
        if manifest is None:
            return None
        manifest.doubt(self.journaled(number))
        return manifest

    def journaled(self, number: int) -> Iterator[str]:
        """Every objectID that the journals name."""
        for key in list(self._objects.keys(_journal(number))):
            data = self._objects.get(key)
            if data is not None:
                yield from data.decode().split()

    def save(self, manifest: Manifest) -> None:
        """What the index holds now: replaces the last one at a stroke, then drops the journals."""
        self._objects.put(_current(manifest.number), _pack(manifest))
        self._objects.delete(list(self._objects.keys(_journal(manifest.number))))

    def journal(self, number: int, run_id: str, sequence: int, object_ids: Iterable[str]) -> None:
        """Note the ids that are about to be written or deleted."""
        key = f"{_journal(number)}{run_id}-{sequence:06d}"
        self._objects.put(key, "\n".join(object_ids).encode())

    def save_place(
        self, number: int, run_id: str, place: Mapping[str, object], so_far: Manifest
    ) -> None:
        """Keep where a run stopped, for its continuation."""
        body = {"place": dict(place), "records": dict(so_far.items())}
        self._objects.put(_place(number, run_id), gzip.compress(_json(body), 3))

    def load_place(self, number: int, run_id: str) -> tuple[Mapping[str, object], Manifest] | None:
        """Where a run stopped and what it had written; None if that is lost."""
        data = self._objects.get(_place(number, run_id))
        if data is None:
            return None
        body = json.loads(gzip.decompress(data))
        manifest = Manifest(number)
        for object_id, content_hash in body["records"].items():
            manifest.add(object_id, content_hash)
        return body["place"], manifest

    def save_summary(self, number: int, summary: Mapping[str, object]) -> None:
        """Keep what the run did, each skipped file with its reason, for whoever misses a symbol."""
        self._objects.put(f"manifests/{number}/summary.json", _json(summary))

    def drop_places(self, number: int) -> None:
        """Delete every saved place of the repository."""
        self._objects.delete(list(self._objects.keys(f"manifests/{number}/place/")))

    def delete(self, number: int) -> None:
        """Delete everything kept of the repository."""
        self._objects.delete(list(self._objects.keys(f"manifests/{number}/")))


def _current(number: int) -> str:
    return f"manifests/{number}/current.json.gz"


def _journal(number: int) -> str:
    return f"manifests/{number}/journal/"


def _place(number: int, run_id: str) -> str:
    return f"manifests/{number}/place/{run_id}.json.gz"


def _pack(manifest: Manifest) -> bytes:
    return gzip.compress(_json(dict(manifest.items())), 3)


def _unpack(number: int, data: bytes | None) -> Manifest | None:
    if data is None:
        return None
    try:
        items = json.loads(gzip.decompress(data))
        manifest = Manifest(number)
        for object_id, content_hash in items.items():
            manifest.add(object_id, content_hash)
    except (OSError, EOFError, zlib.error, ValueError, AttributeError):
        # A broken manifest is a lost one: the run finds out from the index itself.
        return None
    return manifest


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
