"""The customer directory, read once a process and never in a turn's way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor

from plumbline.errors import SearchError
from plumbline.instance import Instance
from plumbline.observability import cause_of, logger
from plumbline.turn.customers import CustomerDirectory, load_customer_directory
from plumbline.turn.facets import FacetValues
from plumbline.turn.retrieval import SearchIndex

# A directory that could not be read is tried again after this long.
RETRY_SECONDS = 60.0


class CustomerCache:
    """``urls`` gives what is known now; the first call starts the read. Safe between threads.

    Until it is there a customer claim has the turn's own sources to stand on.
    Source: design, decision 1.
    """

    def __init__(
        self,
        index: SearchIndex,
        *,
        facets: FacetValues,
        instance: Instance,
        workers: Executor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index, self._facets, self._instance = index, facets, instance
        self._workers, self._clock = workers, clock
        self._directory = CustomerDirectory()
        self._next = float("-inf")
        self._lock = threading.Lock()

    def urls(self) -> Mapping[str, str]:
        """Customer name to the address of its story, as far as it has been read."""
        with self._lock:
            if self._clock() >= self._next:
                self._next = float("inf")
                self._workers.submit(self._read)
        return self._directory.urls

    def _read(self) -> None:
        try:
            self._directory = load_customer_directory(
                self._index, facets=self._facets, instance=self._instance
            )
        except SearchError as exc:
            logger.warning("customer directory not read", cause=cause_of(exc))
            self._next = self._clock() + RETRY_SECONDS
