"""Whether Algolia answers, asked seldom and never waited for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

from plumbline.errors import SearchError, SearchNotConfigured
from plumbline.observability import logger

SearchState = Literal["ok", "unavailable", "not_configured"]

PROBE_SECONDS = 5.0
CACHE_SECONDS = 30.0


class SearchProbe:
    """Asks Algolia in a worker thread, for 5 s at most, and keeps the answer for 30 s.

    ``ask`` is the client's list_indices. One worker runs at a time: a call that hangs is not
    followed by a second. Source: seed 002, "Waits and timeouts".
    """

    def __init__(
        self,
        ask: Callable[[], object],
        *,
        timeout: float = PROBE_SECONDS,
        keep: float = CACHE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask, self._timeout, self._keep, self._clock = ask, timeout, keep, clock
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._answer: SearchState = "unavailable"
        self._checked: tuple[float, SearchState] | None = None

    def state(self) -> SearchState:
        """``ok``, ``unavailable`` or ``not_configured``; raises nothing that Algolia does."""
        with self._lock:
            now = self._clock()
            if self._checked is None or now - self._checked[0] >= self._keep:
                self._checked = (now, self._probe())
            return self._checked[1]

    def _probe(self) -> SearchState:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=self._work, name="search-probe", daemon=True)
            self._worker.start()
        self._worker.join(self._timeout)
        return "unavailable" if self._worker.is_alive() else self._answer

    def _work(self) -> None:
        self._answer = "unavailable"
        try:
            self._ask()
        except SearchNotConfigured:
            self._answer = "not_configured"
        except SearchError as exc:
            logger.warning("search_probe_failed", extra={"cause": repr(exc.__cause__ or exc)})
        else:
            self._answer = "ok"
