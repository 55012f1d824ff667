"""The auditor's speed: a usual paragraph, and hostile shapes at two sizes."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

from plumbline.audit.auditor import InlineStreamAuditor
from plumbline.policy import AuditPolicy
from plumbline.sources import Source

PARAGRAPH_BUDGET_MS = 3.0
SMALL, LARGE = 128 * 1024, 1024 * 1024
# A megabyte of blocks that are all audited is dear; half of it shows the same line.
BLOCKS_SMALL, BLOCKS_LARGE = 64 * 1024, 512 * 1024
# Eight times the input may take at most this many times as long for time to count as linear.
LINEAR = 12.0
# A shape that takes less than this for a megabyte is not worth a ratio.
NEGLIGIBLE_SECONDS = 0.15
MEMORY_BUDGET = 10.0

POLICY = AuditPolicy(
    brand="Acme",
    allowed_hosts=("ok.example",),
    customer_path=r"^/customers/(?P<slug>[a-z-]+)",
    customer_cues=("customer", "case study"),
    leak_labels=("Namedrop", "VALUE SELL"),
    label_suffix="| Acme",
)
SOURCES = tuple(
    Source(n, f"Guide {n}", "Relevance is tie-breaking, 20 ms. " * 40, "doc",
           url=f"https://ok.example/guide/{n}")
    for n in range(1, 9)
)  # fmt: skip

# Each in one block, where the cap on a block's size helps, and in many, where it does not.
SHAPES = {
    "opening brackets": "[",
    "empty links": "](",
    "images": "![",
    "nested emphasis": "*a ",
    "mixed emphasis": "*_",
    "a long word": "a",
    "backticks": "`",
    "unpaired backticks": "` ``",
    "angle brackets": "<",
    "open tags": "<a ",
    "comments": "<!--",
    "pipes": "|",
    "table rows": "|a\n",
    "digits": "1",
    "numbers": "1 ",
    "quotes": '"',
    "entities": "&",
    "backslashes": "\\",
    "block quotes": "> ",
    "list markers": "- ",
    "parentheses": "(",
    "hosts": "x.yz ",
    "schemes": "http://",
    "e-mail": "a@b.co ",
    "definitions": "[a]: b\n",
    "claims": "The customer Foo grew 30%. ",
}


def run() -> list[dict[str, Any]]:
    """The rows: a usual paragraph, every shape's time ratio, and the worst memory ratio."""
    rows = [_paragraph("kept"), _paragraph("two links stripped")]
    worst_memory, hungriest = 0.0, ""
    for name, unit in SHAPES.items():
        rows.append(_linear(f"1 MB of {name}", partial(_filled, unit), SMALL, LARGE))
        memory = _memory(_filled(unit, SMALL)) / SMALL
        if memory > worst_memory:
            worst_memory, hungriest = memory, name
        # Blocks of a size that is audited, not escaped for its length.
        blocks = partial(_blocks, unit)
        rows.append(_linear(f"512 KB of {name}, in blocks", blocks, BLOCKS_SMALL, BLOCKS_LARGE))
    rows.append(
        _row(f"auditor: peak memory over input, worst shape ({hungriest})", worst_memory, "x",
             None, None, f"< {MEMORY_BUDGET:g}", worst_memory < MEMORY_BUDGET)
    )  # fmt: skip
    return rows


def _filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def _blocks(unit: str, size: int) -> str:
    return (_filled(unit, 8 * 1024).rstrip("\n") + "\n\n") * (size // (8 * 1024))


def _paragraph(kind: str) -> dict[str, Any]:
    links = [f"https://ok.example/guide/{n}" for n in range(1, 6)]
    if kind != "kept":
        links[1], links[3] = "https://evil.example/x", "https://ok.example/nope"
    text = " ".join(
        f"The [relevance guide {n}]({url}) explains how `searchableAttributes` work, and "
        "**ranking** is tie-breaking for every index in 20 ms."
        for n, url in enumerate(links, 1)
    )
    text = (text + " More text follows here, nothing special about it at all." * 9)[:1024]
    auditor = InlineStreamAuditor(SOURCES, policy=POLICY)
    best = min(_cpu(lambda: auditor.audit_paragraph(text)) for _ in range(100)) * 1000
    return _row(
        f"auditor: 1 KB paragraph with five links, {kind}", best, "ms", None, None,
        f"< {PARAGRAPH_BUDGET_MS:g} ms", best < PARAGRAPH_BUDGET_MS,
    )  # fmt: skip


def _linear(name: str, text: Callable[[int], str], small: int, large: int) -> dict[str, Any]:
    few, many = _cpu(partial(_audit, text(small))), _cpu(partial(_audit, text(large)))
    ratio = many / max(few, 1e-6)
    met = ratio < LINEAR or many < NEGLIGIBLE_SECONDS
    return _row(
        f"auditor: {name}", many * 1000, "ms", few * 1000, ratio,
        f"ratio < {LINEAR:g} for 8 times the input", met,
    )  # fmt: skip


def _audit(text: str) -> None:
    auditor = InlineStreamAuditor(SOURCES, policy=POLICY)
    for start in range(0, len(text), 4096):
        for _ in auditor.feed(text[start : start + 4096]):
            pass
    for _ in auditor.close():
        pass


def _cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _memory(text: str) -> float:
    tracemalloc.start()
    try:
        _audit(text)
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _row(
    name: str,
    value: float,
    unit: str,
    compared_with: float | None,
    ratio: float | None,
    budget: str,
    met: bool,
) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(value, 3),
        "unit": unit,
        "compared_with": None if compared_with is None else round(compared_with, 3),
        "ratio": None if ratio is None else round(ratio, 2),
        "budget": budget,
        "met": met,
    }
