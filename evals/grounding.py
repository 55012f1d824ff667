"""Grounding: nothing true is removed, every planted fault is caught, numbers against people.

Answers that people graded, and answers with planted faults, go through the auditor as a stream.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from plumbline.audit.auditor import InlineStreamAuditor
from plumbline.audit.sentences import sentences
from plumbline.instance import load_instance
from plumbline.policy import AuditPolicy
from plumbline.sources import Source

ROOT = Path(__file__).resolve().parent.parent
FAITHFUL, LOW = 3.5, 2.5
CUSTOMERS = ("Fabrikam", "Northwind Traders", "Blue Yonder Airlines", "Adatum", "Tailspin Toys")
KNOWN_CUSTOMER = "Contoso"
STORY = "https://www.algolia.com/customers/contoso/"
METRICS = (
    ("37%", "39%"), ("4.5 million", "5.4 million"), ("$12,000", "$21,000"), ("3x", "30x"),
    ("250 ms", "25 ms"), ("1,200", "12,000"), ("150 percent", "250 percent"), ("8-fold", "9-fold"),
)  # fmt: skip


def data_dir() -> Path:
    """The folder of real data, as the tests find it."""
    return Path(os.environ.get("PLUMBLINE_DATA", ROOT.parent / "shared" / "data"))


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a JSON lines file of the data folder."""
    with (data_dir() / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def mtrag_sources(row: dict[str, Any]) -> list[Source]:
    """The passages of a row as sources, each with an address of its own."""
    return [
        Source(n, p["title"] or f"Passage {n}", p["text"], "doc", url=_source_url(n))
        for n, p in enumerate(row["passages"], 1)
    ]


def _source_url(n: int) -> str:
    return f"https://www.algolia.com/doc/guides/passage-{n}/"


def audit(
    answer: str, sources: Sequence[Source], policy: AuditPolicy, question: str = ""
) -> tuple[str, InlineStreamAuditor]:
    """The audited text of an answer that arrives in pieces, and its auditor."""
    auditor = InlineStreamAuditor(
        sources, policy=policy, question=question, customers={KNOWN_CUSTOMER: STORY}
    )
    parts: list[str] = []
    for start in range(0, len(answer), 40):
        parts.extend(p.content for p in auditor.feed(answer[start : start + 40]))
    parts.extend(p.content for p in auditor.close())
    return "".join(parts), auditor


def run() -> list[dict[str, Any]]:
    """All rows of the evaluation; it needs the data folder."""
    policy = load_instance("algolia-central").audit
    return [
        *_false_removals(policy),
        _halueval(policy),
        *_planted(policy),
        *_numbers(policy),
    ]


def _row(
    name: str, value: float, unit: str, compared_with: float | None, budget: str, met: bool
) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(value, 4),
        "unit": unit,
        "compared_with": compared_with,
        "ratio": None,
        "budget": budget,
        "met": met,
    }


def _question(row: dict[str, Any]) -> str:
    turns = row["question"]
    return turns if isinstance(turns, str) else " ".join(turn["text"] for turn in turns)


def _false_removals(policy: AuditPolicy) -> Iterator[dict[str, Any]]:
    total = gone = answers = changed = 0
    for row in rows("grounding/mtrag_dev.jsonl"):
        if mean(row["faithfulness"]) < FAITHFUL:
            continue
        output, auditor = audit(row["answer"], mtrag_sources(row), policy, _question(row))
        total += sum(1 for _ in sentences(row["answer"].replace("\r\n", "\n")))
        gone += auditor.sentences_removed
        answers += 1
        changed += output != row["answer"]
    share = gone / total
    yield _row(
        f"grounding: faithful sentences removed (MTRAG, {total})", share, "", None, "< 0.01",
        share < 0.01,
    )  # fmt: skip
    yield _row(
        f"grounding: faithful answers changed at all (MTRAG, {answers})",
        changed / answers, "", None, "", True,
    )  # fmt: skip


def _halueval(policy: AuditPolicy) -> dict[str, Any]:
    removed = 0
    for row in rows("grounding/halueval_qa_dev.jsonl"):
        source = Source(1, "Knowledge", row["knowledge"], "doc", url=_source_url(1))
        output, auditor = audit(row["right_answer"], [source], policy, row["question"])
        removed += bool(auditor.sentences_removed) or not output.strip()
    return _row("grounding: right answers removed (HaluEval)", removed, "", None, "0", not removed)


def _swe_sources(n: int = 2) -> list[Source]:
    return [
        Source(i, f"File {i}", "def send(request): ...", "code", url=f"https://github.com/a/b/{i}")
        for i in range(1, n + 1)
    ]


def _answers() -> Iterator[tuple[str, list[Source]]]:
    for row in rows("grounding/mtrag_dev.jsonl"):
        yield row["answer"], mtrag_sources(row)
    for name in ("flask", "requests"):
        for row in rows(f"swe_qa/{name}.jsonl"):
            yield row["answer"], _swe_sources()


