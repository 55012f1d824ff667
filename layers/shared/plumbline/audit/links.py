"""Whether a link may stand: file 000's decision tree, and what it decides with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from plumbline.audit.addresses import (
    Address,
    Refusal,
    host_matches,
    path_under,
    read_address,
    under_prefix,
)
from plumbline.audit.context import ClassifyContext, customers_named, fold
from plumbline.audit.html_tags import markdown_destination
from plumbline.audit.markdown import Edit, apply_edits, edit_region, survey
from plumbline.audit.regions import TooComplex
from plumbline.policy import AuditPolicy
from plumbline.sources import Source

Action = Literal["keep", "replace", "strip"]

_CITATION = re.compile(
    r"(?P<space>[ \t]*)(?<!\\)(?<!!)"
    r"(?:\[(?P<list>\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]|【(?P<wide>\d{1,3})(?:†[^】\n]*)?】)"
    r"(?!\(|\[[^\]\d\n]|:[ \t])"
)
# A subscript, not a citation: the word before it is a name of code.
_CODE_BEFORE = re.compile(r"(?:[\w.]*[_.(][\w.]*|[a-z]+[A-Z]\w*|\b(?:argv|args|arr|list|items?))\Z")

HALLUCINATED_CUSTOMER = "hallucinated_customer"


@dataclass(frozen=True, slots=True)
class LinkDecision:
    """What becomes of one link. ``reason`` is a stable code (docs/auditor.md lists them).

    ``replacement`` is the new address of a replaced link, ``new_label`` its new label.
    """

    label: str
    url: str
    action: Action
    reason: str
    replacement: str | None = None
    new_label: str | None = None


def classify_link(label: str, url: str, ctx: ClassifyContext) -> LinkDecision:
    """Whether the link stays, changes or goes; its text stays in any case.

    Source: seed 000, "classifyLink", in its order; design, decisions 8 and 9.
    """
    policy = ctx.policy
    address = read_address(url)
    if isinstance(address, Refusal):
        return LinkDecision(label, url, "strip", address.reason)
    if not host_matches(address.host, policy.allowed_hosts):
        return LinkDecision(label, url, "strip", "hostname_not_allowed")
    sentinel = policy.hallucinated_customer_sentinel
    if sentinel is not None and re.search(sentinel, url):
        return LinkDecision(label, url, "strip", HALLUCINATED_CUSTOMER)
    source = ctx.source_pages.get(address.page)
    if source is not None and is_generic(label, policy):
        title = plain_label(source.title)
        if title and not is_generic(title, policy):
            return LinkDecision(label, url, "replace", "generic_label_upgraded", new_label=title)
    known = address.page in ctx.known_pages
    if ctx.customer_slug(url) is not None:
        return _classify_customer(label, url, address, ctx, known)
    if source is not None:
        return LinkDecision(label, url, "keep", "source")
    if known:
        return LinkDecision(label, url, "keep", "known")
    prefixed = under_prefix(address, policy.path_prefixes)
    if (
        host_matches(address.host, policy.technical_docs_hosts)
        and not prefixed
        and not any(path_under(address.path, path) for path in policy.technical_docs_paths)
    ):
        return LinkDecision(label, url, "strip", "technical_docs_path")
    if prefixed:
        return LinkDecision(label, url, "keep", "path_prefix")
    if host_matches(address.host, policy.proved_paths):
        return LinkDecision(label, url, "strip", "path_not_proved")
    return LinkDecision(label, url, "keep", "host_allowed")


def _classify_customer(
    label: str, url: str, address: Address, ctx: ClassifyContext, known: bool
) -> LinkDecision:
    named = customers_named(label, ctx)
    owner = ctx.customer_pages.get(address.page)
    if owner is not None and named and owner not in named:
        return LinkDecision(
            label, url, "replace", "customer_canonical", ctx.customer_names[named[0]]
        )
    if owner is not None or address.page in ctx.source_pages:
        return LinkDecision(label, url, "keep", "customer_verified")
    if known:
        return LinkDecision(label, url, "keep", "known")
    canonical = find_canonical_customer_url(label, ctx.customers, ctx.sources, ctx=ctx)
    if canonical is None:
        slug = (ctx.customer_slug(url) or "").replace("-", " ")
        canonical = ctx.customer_names.get(fold(slug))
    if canonical is not None:
        return LinkDecision(label, url, "replace", "customer_canonical", canonical)
    return LinkDecision(label, url, "strip", "customer_unverified")


def find_canonical_customer_url(
    label: str,
    customers: Mapping[str, str],
    sources: Sequence[Source],
    *,
    ctx: ClassifyContext,
) -> str | None:
    """The canonical address of the customer that the label names, from directory or sources.

    Only an address on an allowed host is given. Source: seed 000, "findCanonicalCustomerUrl".
    """
    for name in sorted(customers_named(label, ctx), key=len, reverse=True):
        url = ctx.customer_names[name]
        address = read_address(url)
        if isinstance(address, Address) and host_matches(address.host, ctx.policy.allowed_hosts):
            return url
    return None


def is_generic(label: str, policy: AuditPolicy) -> bool:
    """Whether the label is one of the instance's labels that say nothing."""
    folded = fold(label)
    return any(folded == fold(generic) for generic in policy.generic_labels)


