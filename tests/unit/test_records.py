"""Records to the letter of seed 002: its worked example, ids, caps, the content rule, the trim."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.index.entities import Entity, EntityType, ParsedFile
from plumbline.index.parsing.files import parse_file
from plumbline.index.records import (
    Record,
    build_documents,
    content_hash,
    fit_record,
    object_id,
)

TOKENS = '''def refresh_token(session, token: str) -> str:
    """Return a new access token for a refresh token."""
    record = session.get(RefreshToken, token)
    if record is None or record.expired:
        raise InvalidToken("refresh token is not valid")
    record.rotate()
    return record.access_token
'''
WORKED_EXAMPLE = {
    "objectID": "12_07946c80715046c23e5533f046a8e8b6c92231e5",
    "repository_id": 12,
    "file_path": "src/auth/tokens.py",
    "entity_type": "function",
    "entity_name": "refresh_token",
    "description": "Python function: refresh_token \u2014 Return a new access token for a "
    "refresh token.",
    "parameters": ["session", "token: str"],
    "return_type": "str",
    "line_start": 42,
    "line_end": 48,
    "language": "python",
    "signature": "def refresh_token(session, token: str) -> str:",
    "content": TOKENS.rstrip(),
    "rank_weight": 2,
    "is_test": False,
    "parameter_count": 2,
    "lines_of_code": 7,
}
BESIDE = {"repository", "repository_url", "commit_sha", "source_type"}

ENTITY = Entity(
    entity_type="function",
    name="f",
    qualified_name="f",
    kind_label="Go function",
    line_start=3,
    line_end=4,
    signature="func f()",
)


def documents(*entities: Entity, path: str = "a.go", language: str = "go") -> list[Record]:
    return build_documents(
        ParsedFile(path, language, entities),
        repository_id=12,
        repository="acme/shop",
        repository_url="https://github.com/acme/shop",
        commit_sha="c0ffee",
    )


def size(record: Record) -> int:
    return len(json.dumps(record, ensure_ascii=False).encode())


def test_the_worked_example() -> None:
    parsed = parse_file("src/auth/tokens.py", b"\n" * 41 + TOKENS.encode())
    [record] = build_documents(
        parsed,
        repository_id=12,
        repository="acme/shop",
        repository_url="https://github.com/acme/shop",
        commit_sha="c0ffee",
    )
    beside = {name: record.pop(name) for name in BESIDE}
    assert record == WORKED_EXAMPLE
    assert list(record) == list(WORKED_EXAMPLE)
    assert beside == {
        "repository": "acme/shop",
        "repository_url": "https://github.com/acme/shop",
        "commit_sha": "c0ffee",
        "source_type": "code",
    }


def test_object_id() -> None:
    assert (
        object_id(12, "src/auth/tokens.py", "function", "refresh_token", 42)
        == WORKED_EXAMPLE["objectID"]
    )


def test_equal_entities_get_an_ordinal_from_the_second_on() -> None:
    ids = [record["objectID"] for record in documents(ENTITY, ENTITY, ENTITY)]
    arguments = (12, "a.go", "function", "f", 3)
    assert ids == [
        object_id(*arguments),
        object_id(*arguments, ordinal=2),
        object_id(*arguments, ordinal=3),
    ]
    assert len(set(ids)) == 3
    assert ids[1] == object_id(12, "a.go", "function", "f", "3#2")  # type: ignore[arg-type]


def test_ordinals_hold_across_files_given_apart_or_together() -> None:
    files = [ParsedFile("a.go", "go", [ENTITY]), ParsedFile("b.go", "go", [ENTITY])]
    together = build_documents(
        files, repository_id=1, repository="a/b", repository_url="u", commit_sha=None
    )
    apart = [
        record
        for file in files
        for record in build_documents(
            file, repository_id=1, repository="a/b", repository_url="u", commit_sha=None
        )
    ]
    assert together == apart


def test_names_that_are_equal_once_capped_do_not_share_an_id() -> None:
    long = ENTITY._replace(name="n" * 600)
    first, second = documents(long, long._replace(name="n" * 700))
    assert first["entity_name"] == second["entity_name"]
    assert first["objectID"] != second["objectID"]


@pytest.mark.parametrize(
    ("entity_type", "weight"),
    [("class", 3), ("function", 2), ("terraform_block", 2), ("doc_section", 1), ("import", 0)],
)
def test_rank_weight(entity_type: EntityType, weight: int) -> None:
    [record] = documents(ENTITY._replace(entity_type=entity_type))
    assert record["rank_weight"] == weight
    assert entity_type in get_args(EntityType)


@pytest.mark.parametrize(
    "field", ["entity_name", "description", "return_type", "signature", "qualified_name"]
)
def test_text_fields_hold_500_characters(field: str) -> None:
    long = "é" * 800
    entity = ENTITY._replace(
        name=long,
        qualified_name=f"K.{long}",
        signature=long,
        doc=long,
        return_type=long,
    )
    [record] = documents(entity)
    assert len(str(record[field])) == 500


@pytest.mark.parametrize(
    ("signature", "body", "content"),
    [
        ("def f():", "def f():\n    pass", "def f():\n    pass"),
        ("def f():", "@cached\ndef f():", "def f():\n@cached\ndef f():"),
        ("import a", "", "import a"),
        ("s" * 600, "b", "s" * 500 + "\nb"),
        ("s" * 600, "s" * 700, "s" * 700),
        ("from a import " + "n, " * 300, "", "from a import " + "n, " * 300),
        ("i" * 3000, "", "i" * 2000),
        ("f", "g" * 3000, "f\n" + "g" * 2000),
        ("f", "\n".join("g" * 99), "f\n" + "\n".join("g" * 60)),
    ],
    ids=[
        "body starts with it",
        "body does not",
        "no body",
        "capped",
        "capped and starts",
        "an import's whole statement",
        "a long import",
        "2000 characters of body",
        "60 lines of body",
    ],
)
def test_content(signature: str, body: str, content: str) -> None:
    [record] = documents(ENTITY._replace(signature=signature, body=body))
    assert record["content"] == content


@pytest.mark.parametrize(("start", "end", "lines"), [(3, 4, 2), (3, 3, 1), (3, 1, 1)])
def test_lines_of_code_are_never_below_one(start: int, end: int, lines: int) -> None:
    [record] = documents(ENTITY._replace(line_start=start, line_end=end))
    assert record["lines_of_code"] == lines


def test_a_method_is_found_by_both_names() -> None:
    method = ENTITY._replace(name="m", qualified_name="K.m", kind_label="Python method")
    [record] = documents(method)
    assert record["entity_name"] == "m"
    assert record["qualified_name"] == "K.m"
    assert record["description"] == "Python method: K.m"
    assert "qualified_name" not in documents(ENTITY)[0]


def test_a_section_carries_its_page_and_its_path() -> None:
    page = b"""---
