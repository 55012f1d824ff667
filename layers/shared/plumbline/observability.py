"""One logger and one metrics set a process; a turn's step times go into its one log line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit, SchemaValidationError

# Both read their service name and namespace from the POWERTOOLS_ variables themselves.
logger = Logger(service=None, use_rfc3339=True)
metrics = Metrics()


def cause_of(error: BaseException) -> str:
    """What stands behind an error, for the log: its type, and its status where it has one.

    Never its text: a vendor's message may hold a question, a key or an address.
    """
    cause = error.__cause__ or error
    status = getattr(cause, "status_code", None) or getattr(cause, "upstream_status", None)
    return f"{type(cause).__name__}{f' {status}' if status else ''}"


def count(name: str, value: float = 1) -> None:
    """Add to a counter of this invocation."""
    metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)


def milliseconds(name: str, value: float) -> None:
    """Note a duration of this invocation."""
    metrics.add_metric(name=name, unit=MetricUnit.Milliseconds, value=value)


def flush() -> None:
    """Write this invocation's metrics to standard output, where Lambda collects them.

    Called in a ``finally`` by the handlers: Powertools' decorator would flush before a streamed
    body has run.
    """
    # Powertools warns of an empty set; an invocation that counted nothing is no mistake.
    if not metrics.provider.metric_set:
        return
    try:
        metrics.flush_metrics()
    except SchemaValidationError:
        # Without POWERTOOLS_METRICS_NAMESPACE there are no metrics; the answer is not to be lost.
        logger.exception("metrics not written")
        metrics.clear_metrics()


class Timings:
    """How long each step took, in whole milliseconds, on the monotonic clock."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self.steps: dict[str, int] = {}

    def elapsed(self) -> int:
        """Milliseconds since the turn began."""
        return round((time.monotonic() - self._start) * 1000)

    def mark(self, name: str) -> None:
        """Note that ``name`` was reached now; the first time counts."""
        self.steps.setdefault(name, self.elapsed())

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a block; repeated steps add up."""
        begun = time.monotonic()
        try:
            yield
        finally:
            took = round((time.monotonic() - begun) * 1000)
            self.steps[name] = self.steps.get(name, 0) + took
