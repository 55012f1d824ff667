"""The protocol over HTTP: methods, origins, versions, notifications, errors as tool errors."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from plumbline.errors import SearchUnavailable
from plumbline.http import Request, Response
from plumbline.search.mcp import McpServer
from plumbline.search.mcp_catalogue import TOOLS
from plumbline.search.mcp_tools import AskAnswer, Tools
from tests.search_doubles import FLASK, HIT, Directory, Index, Snapshots

HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
}


def server(index: Index | None = None, origins: tuple[str, ...] = ()) -> McpServer:
    tools = Tools(
        index=index or Index(HIT),
        repositories=Directory(FLASK),
        snapshots=Snapshots({}),
        ask_question=lambda question, repository: AskAnswer("It is [1].", []),
    )
    return McpServer(tools, version="1.2.3", allowed_origins=origins)


def post(message: object, *, on: McpServer | None = None, **headers: str) -> Response:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return (on or server()).handle(Request("POST", "/mcp", {**HEADERS, **named}, body=body))


def payload(response: Response) -> Any:
    assert isinstance(response.body, bytes)
    return json.loads(response.body)


def call(name: str, arguments: dict[str, Any], on: McpServer | None = None) -> Any:
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    response = post(message, on=on)
    assert response.status == 200
    return payload(response)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_and_no_session(method: str) -> None:
    response = server().handle(Request(method, "/mcp", HEADERS))
    assert (response.status, response.headers["allow"]) == (405, "POST")
    assert payload(response)["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("origin", "allowed", "status"),
    [
        ("https://evil.example", (), 403),
        ("https://evil.example", ("https://docs.example",), 403),
        ("null", ("https://docs.example",), 403),
        ("https://docs.example", ("https://docs.example",), 200),
        ("https://docs.example", ("*",), 200),
        ("", (), 200),
    ],
)
def test_a_foreign_origin_is_refused(origin: str, allowed: tuple[str, ...], status: int) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert post(ping, on=server(origins=allowed), origin=origin).status == status


@pytest.mark.parametrize(
    ("offered", "spoken"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_initialize_negotiates_the_version(offered: str, spoken: str) -> None:
    params = {
        "protocolVersion": offered,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    response = post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    result = payload(response)["result"]
    assert result["protocolVersion"] == spoken
    assert result["serverInfo"]["name"] == "plumbline"
    assert result["serverInfo"]["version"] == "1.2.3"
    assert "search_code" in result["instructions"]
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert "mcp-session-id" not in response.headers


def test_a_notification_is_accepted_without_a_body() -> None:
    response = post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (response.status, response.body) == (202, b"")


def test_responses_are_json_with_the_security_headers() -> None:
    response = post({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert payload(response) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"\xff", 400, -32700),
        (b"[" * 60_000, 400, -32700),
        (b"[]", 400, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', 200, -32601),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}',
            200,
            -32602,
        ),
    ],
)
def test_what_is_no_request_is_a_protocol_error(body: bytes, status: int, code: int) -> None:
    response = post(body)
    assert (response.status, payload(response)["error"]["code"]) == (status, code)


def test_a_version_that_nobody_speaks_is_refused_with_those_that_are() -> None:
    response = post(
        {"jsonrpc": "2.0", "id": 1, "method": "ping"}, mcp_protocol_version="1999-01-01"
    )
    assert response.status == 400


def test_tools_carry_schemas_and_hints() -> None:
    response = post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    tools = {tool["name"]: tool for tool in payload(response)["result"]["tools"]}
    assert list(tools) == ["search_code", "get_file_section", "list_repositories", "ask"]
    for tool in tools.values():
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["type"] == "object"
        assert len(tool["description"]) > 100


def test_the_docs_name_every_tool_argument_and_field() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs" / "mcp.md"
    rows = {
        line.split("|")[1].strip(): line
        for line in docs.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    }
    for tool in TOOLS:
        row = rows[f"`{tool.name}`"]
        for name in tool.input_schema["properties"]:
            assert f"`{name}`" in row or f"`{name}?`" in row, (tool.name, name)
        if tool.name != "search_code":
            assert all(f"`{name}`" in row for name in tool.output_schema["properties"])


def test_a_caller_who_may_not_ask_has_no_such_tool() -> None:
    def send(message: dict[str, Any]) -> Any:
        request = Request("POST", "/mcp", HEADERS, body=json.dumps(message).encode())
        return payload(server().handle(request, may_ask=False))

    listed = send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["result"]["tools"]
    assert "ask" not in [tool["name"] for tool in listed]
    params = {"name": "ask", "arguments": {"question": "How?"}}
    refused = send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert refused["error"]["message"] == "There is no tool 'ask'."


@pytest.mark.parametrize("null", [{}, {"limit": None, "page": None, "repository": None}])
def test_a_result_is_structured_and_text(null: dict[str, None]) -> None:
    result = call("search_code", {"query": "refresh", **null})["result"]
    assert result["isError"] is False
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query is empty; say what to look for"),
        ({"query": "x" * 513}, "query is too long; the limit is 512 bytes"),
        ({"query": "x", "limit": 99}, "limit must be a whole number from 1 to 50"),
        (
            {"query": "x", "repository": "no/such"},
            "No such repository is indexed; list_repositories",
        ),
        ({"q": "x"}, "search_code has no argument 'q'; it takes query, repository, language"),
    ],
)
def test_an_error_is_a_tool_error_with_a_way_out(arguments: dict[str, Any], message: str) -> None:
    result = call("search_code", arguments)["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(message)
    assert "structuredContent" not in result


def test_a_failing_search_says_no_more_than_it_should() -> None:
    secret = SearchUnavailable("Search is unavailable; try again later.")
    secret.__cause__ = RuntimeError("APPID-dsn.algolia.net refused")
    answer = call("search_code", {"query": "x"}, on=server(Index(error=secret)))
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"] == "Search is unavailable; try again later."
    assert "algolia" not in json.dumps(answer)


def test_a_defect_is_a_tool_error_without_its_cause() -> None:
    answer = call("search_code", {"query": "x"}, on=server(Index(error=KeyError("hits"))))
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"] == (
        "Something went wrong on our side; please try again."
    )


def test_lone_surrogates_in_a_record_do_not_break_the_answer() -> None:
    index = Index({**HIT, "content": "a\ud800b", "entity_name": "\udc80"})
    result = call("search_code", {"query": "x"}, on=server(index))["result"]
    assert result["isError"] is False
    assert result["structuredContent"]["results"][0]["snippet"] == "a?b"


def test_an_error_that_passes_says_when() -> None:
    index = Index(error=SearchUnavailable("Search is unavailable.", retry_after=3))
    result = call("search_code", {"query": "x"}, on=server(index))["result"]
    assert result["content"][0]["text"] == "Search is unavailable. Try again in 3 s."


def test_requests_of_several_threads_do_not_meet() -> None:
    shared, answers = server(), dict[int, Any]()

    def ask(number: int) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/list"}
        answers[number] = payload(post(message, on=shared))["id"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == {number: number for number in range(8)}
