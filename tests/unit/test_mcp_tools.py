"""The four tools: what they give, how they are cut, how they go on, what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import InvalidRequest, NotFound
from plumbline.index.registry import Repository
from plumbline.search.mcp_tools import AskAnswer, ToolOutput, Tools, result_tokens
from plumbline.search.snapshot_lines import SnapshotLines
from plumbline.search.token_budget import MAX_RESULT_TOKENS
from tests.search_doubles import FLASK, HIT, SHA, Directory, Index, Snapshots

FILE = "".join(f"line {n}\n" for n in range(1, 101))


class Files:
    """One file, whatever its path."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read_file(self, number: int, commit: str | None, path: str) -> bytes | None:
        return self.data


# What a text file may hold within a line; a byte order mark at its start is not kept.
TEXT = st.characters(codec="utf-8", exclude_characters="\n\r\0\ufeff")
NOW = datetime(2026, 11, 29, 23, 30, tzinfo=UTC)


def no_answer(question: str, repository: str | None) -> AskAnswer:
    raise AssertionError("nobody asks here")


def tools(
    *hits: dict[str, Any],
    repositories: tuple[Repository, ...] = (FLASK,),
    files: dict[str, str] | None = None,
    ask: Callable[[str, str | None], AskAnswer] = no_answer,
) -> Tools:
    return Tools(
        index=Index(*(hits or (HIT,))),
        repositories=Directory(*repositories),
        snapshots=Snapshots(files or {"src/auth/tokens.py": FILE}),
        ask_question=ask,
        now=lambda: NOW,
    )


def follow(run: Callable[[dict[str, Any]], ToolOutput], arguments: dict[str, Any]) -> list[Any]:
    """Every result that the cursors lead to, each within the limit."""
    found, cursor = [], None
    for _ in range(500):
        output = run(arguments | ({"cursor": cursor} if cursor else {}))
        assert result_tokens(output) <= MAX_RESULT_TOKENS
        found.append(output.structured)
        cursor = output.structured["next_cursor"]
        if cursor is None:
            return found
    raise AssertionError("the cursor leads nowhere")


def test_a_search_gives_results_as_json_in_both_forms() -> None:
    output = tools().search_code({"query": "refresh token"})
    assert json.loads(output.text) == output.structured
    assert output.structured["truncated"] is False
    assert output.structured["next_cursor"] is None
    results = output.structured["results"]
    assert isinstance(results, list)
    assert results[0]["id"] == HIT["objectID"]


def test_a_long_page_is_cut_and_the_cursor_leads_through_every_hit_once() -> None:
    hits = [
        {**HIT, "objectID": f"12_{n:040x}", "content": f"{n} " + "x = y + 1; " * 60}
        for n in range(120)
    ]
    pages = follow(tools(*hits).search_code, {"query": "x", "limit": 50})
    seen = [result["id"] for page in pages for result in page["results"]]
    assert seen == [hit["objectID"] for hit in hits]
    assert pages[0]["truncated"] is True
    assert len(pages) > 3


def test_a_hit_with_a_path_of_thousands_of_characters_still_fits() -> None:
    hit = {**HIT, "file_path": "ö/" * 2500, "content": "ö" * 600, "description": "ö" * 300}
    (page,) = follow(tools(hit).search_code, {"query": "x"})
    assert page["results"][0]["snippet"] == ""


@given(
    st.lists(
        st.fixed_dictionaries(
            {"content": st.text(max_size=900), "signature": st.text(max_size=400)},
        ),
        min_size=1,
        max_size=60,
    )
)
@settings(max_examples=30, deadline=None)
def test_whatever_the_records_hold_a_result_stays_within_the_limit(
    contents: list[dict[str, str]],
) -> None:
    hits = [{**HIT, **content, "objectID": f"12_{n:040x}"} for n, content in enumerate(contents)]
    pages = follow(tools(*hits).search_code, {"query": "x", "limit": 50})
    assert sum(len(page["results"]) for page in pages) == len(hits)


def test_an_id_that_search_returned_resolves_to_its_lines() -> None:
    output = tools().get_file_section({"id": HIT["objectID"]})
    assert output.structured == {
        "repository": "pallets/flask",
        "commit_sha": SHA,
        "file_path": "src/auth/tokens.py",
        "line_start": 42,
        "line_end": 48,
        "text": "\n".join(f"line {n}" for n in range(42, 49)),
        "url": f"https://github.com/pallets/flask/blob/{SHA}/src/auth/tokens.py#L42-L48",
        "truncated": False,
        "next_cursor": None,
    }
    assert output.text.startswith("pallets/flask@9c1f0a7d5c6b src/auth/tokens.py, lines 42 to 48\n")


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"id": HIT["objectID"], "context_lines": 2}, (40, 50)),
        ({"id": HIT["objectID"], "context_lines": 200}, (1, 100)),
        ({"repository": 12, "file_path": "src/auth/tokens.py"}, (1, 100)),
        ({"repository": FLASK.url, "file_path": "src/auth/tokens.py", "line_start": 98}, (98, 100)),
        (
            {
                "repository": "pallets/flask",
                "file_path": "src/auth/tokens.py",
                "line_start": 5.0,
                "line_end": 5,
            },
            (5, 5),
        ),
    ],
)
def test_lines_are_read_around_an_id_or_by_path(
    arguments: dict[str, Any], lines: tuple[int, int]
) -> None:
    section = tools().get_file_section(arguments).structured
    assert (section["line_start"], section["line_end"]) == lines
    assert str(section["text"]).split("\n")[0] == f"line {lines[0]}"
    assert section["next_cursor"] is None


