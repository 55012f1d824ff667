"""An Algolia-compatible HTTP server over the embedded engine.

The routes, bodies and answers are those that the official clients send and need. A caller's
mistake gets Algolia's 400, 403 or 404 with ``{"message", "status"}``, never a 5xx: one 5xx makes
the official client leave a host alone for five minutes.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from cheroot.wsgi import Server
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Request, Response

from devstack.algolia_wire import (
    MAX_BODY,
    json_object,
    json_response,
    json_value,
    query_number,
    route,
    timestamp,
    updated,
)
from devstack.engine.browse import browse
from devstack.engine.embedder import Embedder
from devstack.engine.engine import Engine
from devstack.engine.errors import BadRequest, EngineError, Forbidden

KEPT_EVENTS = 1000
READ, WRITE = "search", "admin"

_OPEN_TO_SEARCH_KEYS = frozenset(
    ["queries", "objects", "query", "facet", "object", "events", "list", "settings"]
)


class AlgoliaServer:
    """Serves an engine on a loopback address until stopped.

    ``api_keys`` maps a key to what it may do: ``search`` reads, ``admin`` does everything.
    ``folder`` keeps the indices; without one they live in memory. With an ``embedder`` the indices
    whose ``mode`` is ``neuralSearch`` are searched by vectors too. ``events`` holds the last
    Insights events that arrived.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        app_id: str,
        api_keys: Mapping[str, frozenset[str]],
        threads: int = 8,
        embedder: Embedder | None = None,
    ) -> None:
        self.engine = Engine(folder, embedder=embedder)
        self.events: deque[dict[str, Any]] = deque(maxlen=KEPT_EVENTS)
        self._app_id = app_id
        self._keys = dict(api_keys)
        self._server = Server((host, port), self._application, numthreads=threads)
        self._server.max_request_body_size = MAX_BODY
        self._server.timeout = 60
        self._server.shutdown_timeout = 1
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port, known after ``start``."""
        host, port = self._server.bind_addr[:2]
        return str(host), int(port)

    @property
    def url(self) -> str:
        """``http://host:port``, known after ``start``."""
        host, port = self.address
        return f"http://{host}:{port}"

    def start(self) -> None:
        """Binds and serves in the background; raises ``OSError`` if the port is taken."""
        host, port = self._server.bind_addr[:2]
        if port:
            # The server leaves a socket open when it cannot bind: find out before it tries.
            with socket.create_server((host, port)):
                pass
        self._server.prepare()
        self._thread = threading.Thread(target=self._server.serve, name="algolia", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops serving and closes the journal; a second call does nothing."""
        self._server.stop()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None
        self.engine.close()

    def __enter__(self) -> AlgoliaServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _application(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        response = self._respond(Request(environ))
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        try:
            endpoint, arguments = route(request)
            self._check_key(request, endpoint)
            handler: Callable[..., Any] = getattr(self, f"_do_{endpoint}")
            return json_response(200, handler(request, **arguments))
        except EngineError as error:
            return json_response(error.status, {"message": error.message, "status": error.status})
        except HTTPException as error:
            status = error.code or 404
            message = "Path not supported by this API" if status == 404 else "Method not allowed"
            return json_response(status, {"message": message, "status": status})
        except RecursionError:
            return json_response(400, {"message": "The body is nested too deeply", "status": 400})

    def _check_key(self, request: Request, endpoint: str) -> None:
        app_id = request.headers.get("x-algolia-application-id") or request.args.get(
            "x-algolia-application-id"
        )
        key = request.headers.get("x-algolia-api-key") or request.args.get("x-algolia-api-key")
        if endpoint == "alive":
            return
        rights = self._keys.get(key or "")
        if app_id != self._app_id or rights is None:
            raise Forbidden("Invalid Application-ID or API key")
        if WRITE not in rights and (endpoint not in _OPEN_TO_SEARCH_KEYS or READ not in rights):
            raise Forbidden("Method not allowed with this API key")

    def _do_list(self, request: Request) -> dict[str, Any]:
        items = self.engine.list_indices()
        page, size = query_number(request, "page", 0), query_number(request, "hitsPerPage", 100)
        shown = items[page * size : (page + 1) * size] if size else items
        return {"items": shown, "nbPages": -(-len(items) // size) if size else 1}

    def _do_query(self, request: Request, name: str) -> dict[str, Any]:
        return self.engine.search(name, json_object(request))

    def _do_queries(self, request: Request) -> dict[str, Any]:
        body = json_object(request)
        strategy = body.get("strategy", "none")
        return {"results": self.engine.multi_search(body.get("requests"), str(strategy))}

    def _do_objects(self, request: Request) -> dict[str, Any]:
        return {"results": self.engine.get_objects(json_object(request).get("requests"))}

    def _do_facet(self, request: Request, name: str, facet: str) -> dict[str, Any]:
        return self.engine.facet_values(name, facet, json_object(request))

    def _do_browse(self, request: Request, name: str) -> dict[str, Any]:
        body = json_object(request) if request.method == "POST" else dict(request.args)
        return browse(self.engine.snapshot(name), body)

    def _do_settings(self, request: Request, name: str) -> dict[str, Any]:
        return self.engine.settings(name)

    def _do_set_settings(self, request: Request, name: str) -> dict[str, Any]:
        return updated(self.engine.set_settings(name, json_object(request)))

    def _do_task(self, request: Request, name: str, task: int) -> dict[str, Any]:
        return self.engine.task_status(task)

    def _do_batch(self, request: Request, name: str) -> dict[str, Any]:
        task, ids = self.engine.batch(name, json_object(request).get("requests"))
        return {"taskID": task, "objectIDs": ids}

    def _do_multi_batch(self, request: Request) -> dict[str, Any]:
        tasks, ids = self.engine.multi_batch(json_object(request).get("requests"))
        return {"taskID": tasks, "objectIDs": ids}

    def _do_delete_by(self, request: Request, name: str) -> dict[str, Any]:
        return updated(self.engine.delete_by(name, json_object(request)))

    def _do_clear(self, request: Request, name: str) -> dict[str, Any]:
        return updated(self.engine.clear(name))

    def _do_delete_index(self, request: Request, name: str) -> dict[str, Any]:
        return {"taskID": self.engine.delete_index(name), "deletedAt": timestamp()}

    def _do_operation(self, request: Request, name: str) -> dict[str, Any]:
        body = json_object(request)
        return updated(
            self.engine.operate(
                name,
                str(body.get("operation")),
                str(body.get("destination") or ""),
                body.get("scope"),
            )
        )

    def _do_extras(self, request: Request, name: str) -> dict[str, Any]:
        # Rules and synonyms are no part of what Plumbline sends; an empty list is how clients
        # clear them when they replace an index, and means nothing here.
        if json_value(request) not in ([], None):
            raise BadRequest("Rules and synonyms are not supported by the embedded engine")
        return updated(self.engine.set_settings(name, {}))

    def _do_object(self, request: Request, name: str, object_id: str) -> dict[str, Any]:
        wanted = request.args.get("attributesToRetrieve")
        return self.engine.get_object(name, object_id, wanted.split(",") if wanted else None)

    def _do_put_object(self, request: Request, name: str, object_id: str) -> dict[str, Any]:
        body = {**json_object(request), "objectID": object_id}
        task, _ = self.engine.batch(name, [{"action": "addObject", "body": body}])
        return {"updatedAt": timestamp(), "taskID": task, "objectID": object_id}

    def _do_partial(self, request: Request, name: str, object_id: str) -> dict[str, Any]:
        create = request.args.get("createIfNotExists", "true") != "false"
        action = "partialUpdateObject" if create else "partialUpdateObjectNoCreate"
        body = {**json_object(request), "objectID": object_id}
        task, _ = self.engine.batch(name, [{"action": action, "body": body}])
        return {"updatedAt": timestamp(), "taskID": task, "objectID": object_id}

    def _do_delete_object(self, request: Request, name: str, object_id: str) -> dict[str, Any]:
        task, _ = self.engine.batch(
            name, [{"action": "deleteObject", "body": {"objectID": object_id}}]
        )
        return {"deletedAt": timestamp(), "taskID": task}

    def _do_save_object(self, request: Request, name: str) -> dict[str, Any]:
        task, ids = self.engine.batch(name, [{"action": "addObject", "body": json_object(request)}])
        return {"createdAt": timestamp(), "taskID": task, "objectID": ids[0]}

    def _do_events(self, request: Request) -> dict[str, Any]:
        events = json_object(request).get("events")
        if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
            raise BadRequest('Attribute "events" should be an array of objects')
        for event in events:
            for field in ("eventType", "eventName", "index", "userToken"):
                if not isinstance(event.get(field), str):
                    raise BadRequest(f'The attribute "{field}" is required')
        self.events.extend(events)
        return {"status": 200, "message": "OK"}

    def _do_alive(self, request: Request) -> dict[str, Any]:
        return {"message": "server is alive"}
