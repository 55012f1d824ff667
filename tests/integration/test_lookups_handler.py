"""Look-ups through the search function, over what the indexing function made of an archive."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pytest

from devstack.algolia_server import AlgoliaServer
from devstack.aws import Aws, AwsResources
from devstack.function_urls import new_context
from devstack.redis_server import RedisServer
from devstack.stack import key_hash
from functions.index_repo.handler import handler as index_repo
from functions.search.handler import handler as search
from plumbline.http import encode

SHA = "9c1f0a7d5c6b4e3f2a1b0c9d8e7f6a5b4c3d2e1f"
NAME, ADDRESS = "team/shop", "https://github.com/team/shop"
SOURCES = {
    "src/store.py": (
        "import collections\n\n\n"
        "class Store:\n"
        '    """Keeps the sessions."""\n\n'
        "    def create(self, session, token: str) -> str:\n"
        '        """Create the store on disk."""\n'
        "        return token\n"
    ),
    "docs/guide.md": "# Sessions\n\nA session is opened by the store and closed by its reader.\n",
    "tests/test_store.py": "def test_store_is_created():\n    assert True\n",
}


def archive() -> bytes:
    """A zip as a host makes it: one folder, the commit in the comment."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for path, source in SOURCES.items():
            file.writestr(f"shop-{SHA}/{path}", source)
        file.comment = SHA.encode()
    return data.getvalue()


def index_archive(resources: AwsResources, key: str, content: bytes) -> dict[str, object]:
    """Put an archive into the bucket and hand its event to the indexing function."""
    s3 = boto3.client("s3", endpoint_url=resources.endpoint_url)
    etag = s3.put_object(Bucket=resources.bucket, Key=key, Body=content)["ETag"].strip('"')
    event = {
        "id": f"event-{key}",
        "detail-type": "Object Created",
        "source": "aws.s3",
        "time": "2026-03-01T12:00:00Z",
        "detail": {
            "bucket": {"name": resources.bucket},
            "object": {"key": key, "size": len(content), "etag": etag, "sequencer": "0061"},
            "reason": "PutObject",
        },
    }
    return index_repo(event, new_context("index", 900))


@pytest.fixture(scope="module", autouse=True)
def stack() -> Iterator[None]:
    keys = {"search-key": frozenset({"search"}), "admin-key": frozenset({"admin"})}
    redis, aws = RedisServer(), Aws()
    with (
        AlgoliaServer(None, app_id="APP", api_keys=keys) as algolia,
        pytest.MonkeyPatch.context() as patch,
    ):
        environment = {
            **aws.resources.environment(),
            "ALGOLIA_APP_ID": "APP",
            "ALGOLIA_SEARCH_API_KEY": "search-key",
            "ALGOLIA_ADMIN_API_KEY": "admin-key",
            "ALGOLIA_URL": algolia.url,
            "REDIS_URL": redis.url,
            "API_KEY_HASHES": f"{key_hash('key')},{key_hash('searcher', 'search')}",
            "POWERTOOLS_METRICS_DISABLED": "true",
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        index_archive(aws.resources, "archives/github.com/team/shop/shop.zip", archive())
        index_archive(aws.resources, "archives/github.com/team/broken/x.zip", b"no archive")
        yield
    redis.stop()
    aws.stop()


def send(
    path: str, body: object = None, *, method: str = "POST", key: str = "key", **headers: str
) -> tuple[int, Any]:
    event = {
        "rawPath": path,
        "rawQueryString": "",
        "headers": {
            "x-api-key": key,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
        "requestContext": {"http": {"method": method, "sourceIp": "192.0.2.7"}, "requestId": "r"},
        "body": json.dumps(body) if body is not None else "",
    }
    result = encode(search(event, new_context("search", 30)))
    return result["statusCode"], json.loads(result["body"]) if result["body"] else None


def call(tool: str, arguments: Mapping[str, object], key: str = "key") -> Any:
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    status, answer = send("/mcp", message, key=key, mcp_protocol_version="2025-11-25")
    assert status == 200
    return answer["result"]


@pytest.mark.parametrize("repository", [None, 1, " 1", NAME, ADDRESS, f"{ADDRESS}.git"])
def test_code_is_found_with_its_commit_and_permalink(repository: object) -> None:
    body = {"query": "where is the store created", "repository": repository}
    status, found = send("/search_code", body)
    assert status == 200
    assert found["repository"] == (NAME if repository else None)
    result = next(r for r in found["results"] if r["entity_name"] == "create")
    assert (result["repository"], result["commit_sha"]) == (NAME, SHA)
    assert result["url"] == f"{ADDRESS}/blob/{SHA}/src/store.py#L7-L9"
    assert result["indexed_at"] is not None
    assert result["snippet"].startswith("def create(self, session, token: str) -> str:")


def test_imports_are_found_only_when_asked_for() -> None:
    _, found = send("/search_code", {"query": "collections"})
    assert all(result["entity_type"] != "import" for result in found["results"])
    _, imports = send("/search_code", {"query": "collections", "entity_type": "import"})
    assert [result["entity_type"] for result in imports["results"]] == ["import"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"query": "x" * 513}, 400, "query is too long; the limit is 512 bytes"),
        ({"query": "x", "limit": 51}, 400, "limit must be a whole number from 1 to 50"),
        ({"query": "x", "repository": "team/none"}, 404, "No such repository is indexed"),
        ({"query": "x", "repository": "team/broken"}, 400, "team/broken could not be indexed: "),
        ({}, 400, "query is empty"),
    ],
)
def test_refusals_name_what_is_wrong(body: object, status: int, message: str) -> None:
    found, answer = send("/search_code", body)
    assert found == status
    assert answer["error"]["message"].startswith(message)


