"""`mapyard mcp`: tools for an assistant, over standard input and output."""

from __future__ import annotations

import asyncio

from mapyard.cli.ask.options import Data, Key, Url, open_map
from mapyard.library.results.tables import need


def command(data: Data = None, url: Url = "", key: Key = "") -> None:
    """Serve tools for an assistant (Model Context Protocol) over standard input and output.

    Assistants start this command by themselves; tell them so:

      {"mcpServers": {"mapyard": {"command": "mapyard", "args": ["mcp", "--data", "/srv/maps"]}}}

    A running server has the same at /mcp, with a key.
    """
    need("mcp", "mcp")
    from mapyard.mcp.server import serve_stdio

    with open_map(data, url, key) as source:
        asyncio.run(serve_stdio(source))
