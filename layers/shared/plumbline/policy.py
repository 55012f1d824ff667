"""AuditPolicy: the rules that an instance gives its auditor (the ``audit:`` part of its file)."""

from __future__ import annotations

import re
from typing import Annotated

import idna
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

_HOST = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\Z")


def _host_pattern(value: str) -> str:
    """A host in the form that hosts are compared in; ``*.`` before it takes its subdomains in."""
    wild = "*." if value.startswith("*.") else ""
    host = value.removeprefix("*.").strip().rstrip(".").lower()
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode()
        except idna.IDNAError as exc:
            raise ValueError(f"{value!r} is not a host name: {exc}") from exc
    if not _HOST.match(host):
        raise ValueError(f"{value!r} is not a host name; write it without scheme, port or path")
    return wild + host


def _any_host_pattern(value: str) -> str:
    return value if value == "*" else _host_pattern(value)


def _path_prefix(value: str) -> str:
    """``host/path``; without a scheme, with a path that begins with a slash."""
    if "://" in value:
        raise ValueError(f"{value!r}: write host/path, without a scheme")
    host, slash, path = value.partition("/")
    if not slash:
        raise ValueError(f"{value!r} has no path; write host/path")
    return f"{_host_pattern(host)}/{path}"


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as exc:
        raise ValueError(f"{value!r} is not a regular expression: {exc}") from exc
    return value


def _phrase(value: str) -> str:
    if not value.strip():
        raise ValueError("an empty phrase would match everything")
    return value.strip()


Host = Annotated[str, AfterValidator(_host_pattern)]
AnyHost = Annotated[str, AfterValidator(_any_host_pattern)]
PathPrefix = Annotated[str, AfterValidator(_path_prefix)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Phrase = Annotated[str, AfterValidator(_phrase)]


class AuditPolicy(BaseModel):
    """What the auditor lets pass. What is left out is the strictest choice, never a brand's.

    Hosts are names without scheme or port; ``*.example.com`` means every subdomain and the name
    itself. Source: seed 000, "Audit Primitives"; design, decisions 8 to 10.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    brand: Phrase
    """The instance's own name: never a customer, and the suffix of its page titles."""
    allowed_hosts: tuple[Host, ...]
    """The only hosts that a link, an image or a HEAD check may lead to."""
    proved_paths: tuple[AnyHost, ...] = ("*",)
    """Hosts on which an address must be a source's, a known one, or under a listed prefix."""
    path_prefixes: tuple[PathPrefix, ...] = ()
    """``host/path`` prefixes that need no further proof."""
    technical_docs_hosts: tuple[Host, ...] = ()
    """Hosts of technical documentation, where only whitelisted or proved paths stand."""
    technical_docs_paths: tuple[Phrase, ...] = ()
    """Path prefixes (``/doc/``) that are right on any technical documentation host."""
    customer_path: Pattern | None = None
    """A regular expression for the path of a customer story, with a group named ``slug``."""
    hallucinated_customer_sentinel: Pattern | None = None
    """An address that matches this marks its sentence as a made-up customer's."""
    generic_labels: tuple[Phrase, ...] = ()
    """Link labels that say nothing (``here``, ``Algolia blog``); compared without case."""
    label_suffix: str = ""
    """The suffix of page titles (``| Algolia``) that is written once at most."""
    customer_cues: tuple[Phrase, ...] = ()
    """Words beside which a capitalised name is a customer (``customer``, ``case study``)."""
    not_customers: tuple[Phrase, ...] = ()
    """Names that are never customers: products, languages, vendors of the field."""
    leak_labels: tuple[Phrase, ...] = ()
    """Labels of the prompt's own sections; a line that begins with one and a colon is a leak."""
    stripped_notice: str = Field(
        default=(
            "None of what was written could be confirmed by the sources, so it is not shown. "
            "These are the sources that were found:"
        ),
        min_length=1,
    )
    """What the reader is told when nothing of an answer was left; the sources follow it."""

    @field_validator("customer_path")
    @classmethod
    def _has_slug(cls, value: str | None) -> str | None:
        if value is not None and "slug" not in re.compile(value).groupindex:
            raise ValueError("customer_path needs a group named slug: (?P<slug>[a-z0-9-]+)")
        return value
