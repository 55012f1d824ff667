"""The embedded stack: starts every part, wires the functions to them, and tears all of it down."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devstack.algolia_server import READ, WRITE, AlgoliaServer
from devstack.aws import Aws
from devstack.event_source import EventSource
from devstack.failure import CommandError
from devstack.function_urls import FunctionUrls, Handler
from devstack.redis_server import RedisServer

APP_ID = "PLUMBLINE"
SEARCH_KEY = "embedded-search-key"
ADMIN_KEY = "embedded-admin-key"
# The one API key of the embedded stack; it never leaves loopback.
API_KEY = "plumbline-dev"
SEARCH = "functions.search.handler"
SUGGESTIONS = "functions.suggestions.handler"
INDEX_REPO = "functions.index_repo.handler"
STATE_FILE = Path("build", "devstack.json")


@dataclass(frozen=True, slots=True)
class StackState:
    """What a command in another process must know to talk to a running stack."""

    url: str
    api_key: str
    environment: Mapping[str, str]

    def save(self, path: Path = STATE_FILE) -> None:
        """Write it where ``load`` looks."""
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"url": self.url, "api_key": self.api_key, "environment": self.environment}
        path.write_text(json.dumps(document, indent=2), encoding="utf-8")

    @classmethod
    def load(cls, path: Path = STATE_FILE) -> StackState | None:
        """The state of the running stack, or None."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            return cls(document["url"], document["api_key"], document["environment"])
        except (OSError, ValueError, KeyError):
            return None


class Stack:
    """Everything on loopback. Use it as a context manager; a failed start leaves nothing behind.

    ``environ`` gives what a deployment would: GEMINI_API_KEY, REDIS_URL, INSTANCE and the like
    are taken from it, the addresses of the embedded parts are added.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        port: int = 0,
        folder: Path | None = None,
    ) -> None:
        self._given, self._port, self._folder = dict(environ), port, folder
        self._closing = ExitStack()
        self.environment: dict[str, str] = {}
        self.algolia: AlgoliaServer | None = None
        self.redis: RedisServer | None = None
        self.url = ""

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._closing.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.close()

    @property
    def redis_kind(self) -> str:
        """Which Redis runs: ``given``, ``redis-server`` or ``fakeredis``."""
        return self.redis.kind if self.redis else ""

    @property
    def state(self) -> StackState:
        """What ``StackState.save`` keeps for other processes."""
        return StackState(self.url, API_KEY, self.environment)

    def _start(self) -> None:
        # The front door first: a taken port is told before anything else has started.
        ready = threading.Event()
        self._closing.callback(ready.set)
        functions = {
            "/suggestions": ("plumbline-suggestions", _when_ready(ready, SUGGESTIONS)),
            "": ("plumbline-search", _when_ready(ready, SEARCH)),
        }
        urls = FunctionUrls(functions, port=self._port)
        urls.start()
        self._closing.callback(urls.stop)
        self.url = urls.url
        with ThreadPoolExecutor(3) as pool:
            algolia = pool.submit(self._start_algolia)
            redis = pool.submit(self._start_redis)
            aws = pool.submit(self._start_aws)
            # Each is taken over before the next is asked, so that none is lost by a failure.
            algolia_url, redis_url, aws_environment = algolia.result(), redis.result(), aws.result()
        self.environment = {
            **{name: value for name, value in self._given.items() if os.environ.get(name) != value},
            **aws_environment,
            "ALGOLIA_APP_ID": APP_ID,
            "ALGOLIA_SEARCH_API_KEY": SEARCH_KEY,
            "ALGOLIA_ADMIN_API_KEY": ADMIN_KEY,
            "ALGOLIA_URL": algolia_url,
            "INSIGHTS_URL": algolia_url,
            "REDIS_URL": redis_url,
            "API_KEY_HASHES": key_hash(API_KEY),
            # There may be no network here, and a demo's links are its own.
            "LINK_CHECKS": self._given.get("LINK_CHECKS", "false"),
            "INSTANCE_RELOAD": "true",
            "POWERTOOLS_SERVICE_NAME": "plumbline",
            "POWERTOOLS_METRICS_NAMESPACE": "Plumbline",
            "POWERTOOLS_METRICS_DISABLED": "true",
            "LOG_LEVEL": self._given.get("LOG_LEVEL", "ERROR"),
        }
        self._set_environment()
        ready.set()
        source = EventSource(self.environment["QUEUE_URL"], _when_ready(ready, INDEX_REPO))
        source.start()
        self._closing.callback(source.stop)

    def _start_algolia(self) -> str:
        server = AlgoliaServer(
            self._folder,
            app_id=APP_ID,
            api_keys={SEARCH_KEY: frozenset({READ}), ADMIN_KEY: frozenset({READ, WRITE})},
        )
        server.start()
        self._closing.callback(server.stop)
        self.algolia = server
        return server.url

    def _start_redis(self) -> str:
        try:
            server = RedisServer(self._given.get("REDIS_URL"))
        except RuntimeError as exc:
            raise CommandError(f"{exc} Give another Redis with REDIS_URL.") from exc
        self._closing.callback(server.stop)
        self.redis = server
        return server.url

    def _start_aws(self) -> dict[str, str]:
        aws = Aws()
        self._closing.callback(aws.stop)
        return aws.resources.environment()

    def _set_environment(self) -> None:
        """The functions run in this process and read its environment, as they do on Lambda."""
        before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)

        def restore() -> None:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

        self._closing.callback(restore)


def key_hash(key: str, scopes: str = "turn|search|suggest|index") -> str:
    """An API_KEY_HASHES entry for a key."""
    return f"{hashlib.sha256(key.encode()).hexdigest()}:{scopes}"


def _when_ready(ready: threading.Event, module: str) -> Handler:
    """A function's handler, imported at its first call, which waits until the stack is up."""

    def handler(event: dict[str, Any], context: Any) -> Any:
        ready.wait()
        return import_module(module).handler(event, context)

    return handler
