"""The embedded stack: starts every part, wires the functions to them, and tears all of it down."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devstack.algolia_server import READ, WRITE, AlgoliaServer
from devstack.aws import CREDENTIALS, Aws
from devstack.engine.embedder import Embedder
from devstack.event_source import EventSource
from devstack.failure import CommandError, reason
from devstack.function_urls import FunctionUrls, Handler
from devstack.redis_server import RedisServer
from devstack.state import StackState

APP_ID = "PLUMBLINE"
SEARCH_KEY = "embedded-search-key"
ADMIN_KEY = "embedded-admin-key"
# The one API key of the embedded stack; it never leaves loopback.
API_KEY = "plumbline-dev"
SEARCH = "functions.search.handler"
SUGGESTIONS = "functions.suggestions.handler"
INDEX_REPO = "functions.index_repo.handler"
# Never through a proxy.
_LOOPBACK = "127.0.0.1,localhost"
# What the stack decides, whatever its user's environment says; so it does of the addresses.
_FIXED = {
    "ALGOLIA_APP_ID": APP_ID,
    "ALGOLIA_SEARCH_API_KEY": SEARCH_KEY,
    "ALGOLIA_ADMIN_API_KEY": ADMIN_KEY,
    "INSTANCE_RELOAD": "true",
    "POWERTOOLS_SERVICE_NAME": "plumbline",
    "POWERTOOLS_METRICS_NAMESPACE": "Plumbline",
    "POWERTOOLS_METRICS_DISABLED": "true",
}
_ADDRESSES = frozenset(
    {"ALGOLIA_URL", "INSIGHTS_URL", "QUEUE_URL", "BUCKET_NAME", "REGISTRY_TABLE", "EVENT_BUS_NAME"}
)


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
        embedder: Embedder | None = None,
    ) -> None:
        self._given, self._port, self._folder = dict(environ), port, folder
        self._embedder = embedder
        self._closing = ExitStack()
        self._up = False
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
        """What a command in another process needs: nothing of what was given is in it."""
        needed = {"BUCKET_NAME", "AWS_ENDPOINT_URL", *CREDENTIALS}
        kept = {name: value for name, value in self.environment.items() if name in needed}
        return StackState(self.url, API_KEY, kept)

    def _start(self) -> None:
        self._check_settings()
        # The front door first: a taken port is told before anything else has started.
        ready = threading.Event()
        functions = {
            "/suggestions": ("plumbline-suggestions", self._when_ready(ready, SUGGESTIONS)),
            "": ("plumbline-search", self._when_ready(ready, SEARCH)),
        }
        urls = FunctionUrls(functions, port=self._port)
        self._closing.callback(urls.stop)
        # Whoever waits at the door is answered before it is closed.
        self._closing.callback(ready.set)
        try:
            urls.start()
        except OSError as exc:
            raise CommandError(_port_refusal(self._port, exc)) from exc
        self.url = urls.url
        self._set_environment(_without_detours(os.environ))
        with ThreadPoolExecutor(3) as pool:
            algolia = pool.submit(self._start_algolia)
            redis = pool.submit(self._start_redis)
            aws = pool.submit(self._start_aws)
            # Each is taken over before the next is asked, so that none is lost by a failure.
            algolia_url, redis_url, aws_environment = algolia.result(), redis.result(), aws.result()
        self.environment = {
            **{name: value for name, value in self._given.items() if os.environ.get(name) != value},
            **_without_detours(self._given),
            **aws_environment,
            **_FIXED,
            "ALGOLIA_URL": algolia_url,
            "INSIGHTS_URL": algolia_url,
            "REDIS_URL": redis_url,
            "API_KEY_HASHES": key_hash(API_KEY),
            # There may be no network here, and a demo's links are its own.
            "LINK_CHECKS": self._given.get("LINK_CHECKS", "false"),
            "LOG_LEVEL": self._given.get("LOG_LEVEL", "ERROR"),
        }
        self._set_environment(self.environment)
        self._up = True
        ready.set()
        source = EventSource(self.environment["QUEUE_URL"], self._when_ready(ready, INDEX_REPO))
        source.start()
        self._closing.callback(source.stop)

    def _check_settings(self) -> None:
        """Refuse, before anything starts, what every function would refuse at every call."""
        from plumbline.errors import PlumblineError
        from plumbline.instance import load_instance
        from plumbline.settings import IndexRepoSettings, SearchSettings

        given = {**os.environ, **self._given}
        environ = {**{n: v for n, v in given.items() if n not in _ADDRESSES}, **_FIXED}
        try:
            settings = SearchSettings.from_environment(environ)
            IndexRepoSettings.from_environment(environ)
            load_instance(settings.instance, reload_on_change=True)
        except PlumblineError as exc:
            raise CommandError(exc.message) from exc

    def _start_algolia(self) -> str:
        try:
            server = AlgoliaServer(
                self._folder,
                app_id=APP_ID,
                api_keys={SEARCH_KEY: frozenset({READ}), ADMIN_KEY: frozenset({READ, WRITE})},
                embedder=self._embedder,
            )
        except OSError as exc:
            raise CommandError(
                f"The index cannot be kept in {self._folder} ({reason(exc)}). Give another folder"
                " with --folder, or none to keep it in memory."
            ) from exc
        self._closing.callback(server.stop)
        server.start()
        if self._embedder is not None:
            # As in Algolia, the mode is the index's own setting; the indexer's leave it alone.
            name = self._given.get("ALGOLIA_INDEX_NAME") or "plumbline"
            server.engine.set_settings(name, {"mode": "neuralSearch"})
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

    def _set_environment(self, values: Mapping[str, str]) -> None:
        """The functions run in this process and read its environment, as they do on Lambda.

        An empty value takes the variable away until the stack stops.
        """
        before = {name: os.environ.get(name) for name in values}
        for name, value in values.items():
            if value:
                os.environ[name] = value
            else:
                os.environ.pop(name, None)

        def restore() -> None:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

        self._closing.callback(restore)

    def _when_ready(self, ready: threading.Event, module: str) -> Handler:
        """A function's handler, imported at its first call, which waits until the stack is up."""

        def handler(event: dict[str, Any], context: Any) -> Any:
            ready.wait()
            if not self._up:
                return {"statusCode": 503, "body": "The stack did not start.\n"}
            return import_module(module).handler(event, context)

        return handler


def key_hash(key: str, scopes: str = "turn|search|suggest|index") -> str:
    """An API_KEY_HASHES entry for a key."""
    return f"{hashlib.sha256(key.encode()).hexdigest()}:{scopes}"


def _without_detours(environ: Mapping[str, str]) -> dict[str, str]:
    """What to change of an environment so that everything stays on loopback.

    A profile, a token or another endpoint of the user's own AWS account is taken away (an empty
    value), and no proxy stands between the parts.
    """
    changed = {name: "" for name in environ if name.startswith("AWS_") and name not in CREDENTIALS}
    excepted = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    # A lone asterisk already excepts everything, and does so only alone.
    both = ",".join(filter(None, (excepted, _LOOPBACK))) if excepted != "*" else excepted
    return {**changed, "NO_PROXY": both, "no_proxy": both}


def _port_refusal(port: int, error: OSError) -> str:
    wrong = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({reason(error)})"
    return (
        f"Port {port} {wrong}. Stop what listens there, or give another with"
        " `make dev PORT=...` (plumbline dev --port)."
    )