LINK_FORMS: tuple[Callable[[str], str], ...] = (
    lambda url: f"See [the reference]({url}) for more.",
    lambda url: f"More at <{url}>.",
    lambda url: f"More at {url}.",
    lambda url: f"![diagram]({url})",
    lambda url: f'<a href="{url}">the page</a> explains it.',
    lambda url: f"The [guide][g] explains it.\n\n[g]: {url}",
    lambda url: f"- one\n- [two]({url} 'title')",
)


def _inserted(answer: str, fault: str, index: int) -> str:
    """The answer with the fault as a paragraph of its own, or behind its last sentence."""
    if index % 2 or "\n" in fault or "```" in answer:
        return f"{answer}\n\n{fault}\n"
    return f"{answer} {fault}"


def _leads(text: str) -> list[str]:
    from markdown_it import MarkdownIt

    html = MarkdownIt("default", {"html": True, "linkify": True}).render(text)
    return re.findall(r'(?:href|src)="([^"]*)"', html)


def _planted(policy: AuditPolicy) -> Iterator[dict[str, Any]]:
    caught = {"wrong host": 0, "wrong path": 0, "customer": 0, "metric": 0}
    total = 0
    for index, (answer, sources) in enumerate(_answers()):
        total += 1
        form = LINK_FORMS[index % len(LINK_FORMS)]
        host = f"https://docs.algolia-help.net/guide/{index}"
        output, _ = audit(_inserted(answer, form(host), index), sources, policy)
        caught["wrong host"] += not any("algolia-help" in url for url in _leads(output))
        path = f"https://www.algolia.com/doc/guides/no-such-page-{index}/"
        output, _ = audit(_inserted(answer, form(path), index), sources, policy)
        caught["wrong path"] += not any("no-such-page" in url for url in _leads(output))
        caught["customer"] += _catches_customer(answer, sources, index, policy)
        caught["metric"] += _catches_metric(answer, sources, index, policy)
    for name, count in caught.items():
        budget = 0.98 if name == "metric" else 1.0
        share = count / total
        yield _row(
            f"grounding: planted {name} caught ({total})", share, "", None, f">= {budget}",
            share >= budget,
        )  # fmt: skip


def _catches_customer(answer: str, sources: list[Source], index: int, policy: AuditPolicy) -> bool:
    name = CUSTOMERS[index % len(CUSTOMERS)]
    slug = name.lower().replace(" ", "-")
    claim = (
        f"For example, the retailer {name} increased conversion by 40%.",
        f"{name}, a customer, saw revenue grow 3x "
        f"([case study](https://www.algolia.com/customers/{slug}/)).",
        f"In a case study, {name} reports 2 million searches a day.",
    )[index % 3]
    output, _ = audit(_inserted(answer, claim, index), sources, policy)
    return name not in output


def _catches_metric(answer: str, sources: list[Source], index: int, policy: AuditPolicy) -> bool:
    right, wrong = METRICS[index % len(METRICS)]
    story = Source(
        90, KNOWN_CUSTOMER, f"{KNOWN_CUSTOMER} improved by {right}.", "customer", url=STORY,
        customer=KNOWN_CUSTOMER,
    )  # fmt: skip
    claim = f"{KNOWN_CUSTOMER} improved by {wrong} ([case study]({STORY}))."
    output, _ = audit(_inserted(answer, claim, index), [*sources, story], policy)
    true = f"{KNOWN_CUSTOMER} improved by {right} ([case study]({STORY}))."
    kept, _ = audit(_inserted(answer, true, index), [*sources, story], policy)
    return wrong not in output.rpartition(KNOWN_CUSTOMER)[2] and KNOWN_CUSTOMER in kept


def _numbers(policy: AuditPolicy) -> Iterator[dict[str, Any]]:
    flagged: dict[str, list[bool]] = {"auditor": [], "number absent": []}
    low: list[bool] = []
    for row in rows("grounding/mtrag_dev.jsonl"):
        sources = mtrag_sources(row)
        _, auditor = audit(row["answer"], sources, policy, _question(row))
        numbers = [name for name in auditor.unverified if re.search(r"\d", name)]
        flagged["auditor"].append(bool(numbers))
        given = set(re.findall(r"\d+", " ".join(source.content for source in sources)))
        plain = [n for n in re.findall(r"\d+", row["answer"]) if n not in given]
        flagged["number absent"].append(bool(plain))
        low.append(mean(row["faithfulness"]) <= LOW)
    figures = {name: _precision_recall(marks, low) for name, marks in flagged.items()}
    for index, measure in enumerate(("precision", "recall")):
        ours, plain_figure = figures["auditor"][index], figures["number absent"][index]
        yield _row(
            f"grounding: unverified numbers, {measure} (plain rule beside it)", ours, "",
            round(plain_figure, 4), "", True,
        )  # fmt: skip


def _precision_recall(marks: Sequence[bool], truth: Sequence[bool]) -> tuple[float, float]:
    hits = sum(1 for mark, low in zip(marks, truth, strict=True) if mark and low)
    return hits / max(1, sum(marks)), hits / max(1, sum(truth))
