"""File 000's decision tree, branch by branch, and its passes over labels and citations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plumbline.audit.context import ClassifyContext
from plumbline.audit.links import (
    LinkDecision,
    classify_link,
    find_canonical_customer_url,
    format_trace_line,
    normalize_link_label_suffix,
    resolve_citations,
    upgrade_generic_link_labels,
)
from plumbline.policy import AuditPolicy
from plumbline.sources import Source

POLICY = AuditPolicy(
    brand="Acme",
    allowed_hosts=("www.acme.dev", "docs.acme.dev", "code.example", "open.example"),
    proved_paths=("www.acme.dev", "docs.acme.dev", "code.example"),
    path_prefixes=("www.acme.dev/pricing",),
    technical_docs_hosts=("docs.acme.dev",),
    technical_docs_paths=("/doc/",),
    customer_path=r"^/customers/(?P<slug>[a-z0-9-]+)/?$",
    hallucinated_customer_sentinel=r"/customers/(?:unknown|example)",
    generic_labels=("here", "Acme blog"),
    label_suffix="| Acme",
)
GUIDE = Source(1, "Ranking guide | Acme", "", "doc", url="https://docs.acme.dev/guides/ranking")
STORY = Source(
    2, "How Lacoste does it", "", "story",
    url="https://www.acme.dev/customers/lacoste/", customer="Lacoste",
)  # fmt: skip
BARE = Source(3, "No address", "", "doc")
CTX = ClassifyContext(
    POLICY,
    (GUIDE, STORY, BARE),
    {"Gymshark": "https://www.acme.dev/customers/gymshark/", "Foo Bar": "https://evil.com/x"},
    ("https://www.acme.dev/blog/known", "https://evil.com/known"),
)


@pytest.mark.parametrize(
    ("label", "url", "action", "reason"),
    [
        ("x", "https://evil.com", "strip", "hostname_not_allowed"),
        ("x", "https://evil.com/known", "strip", "hostname_not_allowed"),
        ("here", "https://evil.com", "strip", "hostname_not_allowed"),
        ("x", "javascript:alert(1)", "strip", "scheme_not_allowed"),
        ("x", "https://www.acme.dev/customers/unknown", "strip", "hallucinated_customer"),
        ("here", "https://www.acme.dev/customers/example", "strip", "hallucinated_customer"),
        ("here", "https://docs.acme.dev/guides/ranking#a", "replace", "generic_label_upgraded"),
        ("HERE ", "https://docs.acme.dev/guides/ranking", "replace", "generic_label_upgraded"),
        ("here", "https://www.acme.dev/nope", "strip", "path_not_proved"),
        ("Lacoste", "https://www.acme.dev/customers/lacoste", "keep", "customer_verified"),
        ("story", "https://www.acme.dev/customers/gymshark", "keep", "customer_verified"),
        ("Lacoste", "https://www.acme.dev/customers/gymshark", "replace", "customer_canonical"),
        ("Lacoste", "https://www.acme.dev/customers/lacoste-sa", "replace", "customer_canonical"),
        ("Nike", "https://www.acme.dev/customers/nike", "strip", "customer_unverified"),
        ("x", "https://docs.acme.dev/guides/ranking", "keep", "source"),
        ("x", "https://www.acme.dev/blog/known#a", "keep", "known"),
        ("x", "https://docs.acme.dev/api/nope", "strip", "technical_docs_path"),
        ("x", "https://docs.acme.dev/doc/nope", "strip", "path_not_proved"),
        ("x", "https://www.acme.dev/pricing/plans", "keep", "path_prefix"),
        ("x", "https://www.acme.dev/pricings", "strip", "path_not_proved"),
        ("x", "https://code.example/a/b/blob/x.py", "strip", "path_not_proved"),
        ("x", "https://open.example/anything", "keep", "host_allowed"),
    ],
)
def test_the_tree(label: str, url: str, action: str, reason: str) -> None:
    decision = classify_link(label, url, CTX)
    assert (decision.action, decision.reason) == (action, reason)
    if reason == "customer_canonical":
        assert decision.replacement == "https://www.acme.dev/customers/lacoste/"
    if reason == "generic_label_upgraded":
        assert decision.new_label == "Ranking guide | Acme"


def test_a_known_address_never_skips_the_host_check() -> None:
    ctx = replace(CTX, known_urls=("https://evil.com/a", "https://www.acme.dev/a"))
    assert classify_link("x", "https://evil.com/a", ctx).action == "strip"
    assert classify_link("x", "https://www.acme.dev/a", ctx).reason == "known"


def test_canonical_address_is_never_on_another_host() -> None:
    assert find_canonical_customer_url("Foo Bar", CTX.customers, (), ctx=CTX) is None
    gymshark = find_canonical_customer_url("the Gymshark story", CTX.customers, (), ctx=CTX)
    assert gymshark == "https://www.acme.dev/customers/gymshark/"
    assert find_canonical_customer_url("Gymsharks", CTX.customers, (), ctx=CTX) is None


def test_trace_line_is_one_line() -> None:
    decision = LinkDecision("a\nb", "https://x.example", "strip", "hostname_not_allowed")
    line = format_trace_line("a\nb", "https://x.example", decision)
    assert line == '[AUDIT] STRIP | "a b" → https://x.example | hostname_not_allowed'


def test_upgrade_generic_link_labels() -> None:
    url = "https://docs.acme.dev/guides/ranking"
    text = f"See [here]({url}) or [the guide]({url}); `[here]({url})` is code."
    upgraded = upgrade_generic_link_labels(text, [GUIDE], policy=POLICY)
    assert upgraded == text.replace("[here]", "[Ranking guide | Acme]", 1)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("Title | Acme | Acme", "Title | Acme"),
        ("Title | acme | ACME | Acme", "Title | acme"),
        ("Title | Acme", "Title | Acme"),
        ("Title | Acme | Guides", "Title | Acme | Guides"),
        ("Title | Acme | Guides | Acme | Acme", "Title | Acme | Guides | Acme"),
        ("Acme", "Acme"),
    ],
)
def test_normalize_link_label_suffix(label: str, expected: str) -> None:
    text = f"a [{label}](https://www.acme.dev/x) b"
    assert normalize_link_label_suffix(text, "| Acme") == text.replace(label, expected)


ONE = "[1](https://docs.acme.dev/guides/ranking)"
TWO = "[2](https://www.acme.dev/customers/lacoste/)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fast [1].", f"Fast {ONE}."),
        ("Fast[1][2].", f"Fast{ONE}{TWO}."),
        ("Fast [1, 2].", f"Fast {ONE}, {TWO}."),
        ("Fast [1][9].", f"Fast {ONE}."),
        ("Fast [9].", "Fast."),
        ("Fast [3].", "Fast [3]."),
        ("Fast 【1†source】.", f"Fast {ONE}."),
        ("`a[1]` and\n\n```\nb[1]\n```\n", "`a[1]` and\n\n```\nb[1]\n```\n"),
        ("sys.argv[1] and items_of[2] stay", "sys.argv[1] and items_of[2] stay"),
        (
            "in the range [1, 32] or [0, 1], bytes[256]",
            "in the range [1, 32] or [0, 1], bytes[256]",
        ),
        ("[1](https://x.example) stays", "[1](https://x.example) stays"),
        ("![1] and \\[1] stay", "![1] and \\[1] stay"),
        ("- [ ] task [1]", f"- [ ] task {ONE}"),
        ("| a [1] |\n|---|\n| [2] |", f"| a {ONE} |\n|---|\n| {TWO} |"),
    ],
)
def test_resolve_citations(text: str, expected: str) -> None:
    assert resolve_citations(text, (GUIDE, STORY, BARE)) == expected
