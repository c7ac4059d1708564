"""The map page at /: static files, what the page must know, and for whom it asks the API.

The page never holds a key. Who is signed in asks the API for the own account; a browser that has
redeemed a link of `mapyard open` (or of the demo's greeting) for the operator's, and so does one in
a network that a setting trusts. Everybody else asks for the account of all visitors, where the
settings allow them some requests. Where a request comes from, or says that it comes from, is else
no reason to give it anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from mapyard.accounts import links, registry
from mapyard.accounts.models import Account
from mapyard.accounts.open import ensure_visitors, find_owner
from mapyard.accounts.sessions import start_session
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.http.services import Services
from mapyard.http.session import make_session_cookie
from mapyard.http.trust import is_own_host, is_trusted
from mapyard.library.view import find_view
from mapyard.library.ways import has_rasters
from mapyard.params.positions import Problem, make_position
from mapyard.routing.times import find_zone
from mapyard.version import __version__
from mapyard.web.visit import Refused, Visit, page

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
    opening = [] if services.database is None else [page("/open", open_map)]
    return [
        *opening,
        Route("/", _index),
        Route("/playground/config.json", _config),
        Route("/playground/zone.json", _zone),
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
    config["keys"] = services.accounts is not None
    config["relief"] = await run_in_threadpool(has_rasters, services)
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
                "view": await run_in_threadpool(find_view, snapshot),
                "parts": sorted(snapshot.manifest.parts),
            }
        finally:
            snapshot.release()
    return Response(orjson.dumps(config), headers=_HEADERS, media_type="application/json")


async def _zone(request: Request) -> Response:
    """Name the time zone of a position: hours on a card are those of the place."""
    try:
        place = make_position(request.query_params.get("lat"), request.query_params.get("lng"))
    except Problem as problem:
        raise InvalidRequest(str(problem)) from None
    zone = await run_in_threadpool(find_zone, place.lon, place.lat)
    return Response(
        orjson.dumps({"zone": str(zone)}),
        headers={**_HEADERS, "Cache-Control": "public, max-age=86400"},
        media_type="application/json",
    )


async def _session(request: Request) -> Response:
    """Give the browser a cookie for the API; say whether there is an account to ask for."""
    services: Services = request.app.state.services
    if services.database is None:
        return _json({"session": True})  # no keys are asked for
    visit = Visit(request, {})
    account_id = await run_in_threadpool(find_page_account, visit)
    if account_id is None:
        return _json({"session": False})
    response = _json({"session": True})
    cookie = make_session_cookie(services.secret, account_id, is_https=visit.is_https)
    response.headers.append("Set-Cookie", cookie)
    return response


def find_page_account(visit: Visit) -> int | None:
    """Return the account for which this browser's map page may ask the API."""
    if visit.signed_in is not None:
        return visit.account.id
    opened = visit.map_session
    if opened is not None:
        return opened.account.id
    if _is_trusted(visit):
        owner = find_owner(visit.database)
        if owner is not None:
            return owner.id
    per_minute = visit.services.settings.visitors_per_minute
    return ensure_visitors(visit.database, per_minute) if per_minute else None


def may_ask(visit: Visit) -> bool:
    """Return whether the map page would be answered in this browser."""
    return bool(
        visit.services.database is None
        or visit.signed_in is not None
        or visit.services.settings.visitors_per_minute
        or visit.map_session is not None
        or _is_trusted(visit)
    )


def open_map(visit: Visit) -> Response:
    """Redeem a link: this browser's map page asks for the operator from now on."""
    if visit.request.method != "GET" or visit.map_session is not None:
        return visit.redirect("/")  # HEAD uses nothing up; who opens the link again is in already
    try:
        with visit.database.write() as session:
            link = links.use_link(session, "open", visit.query.get("token", ""))
            account = session.get(Account, link.account_id)
            if account is None or account.suspended_at is not None or not account.is_operator:
                raise InvalidRequest("the account of this link is gone")
            registry.audit(session, account.email, "map.open", account.id, {}, visit.address)
    except InvalidRequest:
        raise Refused(
            "this link was used in another browser or has expired; "
            "make a new one on the server with: mapyard open"
        ) from None
    user_agent = visit.request.headers.get("user-agent", "")
    token = start_session(visit.database, account.id, user_agent, address=visit.address, kind="map")
    visit.keep_map_session(token)
    return visit.redirect("/")


def _is_trusted(visit: Visit) -> bool:
    settings = visit.services.settings
    host = visit.request.headers.get("host", "")
    return is_trusted(settings, visit.address) and is_own_host(settings, host)


def _json(value: object) -> Response:
    headers = {**_HEADERS, "Cache-Control": "no-store"}
    return Response(orjson.dumps(value), headers=headers, media_type="application/json")
