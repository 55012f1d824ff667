"""search_code, suggest and the MCP tools through the real client, over records of real parsers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from devstack.algolia_server import AlgoliaServer
from plumbline.adapters.algolia import AlgoliaIndex
from plumbline.errors import SearchRefused, SearchUnavailable
from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.index.parsing.files import parse_file
from plumbline.index.records import build_documents
from plumbline.search.code_search import SearchCodeResult, search_code
from plumbline.search.health import SearchProbe
from plumbline.search.mcp_tools import AskAnswer, Tools
from plumbline.search.suggestions import suggest
from tests.search_doubles import FLASK, SHA, Directory, Snapshots

GO = Directory(FLASK, replace(FLASK, number=13, name="team/go", url="https://gitlab.com/team/go"))
FILES = {
    (12, "src/app/store.py"): (
        "import collections\n"
        "from app.views import render_template, WithState\n\n\n"
        "class Store:\n"
        '    """Keeps the sessions."""\n\n'
        "    def create(self, session, token: str) -> str:\n"
        '        """Create the store on disk."""\n'
        "        return token\n\n\n"
        "def getUserById(session, user_id):\n"
        '    """Return one user."""\n'
        "    return session.get(user_id)\n"
    ),
    (12, "src/app/views.py"): (
        "def render_template(name):\n"
        '    """Render a template with the given context."""\n'
        "    return name\n\n\n"
        "def render_text(text):\n    return text\n\n\n"
        "def parse_tokens(parser):\n"
        '    """Split the input of a parser."""\n'
        "    return parser.split()\n"
    ),
    (12, "tests/test_views.py"): "def render_template(name):\n    return name\n",
    (13, "shallow_test.go"): (
        "package shallow\n\nfunc TestShallowWithState(t *testing.T) {\n\tt.Log(1)\n}\n"
    ),
    (13, "docs/guide.md"): "# Sessions\n\nHow a session is opened and closed again.\n",
}


@pytest.fixture(scope="module")
def server() -> Iterator[AlgoliaServer]:
    keys = {"search-key": frozenset({"search"}), "admin-key": frozenset({"admin"})}
    with AlgoliaServer(None, app_id="APP", api_keys=keys) as running:
        writer = AlgoliaIndex("APP", "admin-key", "code", url=running.url)
        writer.set_settings(INDEX_SETTINGS)
        for (number, path), source in FILES.items():
            known = GO.find(number)
            assert known is not None
            documents = build_documents(
                parse_file(path, source.encode()),
                repository_id=number,
                repository=known.name,
                repository_url=known.url,
                commit_sha=SHA,
            )
            task = writer.batch([{"action": "addObject", "body": dict(d)} for d in documents])
        assert writer.task_published(task)
        yield running


@pytest.fixture
def index(server: AlgoliaServer) -> AlgoliaIndex:
    return AlgoliaIndex("APP", "search-key", "code", url=server.url)


def search(index: AlgoliaIndex, query: str, **arguments: object) -> SearchCodeResult:
    return search_code(query, index=index, repositories=GO, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("WithState", "TestShallowWithState"),
        ("getUserById", "getUserById"),
        ("user", "getUserById"),
        ("ById", "getUserById"),
        ("rendr_template", "render_template"),
        ("where is the store created", "create"),
        ("parsers", "parse_tokens"),
        ("sessions", "Sessions"),
    ],
)
def test_a_name_a_fragment_a_typo_or_a_question_finds_its_entity(
    index: AlgoliaIndex, query: str, name: str
) -> None:
    assert name in [result.entity_name for result in search(index, query).results[:3]]


def test_source_comes_before_its_tests_and_imports_only_when_asked_for(
    index: AlgoliaIndex,
) -> None:
    found = search(index, "render_template")
    assert [result.file_path for result in found.results[:2]] == [
        "src/app/views.py",
        "tests/test_views.py",
    ]
    assert {result.entity_type for result in found.results} == {"function"}
    imports = search(index, "render_template", entity_type="import")
    assert {result.entity_type for result in imports.results} == {"import"}


def test_a_repository_and_a_language_narrow_the_search(index: AlgoliaIndex) -> None:
    for reference in (13, "13", "team/go", "https://gitlab.com/team/go"):
        found = search(index, "session", repository=reference)
        assert [result.entity_name for result in found.results] == ["Sessions"]
        assert found.results[0].url == (
            f"https://gitlab.com/team/go/-/blob/{SHA}/docs/guide.md"
            f"#L{found.results[0].line_start}-{found.results[0].line_end}"
        )
    assert {r.language for r in search(index, "session", language="python").results} == {"python"}


@pytest.mark.parametrize(
    "language",
    ['python" OR entity_type:"import', 'x" OR repository_id=12', "\\", '"', "a AND b", "'"],
)
def test_a_filter_value_stays_a_value(index: AlgoliaIndex, language: str) -> None:
    assert search(index, "session", language=language).total_hits == 0


def test_pages_hold_every_hit_once(index: AlgoliaIndex) -> None:
    whole = [result.id for result in search(index, "render", limit=50).results]
    pages = [search(index, "render", limit=1, page=number) for number in range(len(whole))]
    assert [result.id for page in pages for result in page.results] == whole
    assert {(page.total_hits, page.pages) for page in pages} == {(len(whole), len(whole))}


def test_suggestions_are_distinct_names_without_imports(index: AlgoliaIndex) -> None:
    assert suggest("rend", index=index) == ["render_template", "render_text"]
    assert suggest("rend", 1, index=index) == ["render_template"]


def test_every_id_that_search_returns_resolves_to_its_lines(index: AlgoliaIndex) -> None:
    tools = Tools(
        index,
        GO,
        Snapshots({path: source for (_, path), source in FILES.items()}),
        lambda question, repository: AskAnswer("", []),
    )
    results = search(index, "session user render state", limit=50).results
    assert len(results) > 5
    for result in results:
        section = tools.get_file_section({"id": result.id}).structured
        assert (section["file_path"], section["line_start"], section["line_end"]) == (
            result.file_path,
            result.line_start,
            result.line_end,
        )
        assert result.line_start is not None
        number = 13 if result.repository == "team/go" else 12
        first = FILES[number, result.file_path].split("\n")[result.line_start - 1]
        assert str(section["text"]).split("\n")[0] == first


def test_a_wrong_key_and_a_server_that_is_gone(server: AlgoliaServer) -> None:
    stranger = AlgoliaIndex("APP", "unknown", "code", url=server.url)
    with pytest.raises(SearchRefused, match=r"^Search is unavailable; try again later\.$"):
        search(stranger, "session")
    assert suggest("session", index=stranger) == []
    gone = AlgoliaIndex("APP", "search-key", "code", url="http://127.0.0.1:9", connect_timeout=0.5)
    with pytest.raises(SearchUnavailable, match=r"^Search is unavailable; try again later\.$"):
        search(gone, "session")
    assert suggest("session", index=gone) == []
    assert SearchProbe(gone.list_indices).state() == "unavailable"


def test_the_probe_asks_for_the_indices(index: AlgoliaIndex) -> None:
    assert SearchProbe(index.list_indices).state() == "ok"
