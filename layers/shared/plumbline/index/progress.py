"""Progress to the registry, at most once a second, which keeps the lease as well."""

from __future__ import annotations

from collections.abc import Callable

from plumbline.index.leases import Lease

_REPORT_SECONDS = 1.0


class ProgressReporter:
    """Progress and the lease's renewal, at most once a second."""

    def __init__(self, lease: Lease, monotonic: Callable[[], float]) -> None:
        self._lease, self._monotonic = lease, monotonic
        self._last = monotonic()
        self._progress = lease.repository.progress

    def report(self, progress: float) -> None:
        """Note the progress, from 0 to 1; it never goes back."""
        self._progress = max(self._progress, min(progress, 1.0))
        self.tick()

    def tick(self) -> None:
        """Keep the lease; ``StorageConflict`` if it was lost."""
        now = self._monotonic()
        if now - self._last >= _REPORT_SECONDS:
            self._last = now
            self._lease.renew(progress=round(self._progress, 4))
