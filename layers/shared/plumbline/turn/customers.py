"""The customer directory: who is a customer, and where their story is.

Source: design, decision 1; seed 000, what fetchGoldenMap's Atlas entries told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit

from plumbline.instance import Instance
from plumbline.turn.facets import FacetValues
from plumbline.turn.ladder import any_of
from plumbline.turn.retrieval import SearchIndex

MAX_CUSTOMERS = 1_000


def _nobody() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CustomerDirectory:
    """``urls``: customer name, as the records write it, to the address of their story."""

    urls: Mapping[str, str] = field(default_factory=_nobody)


def load_customer_directory(
    index: SearchIndex, *, facets: FacetValues, instance: Instance
) -> CustomerDirectory:
    """The directory, from one request that learns every facet value too.

    Meant for once a container, off the critical path. Raises what ``index`` raises.
    """
    everything: dict[str, object] = {
        "query": "",
        "hitsPerPage": 1,
        "facets": list(instance.retrieval.boosts),
        "maxValuesPerFacet": 1_000,
        "attributesToRetrieve": ["customer"],
        "analytics": False,
    }
    stories = {
        **everything,
        "hitsPerPage": MAX_CUSTOMERS,
        "facets": [],
        "attributesToRetrieve": ["customer", "url"],
        "filters": any_of("source_type", instance.retrieval.customer_source_types),
    }
    requests = [everything]
    if instance.retrieval.customer_source_types:
        requests.append(stories)
    answers = index.multi_query(requests, strategy="none")
    facets.learn(answers)
    hits = answers[1].get("hits") if len(answers) > 1 else None
    return build_directory(hits if isinstance(hits, list) else (), instance=instance)


def build_directory(
    hits: Iterable[Mapping[str, object]], *, instance: Instance
) -> CustomerDirectory:
    """One address a customer: on the instance's customer path if there is one, else the shortest.

    Records without an https address are left out.
    """
    best: dict[str, tuple[bool, int, str]] = {}
    path = re.compile(instance.audit.customer_path) if instance.audit.customer_path else None
    for hit in hits:
        name, url = hit.get("customer"), hit.get("url")
        if not isinstance(name, str) or not isinstance(url, str) or not name.strip():
            continue
        parts = _split(url)
        if parts is None:
            continue
        elsewhere = path is None or path.search(parts) is None
        candidate = (elsewhere, len(url), url)
        key = " ".join(name.split())
        best[key] = min(best.get(key, candidate), candidate)
    return CustomerDirectory(
        MappingProxyType({name: url for name, (_, _, url) in sorted(best.items())})
    )


def _split(url: str) -> str | None:
    """The path of a well-formed https address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts.path if parts.scheme == "https" and parts.hostname else None