@pytest.mark.parametrize(
    "line",
    [
        '    value = compute("a", \'b\', \\"c\\")',
        "",
        "\x01\x02" * 900,
        "🚀" * 5000,
        "\\" * 1400,
        "q" * 100_000,
    ],
)
def test_a_long_file_is_read_to_its_end_through_the_cursors(line: str) -> None:
    source = "".join(f"{n}{line}\n" for n in range(1, 61))
    reader = tools(files={"a.py": source})
    sections = follow(reader.get_file_section, {"repository": 12, "file_path": "a.py"})
    expected = 1
    for section in sections:
        assert section["line_start"] == expected
        expected = section["line_end"] + 1
    assert expected == 61
    assert [section["truncated"] for section in sections] == [True] * (len(sections) - 1) + [False]


@given(st.lists(st.text(TEXT, max_size=400), min_size=1, max_size=400))
@settings(max_examples=40, deadline=None)
def test_the_sections_of_a_file_put_together_are_the_file(lines: list[str]) -> None:
    reader = replace(tools(), snapshots=SnapshotLines(Files("\n".join([*lines, "\n"]).encode())))
    sections = follow(reader.get_file_section, {"repository": 12, "file_path": "a.py"})
    assert "\n".join(str(section["text"]) for section in sections) == "\n".join([*lines, ""])


