"""The keys page: create, see, revoke."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts import registry
from mapyard.accounts.models import Key
from mapyard.accounts.plans import MAX_ACTIVE_KEYS
from mapyard.errors import InvalidRequest
from mapyard.http.services import Services
from mapyard.web.visit import Visit, page


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/account", lambda visit: visit.redirect("/account/keys"), needs="account"),
        page("/account/keys", show_keys, create_key, needs="account"),
        page("/account/keys/revoke", show_keys, revoke_key, needs="account"),
    ]


def show_keys(
    visit: Visit, key: Key | None = None, secret: str = "", error: str = "", code: int = 200
) -> Response:
    """List the keys; `secret` is a key just made, to be shown this one time."""
    keys = registry.list_keys(visit.database, visit.account.id)
    return visit.render(
        "keys.html",
        code,
        active=[key for key in keys if key.revoked_at is None],
        revoked=[key for key in reversed(keys) if key.revoked_at is not None],
        most=MAX_ACTIVE_KEYS,
        key=key,
        secret=secret,
        error=error,
    )


def create_key(visit: Visit) -> Response:
    """Create a key and show it."""
    environment = visit.form.get("environment", "live")
    if environment not in ("live", "test"):
        raise InvalidRequest.of("environment", "must be live or test")
    try:
        key, secret = registry.create_key(
            visit.database,
            visit.account.id,
            "test" if environment == "test" else "live",
            visit.form.get("name", ""),
            actor=visit.actor,
        )
    except registry.Conflict as error:
        return show_keys(visit, error=error.message[:1].upper() + error.message[1:] + ".", code=422)
    return show_keys(visit, key, secret)


def revoke_key(visit: Visit) -> Response:
    """Revoke a key of this account."""
    key_id = visit.form.get("key", "")
    if not key_id.isdigit():
        raise InvalidRequest.of("key", "must be the id of a key")
    registry.revoke_key(visit.database, visit.account.id, int(key_id), actor=visit.actor)
    return visit.redirect("/account/keys", "revoked")
