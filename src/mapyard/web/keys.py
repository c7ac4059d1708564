"""The keys page: create, restrict, revoke."""

from __future__ import annotations

import time
from typing import Final

from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts import registry
from mapyard.accounts.database import now_s
from mapyard.accounts.models import Key
from mapyard.accounts.plans import MAX_ACTIVE_KEYS
from mapyard.accounts.restrictions import (
    GROUPS,
    Restrictions,
    make_restrictions,
    read_restrictions,
)
from mapyard.errors import InvalidRequest, NotFound
from mapyard.http.services import Services
from mapyard.web.mail import can_mail
from mapyard.web.visit import Visit, page, text_of

#: Lives to choose from, in days; "" is for good.
LIVES: Final = {"": "never", "7": "7 days", "30": "30 days", "90": "90 days", "365": "one year"}


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/account", lambda visit: visit.redirect("/account/keys"), needs="account"),
        page("/account/keys", show_keys, create_key, needs="account"),
        page("/account/keys/revoke", show_keys, revoke_key, needs="account"),
        page("/account/keys/{id:int}", show_key, change_key, needs="account"),
    ]


def show_keys(
    visit: Visit, key: Key | None = None, secret: str = "", error: str = "", code: int = 200
) -> Response:
    """List the keys; `secret` is a key just made, to be shown this one time."""
    keys, now = registry.list_keys(visit.database, visit.account.id), now_s()
    return visit.render(
        "keys.html",
        code,
        active=[key for key in keys if key.works_at(now)],
        revoked=[key for key in reversed(keys) if not key.works_at(now)],
        describe=describe,
        most=MAX_ACTIVE_KEYS,
        groups=GROUPS,
        lives=LIVES,
        needs_confirmation=needs_confirmation(visit),
        key=key,
        secret=secret,
        error=error,
    )


def needs_confirmation(visit: Visit) -> bool:
    """Return whether the address must be confirmed first: where mail can be sent."""
    return visit.account.verified_at is None and can_mail(visit.services.settings)


def create_key(visit: Visit) -> Response:
    """Create a key and show it."""
    environment = visit.form.get("environment", "live")
    if environment not in ("live", "test"):
        raise InvalidRequest.of("environment", "must be live or test")
    if needs_confirmation(visit):
        return show_keys(visit, error="Confirm your e-mail address first.", code=403)
    try:
        key, secret = registry.create_key(
            visit.database,
            visit.account.id,
            "test" if environment == "test" else "live",
            visit.form.get("name", ""),
            expires_at=read_expiry(visit, None),
            restrictions=read_form(visit),
            actor=visit.actor,
            address=visit.address,
        )
    except (registry.Conflict, InvalidRequest) as error:
        return show_keys(visit, error=text_of(error), code=422)
    return show_keys(visit, key, secret)


def show_key(visit: Visit, error: str = "", code: int = 200) -> Response:
    """Show what a key is restricted to, as a form."""
    key = _key(visit)
    return visit.render(
        "key.html",
        code,
        key=key,
        held=read_restrictions(key.restrictions) or Restrictions(),
        groups=GROUPS,
        lives=LIVES,
        error=error,
    )


def change_key(visit: Visit) -> Response:
    """Set expiry and restrictions of a key."""
    key = _key(visit)
    try:
        registry.change_key(
            visit.database,
            visit.account.id,
            key.id,
            expires_at=read_expiry(visit, key.expires_at),
            restrictions=read_form(visit),
            actor=visit.actor,
            address=visit.address,
        )
    except (registry.Conflict, InvalidRequest) as error:
        return show_key(visit, text_of(error), 422)
    return visit.redirect("/account/keys", "key")


def revoke_key(visit: Visit) -> Response:
    """Revoke a key of this account."""
    key_id = visit.form.get("key", "")
    if not (key_id.isdigit() and key_id.isascii() and len(key_id) < 10):
        raise InvalidRequest.of("key", "must be the id of a key")
    registry.revoke_key(
        visit.database, visit.account.id, int(key_id), actor=visit.actor, address=visit.address
    )
    return visit.redirect("/account/keys", "revoked")


def describe(key: Key) -> list[str]:
    """Return what a key is restricted to, for the list."""
    restrictions = read_restrictions(key.restrictions)
    return [] if restrictions is None else restrictions.describe()


def read_expiry(visit: Visit, before: int | None) -> int | None:
    """Return when the key shall expire; "keep" leaves it as it was."""
    life = visit.form.get("life", "")
    if life == "keep":
        return before
    if life not in LIVES:
        raise InvalidRequest.of("life", "is not one of those offered")
    return int(time.time()) + int(life) * 86_400 if life else None


def read_form(visit: Visit) -> Restrictions | None:
    """Return the restrictions that the form asks for."""
    return make_restrictions(
        endpoints=[name for name in GROUPS.values() if f"group-{name}" in visit.form],
        read_only="read_only" in visit.form,
        networks=[visit.form.get("networks", "")],
        origins=[visit.form.get("origins", "")],
    )


def _key(visit: Visit) -> Key:
    wanted = visit.request.path_params["id"]
    for key in registry.list_keys(visit.database, visit.account.id):
        if key.id == wanted and key.revoked_at is None:
            return key
    raise NotFound("you have no such key")
