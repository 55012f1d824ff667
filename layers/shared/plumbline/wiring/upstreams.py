"""The upstreams that functions share: index, shared state, gate, registry, secrets."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from plumbline.errors import SettingsError
from plumbline.gate import Gate
from plumbline.settings import KeyedSettings, SearchSettings

if TYPE_CHECKING:
    from plumbline.adapters.algolia import AlgoliaIndex
    from plumbline.adapters.redis import RedisState
    from plumbline.index.registry import Registry, Repository

_T = TypeVar("_T")


def new_gate(settings: KeyedSettings, *, turn: int, state: RedisState) -> Gate:
    """The gate, with ``turn`` turns a minute and the settings' limit for all else."""
    limit = settings.rate_limit_per_minute
    limits = {"turn": turn, **dict.fromkeys(("search", "suggest", "index", "session"), limit)}
    return Gate(settings.api_key_hashes, limits, state)  # type: ignore[arg-type]


def shared_state(settings: KeyedSettings) -> RedisState:
    """Redis at REDIS_URL, else the serverless cache with the function's own rights."""
    from plumbline.adapters.elasticache import IamCredentials
    from plumbline.adapters.redis import RedisState, connect

    ttl = settings.session_ttl_seconds if isinstance(settings, SearchSettings) else 86_400
    if settings.redis_url:
        return RedisState(connect(settings.redis_url), session_ttl_seconds=ttl)
    if settings.cache_endpoint and settings.cache_name and settings.cache_user:
        credentials = IamCredentials(settings.cache_name, settings.cache_user, os.environ)
        url = f"rediss://{settings.cache_endpoint}"
        return RedisState(connect(url, credentials=credentials), session_ttl_seconds=ttl)
    raise SettingsError(
        "Settings: REDIS_URL is missing: redis://host:port, or CACHE_NAME, CACHE_ENDPOINT and"
        " CACHE_USER for an ElastiCache Serverless cache."
    )


@cache
def search_index(settings: KeyedSettings) -> AlgoliaIndex:
    """The index with the search key: for reads."""
    from plumbline.adapters.algolia import AlgoliaIndex

    return AlgoliaIndex(
        settings.algolia_app_id,
        search_key(settings),
        settings.algolia_index_name,
        url=settings.algolia_url,
    )


def search_key(settings: KeyedSettings) -> str | None:
    """The search key, from the environment or from its parameter."""
    return settings.algolia_search_api_key or secret(settings.algolia_search_api_key_parameter)


@cache
def secret(parameter: str | None) -> str | None:
    """A secret by its SSM parameter's name, read once a process; None without a name."""
    if parameter is None:
        return None
    from plumbline.adapters.secrets import read_secret

    return read_secret(parameter)


class LateRegistry:
    """The registry for readers; its vendor is imported at the first look."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._registry: Registry | None = None

    def find(self, reference: str | int) -> Repository | None:
        """The repository of a number, an address or an ``owner/name``; None if there is none."""
        return self._loaded().find(reference)

    def list(self) -> list[Repository]:
        """Every repository, by number."""
        return self._loaded().list()

    def _loaded(self) -> Registry:
        if self._registry is None:
            from plumbline.adapters.aws import aws_client
            from plumbline.adapters.dynamodb import DynamoTable
            from plumbline.index.registry import Registry

            self._registry = Registry(DynamoTable(aws_client("dynamodb"), self._table), now)
        return self._registry


class Once(Generic[_T]):
    """A part that is made at its first use, once, whoever else asks meanwhile."""

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._made: list[_T] = []

    def __call__(self) -> _T:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)
