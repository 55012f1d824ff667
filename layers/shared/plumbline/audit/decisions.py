"""A decision on a link, carried out in the text."""

from __future__ import annotations

from collections.abc import Iterator

from plumbline.audit.links import HALLUCINATED_CUSTOMER, LinkDecision
from plumbline.audit.markdown import Edit, edit_region
from plumbline.audit.regions import Region, Span

STRIPPED_MARK = "\ue0c6"
"""Behind the text of a link that lost its address, until its attribution is looked at."""
SENTINEL_MARK = "\ue0c5"
"""Behind the text of a link to a made-up customer: its sentence goes."""


def apply_decision(
    region: Region, span: Span, decision: LinkDecision, *, mark: bool
) -> Iterator[Edit]:
    """The edits that carry out a decision on an inline or reference link.

    A link that is stripped leaves its text, with a mark behind it if ``mark``; one that is
    replaced gets its new address, its new label, or both. Source: seed 000, applyDecision.
    """
    label = region.content[span.label_start : span.label_end]
    if decision.action == "strip":
        before = region.content[span.start - 1 : span.start]
        if label.startswith("^"):
            yield from edit_region(region, span.start, span.start, "\\")
            return
        if decision.reason == "relative_address" and (before.isalnum() or before in "_)]"):
            # ``handlers[0](event)`` is code that lost its quotes, not a link.
            yield from edit_region(region, span.start, span.start, "\\")
            return
        yield from edit_region(region, span.start, span.label_start, "")
        sentinel = decision.reason == HALLUCINATED_CUSTOMER
        left = "" if not mark else SENTINEL_MARK if sentinel else STRIPPED_MARK
        yield from edit_region(region, span.label_end, span.end, left)
    elif decision.action == "replace":
        url = decision.replacement or span.href
        title = f' "{span.title}"' if span.title and '"' not in span.title else ""
        if decision.new_label:
            yield from edit_region(region, span.label_start, span.label_end, decision.new_label)
        if decision.replacement:
            yield from edit_region(region, span.label_end, span.end, f"](<{url}>{title})")
