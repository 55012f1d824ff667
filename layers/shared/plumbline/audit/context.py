"""What a turn's links and claims are judged by."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from plumbline.audit.addresses import Address, host_matches, pages, read_address
from plumbline.policy import AuditPolicy
from plumbline.sources import Source


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


def customers_named(text: str, ctx: ClassifyContext) -> list[str]:
    """The folded names of known customers that the text holds as whole words."""
    words = f" {fold(text)} "
    return [name for name in ctx.customer_names if name and f" {name} " in words]