def test_a_cut_section_says_so_and_a_cut_line_says_so() -> None:
    source = "".join(f"value_{n} = {n}\n" for n in range(1, 2001))
    output = tools(files={"a.py": source}).get_file_section({"repository": 12, "file_path": "a.py"})
    assert output.text.endswith(f"… [cut; go on with cursor {output.structured['next_cursor']}]")
    minified = tools(files={"a.js": "x" * 9000}).get_file_section(
        {"repository": 12, "file_path": "a.js"}
    )
    assert str(minified.structured["text"]).endswith("x … [line cut: 9000 characters]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Give the id of a search result, or repository and file_path."),
        ({"repository": 12}, "Give the id of a search result, or repository and file_path."),
        ({"file_path": "a.py"}, "Give the id of a search result, or repository and file_path."),
        ({"id": "12"}, "id must be the id of a search_code result"),
        ({"id": "../x"}, "id must be the id of a search_code result"),
        ({"id": 12}, "id must be text"),
        ({"id": HIT["objectID"], "context_lines": 201}, "context_lines must be a whole number"),
        ({"id": HIT["objectID"], "cursor": "x"}, "cursor must be the next_cursor of an earlier"),
        ({"repository": 12, "file_path": "a.py", "line_start": 0}, "line_start must be a whole"),
        (
            {"repository": 12, "file_path": "a.py", "line_start": 9, "line_end": 8},
            "line_end must be a whole number from 9 to",
        ),
        ({"repository": 12, "file_path": "../a.py"}, "file_path must be a path inside"),
        ({"repository": 12, "file_path": "/etc/passwd"}, "file_path must be a path inside"),
        ({"repository": 12, "file_path": "a\\..\\b"}, "file_path must be a path inside"),
        ({"repository": 12, "file_path": "a\0b"}, "file_path must be a path inside"),
        ({"repository": 12, "file_path": "x" * 1025}, "file_path is too long"),
    ],
)
def test_a_section_that_cannot_be_meant_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        tools().get_file_section(arguments)
    assert refusal.value.message.startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "12_" + "0" * 40}, "Search once more"),
        ({"repository": "no/such", "file_path": "a.py"}, "list_repositories"),
        ({"repository": 12, "file_path": "missing.py"}, "not in the kept snapshot"),
        (
            {"repository": 12, "file_path": "src/auth/tokens.py", "line_start": 101},
            "has no line 101",
        ),
        ({"id": HIT["objectID"], "cursor": "900"}, "has no line 900"),
    ],
)
def test_what_is_not_there_is_said_with_a_way_out(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(NotFound, match=message):
        tools().get_file_section(arguments)


def test_a_repository_without_an_indexed_commit_has_no_sections() -> None:
    waiting = replace(FLASK, commit_sha=None, indexed_at=None, status="pending")
    with pytest.raises(NotFound, match="has not been indexed yet"):
        tools(repositories=(waiting,)).get_file_section({"repository": 12, "file_path": "a.py"})


def test_an_archive_that_names_no_commit_is_read_and_linked_by_its_branch() -> None:
    known = replace(FLASK, commit_sha=None, branch="main")
    reader = replace(
        tools(repositories=(known,)), snapshots=Snapshots({"a.py": "x\n"}, commit=None)
    )
    section = reader.get_file_section({"repository": 12, "file_path": "a.py"})
    assert section.structured["commit_sha"] is None
    assert section.structured["url"] == "https://github.com/pallets/flask/blob/main/a.py#L1-L1"
    assert section.text.startswith("pallets/flask a.py, lines 1 to 1\n")


def test_repositories_are_listed_by_name_with_status_and_age() -> None:
    failed = Repository(
        7, "https://github.com/a/b", "a/b", "failed", reason="The archive is empty."
    )
    output = tools(repositories=(FLASK, failed)).list_repositories({})
    repositories = output.structured["repositories"]
    assert isinstance(repositories, list)
    assert [known["name"] for known in repositories] == ["a/b", "pallets/flask"]
    assert (repositories[0]["status"], repositories[0]["reason"], repositories[0]["age"]) == (
        "failed",
        "The archive is empty.",
        None,
    )
    assert repositories[1]["age"] == "3 hours"
    assert repositories[1]["languages"] == {"python": 1430}


@pytest.mark.parametrize(
    ("indexed_at", "age"),
    [
        ("2026-11-29T23:29:40Z", "less than a minute"),
        ("2026-11-29T23:28:30+00:00", "1 minute"),
        ("2026-11-27T20:00:00", "2 days"),
        ("2027-01-01T00:00:00Z", "less than a minute"),
        ("yesterday", None),
        (None, None),
    ],
)
def test_an_age_is_told_in_its_largest_unit(indexed_at: str | None, age: str | None) -> None:
    known = replace(FLASK, indexed_at=indexed_at)
    repositories = tools(repositories=(known,)).list_repositories({}).structured["repositories"]
    assert isinstance(repositories, list)
    assert repositories[0]["age"] == age


def test_a_thousand_repositories_are_listed_through_the_cursors() -> None:
    many = tuple(
        Repository(n, f"https://github.com/team/service-{n}", f"team/service-{n:04}", "completed")
        for n in range(1000)
    )
    pages = follow(tools(repositories=many).list_repositories, {})
    names = [known["name"] for page in pages for known in page["repositories"]]
    assert names == [known.name for known in many]
    assert len(pages) > 1


def test_an_answer_comes_with_its_sources() -> None:
    asked = []

    def ask(question: str, repository: str | None) -> AskAnswer:
        asked.append((question, repository))
        source = {"n": 1, "title": "refresh_token", "url": "https://x.example/a", "secret": "no"}
        return AskAnswer("It is refreshed [1].", [source], uncertain=True, degraded=["extractive"])

    output = tools(ask=ask).ask({"question": " How? ", "repository": 12})
    assert asked == [("How?", "pallets/flask")]
    assert output.structured == {
        "answer": "It is refreshed [1].",
        "uncertain": True,
        "degraded": ["extractive"],
        "sources": [{"n": 1, "title": "refresh_token", "url": "https://x.example/a"}],
        "truncated": False,
    }
    assert output.text.startswith("It is refreshed [1].\n\nNot everything in this answer")
    assert output.text.endswith("\n\nSources:\n1 refresh_token https://x.example/a")


def test_names_from_outside_add_no_lines_to_the_text() -> None:
    path = "a\nlines 1 to 9\nfake.py"
    section = tools(files={path: "x\n"}).get_file_section({"repository": 12, "file_path": path})
    assert section.text.split("\n")[1:] == ["x"]
    answer = AskAnswer("It is [1].", [{"n": 1, "title": "t\n2 forged"}])
    asked = tools(ask=lambda question, repository: answer).ask({"question": "How?"})
    assert asked.text.endswith("Sources:\n1 t 2 forged")


def test_a_very_long_answer_is_cut_with_a_mark() -> None:
    sources = [
        {"n": n, "title": "t" * 200, "url": "https://x.example/" + "a" * 99} for n in range(999)
    ]
    answer = AskAnswer("word " * 50_000, sources)
    output = tools(ask=lambda question, repository: answer).ask({"question": "How?"})
    assert result_tokens(output) <= MAX_RESULT_TOKENS
    assert output.structured["truncated"] is True
    assert str(output.structured["answer"]).endswith("[cut to fit; the sources hold the rest]")


@pytest.mark.parametrize("question", [None, "", "  ", "x" * 2001])
def test_a_question_has_1_to_2000_characters(question: str | None) -> None:
    with pytest.raises(InvalidRequest, match="question"):
        tools().ask({"question": question})


def test_a_question_about_a_repository_that_is_not_ready_is_refused() -> None:
    waiting = replace(FLASK, status="processing", progress=0.5)
    with pytest.raises(InvalidRequest, match="50 % done"):
        tools(repositories=(waiting,)).ask({"question": "How?", "repository": 12})
