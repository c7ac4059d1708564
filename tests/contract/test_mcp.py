"""The official client of the Model Context Protocol: every tool, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from mapyard.mcp.tools import TOOLS
from osm_files import EXAMPLES
from servers import Server, copy_data, running

#: Tool → arguments, and words that its answer must have.
CALLS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "geocode": ({"query": "Rue Grimaldi 5, Monaco", "limit": 1}, ["Rue Grimaldi", "43.7"]),
    "reverse": ({"position": "43.7384, 7.4246"}, ["Boulevard de Suisse", "m away"]),
    "route": (
        {"origin": "Casino de Monte-Carlo", "destination": "43.7314,7.4197", "mode": "foot",
         "steps": True},
        ["From ", "km", "min", "- Walk"],
    ),
    "isochrone": (
        {"position": "43.7384,7.4246", "minutes": [5, 10], "mode": "foot"},
        ["within 5 min", "within 10 min", "km²"],
    ),
    "matrix": (
        {"origins": ["43.7384,7.4246"], "destinations": ["43.7314,7.4197", "Stade Louis II"]},
        ["43.7384,7.4246 → 43.7314,7.4197: ", "Stade Louis"],
    ),
    "nearby": (
        {"position": "43.7384,7.4246", "tags": {"amenity": "cafe"}, "limit": 2},
        ["1. Le Palace Café (89 m", "amenity=cafe", "node/3087468543"],
    ),
    "features": ({"tags": {"amenity": "bench"}, "limit": 3}, ["3. ", "… and more"]),
    "overpass": ({"query": "node[amenity=cafe];out count;"}, ["Count: ", "nodes"]),
    "sparql": (
        {"query": "SELECT ?k (COUNT(*) AS ?n) WHERE { ?s osmkey:amenity ?k } GROUP BY ?k "
         "ORDER BY DESC(?n) LIMIT 2"},
        ["k | n", "bench | 248"],
    ),
    "elevation": ({"positions": ["43.7384,7.4246"]}, ["m above the sea"]),
    "tags": ({"key": "amenity", "limit": 2}, ["amenity=bench: 248", "more"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def data(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_data(monaco, tmp_path_factory.mktemp("mcp") / "data")
    (folder / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", folder / "elevation")
    return folder


@pytest.fixture(scope="module")
def server(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(data, tmp_path_factory.mktemp("mcp-log") / "serve.log") as started:
        yield started


def text_of(result: Any) -> str:
    assert len(result.content) == 1
    return str(result.content[0].text)


async def try_all(client: Client) -> None:
    listed = (await client.list_tools()).tools
    assert {tool.name for tool in listed} == set(TOOLS) == set(CALLS)
    assert all(tool.description and tool.input_schema["properties"] for tool in listed)
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)
    for name, (arguments, words) in CALLS.items():
        result = await client.call_tool(name, arguments)
        text = text_of(result)
        assert not result.is_error, f"{name}: {text}"
        assert len(text) < 9_000
        for word in words:
            assert word in text, f"{name}: {text}"
    wrong = await client.call_tool("route", {"origin": "43.7384,7.4246"})
    assert wrong.is_error
    assert "destination: is required" in text_of(wrong)
    wrong = await client.call_tool("geocode", {"query": "x", "zoom": 3})
    assert wrong.is_error
    assert "zoom: is not known; geocode takes query" in text_of(wrong)
    wrong = await client.call_tool("overpass", {"query": "node[;"})
    assert wrong.is_error
    assert "line 1, column" in text_of(wrong)
    wrong = await client.call_tool("route", {"origin": "xyzzyplugh", "destination": "0,0"})
    assert "no place was found for 'xyzzyplugh'" in text_of(wrong)
    pages = (await client.list_resources()).resources
    assert {"overpass", "sparql", "reference/endpoints"} <= {page.name for page in pages}
    page = (await client.read_resource("docs://mapyard/overpass")).contents[0]
    assert "Overpass QL" in page.text  # type: ignore[union-attr]


def test_over_stdio(data: Path) -> None:
    async def talk() -> None:
        command = Path(sys.executable).with_name("mapyard")
        parameters = StdioServerParameters(command=str(command), args=["mcp", "--data", str(data)])
        async with Client(stdio_client(parameters)) as client:
            await try_all(client)

    asyncio.run(talk())


def test_over_http_with_a_key(server: Server) -> None:
    async def talk() -> None:
        async with (
            httpx.AsyncClient(headers={"X-API-Key": server.key}, timeout=30) as http,
            Client(streamable_http_client(f"{server.address}/mcp", http_client=http)) as client,
        ):
            await try_all(client)

    asyncio.run(talk())


def test_a_call_costs_what_its_question_costs(server: Server) -> None:
    before = server.get("/api/v1/limits").headers["x-ratelimit-remaining"]

    async def talk() -> None:
        async with (
            httpx.AsyncClient(headers={"Authorization": f"Bearer {server.key}"}) as http,
            Client(streamable_http_client(f"{server.address}/mcp", http_client=http)) as client,
        ):
            for _ in range(3):
                await client.call_tool("tags", {})

    asyncio.run(talk())
    after = server.get("/api/v1/limits").headers["x-ratelimit-remaining"]
    assert int(before) - int(after) == 4  # three tools, and this look


def test_without_a_key_tools_say_so(server: Server) -> None:
    async def talk() -> None:
        async with Client(streamable_http_client(f"{server.address}/mcp")) as client:
            result = await client.call_tool("tags", {})
            assert result.is_error
            assert "missing_key" in text_of(result)

    asyncio.run(talk())


def test_texts_for_language_models(server: Server) -> None:
    index = httpx.get(f"{server.address}/llms.txt").text
    assert index.startswith("# Mapyard\n\n> ")
    links = [line.split("](")[1].split(")")[0] for line in index.splitlines() if "](" in line]
    assert len(links) > 10
    whole = httpx.get(f"{server.address}/llms-full.txt").text
    for link in links:
        page = httpx.get(link)
        assert page.status_code == 200
        assert page.text.strip() in whole
    assert httpx.get(f"{server.address}/docs/../secret.md").status_code == 404
    assert httpx.get(f"{server.address}/docs/none.md").json()["error"]["code"] == "not_found"


def test_a_key_is_held_to_its_networks(server: Server, data: Path, tmp_path: Path) -> None:
    """A call comes from the client's address, not from the server's own."""
    from mapyard.accounts import registry
    from mapyard.accounts.open import open_accounts
    from mapyard.accounts.restrictions import make_restrictions

    database = open_accounts(data)
    account = registry.create_account(database, "networks@example.org", "enterprise")
    made, key = registry.create_key(database, account.id)
    only_there = make_restrictions(networks=["192.0.2.0/24"])
    registry.change_key(database, account.id, made.id, expires_at=None, restrictions=only_there)
    database.close()

    async def talk() -> str:
        async with (
            httpx.AsyncClient(headers={"X-API-Key": key}) as http,
            Client(streamable_http_client(f"{server.address}/mcp", http_client=http)) as client,
        ):
            return text_of(await client.call_tool("tags", {}))

    assert "may not be used" in asyncio.run(talk())
