"""Streams whose reader may go: on Lambda the function runs on to its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

# How long a stop waits for the streams whose readers have gone.
_DRAIN_SECONDS = 2.0

log = logging.getLogger("plumbline.devstack")


class Drains:
    """The threads that read a stream to its end for a reader who has gone."""

    def __init__(self) -> None:
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def start(self, chunks: Iterator[bytes]) -> None:
        """Read the rest in the background."""
        thread = threading.Thread(target=self._drain, args=(chunks,), daemon=True, name="drain")
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def join(self) -> None:
        """Wait a little for those that are still at it."""
        deadline = time.monotonic() + _DRAIN_SECONDS
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _drain(self, chunks: Iterator[bytes]) -> None:
        try:
            for _ in chunks:
                pass
        except Exception:
            log.exception("a function's stream failed after its reader had gone")
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())


class Drained:
    """A stream that is read to its end even when its reader has gone, as on Lambda."""

    def __init__(self, chunks: Iterator[bytes], drains: Drains) -> None:
        self._chunks, self._drains = chunks, drains
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            # Not `yield from`: that would close the chunks when the reader goes.
            for chunk in self._chunks:  # noqa: UP028
                yield chunk
        except Exception:
            # The status has gone out: all that is left is to break off, which the reader sees.
            log.exception("a function's stream failed")
            self._ended = True
            raise
        self._ended = True

    def close(self) -> None:
        """Called by the server at the end of every response."""
        if not self._ended:
            self._drains.start(self._chunks)
