"""The garbage collector, kept from walking a file's tree while it is built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Collect no cycles inside; one file's objects bound what waits.

    Trees, entities and records have no cycles, yet the collector walks them again and again as
    they grow: an eighth of the time to read a repository. The switch is the process's: a thread
    that ends its pause ends everyone's, which costs time and nothing else. A collector that is off
    stays off.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
