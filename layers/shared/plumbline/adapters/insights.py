"""Insights: view events, sent from a daemon thread, never in a turn's way.

Source: seed 000, trackView; Algolia Insights API, POST /1/events.
"""

from __future__ import annotations

import hashlib
import json
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from algoliasearch.http.request_options import RequestOptions
    from algoliasearch.http.transporter_sync import TransporterSync
    from algoliasearch.insights.config import InsightsConfig

# Algolia's limits for one event.
MAX_OBJECT_IDS = 20
_USER_TOKEN = re.compile(r"[A-Za-z0-9_=/+-]{1,129}\Z")
_QUERY_ID = re.compile(r"[0-9a-f]{32}\Z")
_MAX_WAITING = 64


class Insights:
    """Sends view events; every method returns at once, and no failure leaves it.

    ``region`` is ``us``, ``de`` or None; ``url`` is another address than Algolia's own.
    ``on_failure`` is told of each event that was not accepted, or dropped because too many wait,
    from any thread. The vendor's code is imported in the sending thread.
    """

    def __init__(
        self,
        app_id: str | None,
        api_key: str | None,
        *,
        region: str | None = None,
        url: str | None = None,
        timeout: float = 2.0,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        self._app_id, self._api_key, self._region, self._url = app_id, api_key, region, url
        self._timeout = timeout
        self._on_failure = on_failure
        self._waiting: queue.Queue[Mapping[str, object]] = queue.Queue(_MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._unfinished = 0
        self._idle = threading.Condition()

    def track_view(
        self,
        *,
        index: str,
        event_name: str,
        user_token: str,
        query_id: str | None = None,
        object_ids: Sequence[str] = (),
    ) -> None:
        """Tell Insights that these records were shown. Source: seed 000, trackView.

        Nothing is sent without an application, a key and an objectID. A token that Algolia would
        refuse is replaced by its digest.
        """
        ids = [object_id for object_id in object_ids if object_id][:MAX_OBJECT_IDS]
        if not ids or not self._app_id or not self._api_key:
            return
        event: dict[str, object] = {
            "eventType": "view",
            "eventName": event_name[:64] or "View",
            "index": index,
            "objectIDs": ids,
            "userToken": _token(user_token),
            "timestamp": int(time.time() * 1000),
        }
        if query_id and _QUERY_ID.match(query_id):
            event["queryID"] = query_id
        with self._idle:
            self._unfinished += 1
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._finished("dropped: too many events wait")
            return
        self._start()

    def flush(self, timeout: float) -> bool:
        """Wait until nothing is on its way, at most ``timeout`` seconds; whether that is so."""
        with self._idle:
            return self._idle.wait_for(lambda: self._unfinished == 0, timeout)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="insights", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        sender: _Sender | None = None
        while True:
            event = self._waiting.get()
            problem: str | None = None
            try:
                sender = sender or _Sender(
                    str(self._app_id), str(self._api_key), self._region, self._url, self._timeout
                )
                sender.send(event)
            except Exception as exc:
                # Whatever goes wrong with an event, the turn that it tells of went well.
                problem = type(exc).__name__
                if sender is not None:
                    sender.revive()
            self._finished(problem)

    def _finished(self, problem: str | None) -> None:
        if problem is not None and self._on_failure is not None:
            self._on_failure(problem)
        with self._idle:
            self._unfinished -= 1
            self._idle.notify_all()


class _Sender:
    """The official transport, pointed at Insights; used by one thread only."""

    def __init__(
        self, app_id: str, api_key: str, region: str | None, url: str | None, timeout: float
    ) -> None:
        import requests
        from algoliasearch.http.hosts import Host, HostsCollection
        from algoliasearch.http.request_options import RequestOptions
        from algoliasearch.http.transporter_sync import TransporterSync
        from algoliasearch.insights.config import InsightsConfig

        config: InsightsConfig = InsightsConfig(app_id, api_key, region)
        milliseconds = int(timeout * 1000)
        config.read_timeout = config.write_timeout = config.connect_timeout = milliseconds
        # A refused event is not worth a wait: views are many.
        config.max_rate_limit_retries = 0
        if url is None:
            config.set_default_hosts()  # type: ignore[no-untyped-call]
        else:
            parts = urlsplit(url)
            config.hosts = HostsCollection(
                [Host(parts.hostname or "", scheme=parts.scheme, port=parts.port)]
            )
            config.proxies = {}
        self._config = config
        self._options: RequestOptions = RequestOptions(config)
        self._transporter: TransporterSync = TransporterSync(config)
        session = requests.Session()
        session.trust_env = url is None
        self._transporter._session = session

    def send(self, event: Mapping[str, object]) -> None:
        from algoliasearch.http.verb import Verb

        self._transporter.request(
            verb=Verb.POST,
            path="/1/events",
            request_options=self._options.merge(data=json.dumps({"events": [event]})),
            use_read_transporter=False,
        )

    def revive(self) -> None:
        """Put the host back in use: the client blacks a failed one out for 300 s."""
        for host in self._config.hosts._hosts if self._config.hosts else ():
            host.reset()


def _token(user_token: str) -> str:
    if _USER_TOKEN.match(user_token):
        return user_token
    return hashlib.sha256(user_token.encode("utf-8", "replace")).hexdigest()
