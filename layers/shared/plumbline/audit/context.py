"""What a turn's links and claims are judged by."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

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
    def name_index(self) -> NameIndex:
        """The customers' names, to look for in a text."""
        return NameIndex(self.customer_names)

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


@lru_cache(maxsize=16384)
def fold(name: str) -> str:
    """A name in the form that names are compared in: no case, no punctuation but inside words."""
    return " ".join(_SEPARATORS.sub(" ", name.casefold()).split())


_SEPARATORS = re.compile(r"[^\w&+.]+|(?<!\w)\.|\.(?!\w)")


class NameIndex:
    """Names, found in a text by their first word, so that thousands cost no more than a few."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_first: dict[str, list[list[str]]] = {}
        for name in dict.fromkeys(fold(name) for name in names):
            if words := name.split():
                self._by_first.setdefault(words[0], []).append(words)

    def found_in(self, text: str) -> list[str]:
        """The folded names that the text holds as whole words, in order, the longest of each."""
        if not self._by_first:
            return []
        # ``Foo's`` is Foo: the fold makes words of both.
        words = _SEPARATORS.sub(" ", text.casefold()).split()
        found: dict[str, None] = {}
        for at, word in enumerate(words):
            names = [n for n in self._by_first.get(word, ()) if words[at : at + len(n)] == n]
            if names:
                longest: list[str] = max(names, key=len)
                found.setdefault(" ".join(longest))
        return list(found)


def customers_named(text: str, ctx: ClassifyContext) -> list[str]:
    """The folded names of known customers that the text holds as whole words."""
    return ctx.name_index.found_in(text)
