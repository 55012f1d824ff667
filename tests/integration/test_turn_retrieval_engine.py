"""Retrieval through the real client, over records of real parsers in the embedded engine."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

import pytest

from devstack.algolia_server import AlgoliaServer
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.index.parsing.files import parse_file
from plumbline.index.records import build_documents
from plumbline.instance import load_instance
from plumbline.turn.customers import load_customer_directory
from plumbline.turn.facets import FacetValues
from plumbline.turn.retrieval import RetrievalOptions, RetrievalResult, orchestrate_retrieval

INSTANCE = load_instance("default")
KEYS = {"search-key": frozenset({"search"}), "admin-key": frozenset({"admin"})}
SHA = "0123456789abcdef0123456789abcdef01234567"


def page(title: str, body: str, **front: str) -> str:
    matter = "".join(f"{name}: {value}\n" for name, value in {"title": title, **front}.items())
    return f"---\n{matter}---\n\n# {title}\n\n{body}\n"


FILES = {
    "src/store.py": dedent(
        '''
        class Store:
            """Keeps the sessions."""

            def create(self, session: object) -> None:
                """Create the session store on disk."""
        '''
    ),
    "src/store.go": "package store\n\n// Create makes the session store.\nfunc Create() {}\n",
    "docs/limits.md": page("Limits", "Requests a minute and their price.", source_type="pricing"),
    "docs/checkout.md": page("Rank", "How to rank results.", product_tag="Checkout"),
    "docs/catalogue.md": page("Rank", "How to rank results.", product_tag="Catalogue"),
    "docs/acme.md": page(
        "Acme",
        "How Acme ranks.",
        source_type="customer_story",
        customer="Acme",
        url="https://github.com/acme/shop/customers/acme",
    ),
}


@pytest.fixture(scope="module")
def index() -> Iterator[AlgoliaIndex]:
    with AlgoliaServer(None, app_id="APP", api_keys=KEYS) as server:
        writer = AlgoliaIndex("APP", "admin-key", "code", url=server.url)
        writer.set_settings(INDEX_SETTINGS)
        records = [
            record
            for path, text in FILES.items()
            for record in build_documents(
                parse_file(path, text.encode(), allowed_hosts=("github.com",)),
                repository_id=12,
                repository="acme/shop",
                repository_url="https://github.com/acme/shop",
                commit_sha=SHA,
            )
        ]
        task = writer.batch([{"action": "addObject", "body": record} for record in records])
        assert writer.task_published(task)
        yield AlgoliaIndex("APP", "search-key", "code", url=server.url)


def retrieve(
    index: AlgoliaIndex, options: RetrievalOptions, facets: FacetValues | None = None
) -> RetrievalResult:
    return orchestrate_retrieval(
        options, index=index, facets=facets or FacetValues(), instance=INSTANCE
    )


def test_a_plain_question_finds_the_code_with_a_link_to_its_commit(index: AlgoliaIndex) -> None:
    result = retrieve(index, RetrievalOptions("where is the session store created"))
    best = result.sources[0]
    assert best.file_path in ("src/store.py", "src/store.go")
    assert best.url is not None
    assert best.url.startswith(f"https://github.com/acme/shop/blob/{SHA}/{best.file_path}#L")
    assert result.query_id is not None
    assert len(result.query_id) == 32


def test_a_method_is_named_by_its_class(index: AlgoliaIndex) -> None:
    result = retrieve(index, RetrievalOptions("create session store", language="python"))
    assert "Store.create (src/store.py)" in [source.title for source in result.sources]


def test_the_readers_language_holds_on_every_rung(index: AlgoliaIndex) -> None:
    result = retrieve(index, RetrievalOptions("create the session store please", language="go"))
    assert {source.file_path for source in result.sources} == {"src/store.go"}


def test_words_that_are_nowhere_together_still_find_something(index: AlgoliaIndex) -> None:
    result = retrieve(index, RetrievalOptions("does the session rank in the minute"))
    assert result.strategy == "fallback"
    assert len(result.sources) >= 2


def test_another_repository_gives_nothing_but_what_is_nearest(index: AlgoliaIndex) -> None:
    result = retrieve(index, RetrievalOptions("session store", repository=99))
    assert result.sources == ()
    assert result.strategy == "none"
    assert any(near.file_path == "src/store.py" for near in result.nearest)


def test_a_guessed_filter_that_matches_nothing_is_relaxed(index: AlgoliaIndex) -> None:
    options = RetrievalOptions("session store", filters={"product_tag": ["Toaster"]})
    result = retrieve(index, options)
    assert result.strategy == "relaxed"


def test_pricing_is_there_although_no_word_of_it_matched(index: AlgoliaIndex) -> None:
    result = retrieve(index, RetrievalOptions("is the session store expensive"))
    assert result.priced
    assert "docs/limits.md" in [source.file_path for source in result.sources]


@pytest.mark.parametrize("product", ["Checkout", "Catalogue"])
def test_what_the_profile_names_comes_first(index: AlgoliaIndex, product: str) -> None:
    facets = FacetValues()
    question = "how to rank results"
    retrieve(index, RetrievalOptions(question), facets)
    options = RetrievalOptions(question, signals={"product": product})
    result = retrieve(index, options, facets)
    assert result.sources[0].file_path == f"docs/{product.lower()}.md"
    assert result.boosted == (f"product_tag:{product}",)


def test_values_are_learned_and_then_spotted_in_the_words(index: AlgoliaIndex) -> None:
    facets = FacetValues()
    load_customer_directory(index, facets=facets, instance=INSTANCE)
    result = retrieve(index, RetrievalOptions("how to rank results in the catalogue"), facets)
    assert result.sources[0].file_path == "docs/catalogue.md"


def test_the_customer_directory(index: AlgoliaIndex) -> None:
    facets = FacetValues()
    directory = load_customer_directory(index, facets=facets, instance=INSTANCE)
    assert dict(directory.urls) == {"Acme": "https://github.com/acme/shop/customers/acme"}
    assert set(facets.values()["product_tag"]) == {"Checkout", "Catalogue"}
    assert {"python", "go"} <= set(facets.values()["language"])


def test_hostile_words_are_only_words(index: AlgoliaIndex) -> None:
    for text in ('" OR entity_type:"import', "\\", "<score=9>", "-", "é" * 700, "\u0000", "🙂"):
        options = RetrievalOptions(
            text, language=text, filters={"customer": [text]}, signals={"product": text}
        )
        assert retrieve(index, options).sources == ()
