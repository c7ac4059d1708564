"""Sign-in with the operator's OpenID Connect provider."""

from __future__ import annotations

import hmac
import time
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts import registry
from mapyard.accounts.claim import take_over
from mapyard.accounts.database import now_s
from mapyard.accounts.models import Account
from mapyard.accounts.openid import (
    Attempt,
    Claims,
    OpenIdError,
    Provider,
    authorization_url,
    begin_attempt,
    discover,
    redeem_code,
)
from mapyard.http.services import Services
from mapyard.web.sealed import LIFE_S, seal, unseal
from mapyard.web.sign_in import enter, next_path
from mapyard.web.visit import Refused, Visit, page

_COOKIE: Final = "mapyard_openid"
_PROVIDER_LIFE_S: Final = 3_600.0
CALLBACK: Final = "/openid/callback"


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [page("/openid/start", start), page(CALLBACK, come_back)]


def start(visit: Visit) -> Response:
    """Send the browser to the provider."""
    attempt = begin_attempt(next_path(visit))
    settings = visit.services.settings
    url = authorization_url(
        _provider(visit), settings.openid_client_id, visit.base_url + CALLBACK, attempt
    )
    sealed = seal(visit.services.secret, "openid", attempt)
    visit.set_cookie(_COOKIE, sealed, LIFE_S, path="/openid")
    return visit.redirect(url)


def come_back(visit: Visit) -> Response:
    """Take the provider's answer and begin the session."""
    sealed = visit.request.cookies.get(_COOKIE, "")
    attempt = unseal(visit.services.secret, "openid", sealed, Attempt)
    visit.set_cookie(_COOKIE, "", 0, path="/openid")
    if attempt is None:
        raise OpenIdError(
            "this sign-in took too long or was begun elsewhere; sign in again", status=400
        )
    query = visit.query
    if not hmac.compare_digest(query.get("state", "").encode(), attempt.state.encode()):
        raise Refused("this sign-in was begun elsewhere; sign in again")
    provider = _provider(visit)
    if query.get("iss", provider.issuer) != provider.issuer:
        raise Refused("the answer came from another provider")
    if "error" in query:
        raise Refused("the provider did not sign you in")
    settings = visit.services.settings
    claims = redeem_code(
        provider,
        settings.openid_client_id,
        settings.openid_client_secret,
        visit.base_url + CALLBACK,
        attempt,
        query.get("code", ""),
    )
    account = find_or_create(visit, f"{provider.issuer}|{claims.sub}", claims)
    return enter(visit, account, attempt.next)


def find_or_create(visit: Visit, subject: str, claims: Claims) -> Account:
    """Return the account of a subject: known, of the same confirmed address, or new.

    An account of the address that has not confirmed it may be anybody's: whoever signs in now has
    proved to be the address's owner, so what others may have set there (password, second factor,
    sessions, keys) ends. A new account is made only where sign-up is open; else the operator
    creates or invites first.
    """
    with visit.database.write() as session:
        account = session.scalar(select(Account).where(Account.oidc_subject == subject))
        if account is not None:
            return account
        if not (claims.email and claims.email_verified):
            raise Refused("the provider does not confirm an e-mail address for you")
        email = registry.normalize_email(claims.email)
        account = session.scalar(select(Account).where(Account.email == email))
        if account is None:
            return _create(visit, session, email, subject)
        if account.oidc_subject is not None:
            raise Refused(
                "the account with your address belongs to another sign-in at the provider; "
                "ask the operator"
            )
        account.oidc_subject = subject
        if account.verified_at is None:
            take_over(session, account)
            registry.audit(session, email, "openid.take-over", account.id, {}, visit.address)
        registry.audit(session, email, "openid.link", account.id, {}, visit.address)
        return account


def _create(visit: Visit, session: Session, email: str, subject: str) -> Account:
    if visit.services.settings.signup != "open":
        raise Refused("there is no account with your address; ask the operator for one")
    return registry.add_account(
        session,
        email,
        "free",
        operator=False,
        actor=email,
        oidc_subject=subject,
        verified_at=now_s(),
    )


def _provider(visit: Visit) -> Provider:
    held: dict[str, tuple[float, Provider]] = visit.services.get("web.openid", lambda _: {})
    found = held.get("provider")
    if found is None or found[0] < time.monotonic():
        provider = discover(visit.services.settings.openid_issuer)
        found = held["provider"] = (time.monotonic() + _PROVIDER_LIFE_S, provider)
    return found[1]