def plain_label(text: str) -> str:
    """A title as a link label: one line, no character that Markdown reads."""
    return " ".join(re.sub(r"[\[\]<>`*_\\!&~]", " ", text).split())[:200]


def format_trace_line(label: str, url: str, decision: LinkDecision) -> str:
    """``[AUDIT] KEEP | "Label" → URL | reason``, on one line.

    Source: seed 000, "formatTraceLine".
    """
    shown = decision.url if not decision.replacement else f"{url} → {decision.replacement}"
    line = f'[AUDIT] {decision.action.upper()} | "{label}" → {shown} | {decision.reason}'
    return re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", line)


def upgrade_generic_link_labels(
    content: str, sources: Sequence[Source], *, policy: AuditPolicy
) -> str:
    """The content with generic labels of links to sources replaced by the sources' titles.

    Source: seed 000, "upgradeGenericLinkLabels".
    """
    ctx = ClassifyContext(policy, sources)
    return _relabelled(content, lambda label, url: classify_link(label, url, ctx).new_label)


def normalize_link_label_suffix(content: str, suffix: str) -> str:
    """The content with a suffix that ends a link's label more than once written once.

    ``[Title | Algolia | Algolia](url)`` becomes ``[Title | Algolia](url)``; in the middle of a
    label it stays. Case does not count. Source: seed 000, "normalizeLinkLabelSuffix" (F-031).
    """
    words = suffix.strip().lstrip("|").strip()
    if not words:
        return content
    mark = r"\s*\\?\|\s*"
    pattern = re.compile(rf"((?:{mark}{re.escape(words)}\s*){{2,}})\Z", re.IGNORECASE)

    def once(label: str, url: str) -> str | None:
        match = pattern.search(label)
        if match is None:
            return None
        first = re.match(rf"{mark}{re.escape(words)}", match[1], re.IGNORECASE)
        return label[: match.start()] + (first[0] if first else "")

    return _relabelled(content, once) if words.casefold() in content.casefold() else content


def _relabelled(content: str, change: Callable[[str, str], str | None]) -> str:
    if "](" not in content and "][" not in content:
        return content

    def edits() -> Iterator[Edit]:
        for region in survey(content).regions:
            for span in region.spans:
                if span.kind == "link":
                    label = region.content[span.label_start : span.label_end]
                    new = change(label, span.href)
                    if new is not None and new != label:
                        yield from edit_region(region, span.label_start, span.label_end, new)

    try:
        return apply_edits(content, list(edits()))
    except TooComplex:
        return content


def resolve_citations(
    text: str, sources: Sequence[Source], *, cited: dict[int, None] | None = None
) -> str:
    """The text with each ``[n]`` outside code made a link to source n.

    Numbers never change; an unknown one is dropped; a source without an address stays text.
    ``cited`` collects the numbers in the order of their first use. Source: design, decision 8.
    """
    by_number = {source.n: source for source in sources}
    beyond = max(by_number, default=0) + 20
    found = list(_CITATION.finditer(text))
    if not found:
        return text
    closed = _closed_ranges(text)
    edits = []
    for match in found:
        start, end = match.start(), match.end()
        if any(low < end and match.end("space") < high for low, high in closed):
            continue
        before = text[max(0, match.end("space") - 40) : match.end("space")]
        if _CODE_BEFORE.search(before):
            continue
        numbers = [int(n) for n in re.findall(r"\d+", match["list"] or match["wide"])]
        attached = text[match.end("space") - 1 : match.end("space")].isalnum()
        if (len(numbers) > 1 or attached) and any(n == 0 or n > beyond for n in numbers):
            # An interval ("between [1, 32]") or a subscript, and no citation gone wrong.
            continue
        links = [_link(n, by_number, cited) for n in dict.fromkeys(numbers) if n in by_number]
        space = match["space"] if links else ""
        edits.append((start, end, space + ", ".join(links)))
    return apply_edits(text, edits)


def _link(n: int, by_number: Mapping[int, Source], cited: dict[int, None] | None) -> str:
    if cited is not None:
        cited[n] = None
    url = by_number[n].url
    return f"[{n}]({markdown_destination(url)})" if url else f"[{n}]"


def _closed_ranges(text: str) -> Iterable[tuple[int, int]]:
    """Code, links, images, HTML and definitions: where ``[n]`` is something else."""
    try:
        seen = survey(text)
    except TooComplex:
        return [(0, len(text))]
    ranges = [*seen.code, *seen.html, *((d.start, d.end) for d in seen.definitions)]
    for region in seen.regions:
        for span in region.spans:
            if span.kind != "link" or not region.content[span.start : span.end].endswith("]"):
                ranges.extend(region.source_ranges(span.start, span.end))
    return ranges
