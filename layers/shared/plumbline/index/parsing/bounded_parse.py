"""A tree-sitter parse that can be stopped."""

from __future__ import annotations

import threading
import time

from tree_sitter import Parser, Tree

from plumbline.index.entities import ParseTimeout
from plumbline.index.parsing.grammars import LoadedGrammar

_KEPT_FOR_BYTES = 131072
# A parser belongs to one thread.
_PARSERS = threading.local()


def parse_until(grammar: LoadedGrammar, source: bytes, deadline: float) -> Tree:
    """The source's tree; raises ParseTimeout once ``time.monotonic()`` passes ``deadline``.

    Parsers are kept for the thread's next file: making one takes as long as reading a short file.
    """
    views: list[memoryview] = []

    def read(offset: int, _point: object) -> memoryview | None:
        if offset >= len(source):
            return None
        views.append(memoryview(source)[offset:])
        return views[-1]

    # Only the form that reads through a callback can be cancelled. It never lets go of what the
    # callback returned: a view that is released afterwards costs bytes, a slice the whole file.
    parsers, name = _PARSERS.__dict__, grammar.spec.module + grammar.spec.factory
    parser = parsers.pop(name, None) or Parser(grammar.language)
    try:
        tree = parser.parse(
            read,
            encoding="utf8",
            progress_callback=lambda _offset, _error: time.monotonic() > deadline,
        )
        # One that was stopped would go on where it was; one that read much keeps much.
        if len(source) < _KEPT_FOR_BYTES:
            parsers[name] = parser
        return tree
    except ValueError as exc:
        raise ParseTimeout("parsing took longer than the file's budget") from exc
    finally:
        for view in views:
            view.release()
