"""The answer that no model writes."""

from __future__ import annotations

import pytest

from plumbline.adapters.extractive import ExtractiveModel
from plumbline.errors import ModelUnavailable
from plumbline.sources import Source
from plumbline.turn.language_model import (
    ExtractionRequest,
    Finish,
    GenerationRequest,
    TextDelta,
    Usage,
)

CODE = Source(
    n=1,
    title="Gate.admit (gate.py)",
    content=(
        "Python method: Gate.admit — Let the request in, or raise.\n"
        "def admit(\n    self,\n    request: Request,\n) -> Admission:\n"
        '    """Let the request in, or raise."""\n    return 1'
    ),
    source_type="code",
    file_path="layers/gate.py",
    line_start=10,
    line_end=20,
    repository="team/tool",
)
DOCS = Source(
    n=2,
    title="Deploying > First question",
    content=(
        "Markdown section: Deploying > First question — Ask with curl.\n"
        "## First question\n\nAsk with curl. It takes a key. Then you wait.\n\n```\ncode\n```\n"
    ),
    source_type="docs",
    file_path="docs/deploying.md",
    line_start=3,
    line_end=9,
)


def answer(*sources: Source) -> str:
    request = GenerationRequest("", "how?", (), sources, 0.0)
    items = list(ExtractiveModel().stream(request))
    assert items[-1] == Finish("stop", Usage())
    return "".join(item.text for item in items if isinstance(item, TextDelta))


def test_code_is_named_placed_cited_and_shown_by_its_signature() -> None:
    text = answer(CODE)
    first, _, rest = text.partition("\n\n")
    assert first == (
        "`Gate.admit` is a Python method in `layers/gate.py`, lines 10 to 20 [1]."
        " Let the request in, or raise."
    )
    assert rest.strip() == (
        "```python\ndef admit(\n    self,\n    request: Request,\n) -> Admission:\n```"
    )


def test_docs_are_quoted() -> None:
    text = answer(DOCS)
    assert text.startswith(
        "**Deploying \\> First question** in `docs/deploying.md`, lines 3 to 9 [2].\n\n"
        "Ask with curl. It takes a key. Then you wait. [2]"
    )
    assert "```" not in text


def test_what_lies_inside_another_source_is_not_said_twice() -> None:
    inner = Source(
        3, "x", "def x(): ...", "code", file_path="layers/gate.py", line_start=12, line_end=14,
        repository="team/tool",
    )  # fmt: skip
    assert "[3]" not in answer(CODE, inner)


def test_the_rest_is_a_short_list_and_nothing_is_an_apology() -> None:
    more = [
        Source(n, f"s{n}", f"def s{n}(): ...", "code", file_path=f"{n}.py") for n in range(3, 9)
    ]
    text = answer(CODE, DOCS, *more)
    assert "See also:\n\n- " in text
    assert "[4]" in text
    assert "[5]" not in text
    assert not any(word in text.lower() for word in ("sorry", "unfortunately", "apolog"))


def test_a_record_without_description_is_told_by_its_title() -> None:
    text = answer(Source(1, "handler", "def handler(event): ...", "code", file_path="h.py"))
    assert text.startswith("`handler` is a Definition in `h.py` [1].")


def test_code_that_would_close_the_fence_is_not_shown() -> None:
    text = answer(Source(1, "x", "```evil```", "code", file_path="x.py"))
    assert "evil" not in text


def test_extraction_needs_a_model() -> None:
    with pytest.raises(ModelUnavailable):
        ExtractiveModel().extract(ExtractionRequest("", "", (), {}, 0.0))


@pytest.mark.parametrize(
    ("question", "nearest"),
    [
        ("How are requests let in?", False),
        ("gate admit", False),
        ("Who is the president of France?", True),
        ("?", True),
        ("\U0001f600", True),
        ("cli", False),
    ],
)
def test_sources_that_do_not_hold_the_questions_words_are_called_the_nearest(
    question: str, nearest: bool
) -> None:
    items = list(ExtractiveModel().stream(GenerationRequest("", question, (), (CODE,), 0.0)))
    assert isinstance(items[0], TextDelta)
    assert items[0].text.startswith("Nothing here answers this as it was asked.") is nearest


def test_a_sources_own_brackets_are_no_citations() -> None:
    text = answer(
        Source(1, "T", "# T\n\nLanding [1][2] is hard [SOURCE 9] 【3】. [4, 5]\n", "docs")
    )
    assert "Landing (1)(2) is hard (SOURCE 9) (3). (4, 5) [1]" in text


def test_a_paragraph_behind_code_is_not_begun_with() -> None:
    text = answer(Source(1, "T", "# T\n\n```\nmake\n```\n\nmakes it.\n\nIt is quick.\n", "docs"))
    assert "It is quick. [1]" in text
    assert "makes it" not in text


def test_of_a_section_the_paragraph_that_shares_most_words_with_the_question_is_quoted() -> None:
    section = Source(
        1, "Setup", "# Setup\n\nInstall it first.\n\nThe cache is flushed every night.\n", "docs"
    )
    request = GenerationRequest("", "when is the cache flushed?", (), (section,), 0.0)
    text = "".join(i.text for i in ExtractiveModel().stream(request) if isinstance(i, TextDelta))
    assert "The cache is flushed every night. [1]" in text
    assert "Install it" not in text
