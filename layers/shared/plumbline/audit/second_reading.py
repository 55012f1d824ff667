"""The second parser: what the rewriter missed, mistletoe may see.

mistletoe keeps its grammar and its working state in module globals, so readings take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any

from mistletoe.block_token import Document
from mistletoe.html_renderer import HtmlRenderer
from mistletoe.span_token import RawText

from plumbline.audit.html_tags import safe_html

_LOCK = Lock()


def objects_to(
    text: str, references: Mapping[str, Mapping[str, Any]], stands: Callable[[str], bool]
) -> bool:
    """Whether mistletoe finds an address that ``stands`` refuses, or HTML that is not harmless.

    ``references`` are the definitions that earlier blocks gave. A text that mistletoe cannot read
    is objected to.
    """
    # Split here: mistletoe would end a line at form feeds and Unicode separators too.
    lines = [line + "\n" for line in text.split("\n")]
    try:
        with _LOCK, HtmlRenderer():  # type: ignore[no-untyped-call]
            return any(_faults(Document(lines), stands))
    except (RecursionError, ValueError, IndexError, AttributeError, TypeError):
        return True


def _faults(document: Any, stands: Callable[[str], bool]) -> Iterator[bool]:
    for destination, _title in document.footnotes.values():
        yield not stands(destination)
    waiting = [document]
    while waiting:
        token = waiting.pop()
        name = type(token).__name__
        if name in ("Link", "AutoLink"):
            yield not stands(token.target)
        elif name == "Image":
            yield not stands(token.src)
        elif name in ("HtmlBlock", "HtmlSpan"):
            yield not safe_html(token.content)
        if not isinstance(token, RawText):
            waiting.extend(token.children or ())
        header = getattr(token, "header", None)
        if header is not None and name == "Table":
            waiting.append(header)
