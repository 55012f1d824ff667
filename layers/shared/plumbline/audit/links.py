"""Whether a link may stand: file 000's decision tree, and what it decides with."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from plumbline.audit.addresses import (
    Address,
    Refusal,
    host_matches,
    pages,
    path_under,
    read_address,
    under_prefix,
)
from plumbline.policy import AuditPolicy
from plumbline.sources import Source

Action = Literal["keep", "replace", "strip"]

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


@dataclass(frozen=True)
class ClassifyContext:
    """What a link is judged by: rules, sources, the customer directory, and known addresses.

    ``known_urls`` are those that the reader gave or that an earlier audited turn showed.
    ``customers`` is the directory, name to canonical address.
    """

    policy: AuditPolicy
    sources: Sequence[Source] = ()
    customers: Mapping[str, str] = field(default_factory=dict)
    known_urls: Collection[str] = ()

    @cached_property
    def source_pages(self) -> Mapping[tuple[str, str, str, str], Source]:
        """Each source's page; of two with the same page the first."""
        found: dict[tuple[str, str, str, str], Source] = {}
        for source in self.sources:
            for page in pages([source.url]):
                found.setdefault(page, source)
        return found

    @cached_property
    def known_pages(self) -> frozenset[tuple[str, str, str, str]]:
        """The pages of the known addresses."""
        return pages(self.known_urls)

    @cached_property
    def customer_names(self) -> Mapping[str, str]:
        """Every customer known, folded name to canonical address: directory first, then sources."""
        names = {fold(name): url for name, url in self.customers.items()}
        for source in self.sources:
            if source.customer and source.url and self.customer_slug(source.url) is not None:
                names.setdefault(fold(source.customer), source.url)
        return names

    @cached_property
    def customer_pages(self) -> Mapping[tuple[str, str, str, str], str]:
        """The page of each customer's story, to the folded name."""
        found: dict[tuple[str, str, str, str], str] = {}
        for name, url in self.customer_names.items():
            for page in pages([url]):
                found.setdefault(page, name)
        return found

    def customer_slug(self, url: str) -> str | None:
        """The slug of a customer story's address, or None for any other address."""
        address = read_address(url)
        pattern = self.policy.customer_path
        if pattern is None or not isinstance(address, Address):
            return None
        if not host_matches(address.host, self.policy.allowed_hosts):
            return None
        match = re.match(pattern, address.path)
        return match["slug"] if match else None


def fold(name: str) -> str:
    """A name in the form that names are compared in."""
    return " ".join(re.sub(r"[^\w&+.]+", " ", name.casefold()).split())


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


def customers_named(text: str, ctx: ClassifyContext) -> list[str]:
    """The folded names of known customers that the text holds as whole words."""
    words = f" {fold(text)} "
    return [name for name in ctx.customer_names if name and f" {name} " in words]


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
    return " ".join(re.sub(r"[\[\]<>`*_\\!&|~]", " ", text).split())[:200]


def format_trace_line(label: str, url: str, decision: LinkDecision) -> str:
    """``[AUDIT] KEEP | "Label" → URL | reason``, on one line.

    Source: seed 000, "formatTraceLine".
    """
    shown = decision.url if not decision.replacement else f"{url} → {decision.replacement}"
    line = f'[AUDIT] {decision.action.upper()} | "{label}" → {shown} | {decision.reason}'
    return re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", line)
