"""Passkeys in the browser: made on the profile, used on the page for signing in."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from mapyard.accounts import passkeys, registry
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.http.services import Services
from mapyard.web.sealed import LIFE_S, seal, unseal
from mapyard.web.sign_in import begin, next_path
from mapyard.web.throttle import count_form
from mapyard.web.visit import Refused, Visit, page, text_of

_COOKIE: Final = "mapyard_challenge"


class Challenge(msgspec.Struct, frozen=True):
    """What the device shall sign, and for which account a passkey is made (0: to sign in)."""

    challenge: str
    account_id: int


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/account/passkeys/options", _go_back, begin_adding, needs="account"),
        page("/account/passkeys/add", _go_back, add, needs="account"),
        page("/account/passkeys/remove", _go_back, remove, needs="account"),
        page("/sign-in/passkey/options", _go_back, begin_sign_in),
        page("/sign-in/passkey", _go_back, sign_in),
    ]


def begin_adding(visit: Visit) -> Response:
    """Answer with what the browser needs to make a passkey."""
    _demand(visit)
    challenge = passkeys.make_challenge()
    _keep(visit, challenge, visit.account.id)
    options = passkeys.registration_options(
        visit.database, visit.services.secret, visit.account, visit.host, challenge
    )
    return Response(options, media_type="application/json")


def add(visit: Visit) -> Response:
    """Keep the passkey that was made."""
    from mapyard.web.profile import NotConfirmed, confirm

    _demand(visit)
    try:
        confirm(visit, visit.form.get("password", ""))
        passkeys.add_passkey(
            visit.database,
            visit.account,
            visit.form.get("credential", ""),
            visit.form.get("name", ""),
            challenge=_take(visit, visit.account.id),
            host=visit.host,
            origin=visit.base_url,
            address=visit.address,
        )
    except (NotConfirmed, InvalidRequest, registry.Conflict) as error:
        return _problem(error)
    return JSONResponse({"next": "/account/profile?done=saved"})


def remove(visit: Visit) -> Response:
    """Forget a passkey."""
    wanted = visit.form.get("passkey", "")
    if not (wanted.isascii() and wanted.isdigit() and len(wanted) < 10):
        raise InvalidRequest.of("passkey", "must be the id of a passkey")
    passkeys.remove_passkey(visit.database, visit.account, int(wanted), address=visit.address)
    return visit.redirect("/account/profile", "passkey")


def begin_sign_in(visit: Visit) -> Response:
    """Answer with what the browser needs to sign in."""
    _demand(visit)
    count_form(visit)
    challenge = passkeys.make_challenge()
    _keep(visit, challenge, 0)
    return Response(passkeys.sign_in_options(visit.host, challenge), media_type="application/json")


def sign_in(visit: Visit) -> Response:
    """Begin a session for whoever's passkey has signed; the device has asked who it is."""
    _demand(visit)
    count_form(visit)
    try:
        account = passkeys.find_account_by_passkey(
            visit.database,
            visit.form.get("credential", ""),
            challenge=_take(visit, 0),
            host=visit.host,
            origin=visit.base_url,
        )
    except InvalidRequest as error:
        return _problem(error)
    if account.suspended_at is not None:
        return _problem(Refused("this account is suspended; ask the operator"))
    begin(visit, account)
    return JSONResponse({"next": next_path(visit)})


def _demand(visit: Visit) -> None:
    if not visit.may_use_passkeys:
        raise Refused("passkeys need MAPYARD_PUBLIC_URL, an https address")


def _keep(visit: Visit, challenge: bytes, account_id: int) -> None:
    held = Challenge(challenge.hex(), account_id)
    visit.set_cookie(_COOKIE, seal(visit.services.secret, "passkey", held), LIFE_S, site="Strict")


def _take(visit: Visit, account_id: int) -> bytes:
    sealed = visit.request.cookies.get(_COOKIE, "")
    visit.set_cookie(_COOKIE, "", 0, site="Strict")
    held = unseal(visit.services.secret, "passkey", sealed, Challenge)
    if held is None or held.account_id != account_id:
        raise InvalidRequest("this took too long; try again")
    return bytes.fromhex(held.challenge)


def _problem(error: MapyardError) -> Response:
    return JSONResponse({"error": text_of(error)}, error.status)


def _go_back(visit: Visit) -> Response:
    return visit.redirect("/account/profile")
