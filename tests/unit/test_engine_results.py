"""What comes back besides order: filters, pages, groups, facets."""

from __future__ import annotations

import pytest

from devstack.engine.errors import BadRequest
from tests.engine_world import CODE_SETTINGS, engine_of, ids


def test_a_facet_comparison_on_a_number_matches_nothing() -> None:
    engine = engine_of(CODE_SETTINGS, {"objectID": "1", "repository_id": 12, "language": "Python"})
    assert ids(engine, "", filters="repository_id=12") == ["1"]
    assert ids(engine, "", filters="repository_id:12") == []
    assert ids(engine, "", filters="repository_id:10 TO 12") == ["1"]
    assert ids(engine, "", filters="repository_id>12 OR repository_id<=11") == []
    assert ids(engine, "", filters='language:"python"') == ["1"]
    assert ids(engine, "", filters='Language:"python"') == []
    assert ids(engine, "", filters='NOT language:"go" AND NOT entity_type:"import"') == ["1"]


def test_restricted_attributes_and_pages() -> None:
    engine = engine_of(
        {"searchableAttributes": ["name", "body"], "paginationLimitedTo": 15},
        *(
            {"objectID": str(n), "name": "word" if n < 3 else "x", "body": "word"}
            for n in range(40)
        ),
    )
    assert len(ids(engine, "word", restrictSearchableAttributes=["name"])) == 3
    with pytest.raises(BadRequest):
        ids(engine, "word", restrictSearchableAttributes=["other"])
    answer = engine.search("i", {"query": "word", "hitsPerPage": 10, "page": 1})
    assert (answer["nbHits"], answer["nbPages"], len(answer["hits"])) == (40, 2, 5)
    assert ids(engine, "word", page=7) == []
    offset = engine.search("i", {"query": "word", "offset": 2, "length": 3})
    assert [offset["offset"], offset["length"], len(offset["hits"])] == [2, 3, 3]
    paged = [one for page in range(3) for one in ids(engine, "word", hitsPerPage=5, page=page)]
    assert len(set(paged)) == 15


def test_distinct_keeps_the_best_of_each_group() -> None:
    engine = engine_of(
        {
            "searchableAttributes": ["t"],
            "attributeForDistinct": "file",
            "attributesForFaceting": ["kind"],
            "customRanking": ["desc(n)"],
        },
        *(
            {"objectID": f"{file}{n}", "t": "x", "file": file, "n": n, "kind": file}
            for file in "ab"
            for n in range(3)
        ),
        {"objectID": "alone", "t": "x", "n": 5},
    )
    assert ids(engine, "x", distinct=True) == ["alone", "a2", "b2"]
    assert ids(engine, "x", distinct=2) == ["alone", "a2", "b2", "a1", "b1"]
    answer = engine.search("i", {"query": "x", "distinct": 1, "facets": ["kind"]})
    assert (answer["nbHits"], answer["facets"]) == (3, {"kind": {"a": 3, "b": 3}})
    after = {"query": "x", "distinct": 1, "facets": ["kind"], "facetingAfterDistinct": True}
    assert engine.search("i", after)["facets"] == {"kind": {"a": 1, "b": 1}}


def test_facets_are_counted_cut_and_sorted() -> None:
    engine = engine_of(
        {"attributesForFaceting": ["lang", "year", "filterOnly(secret)"], "maxValuesPerFacet": 2},
        *(
            {"objectID": str(n), "lang": lang, "year": 2000 + n, "secret": "s"}
            for n, lang in enumerate(["go", "c", "c", "py", "py", "py"])
        ),
    )
    answer = engine.search("i", {"facets": ["*"]})
    assert list(answer["facets"]["lang"].items()) == [("py", 3), ("c", 2)]
    assert "secret" not in answer["facets"]
    assert answer["facets_stats"]["year"]["min"] == 2000.0
    by_name = engine.search("i", {"facets": ["lang"], "sortFacetValuesBy": "alpha"})
    assert list(by_name["facets"]["lang"]) == ["c", "py"]
