"""What outlives the process: records, settings and the last task, in one SQLite file.

A write is on disk before it is acknowledged (write-ahead log, ``synchronous=FULL``), so that
neither ``kill -9`` nor a power cut loses it. The tantivy index is rebuilt from it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS indices (
  name TEXT PRIMARY KEY, settings TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (
  index_name TEXT NOT NULL, object_id TEXT NOT NULL, sequence INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (index_name, object_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (id INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
  model TEXT NOT NULL, key BLOB NOT NULL, vector BLOB NOT NULL,
  PRIMARY KEY (model, key)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index as it was left."""

    name: str
    settings: Mapping[str, Any]
    created: str
    updated: str


@dataclass(frozen=True, slots=True)
class IndexWrite:
    """Everything that one task changes in one index. A record that is None is deleted;
    ``cleared`` removes every other record first; ``dropped`` removes the index itself.
    """

    name: str
    settings: Mapping[str, Any]
    created: str
    updated: str
    records: Mapping[str, str | None]
    cleared: bool = False
    dropped: bool = False


class Journal:
    """The durable side of an engine. One writer at a time; no folder, nothing kept."""

    def __init__(self, folder: Path | None) -> None:
        self._connection: sqlite3.Connection | None = None
        self._sequence = 0
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            folder / "engine.sqlite3", isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.executescript(_SCHEMA)
        row = connection.execute("SELECT max(sequence) FROM records").fetchone()
        self._sequence = int(row[0] or 0)
        self._connection = connection

    @property
    def durable(self) -> bool:
        """Whether anything is kept at all."""
        return self._connection is not None

    def write(self, task: int, writes: list[IndexWrite]) -> None:
        """One task, whole or not at all; on disk when this returns."""
        connection = self._connection
        if connection is None:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("DELETE FROM tasks")
            connection.execute("INSERT INTO tasks VALUES (?)", (task,))
            for write in writes:
                self._apply(connection, write)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _apply(self, connection: sqlite3.Connection, write: IndexWrite) -> None:
        if write.cleared or write.dropped:
            connection.execute("DELETE FROM records WHERE index_name = ?", (write.name,))
        if write.dropped:
            connection.execute("DELETE FROM indices WHERE name = ?", (write.name,))
            return
        connection.execute(
            "INSERT INTO indices VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "settings = excluded.settings, updated = excluded.updated",
            (write.name, json.dumps(dict(write.settings)), write.created, write.updated),
        )
        gone = [(write.name, key) for key, body in write.records.items() if body is None]
        kept = []
        for key, body in write.records.items():
            if body is not None:
                self._sequence += 1
                kept.append((write.name, key, self._sequence, body))
        connection.executemany("DELETE FROM records WHERE index_name = ? AND object_id = ?", gone)
        connection.executemany(
            "INSERT INTO records VALUES (?, ?, ?, ?) ON CONFLICT (index_name, object_id) "
            "DO UPDATE SET body = excluded.body, sequence = excluded.sequence",
            kept,
        )

    def last_task(self) -> int:
        """The number of the last task that was acknowledged, 0 before the first."""
        if self._connection is None:
            return 0
        row = self._connection.execute("SELECT max(id) FROM tasks").fetchone()
        return int(row[0] or 0)

    def indices(self) -> list[StoredIndex]:
        """Every index, without its records."""
        if self._connection is None:
            return []
        rows = self._connection.execute("SELECT name, settings, created, updated FROM indices")
        return [StoredIndex(n, json.loads(s), c, u) for n, s, c, u in rows.fetchall()]

    def records(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The records of an index with their objectIDs, in the order in which they came."""
        if self._connection is not None:
            rows = self._connection.execute(
                "SELECT object_id, body FROM records WHERE index_name = ? ORDER BY sequence",
                (name,),
            )
            for object_id, body in rows:
                yield object_id, json.loads(body)

    def keep_vectors(self, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> None:
        """Keeps vectors by the key of their text; on disk when this returns."""
        if self._connection is not None:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
                [(model, key, vector) for key, vector in vectors],
            )
            self._connection.execute("COMMIT")

    def vectors(self, model: str) -> list[tuple[bytes, bytes]]:
        """Every vector of a model with its key."""
        if self._connection is None:
            return []
        rows = self._connection.execute("SELECT key, vector FROM vectors WHERE model = ?", (model,))
        return rows.fetchall()

    def drop_vectors(self, model: str, keys: Iterable[bytes]) -> None:
        """Forgets vectors whose text no record has."""
        if self._connection is not None:
            self._connection.executemany(
                "DELETE FROM vectors WHERE model = ? AND key = ?", [(model, key) for key in keys]
            )

    def close(self) -> None:
        """Closes the file; everything acknowledged is already in it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
