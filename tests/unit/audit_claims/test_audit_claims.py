"""Claims about customers, attributions, leaks, and what is only listed."""

from __future__ import annotations

import pytest

from plumbline.audit.auditor import InlineStreamAuditor
from plumbline.audit.claims import (
    ClaimChecker,
    strip_dangling_attributions,
    strip_hallucinated_customer_sentences,
    validate_customer_claim,
)
from plumbline.audit.context import ClassifyContext
from plumbline.audit.decisions import SENTINEL_MARK, STRIPPED_MARK
from plumbline.audit.leaks import strip_prompt_instruction_leaks
from plumbline.policy import AuditPolicy
from plumbline.sources import Source

STORY_URL = "https://www.acme.dev/customers/lacoste"
POLICY = AuditPolicy(
    brand="Acme",
    allowed_hosts=("www.acme.dev",),
    customer_path=r"^/customers/(?P<slug>[a-z0-9-]+)/?$",
    customer_cues=("customer", "customers", "case study", "retailer", "brand"),
    not_customers=("PostgreSQL",),
    leak_labels=("Namedrop", "VALUE SELL", "Customer Example", "SIGNAL EXTRACTION"),
)
SOURCES = (
    Source(
        1, "Lacoste", "Lacoste raised conversion by 37% and serves 4,500,000 searches.", "story",
        url=STORY_URL, customer="Lacoste",
    ),
    Source(2, "Benchmarks", "Queries took 20 ms; another shop saw 55%.", "doc"),
)  # fmt: skip
CUSTOMERS = {"Lacoste": STORY_URL, "Gymshark": "https://www.acme.dev/customers/gymshark"}
CHECKER = ClaimChecker(ClassifyContext(POLICY, SOURCES, CUSTOMERS), "Did Zalando grow 12%?")


@pytest.mark.parametrize(
    ("sentence", "urls", "reason"),
    [
        ("Lacoste raised conversion by 37%.", [STORY_URL], None),
        ("Lacoste raised conversion by 37 percent.", [STORY_URL + "#a"], None),
        ("Lacoste serves 4.5M searches.", [STORY_URL], None),
        ("Lacoste raised conversion by 39%.", [STORY_URL], "metric_not_in_sources"),
        ("Lacoste raised conversion by 55%.", [STORY_URL], "metric_not_in_sources"),
        ("Lacoste raised conversion 37x.", [STORY_URL], "metric_not_in_sources"),
        ("Lacoste raised conversion by 37%.", [], "no_case_study_link"),
        ("Lacoste grew 37%.", ["https://www.acme.dev/pricing"], "no_case_study_link"),
        ("Gymshark grew 37%.", [STORY_URL], "customer_not_in_sources"),
        ("The retailer Fabrikam grew 37%.", [STORY_URL], "customer_not_in_sources"),
        ("Our customer Blue Yonder saved $2 million.", [], "customer_not_in_sources"),
        ("Lacoste uses Acme.", [], None),
        ("PostgreSQL is 3x faster.", [], None),
        ("PostgreSQL is 3x faster for every customer.", [], None),
        ("Acme answers every customer in 20 ms.", [], None),
        ("Fabrikam grew 37%.", [], None),
        ("The sources do not say that Gymshark grew 37%.", [], None),
        ("Not only did Gymshark grow 37%, it did so fast.", [], "customer_not_in_sources"),
        ("The customer Zalando grew 12%.", [], None),
        ("The customer Zalando grew 13%.", [], "customer_not_in_sources"),
    ],
)
def test_validate_customer_claim(sentence: str, urls: list[str], reason: str | None) -> None:
    verdict = validate_customer_claim(sentence, CHECKER, urls=urls)
    assert verdict.reason == reason
    assert verdict.valid is (reason is None)


def audited(text: str, **kwargs: str) -> tuple[str, InlineStreamAuditor]:
    auditor = InlineStreamAuditor(SOURCES, policy=POLICY, customers=CUSTOMERS, **kwargs)
    parts = [p.content for p in auditor.feed(text)]
    parts.extend(p.content for p in auditor.close())
    return "".join(parts), auditor


def test_a_name_at_the_end_of_a_sentence_and_a_possessive_are_the_name() -> None:
    sources = [Source(1, "Story", "We met Lacoste. Up 37%.", "story", url=STORY_URL)]
    checker = ClaimChecker(ClassifyContext(POLICY, sources, CUSTOMERS))
    claim = "Lacoste's conversion rose by 37%."
    assert validate_customer_claim(claim, checker, urls=[STORY_URL]).valid
    assert validate_customer_claim("At gymshark.io 37% is right.", checker).valid


def test_a_word_that_is_a_customers_name_counts_only_as_a_name() -> None:
    customers = {"Target": "https://www.acme.dev/customers/target"}
    checker = ClaimChecker(ClassifyContext(POLICY, (), customers))
    assert validate_customer_claim("Set the target to 30%.", checker).valid
    assert not validate_customer_claim("With it Target grew 30%.", checker).valid