title: Acme: a story
url: https://docs.example.com/acme
source_type: customer_story
customer: Acme
industry_tag: [retail, fashion]
---
# Results

Conversion doubled. More words.
"""
    parsed = parse_file("stories/acme.md", page, allowed_hosts=["docs.example.com"])
    [record] = build_documents(
        parsed,
        repository_id=1,
        repository="acme/docs",
        repository_url="https://github.com/acme/docs",
        commit_sha=None,
        source_type="blog",
        customer="Nobody",
    )
    assert record["description"] == "Markdown section: Results — Conversion doubled."
    assert record["title"] == "Acme: a story"
    assert record["url"] == "https://docs.example.com/acme"
    assert record["heading_path"] == ["Results"]
    assert record["source_type"] == "customer_story"
    assert record["customer"] == "Acme"
    assert record["industry_tag"] == ["retail", "fashion"]
    assert record["commit_sha"] is None


def test_defaults_hold_where_front_matter_is_silent() -> None:
    parsed = parse_file("a.md", b"# A\n")
    common = {"repository": "a/b", "repository_url": "u", "commit_sha": None}
    [plain] = build_documents(parsed, repository_id=1, **common)  # type: ignore[arg-type]
    assert plain["source_type"] == "docs"
    assert "customer" not in plain
    [given_] = build_documents(
        parsed,
        repository_id=1,
        source_type="handbook",
        customer="Acme",
        **common,  # type: ignore[arg-type]
    )
    assert (given_["source_type"], given_["customer"]) == ("handbook", "Acme")


def test_a_record_that_fits_is_left_alone() -> None:
    [record] = documents(ENTITY)
    assert fit_record(record) is record


def test_content_is_cut_by_the_excess_and_no_further() -> None:
    [record] = documents(ENTITY)
    record["content"] = "x" * 20_000
    fitted = fit_record(record)
    assert 8_900 < size({**fitted}) < 9_100
    assert len(json.dumps(fitted, ensure_ascii=False, separators=(",", ":")).encode()) < 9_000
    assert fitted["parameters"] == record["parameters"]


@pytest.mark.parametrize("char", ["é", "漢", "😀"])
@pytest.mark.parametrize("shift", range(4))
def test_a_cut_in_the_middle_of_a_character_is_dropped(char: str, shift: int) -> None:
    [record] = documents(ENTITY)
    record["content"] = "x" * shift + char * 6_000
    content = str(fit_record(record)["content"])
    assert content == ("x" * shift + char * 6_000)[: len(content)]


def test_without_content_the_parameters_go() -> None:
    [record] = documents(ENTITY)
    record |= {"parameters": ["p" * 100] * 200, "parameter_count": 200, "content": "body"}
    fitted = fit_record(record)
    assert fitted["content"] == ""
    assert fitted["parameters"] == []
    assert fitted["parameter_count"] == 200
    assert fitted["signature"] == record["signature"]


def test_then_the_fields_beside_seed_002s_go_and_its_own_stay() -> None:
    [record] = documents(ENTITY)
    record |= {
        "heading_path": ["h" * 900] * 10,
        "industry_tag": ["i" * 100],
        "qualified_name": "q" * 500,
        "content": "body",
    }
    fitted = fit_record(record)
    assert size(fitted) < 9_000
    assert "heading_path" not in fitted
    assert fitted["qualified_name"] == "q" * 500
    assert WORKED_EXAMPLE.keys() <= fitted.keys()


@given(
    st.text(st.characters(codec="utf-8"), max_size=700),
    st.text(st.characters(codec="utf-8"), max_size=6_000),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=80), max_size=60),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=300), max_size=12),
)
def test_no_record_of_ours_can_be_refused_for_its_size(
    text: str, body: str, parameters: list[str], path: list[str]
) -> None:
    entity = ENTITY._replace(
        name=text,
        qualified_name=text,
        doc=text,
        signature=text,
        return_type=text,
        body=body,
        parameters=parameters,
        extra={"heading_path": path, "title": text[:500]},
    )
    [record] = documents(entity)
    assert len(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()) < 9_000
    name = str(record["entity_name"])
    assert record["objectID"] == object_id(12, "a.go", "function", name, 3)


def test_a_hash_ignores_the_commit_and_the_address_alone() -> None:
    [record] = documents(ENTITY._replace(doc="Does."))
    expected = content_hash(record)
    assert (
        content_hash({**record, "commit_sha": "other", "repository_url": "https://x"}) == expected
    )
    assert content_hash(dict(reversed(record.items()))) == expected
    for name in record.keys() - {"commit_sha", "repository_url"}:
        assert content_hash({**record, name: "changed"}) != expected, name


@given(
    st.text(st.characters(codec="utf-8"), max_size=160),
    st.text(st.sampled_from('\x01\x1f"\\\n\té漢😀a'), max_size=900),
    st.lists(st.text(st.sampled_from('\x01"😀a'), max_size=40), max_size=30),
)
def test_what_is_called_small_is_small(text: str, body: str, parameters: list[str]) -> None:
    entity = ENTITY._replace(
        name=text,
        qualified_name=f"K.{text}",
        doc=text,
        signature=text,
        return_type="😀" * 600,
        body=body,
        parameters=parameters,
    )
    [record] = documents(entity)
    assert fit_record(record) is record
