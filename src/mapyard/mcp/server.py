"""The server of the official `mcp` package: over stdio for one user, over HTTP beside the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import httpx
import mcp_types as types
import orjson
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from mapyard.errors import MapyardError
from mapyard.library.documents import list_documents
from mapyard.library.inputs import read_values
from mapyard.library.methods import Questions
from mapyard.library.question import find_question
from mapyard.library.results.solutions import N_TRIPLES, RESULTS_JSON, Kind, SparqlResult
from mapyard.library.wire import make_request, read_body, read_error
from mapyard.mcp.tools import TOOLS, Ask, run_tool, tell_error
from mapyard.version import __version__

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

INSTRUCTIONS: Final = (
    "Answers from an extract of OpenStreetMap: places, routes, areas within reach, elements by "
    "tags, Overpass QL and SPARQL. Positions are lat,lon or an address. Ask `tags` when it is not "
    "certain how something is tagged. Data © OpenStreetMap contributors (ODbL): say so where "
    "answers are published. Resources under docs:// explain the query languages."
)
_DOCS: Final = "docs://mapyard/"
#: Headers by which a caller says who asks and from where; the inner requests carry them on.
_KEY_HEADERS: Final = (b"x-api-key", b"authorization", b"origin")


def make_server(ask_of: Callable[[Any], Ask]) -> Server[Any]:
    """Return a server whose tools ask by `ask_of(request)`; `request` is None over stdio."""

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tool.schema,
                    annotations=types.ToolAnnotations(
                        title=tool.title,
                        read_only_hint=True,
                        destructive_hint=False,
                        idempotent_hint=True,
                        open_world_hint=False,
                    ),
                )
                for tool in TOOLS.values()
            ]
        )

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            text = await run_tool(ask_of(ctx.request), params.name, params.arguments or {})
        except MapyardError as error:
            return _result(tell_error(error), is_error=True)
        return _result(text)

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    name=page.name,
                    title=page.title,
                    uri=f"{_DOCS}{page.name}",
                    description=page.summary,
                    mime_type="text/markdown",
                )
                for page in list_documents()
            ]
        )

    async def read_resource(
        ctx: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        for page in list_documents():
            if uri == f"{_DOCS}{page.name}":
                return types.ReadResourceResult(
                    contents=[
                        types.TextResourceContents(
                            uri=uri, mime_type="text/markdown", text=page.text
                        )
                    ]
                )
        raise ValueError(f"there is no resource {uri[:100]}; list them first")

    return Server(
        "mapyard",
        version=__version__,
        title="Mapyard",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=is_error
    )


def ask_map(source: Questions) -> Ask:
    """Return what asks a map of this process, or a server, in threads."""

    async def ask(name: str, **values: Any) -> Any:
        return await asyncio.to_thread(source._ask, name, {"self": source, **values})

    return ask


async def serve_stdio(source: Questions) -> None:
    """Serve one user over standard input and output, until they close."""
    server = make_server(lambda request: ask_map(source))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def ask_application(application: ASGIApp, request: Any) -> Ask:
    """Return what asks an application of this process as the client of `request` would.

    So keys and where they may be used, limits, usage, time limits and the log are those of any
    other request.
    """
    headers = _key_of(request)
    client: tuple[str, int] = request.scope.get("client") or ("", 0)

    async def ask(name: str, **values: Any) -> Any:
        question = find_question(name)
        raw = read_values(question, values)
        question.parser.parse(raw)
        asked = make_request(question, raw)
        is_sparql = question.result is SparqlResult
        sent = dict(headers)
        if is_sparql:
            sent["accept"] = f"{RESULTS_JSON}, {N_TRIPLES};q=0.5"
        transport = httpx.ASGITransport(application, raise_app_exceptions=False, client=client)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as inner:
            answer = await inner.request(
                asked.method, asked.path, json=asked.body, params=asked.query, headers=sent
            )
        if answer.status_code >= 400:
            raise read_error(answer.status_code, answer.content)
        if is_sparql:
            return _read_solutions(answer)
        if question.fixed.get("format") == "ndjson":
            lines = [line for line in answer.content.split(b"\n") if line]
            return question.result(lines)
        return read_body(question, answer.content)

    return ask


def _read_solutions(answer: httpx.Response) -> SparqlResult:
    content, kind = answer.content, "triples"
    if answer.headers["content-type"].startswith(RESULTS_JSON):
        kind = "boolean" if "boolean" in orjson.loads(content) else "solutions"
    made: Kind = kind  # type: ignore[assignment] # one of the three
    return SparqlResult(made, lambda media_type: iter((content,)))


class HttpMount:
    """An ASGI application that serves the protocol over HTTP, one request at a time, no sessions.

    A tool's requests go to `application` with the caller's key.
    """

    def __init__(self, application: Callable[[], ASGIApp]) -> None:
        self._server = make_server(lambda request: ask_application(application(), request))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)


def _key_of(request: Any) -> dict[str, str]:
    """Return the headers that say who asks."""
    return {
        name.decode(): value.decode("latin-1")
        for name, value in request.scope["headers"]
        if name in _KEY_HEADERS
    }
