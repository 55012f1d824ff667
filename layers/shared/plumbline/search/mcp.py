"""The MCP server: streamable HTTP, stateless, one JSON response a request.

The official SDK speaks the protocol; importing it takes half a second, so this module is imported
at the first request to ``/mcp`` and by nothing on another path.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from plumbline.errors import InvalidRequest, MethodNotAllowed, PlumblineError
from plumbline.http import (
    MAX_BODY_BYTES,
    SECURITY_HEADERS,
    Request,
    Response,
    error_response,
    json_response,
)
from plumbline.observability import logger
from plumbline.search.arguments import unicode_text
from plumbline.search.mcp_catalogue import ASK, INSTRUCTIONS, TOOLS, ToolDescription
from plumbline.search.mcp_tools import Tools

_TOOLS_LISTED_MS = 300_000
_FAILED = "Something went wrong on our side; please try again."

Context = ServerRequestContext[dict[str, Any]]
Message = MutableMapping[str, Any]


class McpServer:
    """Answers MCP requests; safe to share between threads, since a request keeps its own state."""

    def __init__(self, tools: Tools, *, version: str, allowed_origins: Sequence[str] = ()) -> None:
        self._tools = tools
        self._allowed_origins = frozenset(allowed_origins)
        self._servers = {
            may_ask: self._server(
                [tool for tool in TOOLS if may_ask or tool is not ASK], version=version
            )
            for may_ask in (True, False)
        }

    def handle(self, request: Request, *, may_ask: bool = True) -> Response:
        """One request, answered whole. Without ``may_ask`` the tool ``ask`` is not there.

        A GET or DELETE is 405, a foreign Origin 403, a notification 202 without a body; a tool
        that fails is a result with ``isError``, never an HTTP error.
        Source: MCP specification, "Transports".
        """
        if request.method != "POST":
            refusal = MethodNotAllowed("MCP here is stateless: send POST, without a stream.")
            return error_response(refusal).with_headers({"allow": "POST"})
        origin = request.headers.get("origin")
        if origin and not self._allowed_origins & {origin, "*"}:
            return json_response(
                403,
                {"error": {"code": "forbidden_origin", "message": "This origin is not allowed."}},
            )
        return asyncio.run(_exchange(self._servers[may_ask], request))

    def _server(
        self, offered: Sequence[ToolDescription], *, version: str
    ) -> Server[dict[str, Any]]:
        listing = [_listed(tool) for tool in offered]
        known = {tool.name: tool for tool in offered}

        async def list_tools(
            _: Context, __: types.PaginatedRequestParams | None
        ) -> types.ListToolsResult:
            return types.ListToolsResult(tools=listing)

        async def call_tool(_: Context, call: types.CallToolRequestParams) -> types.CallToolResult:
            tool = known.get(call.name)
            if tool is None:
                raise MCPError(types.INVALID_PARAMS, f"There is no tool {call.name[:100]!r}.")
            return self._call(tool, call.arguments or {})

        return Server(
            "plumbline",
            version=version,
            title="Plumbline",
            instructions=INSTRUCTIONS,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            cache_hints={"tools/list": CacheHint(ttl_ms=_TOOLS_LISTED_MS)},
        )

    def _call(self, tool: ToolDescription, arguments: dict[str, Any]) -> types.CallToolResult:
        try:
            _refuse_unknown(tool, arguments)
            output = self._tools.run(tool.name, arguments)
        except PlumblineError as error:
            if error.status >= 500:
                extra = {"tool": tool.name, "code": error.code, "cause": repr(error.__cause__)}
                logger.warning("mcp_tool_failed", extra=extra)
            return _failure(_advice(error))
        except Exception:
            logger.exception("mcp_tool_defect", extra={"tool": tool.name})
            return _failure(_FAILED)
        # Through UTF-8: the SDK cannot send a lone surrogate, which JSON from outside may hold.
        structured = json.dumps(output.structured, ensure_ascii=False).encode(errors="replace")
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=unicode_text(output.text))],
            structured_content=json.loads(structured),
        )


def _refuse_unknown(tool: ToolDescription, arguments: Iterable[str]) -> None:
    names = list(tool.input_schema["properties"])
    unknown = sorted(set(arguments) - set(names))
    if unknown:
        raise InvalidRequest(
            f"{tool.name} has no argument {unknown[0][:100]!r}; it takes {', '.join(names)}"
        )


def _advice(error: PlumblineError) -> str:
    retry_after = getattr(error, "retry_after", None)
    message = unicode_text(error.message)
    return f"{message} Try again in {retry_after} s." if retry_after else message


def _failure(message: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)], is_error=True
    )


def _listed(tool: ToolDescription) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        output_schema=dict(tool.output_schema),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=tool.open_world,
        ),
    )


async def _exchange(server: Server[dict[str, Any]], request: Request) -> Response:
    """The request through the SDK's ASGI application, in this event loop."""
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
    )
    scope: Message = {
        "type": "http",
        "http_version": "1.1",
        "method": request.method,
        "scheme": "https",
        "path": request.path,
        "raw_path": request.path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [
            (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
            for name, value in request.headers.items()
        ],
        "client": None,
        "server": None,
    }
    waiting = [{"type": "http.request", "body": request.body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        # The caller stays until the answer is there: no disconnect is ever reported.
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def send(message: Message) -> None:
        sent.append(message)

    async with manager.run():
        await manager.handle_request(scope, receive, send)
    head = sent[0]
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head["headers"]}
    headers.pop("content-length", None)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Response(
        int(head["status"]), {**SECURITY_HEADERS, "cache-control": "no-store", **headers}, body
    )
