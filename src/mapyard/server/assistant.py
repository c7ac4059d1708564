"""/mcp: the tools for assistants, beside the web pages; their package is loaded when asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mapyard.http.errors import encode_error
from mapyard.http.request import ASGIApp, Receive, Scope, Send
from mapyard.library.results.tables import MissingPackage, need

PATH: Final = "/mcp"


def mount_assistant(web: ASGIApp, application: Callable[[], ASGIApp]) -> ASGIApp:
    """Return the web pages with the tools for assistants beside them.

    `application` answers what the tools ask, with the key of who calls them.
    """
    held: list[ASGIApp] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].rstrip("/") != PATH:
            await web(scope, receive, send)
            return
        if not held:
            try:
                need("mcp", "mcp")
            except MissingPackage as error:
                await _refuse(error, send)
                return
            from mapyard.mcp.server import HttpMount

            held.append(HttpMount(application))
        await held[0](scope, receive, send)

    return serve


async def _refuse(error: MissingPackage, send: Send) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": error.status,
            "headers": [(b"content-type", b"application/json")],
        }
    )
    await send({"type": "http.response.body", "body": encode_error(error)})
