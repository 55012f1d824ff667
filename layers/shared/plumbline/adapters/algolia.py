"""Algolia through the official transport, without its models.

The transport alone imports in a fifth of the full client's time, and loses no data to strict
models. Source: design, decision 16; what each failure becomes: ``_mapped_errors``.
"""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from algoliasearch.http.exceptions import AlgoliaException, RequestException
from algoliasearch.http.hosts import Host, HostsCollection
from algoliasearch.http.request_options import RequestOptions
from algoliasearch.http.transporter_sync import TransporterSync
from algoliasearch.http.verb import Verb
from algoliasearch.search.config import SearchConfig

from plumbline.errors import SearchNotConfigured, SearchRefused, SearchUnavailable

UNAVAILABLE = "Search is unavailable; try again later."
NOT_CONFIGURED = (
    "Search is not configured on the server (ALGOLIA_APP_ID / ALGOLIA_ADMIN_API_KEY are missing)."
)
BROWSE_PAGE = 1000
# What an index answers that nobody has written to. Source: seed 002, "Index settings": a missing
# index (404) is treated as empty.
_NOTHING: Mapping[str, Any] = {"hits": [], "nbHits": 0, "nbPages": 0, "page": 0}
_GZIP_FROM_BYTES = 750
# A host is listed so often that a 5xx or a timeout is retried on it: the client's own loop goes
# from host to host and never back.
_TRIES_PER_HOST = 2


