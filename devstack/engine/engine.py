"""Every index of an application: reads on snapshots, writes one task at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devstack.engine import facets
from devstack.engine.candidates import CandidateQuery
from devstack.engine.errors import BadRequest, NoSuchThing, no_such_index
from devstack.engine.finding import all_filters
from devstack.engine.journal import IndexWrite, Journal
from devstack.engine.multi_query import run_queries
from devstack.engine.parameters import resolve
from devstack.engine.records import Record, encoded, object_requests, resolve_batch
from devstack.engine.search import matching, retrieved, search
from devstack.engine.search_index import SearchIndex
from devstack.engine.settings import Settings
from devstack.engine.text_index import Snapshot

if TYPE_CHECKING:
    from devstack.engine.embedder import Embedder
    from devstack.engine.embeddings import Embeddings

MAX_NAME = 256


class Engine:
    """The indices of one application. Safe to use from many threads.

    Every write is journalled, applied and found by its words before it returns its task number.
    With an ``embedder``, an index whose ``mode`` is ``neuralSearch`` embeds its records in the
    background: a task is published when they are found by their vectors too. Without one the mode
    has no effect, as in an Algolia application without NeuralSearch. With no folder everything is
    in memory.
    """

    def __init__(self, folder: Path | None = None, *, embedder: Embedder | None = None) -> None:
        self._journal = Journal(folder)
        self._write_lock = threading.RLock()
        self._indices: dict[str, SearchIndex] = {}
        self._task = self._journal.last_task()
        self._embeddings = self._open_embeddings(embedder)
        for stored in self._journal.indices():
            index = self._new_index(stored.name, Settings.of(stored.settings), stored.created)
            index.apply(dict(self._journal.records(stored.name)))
            index.updated = stored.updated
            self._indices[stored.name] = index
        # Whatever a crash left without a vector was written by a task up to the last.
        self._restarted_at = self._task
        if self._embeddings is not None:
            self._embeddings.load({k for one in self._indices.values() for k in one.vector_keys()})
            for index in self._indices.values():
                self._embeddings.want(index.without_vector(), 0)

    def _open_embeddings(self, embedder: Embedder | None) -> Embeddings | None:
        if embedder is None:
            return None
        # numpy comes with the model, and only then.
        from devstack.engine.embeddings import Embeddings

        return Embeddings(embedder, self._journal, self._write_lock, self._publish_vectors)

    def _publish_vectors(self) -> None:
        for index in self._indices.values():
            index.publish_vectors()

    def _new_index(self, name: str, settings: Settings, created: str) -> SearchIndex:
        return SearchIndex(name, settings, created, self._embeddings)

    def close(self) -> None:
        """Closes the journal. Searches still work, writes fail."""
        if self._embeddings is not None:
            self._embeddings.close()
        with self._write_lock:
            self._journal.close()

    # Reading

    def snapshot(self, name: str) -> Snapshot:
        """The state of an index, or the 404 that Algolia gives."""
        index = self._indices.get(name)
        if index is None:
            raise no_such_index(name)
        return index.snapshot

    def search(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """One query."""
        return search(self.snapshot(name), name, body)

    def multi_search(self, requests: Any, strategy: str) -> list[dict[str, Any]]:
        """Several queries. With ``stopIfEnoughMatches`` those after the first that fills its
        ``hitsPerPage`` are not run: their results are empty and marked ``processed: false``.
        """
        return run_queries(requests, strategy, self.search, self.facet_values)

    def facet_values(self, name: str, attribute: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The search for values of one facet."""
        snapshot = self.snapshot(name)
        facet_query = body.get("facetQuery", "")
        if not isinstance(facet_query, str):
            raise BadRequest('Invalid value for "facetQuery" parameter, expected a string')
        parameters = resolve(
            {k: v for k, v in body.items() if k != "facetQuery"}, snapshot.settings
        )
        query = CandidateQuery(snapshot, (), (), all_filters(parameters)).query()
        return facets.search_values(snapshot, attribute, facet_query, query, parameters)

    def get_object(self, name: str, object_id: str, attributes: list[str] | None) -> Record:
        """One record, or 404."""
        self.snapshot(name)
        record = self._indices[name].record(object_id)
        if record is None:
            raise NoSuchThing("ObjectID does not exist")
        return record if attributes is None else retrieved(record, attributes, ())

    def get_objects(self, requests: Any) -> list[Record | None]:
        """Several records; None where one does not exist."""
        results: list[Record | None] = []
        for request in object_requests(requests):
            wanted = request.get("attributesToRetrieve")
            self.snapshot(request["indexName"])
            record = self._indices[request["indexName"]].record(request["objectID"])
            if record is not None and isinstance(wanted, list):
                record = retrieved(record, wanted, ())
            results.append(record)
        return results

    def settings(self, name: str) -> dict[str, Any]:
        """The settings of an index, defaults included."""
        return self.snapshot(name).settings.public()

    def task_status(self, task: int) -> dict[str, Any]:
        """Published, if the task exists and none of its records waits for its vector."""
        if task > self._task or task < 1:
            raise NoSuchThing("taskID does not exist")
        if self._embeddings is not None and (
            self._embeddings.pending(task)
            or (task <= self._restarted_at and self._embeddings.pending(0))
        ):
            return {"status": "notPublished", "pendingTask": True}
        return {"status": "published", "pendingTask": False}

    def list_indices(self) -> list[dict[str, Any]]:
        """Every index with its size."""
        return [
            {
                "name": index.name,
                "createdAt": index.created,
                "updatedAt": index.updated,
                "entries": len(index),
                "dataSize": index.bytes_held(),
                "fileSize": index.bytes_held(),
                "lastBuildTimeS": 0,
                "numberOfPendingTasks": 0,
                "pendingTask": False,
            }
            for index in sorted(self._indices.values(), key=lambda index: index.name)
        ]

    # Writing

    def batch(self, name: str, requests: Any) -> tuple[int, list[str]]:
        """A batch on one index: the task's number and the objectIDs."""
        with self._write_lock:
            index = self._indices.get(_checked_name(name))
            current = index.record if index is not None else lambda _: None
            records, ids, cleared, dropped = resolve_batch(requests, current)
            if dropped and not records:
                return self._drop(name), ids
            return self._write(name, records, cleared=cleared), ids

    def multi_batch(self, requests: Any) -> tuple[dict[str, int], list[str]]:
        """A batch over several indices: a task for each."""
        if not isinstance(requests, list):
            raise BadRequest('Attribute "requests" should be an array')
        by_index: dict[str, list[Any]] = {}
        for request in requests:
            if not isinstance(request, dict) or not isinstance(request.get("indexName"), str):
                raise BadRequest("indexName is missing in a request")
            rest = {key: value for key, value in request.items() if key != "indexName"}
            by_index.setdefault(_checked_name(request["indexName"]), []).append(rest)
        tasks: dict[str, int] = {}
        ids: list[str] = []
        with self._write_lock:
            for name, own in by_index.items():
                index = self._indices.get(name)
                resolve_batch(own, index.record if index is not None else lambda _: None)
            for name, own in by_index.items():
                tasks[name], done = self.batch(name, own)
                ids += done
        return tasks, ids

    def set_settings(self, name: str, changes: Mapping[str, Any]) -> int:
        """Changes settings; the index is made if it is not there."""
        with self._write_lock:
            index = self._indices.get(_checked_name(name))
            old = index.settings if index is not None else Settings()
            new = old.updated(changes)
            return self._write(name, {}, settings=new)

    def clear(self, name: str) -> int:
        """Removes every record; settings stay."""
        with self._write_lock:
            self.snapshot(name)
            return self._write(name, {}, cleared=True)

    def delete_by(self, name: str, body: Mapping[str, Any]) -> int:
        """Removes the records that the filters match; refuses a call without any."""
        allowed = ("filters", "facetFilters", "numericFilters", "tagFilters", "params")
        if not any(body.get(key) for key in allowed):
            raise BadRequest("deleteByQuery needs at least one filter")
        with self._write_lock:
            gone = matching(self.snapshot(name), {k: v for k, v in body.items() if k != "query"})
            return self._write(name, {document.object_id: None for document in gone})

    def delete_index(self, name: str) -> int:
        """Removes an index; one that is not there is no error, as with Algolia."""
        with self._write_lock:
            return self._drop(_checked_name(name))

    def operate(self, name: str, operation: str, destination: str, scope: Any) -> int:
        """Copies or moves an index. ``scope`` copies only settings, rules or synonyms."""
        if operation not in ("copy", "move"):
            raise BadRequest('Invalid value for "operation", expected copy or move')
        if scope is not None and (
            not isinstance(scope, list)
            or any(one not in ("settings", "rules", "synonyms") for one in scope)
        ):
            raise BadRequest('Invalid value for "scope", expected settings, rules or synonyms')
        with self._write_lock:
            source = self._indices.get(name)
            if source is None:
                raise no_such_index(name)
            if _checked_name(destination) == name:
                raise BadRequest("The source and the destination are the same index")
            target = self._indices.get(destination)
            if operation == "copy" and scope is not None:
                kept = target.settings if target is not None else Settings()
                settings = source.settings if "settings" in scope else kept
                return self._write(destination, {}, settings=settings)
            records: dict[str, Record | None] = {
                object_id: source.record(object_id) for object_id in source.object_ids()
            }
            drop = [name] if operation == "move" else []
            return self._write(
                destination, records, cleared=True, settings=source.settings, also_drop=drop
            )

    def _write(
        self,
        name: str,
        records: Mapping[str, Record | None],
        *,
        cleared: bool = False,
        settings: Settings | None = None,
        also_drop: list[str] | None = None,
    ) -> int:
        now = _now()
        index = self._indices.get(name)
        kept = settings or (index.settings if index is not None else Settings())
        created = index.created if index is not None else now
        write = IndexWrite(
            name,
            kept.given,
            created,
            now,
            {key: None if one is None else encoded(one) for key, one in records.items()}
            if self._journal.durable
            else {},
            cleared=cleared,
        )
        drops = [IndexWrite(one, {}, "", "", {}, dropped=True) for one in also_drop or []]
        task = self._task + 1
        self._journal.write(task, [write, *drops])
        # Documents from this number on are this task's; after new settings that is all of them.
        since = index.next_number if index is not None and kept is index.settings else 0
        if index is None:
            index = self._new_index(name, kept, created)
        elif kept is not index.settings:
            if cleared:
                # The old records go anyway: no need to build them anew under new settings.
                index = self._new_index(name, kept, created)
            else:
                index.configure(kept)
        if records or cleared:
            index.apply(records, cleared=cleared)
        index.updated = now
        self._indices = {
            **{key: one for key, one in self._indices.items() if key not in (also_drop or [])},
            name: index,
        }
        self._task = task
        if self._embeddings is not None:
            self._embeddings.want(index.without_vector(0 if cleared else since), task)
        return task

    def _drop(self, name: str) -> int:
        task = self._task + 1
        self._journal.write(task, [IndexWrite(name, {}, "", "", {}, dropped=True)])
        self._indices = {key: one for key, one in self._indices.items() if key != name}
        self._task = task
        return task


def _checked_name(name: str) -> str:
    # A lone surrogate and a control character are not printable.
    if not name or not name.isprintable() or len(name.encode()) > MAX_NAME:
        raise BadRequest(f"Invalid index name: 1 to {MAX_NAME} printable bytes")
    return name


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
