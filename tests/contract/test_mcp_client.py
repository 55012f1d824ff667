"""The official MCP client against the server over loopback HTTP, function URL events between."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from plumbline.http import decode, encode
from plumbline.search.mcp import McpServer
from plumbline.search.mcp_tools import AskAnswer, Tools
from tests.search_doubles import FLASK, HIT, Directory, Index, Snapshots

SOURCE = "".join(f"line {n}\n" for n in range(1, 101))
MODES = ["auto", "legacy", "2026-07-28"]


def _answer(question: str, repository: str | None) -> AskAnswer:
    return AskAnswer(f"{question} of {repository}: it is refreshed [1].", [{"n": 1, "title": "t"}])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    mcp = McpServer(
        Tools(
            index=Index(HIT),
            repositories=Directory(FLASK),
            snapshots=Snapshots({"src/auth/tokens.py": SOURCE}),
            ask_question=_answer,
        ),
        version="1.2.3",
    )

    class FunctionUrl(BaseHTTPRequestHandler):
        """Turns each request into a function URL event, as AWS does."""

        protocol_version = "HTTP/1.1"

        def do_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            event = {
                "rawPath": self.path,
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "requestContext": {"http": {"method": self.command}},
                "body": body.decode(),
            }
            request = decode(event)
            assert request.headers["x-api-key"] == "key"
            result = encode(mcp.handle(request))
            content = result["body"].encode()
            self.send_response(result["statusCode"])
            for name, value in result["headers"].items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = do_any  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), FunctionUrl) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()
        thread.join()


def talk(address: str, mode: str, what: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        # As docs/mcp.md has it: the key goes into a header of the HTTP client.
        async with httpx2.AsyncClient(headers={"x-api-key": "key"}) as http:
            transport = streamable_http_client(address, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=20) as client:
                await what(client)

    asyncio.run(run())


@pytest.mark.parametrize("mode", MODES)
def test_every_generation_of_clients_is_served(address: str, mode: str) -> None:
    async def what(client: Client) -> None:
        expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
        assert client.protocol_version == expected
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [
            "search_code",
            "get_file_section",
            "list_repositories",
            "ask",
        ]
        for tool in listed.tools:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            assert tool.output_schema is not None
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)

    talk(address, mode, what)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_code", {"query": "refresh token", "repository": "pallets/flask", "limit": 5}),
        ("get_file_section", {"id": HIT["objectID"], "context_lines": 3}),
        ("list_repositories", {}),
        ("ask", {"question": "How is a token refreshed?", "repository": 12}),
    ],
)
def test_each_tool_answers_with_what_its_schema_promises(
    address: str, mode: str, name: str, arguments: dict[str, Any]
) -> None:
    async def what(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        jsonschema.validate(arguments, tools[name].input_schema)
        result = await client.call_tool(name, arguments)
        assert result.is_error is False
        schema = tools[name].output_schema
        assert schema is not None
        jsonschema.validate(result.structured_content, schema)
        # Nothing goes out that the schema does not name.
        assert set(result.structured_content) == set(schema["properties"])
        assert result.content[0].type == "text"

    talk(address, mode, what)


@pytest.mark.parametrize("mode", MODES)
def test_from_a_search_to_the_lines_and_back_to_an_error(address: str, mode: str) -> None:
    async def what(client: Client) -> None:
        found = await client.call_tool("search_code", {"query": "refresh token"})
        identifier = found.structured_content["results"][0]["id"]
        section = await client.call_tool("get_file_section", {"id": identifier})
        assert section.structured_content["text"].startswith("line 42\n")
        assert section.structured_content["url"] == found.structured_content["results"][0]["url"]
        refused = await client.call_tool("search_code", {"query": "x" * 600})
        assert refused.is_error is True
        assert json.loads(refused.content[0].model_dump_json())["text"] == (
            "query is too long; the limit is 512 bytes"
        )

    talk(address, mode, what)