class AlgoliaIndex:
    """One index of one application; safe to share between threads.

    The transport keeps the current request's hosts and timeout on itself, so a client serves one
    request at a time; clients for reads and for writes wait in pools of their own, connections
    kept open. Every method raises ``SearchError``'s children only.
    """

    def __init__(
        self,
        app_id: str | None,
        api_key: str | None,
        index_name: str,
        *,
        url: str | None = None,
        read_timeout: float = 5.0,
        write_timeout: float = 30.0,
        connect_timeout: float = 2.0,
    ) -> None:
        self._app_id, self._api_key, self._url = app_id, api_key, url
        self._timeouts = (read_timeout, write_timeout, connect_timeout)
        self._idle: dict[str, queue.LifoQueue[_Client]] = {
            kind: queue.LifoQueue() for kind in ("read", "write")
        }
        self.index_name = index_name
        self._path = f"/1/indexes/{quote(index_name, safe='')}"

    def search(self, params: Mapping[str, object]) -> dict[str, Any]:
        """One query; the answer as Algolia gave it. An index that is not there yet is empty."""
        try:
            return self._read(Verb.POST, f"{self._path}/query", params)
        except SearchRefused as exc:
            if exc.upstream_status == 404:
                return dict(_NOTHING)
            raise

    def multi_query(
        self, requests: Sequence[Mapping[str, object]], *, strategy: str = "none"
    ) -> list[dict[str, Any]]:
        """Several queries of this index in one request, answered in their order.

        With ``stopIfEnoughMatches`` the list ends at the first query that filled its page. An
        index that is not there yet is empty.
        """
        body = {
            "requests": [{"indexName": self.index_name, **request} for request in requests],
            "strategy": strategy,
        }
        try:
            answer = self._read(Verb.POST, "/1/indexes/*/queries", body)
        except SearchRefused as exc:
            if exc.upstream_status == 404:
                return [dict(_NOTHING) for _ in requests]
            raise
        results = answer.get("results")
        if not isinstance(results, list):
            raise SearchUnavailable(UNAVAILABLE)
        for result in results:
            # An element may be a refusal of its own: {"message", "status"}.
            if "hits" not in result and "message" in result:
                raise SearchRefused(UNAVAILABLE, upstream_status=int(result.get("status", 400)))
        return results

    def browse(self, params: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Every record that matches, in no order, page by page."""
        body: dict[str, object] = {"hitsPerPage": BROWSE_PAGE, **params}
        while True:
            page = self._read(Verb.POST, f"{self._path}/browse", body)
            yield from page.get("hits", ())
            cursor = page.get("cursor")
            if not cursor:
                return
            body = {"cursor": cursor}

    def get_objects(self, object_ids: Sequence[str]) -> list[dict[str, Any] | None]:
        """Records by objectID, None where there is none."""
        body = {"requests": [{"indexName": self.index_name, "objectID": oid} for oid in object_ids]}
        results = self._read(Verb.POST, "/1/indexes/*/objects", body).get("results", [])
        return list(results)

    def batch(self, operations: Sequence[Mapping[str, object]]) -> int:
        """One batch of ``{"action", "body"}``; the task to wait for."""
        answer = self._write(Verb.POST, f"{self._path}/batch", {"requests": list(operations)})
        return _task(answer)

    def delete_by(self, filters: str) -> int:
        """Delete every record that the filter matches; the task to wait for."""
        answer = self._write(Verb.POST, f"{self._path}/deleteByQuery", {"filters": filters})
        return _task(answer)

    def task_published(self, task_id: int) -> bool:
        """Whether the task has been applied; one poll, no wait."""
        return self._read(Verb.GET, f"{self._path}/task/{task_id}").get("status") == "published"

    def get_settings(self) -> dict[str, Any] | None:
        """The index's settings, or None when there is no such index yet."""
        try:
            return self._read(Verb.GET, f"{self._path}/settings")
        except SearchRefused as exc:
            if exc.upstream_status == 404:
                return None
            raise

    def set_settings(self, settings: Mapping[str, object]) -> int:
        """Write the settings, creating the index; the task, which need not be waited for."""
        return _task(self._write(Verb.PUT, f"{self._path}/settings", settings))

    def list_indices(self) -> list[dict[str, Any]]:
        """The application's indices."""
        items = self._read(Verb.GET, "/1/indexes").get("items", [])
        return list(items)

    def _read(
        self, verb: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        return self._call("read", verb, path, body)

    def _write(self, verb: str, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        return self._call("write", verb, path, body)

    def _call(
        self, kind: str, verb: str, path: str, body: Mapping[str, object] | None
    ) -> dict[str, Any]:
        data = json.dumps(body) if body is not None else None
        with self._client(kind) as client, _mapped_errors(client):
            value = json.loads(client.request(verb, path, data, reads=kind == "read"))
            if not isinstance(value, dict):
                raise ValueError("Algolia's answer is no JSON object")
            return value

    @contextmanager
    def _client(self, kind: str) -> Iterator[_Client]:
        if not self._app_id or not self._api_key:
            raise SearchNotConfigured(NOT_CONFIGURED)
        try:
            client = self._idle[kind].get_nowait()
        except queue.Empty:
            client = _Client(self._app_id, self._api_key, self._url, self._timeouts)
        try:
            yield client
        finally:
            self._idle[kind].put(client)


class _Client:
    """A transporter with its options, and the Retry-After of its last refusal."""

    def __init__(
        self, app_id: str, api_key: str, url: str | None, timeouts: tuple[float, float, float]
    ) -> None:
        config = SearchConfig(app_id, api_key)
        read, write, connect = (int(seconds * 1000) for seconds in timeouts)
        config.read_timeout, config.write_timeout, config.connect_timeout = read, write, connect
        config.compression_type, config.compression_threshold = "gzip", _GZIP_FROM_BYTES
        # The client would sleep for as long as Retry-After says; the caller decides instead.
        config.max_rate_limit_retries = 0
        if url is None:
            config.set_default_hosts()  # type: ignore[no-untyped-call]
        else:
            parts = urlsplit(url)
            config.hosts = HostsCollection(
                [
                    Host(parts.hostname or "", scheme=parts.scheme, port=parts.port)
                    for _ in range(_TRIES_PER_HOST)
                ]
            )
            config.proxies = {}
        self.retry_after: int | None = None
        self.config = config
        self.options = RequestOptions(config)
        self.transporter = TransporterSync(config)
        # The transporter makes its session at the first request; ours notes Retry-After.
        session = requests.Session()
        session.trust_env = url is None
        session.hooks["response"].append(self._note)
        self.transporter._session = session

    def _note(self, response: requests.Response, *_: object, **__: object) -> None:
        value = response.headers.get("retry-after", "")
        self.retry_after = int(value) if value.isdecimal() else None

    def request(self, verb: str, path: str, data: str | None, *, reads: bool) -> str:
        """The answer's body from the first host that gives one.

        The transport goes to the next host after a 5xx or a timeout, but lets a refused or broken
        connection through; here the host is set aside and the rest is tried.
        """
        hosts = self.config.hosts
        candidates = (hosts.read() if reads else hosts.write()) if hosts else []
        while True:
            options = self.options.merge(data=data) if data else self.options.merge()
            try:
                answer = self.transporter.request(
                    verb=verb,  # type: ignore[arg-type]  # plain strings, typed as an enum
                    path=path,
                    request_options=options,
                    use_read_transporter=reads,
                )
            except requests.ConnectionError:
                up = [host for host in candidates if host.up]
                if len(up) < 2:
                    raise
                up[0].up, up[0].last_use = False, time.time()
            else:
                return answer.raw_data or ""

    def revive(self) -> None:
        """Put every host back in use: the client blacks a failed one out for 300 s."""
        for host in self.config.hosts._hosts if self.config.hosts else ():
            host.reset()


@contextmanager
def _mapped_errors(client: _Client) -> Iterator[None]:
    """Algolia's errors as ours: 4xx is a refusal, all else is unavailable.

    The transport lets ``requests`` errors and JSON errors (ValueError) through.
    """
    try:
        yield
    except RequestException as exc:
        status = int(exc.status_code or 0)
        if status == 429:
            raise SearchUnavailable(UNAVAILABLE, retry_after=client.retry_after or 1) from exc
        raise SearchRefused(UNAVAILABLE, upstream_status=status) from exc
    except (AlgoliaException, requests.RequestException, ValueError) as exc:
        client.revive()
        raise SearchUnavailable(UNAVAILABLE) from exc


def _task(answer: Mapping[str, Any]) -> int:
    task = answer.get("taskID")
    if not isinstance(task, int):
        raise SearchUnavailable(UNAVAILABLE)
    return task
