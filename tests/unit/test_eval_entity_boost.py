"""The evaluation's own arithmetic, on a corpus of six pages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evals.answer_rubric import PARTS, compare
from evals.boost_questions import GROUPS, make_questions
from evals.entity_boost import WithoutBoosts, score
from evals.versioned_docs import by_place, load_pages
from plumbline.instance import load_instance
from plumbline.sources import Source
from plumbline.turn.language_model import (
    Extraction,
    ExtractionRequest,
    Finish,
    GenerationRequest,
    TextDelta,
    Usage,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def page(path: str, title: str, heading: str) -> None:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f'---\ntitle: "{title}"\ndescription: About {title}.\n---\n\n'
            f"# {title}\n\nIt is so.\n\n## {heading}\n\nMore of it.\n",
            encoding="utf-8",
        )

    page("v2/servers/tools.mdx", "Tools", "How to call")
    page("v3/servers/tools.mdx", "Tools", "How to call")
    page("servers/tools.mdx", "Tools", "How to call")
    page("clients/tools.mdx", "Tools", "How to call")
    page("servers/sessions.mdx", "Sessions", "Where a session is kept")
    page("snippets/badge.mdx", "Badge", "Not a page at all")
    (tmp_path / "servers" / "plain.mdx").write_text("no front matter\n", encoding="utf-8")
    return tmp_path


def test_tags_come_from_the_place(folder: Path) -> None:
    pages = load_pages(folder)
    assert [(page.path, page.version, page.area) for page in pages] == [
        ("clients/tools.mdx", "v4", "clients"),
        ("servers/sessions.mdx", "v4", "servers"),
        ("servers/tools.mdx", "v4", "servers"),
        ("v2/servers/tools.mdx", "v2", "servers"),
        ("v3/servers/tools.mdx", "v3", "servers"),
    ]
    for page in pages:
        for record in page.records:
            assert record["product_tag"] == [page.version]
            assert record["feature_tag"] == [page.area]
    assert len(by_place(pages)["servers/tools.mdx"]) == 3


def test_questions_of_each_group_and_none_names_its_version(folder: Path) -> None:
    questions = make_questions(load_pages(folder))
    assert {question.group for question in questions} == set(GROUPS)
    for question in questions:
        assert len(question.wordings) == 3
        assert question.relevant
        assert not any("v2" in wording or "v3" in wording for wording in question.wordings)
    clean = [question for question in questions if question.group.startswith("clean")]
    assert [question.signals["product"] for question in clean] == ["v4", "v2"]


@pytest.mark.parametrize(
    ("found", "ndcg", "reciprocal_rank"),
    [
        (["a", "x", "b"], (1 + 0.5) / (1 + 1 / math.log2(3)), 1.0),
        (["x", "a"], (1 / math.log2(3)) / (1 + 1 / math.log2(3)), 0.5),
        (["x"] * 5 + ["a"], 0.0, 1 / 6),
        ([], 0.0, 0.0),
    ],
)
def test_score(found: list[str], ndcg: float, reciprocal_rank: float) -> None:
    scored = score(found, frozenset({"a", "b"}))
    assert scored.ndcg == pytest.approx(ndcg)
    assert scored.reciprocal_rank == pytest.approx(reciprocal_rank)


def test_panel_a_sends_everything_but_the_boosts() -> None:
    class Index:
        sent: Sequence[Mapping[str, object]] = ()

        def multi_query(
            self, requests: Sequence[Mapping[str, object]], *, strategy: str = "none"
        ) -> list[dict[str, Any]]:
            self.sent = requests
            return []

    index = Index()
    WithoutBoosts(index).multi_query([{"query": "q", "optionalFilters": [["a:b"]]}])
    assert index.sent == [{"query": "q"}]


class Grader:
    """Answers from the first source and grades by it, a little differently each time."""

    name = "double"

    def __init__(self, grades: Iterator[int]) -> None:
        self._grades = grades

    def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
        yield TextDelta(request.sources[0].content)
        yield Finish("stop", Usage())

    def extract(self, request: ExtractionRequest) -> Extraction:
        grade = next(self._grades)
        text = json.dumps(dict.fromkeys(PARTS, grade)) if grade else "no grade"
        return Extraction(text, Usage())


def cases() -> list[tuple[str, str, list[Source], list[Source]]]:
    plain = [Source(1, "A", "plain", "docs")]
    boosted = [Source(1, "B", "boosted", "docs")]
    return [("how?", "v2", plain, boosted)]


def test_the_rubric_shows_the_graders_noise() -> None:
    grades = compare(Grader(iter([2, 3, 4, 5, 5, 5])), cases(), load_instance("default"))
    assert (grades.plain, grades.boosted, grades.count) == (3.0, 5.0, 1)
    assert grades.noise == pytest.approx(0.5)
    assert grades.past_noise


def test_grades_out_of_range_and_missing_ones_do_not_count() -> None:
    grades = compare(Grader(iter([2, 0, 2, 9, 4, 4])), cases(), load_instance("default"))
    assert (grades.plain, grades.boosted) == (2.0, 4.0)
    with pytest.raises(ValueError, match="no grade"):
        compare(Grader(iter([0] * 9)), cases(), load_instance("default"))