def test_keys_are_asked_for() -> None:
    assert send("/search_code", {"query": "x"}, key="unknown")[0] == 401
    assert send("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, key="unknown")[0] == 401


def test_every_id_resolves_to_the_lines_of_the_kept_snapshot() -> None:
    results = [
        result
        for query in ("store", "sessions", "test store", "create")
        for result in call("search_code", {"query": query})["structuredContent"]["results"]
    ]
    assert {result["file_path"] for result in results} == set(SOURCES)
    for result in results:
        section = call("get_file_section", {"id": result["id"]})["structuredContent"]
        lines = SOURCES[result["file_path"]].split("\n")
        expected = lines[result["line_start"] - 1 : result["line_end"]]
        assert section["text"].rstrip("\n") == "\n".join(expected).rstrip("\n")
        assert (section["commit_sha"], section["url"]) == (SHA, result["url"])


def test_a_file_is_read_by_its_path() -> None:
    arguments = {"repository": NAME, "file_path": "src/store.py", "line_start": 4, "line_end": 5}
    section = call("get_file_section", arguments)["structuredContent"]
    assert section["text"] == 'class Store:\n    """Keeps the sessions."""'
    missing = call("get_file_section", {"repository": NAME, "file_path": "src/none.py"})
    assert missing["isError"] is True


def test_repositories_are_listed_with_status_reason_and_age() -> None:
    listed = call("list_repositories", {})["structuredContent"]
    known = {repository["name"]: repository for repository in listed["repositories"]}
    assert (known[NAME]["status"], known[NAME]["commit_sha"]) == ("completed", SHA)
    assert known[NAME]["age"] == "less than a minute"
    assert known["team/broken"]["status"] == "failed"
    assert known["team/broken"]["reason"]


def test_ask_answers_with_sources_and_only_for_keys_that_may() -> None:
    result = call("ask", {"question": "How is the store created?", "repository": NAME})
    assert result["isError"] is False
    answer = result["structuredContent"]
    assert answer["answer"].strip()
    assert answer["sources"][0]["repository"] == NAME
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    _, listed = send("/mcp", message, key="searcher", mcp_protocol_version="2025-11-25")
    assert "ask" not in [tool["name"] for tool in listed["result"]["tools"]]


def test_health_tells_of_algolia() -> None:
    assert send("/health", method="GET", key="") == (200, {"status": "ok", "search": "ok"})


def test_without_algolia_health_and_search_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALGOLIA_URL", "http://127.0.0.1:9")
    assert send("/health", method="GET", key="") == (
        503,
        {"status": "degraded", "search": "unavailable"},
    )
    status, answer = send("/search_code", {"query": "store"})
    assert (status, answer["error"]["code"]) == (503, "search_unavailable")
    assert answer["error"]["message"] == "Search is unavailable; try again later."
    monkeypatch.delenv("ALGOLIA_APP_ID")
    status, answer = send("/search_code", {"query": "store"})
    assert (status, answer["error"]["code"]) == (503, "search_not_configured")
    assert os.environ["ALGOLIA_URL"] not in json.dumps(answer)


def test_the_registry_may_be_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_TABLE", "nowhere")
    status, found = send("/search_code", {"query": "create", "repository": 1})
    assert status == 200
    assert found["results"][0]["commit_sha"] == SHA
    assert found["results"][0]["url"].startswith(f"{ADDRESS}/blob/{SHA}/")