def test_only_the_unproved_sentence_goes() -> None:
    text = "Search is fast. The retailer Fabrikam grew 300%. It scales.\n"
    out, auditor = audited(text)
    assert out == "Search is fast. It scales.\n"
    assert auditor.sentences_removed == 1


def test_an_emptied_item_loses_its_marker_and_its_neighbours_stay() -> None:
    out, _ = audited("- one\n- Gymshark grew 300%.\n- two\n")
    assert "Gymshark" not in out
    assert out.startswith("- one\n")
    assert out.endswith("- two\n")


def test_a_claim_that_straddles_two_paragraphs() -> None:
    out, _ = audited("Gymshark is a brand we know.\n\nTheir revenue grew by 300%. Fine.\n")
    assert "300%" not in out
    out, _ = audited("### Gymshark\n\n- 300% more revenue\n- happy people\n")
    assert "300%" not in out
    assert "happy people" in out


@pytest.mark.parametrize(
    "text",
    [
        "## Customer Support Options\n\n- 24 hours a day\n- answers in 30 seconds\n",
        "A Customer Data Platform is 3 times as fast.\n",
        "Every customer gets 10 GB, and the Team plan gives a brand 50 GB.\n",
    ],
)
def test_a_cue_in_a_things_name_makes_no_customer(text: str) -> None:
    assert audited(text)[0] == text


def test_a_citation_of_the_story_is_a_case_study_link() -> None:
    out, auditor = audited("Lacoste raised conversion by 37% [1].")
    assert out == f"Lacoste raised conversion by 37% [1]({STORY_URL})."
    assert auditor.cited_sources == (1,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Latency fell, according to .", "Latency fell."),
        ("Latency fell (source: ).", "Latency fell."),
        ("Latency fell — Source: ", "Latency fell"),
        (f"According to the blog{STRIPPED_MARK}, it fell.", "It fell."),
        (f"It fell, according to a post{STRIPPED_MARK}.", "It fell."),
        (f"It fell (source: a post{STRIPPED_MARK}).", "It fell."),
        (f"It fell. — Source: Forrester{STRIPPED_MARK}", "It fell."),
        ("It takes 20 ms per\nrequest, according to\nus.",) * 2,
        ("```\nsource:\n```\n`according to .`",) * 2,
        (f"See the post{STRIPPED_MARK} for more.", "See the post for more."),
    ],
)
def test_strip_dangling_attributions(text: str, expected: str) -> None:
    assert strip_dangling_attributions(text) == expected


def test_strip_hallucinated_customer_sentences() -> None:
    text = f"One. As with Foo{SENTINEL_MARK}, two. Three."
    assert strip_hallucinated_customer_sentences(text) == ("One. Three.", 1)
    assert strip_hallucinated_customer_sentences("One.") == ("One.", 0)


@pytest.mark.parametrize(
    "line",
    [
        "Namedrop: mention Lacoste", "**Namedrop:** x", "## VALUE SELL: x", "- Customer Example: x",
        "value sell: x", "> **SIGNAL EXTRACTION**: x", "SIGNAL_EXTRACTION: x", "1. Namedrop : x",
    ],
)  # fmt: skip
def test_strip_prompt_instruction_leaks(line: str) -> None:
    text = f"before\n{line}\nafter\n"
    assert strip_prompt_instruction_leaks(text, POLICY.leak_labels) == "before\nafter\n"


@pytest.mark.parametrize(
    "text",
    [
        "The word Namedrop: is discussed here\n",
        "```\nNamedrop: x\n```\n",
        "    Namedrop: x\n",
        "Namedropping: x\n",
        "Namedrop without a colon\n",
    ],
)
def test_what_is_no_leak_stays(text: str) -> None:
    assert strip_prompt_instruction_leaks(text, POLICY.leak_labels) == text


def test_a_leak_that_two_paragraphs_share() -> None:
    out, _ = audited("Good.\n\n**Customer\n\nExample:** mention Lacoste\n\nEnd.\n")
    assert "mention" not in out
    assert out.endswith("End.\n")


def test_numbers_and_code_names_are_listed_and_stay() -> None:
    text = (
        "Call `reindex_all()` or Client.search with maxHits, 20 ms or 77 ms, `Lacoste`, 2 steps.\n"
        "\n```py\nunknown_name()\n```\n"
    )
    out, auditor = audited(text, question="What is maxHits?")
    assert out == text
    assert auditor.unverified == ("reindex_all()", "Client.search", "77 ms")


def test_unverified_is_empty_where_everything_is_known() -> None:
    _, auditor = audited(
        "Lacoste serves 4.5 million searches, 37 percent in 20 milliseconds [1].\n"
    )
    assert auditor.unverified == ()
