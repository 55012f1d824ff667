"""The customer directory: read once, off the turn's path, and again when that failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from plumbline.errors import SearchUnavailable
from plumbline.instance import load_instance
from plumbline.turn.customer_cache import RETRY_SECONDS, CustomerCache
from plumbline.turn.facets import FacetValues

STORY = {"customer": "Acme", "url": "https://www.algolia.com/customers/acme"}


class Later(Executor):
    """Keeps what is submitted until it is told to run it."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.waiting.append(lambda: fn(*args, **kwargs))
        return Future()

    def run(self) -> None:
        while self.waiting:
            self.waiting.pop()()


class Index:
    def __init__(self, fails: int = 0) -> None:
        self.fails, self.asked = fails, 0

    def multi_query(
        self, requests: Sequence[Mapping[str, object]], *, strategy: str = "none"
    ) -> list[dict[str, Any]]:
        self.asked += 1
        if self.asked <= self.fails:
            raise SearchUnavailable("down")
        return [{"hits": []}, {"hits": [STORY]}]


def cache(index: Index, workers: Later, clock: Callable[[], float]) -> CustomerCache:
    return CustomerCache(
        index,
        facets=FacetValues(),
        instance=load_instance("algolia-central"),
        workers=workers,
        clock=clock,
    )


def test_the_first_turn_does_not_wait_and_later_ones_know() -> None:
    index, workers = Index(), Later()
    customers = cache(index, workers, lambda: 0.0)
    assert customers.urls() == {}
    assert index.asked == 0
    workers.run()
    assert customers.urls() == {"Acme": STORY["url"]}
    workers.run()
    assert index.asked == 1, "read once a process"


def test_a_read_that_failed_is_tried_again_but_not_at_once() -> None:
    now = [0.0]
    index, workers = Index(fails=1), Later()
    customers = cache(index, workers, lambda: now[0])
    customers.urls()
    workers.run()
    assert customers.urls() == {}
    assert not workers.waiting
    now[0] = RETRY_SECONDS
    customers.urls()
    workers.run()
    assert customers.urls() == {"Acme": STORY["url"]}
