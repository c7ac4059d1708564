"""The map page at /: static files, what the page must know, and its session on this machine.

The page never holds a key. Who is signed in asks the API for the own account; a browser on the very
machine of the server for the owner's, unless it comes through a proxy: the page asks for its cookie
with a POST, whose Origin no proxy hides. Everybody else asks for the account of all visitors, where
the settings allow them some requests.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from mapyard import __version__
from mapyard.accounts.models import Account
from mapyard.accounts.open import ensure_visitors
from mapyard.errors import MapyardError
from mapyard.http.services import Services
from mapyard.http.session import make_session_cookie
from mapyard.web.visit import Visit

FOLDER: Final = Path(__file__).parent / "playground"
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    # The right-to-left plugin is WebAssembly; all else is of this origin.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data: blob:; "
        "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Permissions-Policy": "geolocation=(self), camera=(), microphone=()",
}


def routes(services: Services) -> list[BaseRoute]:
    """Return the map page and what it loads."""
    return [
        Route("/", _index),
        Route("/playground/config.json", _config),
        Route("/playground/session", _session, methods=["POST"]),
        Mount("/playground", _Files(directory=FOLDER)),
    ]


class _Files(StaticFiles):
    """Files asked for again by ETag, so that page and scripts are always of one version."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]  # passed on
        response.headers.update(_HEADERS)
        return response


async def _index(request: Request) -> Response:
    return FileResponse(FOLDER / "index.html", headers=_HEADERS)


async def _config(request: Request) -> Response:
    """Say which endpoints there are and where the data lies."""
    services: Services = request.app.state.services
    paths = sorted({path for endpoint in services.endpoints for path in endpoint.paths})
    config: dict[str, object] = {"version": __version__, "paths": paths, "dataset": None}
    try:
        snapshot = services.snapshots.lease()
    except MapyardError:
        pass  # nothing is built yet: the page says so
    else:
        try:
            config["dataset"] = {
                "id": snapshot.id,
                "timestamp": snapshot.timestamp,
                "bbox": snapshot.manifest.bbox,
                "parts": sorted(snapshot.manifest.parts),
            }
        finally:
            snapshot.release()
    return Response(orjson.dumps(config), headers=_HEADERS, media_type="application/json")


async def _session(request: Request) -> Response:
    """Give a browser on this machine the owner's session; say whether there is one."""
    services: Services = request.app.state.services
    if services.database is None:
        return _json({"session": True})  # no keys are asked for
    account_id = await run_in_threadpool(find_page_account, request)
    if account_id is None:
        return _json({"session": False})
    response = _json({"session": True})
    cookie = make_session_cookie(services.secret, account_id, is_https=Visit(request, {}).is_https)
    response.headers.append("Set-Cookie", cookie)
    return response


def find_page_account(request: Request) -> int | None:
    """Return the account for which this browser's map page may ask the API."""
    visit = Visit(request, {})
    if visit.signed_in is not None:
        return visit.account.id
    if is_local(request):
        return _find_owner(visit.services)
    per_minute = visit.services.settings.visitors_per_minute
    return ensure_visitors(visit.database, per_minute) if per_minute else None


def is_local(request: Request) -> bool:
    """Return whether a page of this server asks, from a browser on this very machine.

    The Origin must name a loopback host, the same as Host: a proxy in front leaves its public name
    there, and a foreign name that resolves to this machine does not pass either.
    """
    client = request.client.host if request.client else ""
    origin = urlsplit(request.headers.get("origin", ""))
    return (
        is_loopback(client)
        and origin.netloc == request.headers.get("host", "")
        and (origin.hostname == "localhost" or is_loopback(origin.hostname or ""))
        and "x-forwarded-for" not in request.headers
        and "forwarded" not in request.headers
    )


def is_loopback(address: str) -> bool:
    """Return whether an address is of this machine."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _find_owner(services: Services) -> int | None:
    assert services.database is not None
    with services.database.read() as session:
        return session.scalar(
            select(Account.id).where(Account.is_operator).order_by(Account.id).limit(1)
        )


def _json(value: object) -> Response:
    headers = {**_HEADERS, "Cache-Control": "no-store"}
    return Response(orjson.dumps(value), headers=headers, media_type="application/json")
