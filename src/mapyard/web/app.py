"""The web pages of a worker: one small Starlette application behind the API's front."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from mapyard.errors import MapyardError
from mapyard.http.app import REFUSAL
from mapyard.http.services import Services
from mapyard.web.visit import render_problem, render_refusal

FOLDER: Final = Path(__file__).parent

#: Modules whose `routes(services)` make up the pages.
MODULES: Final = (
    "mapyard.web.playground",
    "mapyard.web.public",
    "mapyard.web.sign_in",
    "mapyard.web.keys",
    "mapyard.web.usage",
    "mapyard.web.plan",
    "mapyard.web.profile",
    "mapyard.web.passkeys",
    "mapyard.web.operator",
    "mapyard.web.requests",
    "mapyard.web.system",
)


def build_web(services: Services) -> Starlette:
    """Return the application of all pages; those of accounts only where there are accounts."""
    pages: list[BaseRoute] = []
    # The client of a provider is loaded only where there is one.
    openid = ("mapyard.web.openid",) if services.settings.openid_issuer else ()
    for name in (*MODULES, *openid):
        pages += importlib.import_module(name).routes(services)
    mark = FOLDER / "static" / "mark.svg"
    pages.append(Route("/favicon.ico", lambda _: FileResponse(mark)))
    pages.append(Mount("/static", _Static(directory=FOLDER / "static")))
    app = Starlette(
        routes=pages,
        middleware=[Middleware(_Refusals)],
        exception_handlers={HTTPException: _show_http_error, MapyardError: _show_error},
    )
    app.state.services = services
    return app


class _Refusals:
    """Shows why a page is refused before it costs anything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error: MapyardError | None = scope.get(REFUSAL)
        if error is None:
            await self._app(scope, receive, send)
            return
        response = render_refusal(Request(scope), error)
        await response(scope, receive, send)


class _Static(StaticFiles):
    """Files that may be kept for an hour and are asked for again by ETag."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]  # passed on
        response.headers["Cache-Control"] = "public, max-age=3600"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


async def _show_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = "There is no such page." if error.status_code == 404 else error.detail
    return render_problem(request, error.status_code, text)


async def _show_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MapyardError)
    return render_problem(request, error.status, error.message, error.headers)
