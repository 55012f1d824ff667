"""search_code: what is sent, what is refused, what comes back. Source: seed 002."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import InvalidRequest, NotFound, SearchUnavailable, StorageUnavailable
from plumbline.index.registry import Repository
from plumbline.search.code_search import SearchCodeResult, search_code
from plumbline.search.filters import escape_filter_value, search_filters
from plumbline.search.query_building import build_query
from tests.search_doubles import FLASK, HIT, SHA, Directory, Index


def run(
    query: str = "refresh token",
    *,
    index: Index | None = None,
    directory: Directory | None = None,
    **arguments: Any,
) -> SearchCodeResult:
    return search_code(
        query,
        index=index if index is not None else Index(HIT),
        repositories=directory or Directory(FLASK),
        **arguments,
    )


def test_every_query_sends_the_parameters_of_the_table() -> None:
    index = Index()
    run("  refresh_token ", index=index)
    (asked,) = index.asked
    expected = {
        "query": "refresh_token",
        "hitsPerPage": 10,
        "page": 0,
        "highlightPreTag": "<mark>",
        "highlightPostTag": "</mark>",
        "removeWordsIfNoResults": "allOptional",
        "removeStopWords": True,
        "ignorePlurals": True,
        "queryLanguages": ["en"],
        "filters": 'NOT entity_type:"import"',
    }
    assert {name: asked.get(name) for name in expected} == expected


def test_a_question_is_sent_as_its_built_query_and_shown_as_it_was_asked() -> None:
    index, question = Index(), "where is the store created in `open_session`?"
    result = run(question, index=index)
    built = build_query(question)
    assert index.asked[0]["query"] == built.query
    assert index.asked[0].get("optionalWords", []) == list(built.optional_words)
    assert result.query == question


@pytest.mark.parametrize("reference", [12, " 12", FLASK.url, FLASK.name, " pallets/flask "])
def test_a_repository_is_found_by_number_address_or_name(reference: str | int) -> None:
    index = Index(HIT)
    result = run(index=index, repository=reference)
    assert index.asked[0]["filters"] == 'repository_id=12 AND NOT entity_type:"import"'
    assert result.repository == "pallets/flask"


def test_filters_are_joined_with_and() -> None:
    index = Index()
    run(index=index, repository=12, language="python", entity_type="class", limit=50, page=3)
    assert index.asked[0]["filters"] == (
        'repository_id=12 AND language:"python" AND entity_type:"class"'
    )
    assert (index.asked[0]["hitsPerPage"], index.asked[0]["page"]) == (50, 3)


def test_imports_are_searched_only_when_asked_for() -> None:
    index = Index()
    run(index=index, entity_type="import")
    assert index.asked[0]["filters"] == 'entity_type:"import"'


@pytest.mark.parametrize(
    ("value", "escaped"),
    [
        ("python", "python"),
        ('x" OR repository_id=1', 'x\\" OR repository_id=1'),
        ("back\\slash", "back\\\\slash"),
        ('\\"', '\\\\\\"'),
    ],
)
def test_a_filter_value_cannot_close_its_quote(value: str, escaped: str) -> None:
    assert escape_filter_value(value) == escaped
    assert search_filters(None, value, None) == (
        f'language:"{escaped}" AND NOT entity_type:"import"'
    )


@given(st.text())
def test_an_escaped_value_reads_back_as_itself_and_ends_at_its_quote(value: str) -> None:
    text = f'"{escape_filter_value(value)}" AND x:"y"'
    read, position = [], 1
    while text[position] != '"':
        position += text[position] == "\\"
        read.append(text[position])
        position += 1
    assert "".join(read) == value
    assert text[position:] == '" AND x:"y"'


def test_a_hit_becomes_a_result_with_the_fields_of_the_seed() -> None:
    public = run(repository=12).public()
    assert {name: public[name] for name in ("query", "repository", "total_hits", "page")} == {
        "query": "refresh token",
        "repository": "pallets/flask",
        "total_hits": 1,
        "page": 0,
    }
    assert public["pages"] == 1
    assert public["results"] == [
        {
            "id": HIT["objectID"],
            "entity_name": "refresh_token",
            "entity_type": "function",
            "file_path": "src/auth/tokens.py",
            "line_start": 42,
            "line_end": 48,
            "language": "python",
            "signature": HIT["signature"],
            "snippet": HIT["content"],
            "description": HIT["description"],
            "url": f"https://github.com/pallets/flask/blob/{SHA}/src/auth/tokens.py#L42-L48",
            "repository": "pallets/flask",
            "commit_sha": SHA,
            "indexed_at": "2026-11-29T20:00:00Z",
        }
    ]


def test_long_fields_are_cut_and_empty_ones_are_null() -> None:
    long = {**HIT, "content": "x" * 900, "signature": "s" * 301, "description": "d" * 301}
    (cut,) = run(index=Index(long)).results
    assert (len(cut.snippet), len(cut.signature or ""), len(cut.description or "")) == (
        600,
        300,
        300,
    )
    (empty,) = run(index=Index({**HIT, "signature": "", "description": ""})).results
    assert (empty.signature, empty.description) == (None, None)


def test_a_repository_without_a_recorded_commit_links_to_its_branch_or_head() -> None:
    bare = {name: value for name, value in HIT.items() if name != "commit_sha"}
    for branch, ref in (("main", "main"), (None, "HEAD")):
        known = Repository(12, FLASK.url, FLASK.name, "completed", branch=branch)
        (result,) = run(index=Index(bare), directory=Directory(known)).results
        assert result.url == f"{FLASK.url}/blob/{ref}/src/auth/tokens.py#L42-L48"
        assert result.commit_sha is None


def test_without_the_registry_links_use_the_commit_kept_with_the_record() -> None:
    for repository in (None, 12):
        (result,) = run(directory=Directory(down=True), repository=repository).results
        assert result.url == f"{FLASK.url}/blob/{'0' * 40}/src/auth/tokens.py#L42-L48"
        assert (result.repository, result.commit_sha) == ("pallets/flask", "0" * 40)
        assert result.indexed_at is None


def test_without_the_registry_a_name_cannot_be_looked_up() -> None:
    with pytest.raises(StorageUnavailable):
        run(directory=Directory(down=True), repository="pallets/flask")


def test_each_repository_is_looked_up_once_a_page() -> None:
    directory = Directory(FLASK)
    run(index=Index(HIT, HIT, {**HIT, "repository_id": 99}), directory=directory)
    assert (directory.looked_up, directory.listed) == (2, 0)


def test_many_repositories_are_looked_up_by_one_reading() -> None:
    many = [replace(FLASK, number=number, name=f"team/{number}") for number in range(1, 11)]
    directory = Directory(*many)
    hits = [{**HIT, "repository_id": known.number} for known in many]
    result = run(index=Index(*hits), directory=directory)
    assert [found.repository for found in result.results] == [known.name for known in many]
    assert (directory.looked_up, directory.listed) == (0, 1)


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"objectID": "1_a", "file_path": None, "line_start": "7", "content": None},
        {"repository_id": True, "repository_url": "https://[::1"},
        {"repository_id": "12", "line_start": -4, "line_end": None},
        {
            "file_path": "\udc80.py",
            "content": "\ud800",
            "signature": "\ud800",
            "objectID": "\ud800",
        },
    ],
)
def test_a_damaged_record_is_shown_as_far_as_it_goes(damaged: dict[str, object]) -> None:
    (result,) = run(index=Index(damaged)).results
    assert result.url is None
    assert result.line_start is None
    assert json.dumps(result.public(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": ""}, "query is empty; say what to look for"),
        ({"query": " \n"}, "query is empty; say what to look for"),
        ({"query": "x" * 513}, "query is too long; the limit is 512 bytes"),
        ({"query": "ü" * 257}, "query is too long; the limit is 512 bytes"),
        ({"query": "a\ud800"}, "query is not valid Unicode text"),
        ({"query": 7}, "query must be text"),
        ({"limit": 0}, "limit must be a whole number from 1 to 50"),
        ({"limit": 51}, "limit must be a whole number from 1 to 50"),
        ({"limit": True}, "limit must be a whole number from 1 to 50"),
        ({"limit": "10"}, "limit must be a whole number from 1 to 50"),
        ({"page": -1}, "page must be a whole number from 0 to 999"),
        ({"page": 10**30}, "page must be a whole number from 0 to 999"),
        ({"language": 3}, "language must be text"),
        ({"language": "x" * 101}, "language is too long; the limit is 100 bytes"),
        (
            {"entity_type": "method"},
            "entity_type must be one of function, class, import, doc_section, terraform_block",
        ),
        ({"repository": 0}, "repository must be a repository's number, address or owner/name"),
        ({"repository": ["a"]}, "repository must be a repository's number, address or owner/name"),
        ({"repository": "  "}, "repository must be a repository's number, address or owner/name"),
    ],
)
def test_bad_arguments_are_refused_before_algolia_is_asked(
    arguments: dict[str, Any], message: str
) -> None:
    index = Index()
    with pytest.raises(InvalidRequest) as refusal:
        run(index=index, **arguments)
    assert refusal.value.message == message
    assert index.asked == []


def test_512_bytes_are_not_too_long() -> None:
    index = Index()
    run("ü" * 256, index=index)
    assert index.asked[0]["query"] == "ü" * 256


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            {"status": "failed", "reason": "The archive holds nothing that can be indexed."},
            "team/api could not be indexed: The archive holds nothing that can be indexed.",
        ),
        (
            {"status": "pending"},
            "team/api waits to be indexed (0 % done); try again when it is completed.",
        ),
        (
            {"status": "processing", "progress": 0.427},
            "team/api is being indexed (42 % done); try again when it is completed.",
        ),
    ],
)
def test_a_repository_that_is_not_ready_is_refused_with_reason_or_progress(
    state: dict[str, Any], message: str
) -> None:
    index = Index()
    directory = Directory(Repository(7, "https://github.com/team/api", "team/api", **state))
    with pytest.raises(InvalidRequest) as refusal:
        run(index=index, directory=directory, repository="team/api")
    assert refusal.value.message == message
    assert (refusal.value.details or {})["status"] == state["status"]
    assert index.asked == []


def test_an_unknown_repository_is_not_found() -> None:
    with pytest.raises(NotFound, match="list_repositories"):
        run(repository="nobody/nothing")


def test_a_failing_search_stays_an_error() -> None:
    with pytest.raises(SearchUnavailable):
        run(index=Index(error=SearchUnavailable("Search is unavailable; try again later.")))
