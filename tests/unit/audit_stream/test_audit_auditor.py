"""The auditor over a turn: verdicts, what it remembers, and that good text stays as it was."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from plumbline.audit.auditor import AuditedParagraph, InlineStreamAuditor
from plumbline.policy import AuditPolicy
from plumbline.sources import Source

ROOT = Path(__file__).resolve().parents[3]
POLICY = AuditPolicy(
    brand="Acme",
    allowed_hosts=("ok.example",),
    generic_labels=("here",),
    customer_cues=("customer",),
    leak_labels=("Namedrop",),
    label_suffix="| Acme",
    hallucinated_customer_sentinel="/ghost",
    customer_path=r"^/customers/(?P<slug>[a-z]+)",
)
SOURCES = (
    Source(1, "One", "text 20 ms", "doc", url="https://ok.example/one"),
    Source(2, "Two", "more", "doc", url="https://ok.example/two"),
    Source(3, "Three", "no address", "doc"),
)


def stream(
    text: str, size: int = 7, **kwargs: object
) -> tuple[list[AuditedParagraph], InlineStreamAuditor]:
    auditor = InlineStreamAuditor(SOURCES, policy=POLICY, **kwargs)  # type: ignore[arg-type]
    out: list[AuditedParagraph] = []
    for start in range(0, len(text), size):
        out.extend(auditor.feed(text[start : start + size]))
    out.extend(auditor.close())
    return out, auditor


def audited(text: str, size: int = 7, **kwargs: object) -> str:
    return "".join(p.content for p in stream(text, size, **kwargs)[0])


def test_verdicts_reasons_and_counts() -> None:
    out, auditor = stream(
        "Kept [one](https://ok.example/one).\n\n"
        "Edited [bad](https://evil.com) ![pic](https://evil.com/p.png) [here](https://ok.example/two).\n\n"
        "Namedrop: a customer\n\n"
        "The customer Foo grew 30%.\n"
    )
    assert [p.verdict for p in out] == ["kept", "edited", "removed", "removed"]
    assert out[0].reasons == ()
    assert out[1].content == "Edited bad pic [Two](https://ok.example/two).\n\n"
    assert set(out[1].reasons) == {"hostname_not_allowed", "generic_label_upgraded"}
    assert out[2].reasons == ("prompt_leak",)
    assert out[3].reasons == ("customer_not_in_sources",)
    counts = (auditor.replaced, auditor.stripped, auditor.sentences_removed, auditor.images_removed)
    assert counts == (1, 2, 1, 1)
    assert auditor.cited_sources == (1, 2)
    assert auditor.shown_urls == ("https://ok.example/one", "https://ok.example/two")
    assert '[AUDIT] STRIP | "bad" → https://evil.com | hostname_not_allowed' in out[1].trace
    assert out[1].trace[0].startswith("[AUDIT] ══ paragraph in (")
    assert out[1].trace[-1].startswith("[AUDIT] ══ paragraph out (")


def test_the_primary_method_gives_the_paragraph_back() -> None:
    auditor = InlineStreamAuditor(SOURCES, policy=POLICY)
    assert auditor.audit_paragraph("a [b](https://evil.com) c") == "a b c"
    assert auditor.audit_paragraph("a `[b](https://evil.com)` c") == "a `[b](https://evil.com)` c"
    assert auditor.audit_paragraph("Namedrop: x") == ""


def test_everything_stripped_is_said_and_the_sources_follow() -> None:
    out, _ = stream("Namedrop: x\n\nThe customer Foo grew 30%.\n")
    last = out[-1]
    assert last.reasons == ("everything_stripped",)
    assert POLICY.stripped_notice in last.content
    assert "[One](https://ok.example/one)" in last.content
    assert "- Three\n" in last.content
    assert stream("")[0] == []
    assert stream("\n\n")[0][-1].reasons == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a][r] b\n\n[r]: https://ok.example/one\n", "[a][r] b\n\n[r]: https://ok.example/one\n"),
        ("[r]: https://evil.com\n\n[a][r] [r] b\n", "\n[a][r] [r] b\n"),
        ("[r]: https://ok.example/one\n\n[a][r]\n", "[r]: https://ok.example/one\n\n[a][r]\n"),
    ],
)
def test_definitions_in_another_paragraph(text: str, expected: str) -> None:
    got = audited(text)
    assert "evil.com" not in got
    assert got.replace("[a][r] [r]", "").strip() in expected or got == expected


def test_the_readers_own_address_and_earlier_ones_are_known() -> None:
    text = "See https://ok.example/mine and [x](https://ok.example/earlier).\n"
    assert "`" in audited(text)
    question = "Why does https://ok.example/mine fail?"
    assert audited(text, question=question, known_urls=["https://ok.example/earlier"]) == text
    evil = "See [x](https://evil.com/a).\n"
    assert "evil" not in audited(
        evil, question="https://evil.com/a", known_urls=["https://evil.com/a"]
    )


def test_citations_become_links_and_numbers_never_change() -> None:
    out, auditor = stream("Fast [1] and [9] and [3], `a[1]`.\n")
    assert "".join(p.content for p in out) == (
        "Fast [1](https://ok.example/one) and and [3], `a[1]`.\n"
    )
    assert auditor.cited_sources == (1, 3)


def test_crlf_stays_crlf() -> None:
    assert audited("a\r\nb\r\n\r\nc [x](https://evil.com)\r\nd\r\n") == "a\r\nb\r\n\r\nc x\r\nd\r\n"


GOOD = [
    "Plain *text* with **bold**, `code [x](https://evil.com)` and a_b_c.\n",
    "# Title\n\nText\n\n## Other\n===\n",
    "- one\n  - two\n\n    more\n- three\n\n1. a\n2. b\n",
    "> quote\n> more\n\n---\n\n***\n",
    "| a | b |\n|:--|--:|\n| `x|y` | 2 \\| 3 |\n",
    "```py\nx = [1](https://evil.com)\n<script>\n```\n",
    "~~~\nunclosed https://evil.com\n",
    "    indented https://evil.com\n",
    "Use `Vec<u8>` or Map<String> and List<T extends Foo>, a < b > c && d.\n",
    "H<sub>2</sub>O<br>and <kbd>Ctrl</kbd>, <details open><summary>x</summary>y</details>\n",
    "AT&amp;T &copy; 3 * 4 * 5, \\*not\\*, \\[x\\], a\\\nb\n",
    "See [one](https://ok.example/one 'T'), <https://ok.example/two>, https://ok.example/one.\n",
    "[one][r], ![pic](https://ok.example/two), [**b** `c`](<https://ok.example/one#x>)\n\n"
    "[r]: https://ok.example/two\n",
    "| [one](https://ok.example/one) | b |\n|---|---|\n| ![i](https://ok.example/two) | c |\n",
    "Ends e.g. here; 3.14, v1.2.3, a.m., U.S. and so on... 100%!\n",
    "Emoji 🎉, 中文。日本語, Ünïcödé — “quotes” …\n",
    "$x^2$ and \\(y\\), C:\\dir\\file, a\\b, {x: y}\n",
]


@pytest.mark.parametrize("text", GOOD)
@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_good_text_goes_out_byte_for_byte(text: str, size: int) -> None:
    out, _ = stream(text, size)
    assert "".join(p.content for p in out) == text
    assert {p.verdict for p in out} == {"kept"}


WORDS = st.sampled_from(
    ["the", "index", "a_b", "`code`", "*em*", "**b**", "x < y", "(see", "that)", "3.14", "R&D",
     "e.g.,", "C#", "don't", "#tag", "50%", "\n", "\n\n", "\n- ", "\n> ", "—", "ok!",
     "\n\n```\nx [y](z)\n```\n\n",
     "[x]", "\\*", "&amp;", "|", "~", "\"q\"", "[one](https://ok.example/one)"]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(WORDS, max_size=30).map(" ".join), st.integers(1, 50))
def test_text_with_nothing_to_prove_is_equal(text: str, size: int) -> None:
    assert audited(text, size) == text


@pytest.mark.parametrize("text", GOOD)
def test_the_rendered_page_is_the_same(text: str) -> None:
    renderer = MarkdownIt("commonmark").enable(["table"])
    assert renderer.render(audited(text)) == renderer.render(text)


def test_a_code_fence_that_a_label_would_open_swallows_nothing() -> None:
    out = audited(
        "[```](https://evil.com)\n\n```\n[x](https://evil.com)\n```\n\nhttps://evil.com\n"
    )
    assert "href" not in MarkdownIt("default", {"html": True, "linkify": True}).render(out)


def test_a_hostile_megabyte_goes_out_escaped() -> None:
    text = "[x](https://evil.com " * 50_000
    out, _ = stream(text, 10_000)
    assert out[0].reasons == ("escaped",)
    assert "href" not in MarkdownIt("commonmark").render("".join(p.content for p in out))


def agent_studio_text(raw: str) -> str:
    """The text of a captured stream, in either of its wire forms."""
    parts = []
    for line in raw.splitlines():
        if line.startswith("0:"):
            parts.append(json.loads(line[2:]))
        elif line.startswith("data:") and '"text-delta"' in line:
            parts.append(json.loads(line[5:])["delta"])
    return "".join(parts)


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["v4_answer_with_code_and_links", "v4_text_then_tool_call", "v5_synthetic"]
)
def test_captured_streams_in_every_chunking(data_dir: Path, name: str) -> None:
    text = agent_studio_text((data_dir / "agent_studio" / f"{name}.txt").read_text())
    assert text.strip()
    whole = audited(text, len(text))
    for size in range(1, 40):
        assert audited(text, size) == whole
    # Its code stands, whatever its links do.
    for block in text.split("```")[1::2]:
        assert block in whole


def test_only_the_generation_step_builds_a_chunk_and_only_of_an_audited_paragraph() -> None:
    built: list[tuple[str, ast.Call]] = []
    for folder in ("layers", "functions", "devstack"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Chunk":
                    built.append((path.relative_to(ROOT).as_posix(), node))
    assert [path for path, _ in built] == ["layers/shared/plumbline/turn/generation.py"]
    content = built[0][1].args[1]
    assert isinstance(content, ast.Attribute)
    assert content.attr == "content"


def test_the_paragraphs_of_a_chunk_come_from_the_auditor() -> None:
    """Nothing but the auditor makes an ``AuditedParagraph``."""
    makers = set()
    for path in sorted((ROOT / "layers").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func).split(".")[-1] == "AuditedParagraph"
            ):
                makers.add(path.name)
    assert makers == {"auditor.py"}
