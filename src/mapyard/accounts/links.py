"""Links that work once: to confirm an address, choose a password, join, or open the map."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.models import Token
from mapyard.accounts.registry import audit, normalize_email
from mapyard.errors import InvalidRequest

#: sign-up: the address is confirmed, then the account is made; verify: of an account that is there;
#: address: the new one of an account; open: the operator's map page.
Kind = Literal["sign-up", "verify", "reset", "invite", "address", "open"]

LIFE_S: Final[dict[Kind, int]] = {
    "sign-up": 86_400,
    "verify": 7 * 86_400,
    "reset": 2 * 3_600,
    "invite": 14 * 86_400,
    "address": 86_400,
    "open": 86_400,
}
PATHS: Final[dict[Kind, str]] = {
    "sign-up": "/sign-up/confirm",
    "verify": "/verify",
    "reset": "/reset",
    "invite": "/sign-up",
    "address": "/account/profile/address/confirm",
    "open": "/open",
}


def make_link(
    database: Database,
    kind: Kind,
    email: str,
    *,
    actor: str,
    plan: str | None = None,
    account_id: int | None = None,
    address: str = "",
) -> str:
    """Return path and query of a new link; a newer one of its kind ends the older ones."""
    email, token, now = normalize_email(email), secrets.token_urlsafe(32), now_s()
    with database.write() as session:
        session.execute(delete(Token).where(Token.email == email, Token.kind == kind))
        session.execute(delete(Token).where(Token.expires_at < now))
        session.add(
            Token(
                sha256=_hash(token),
                kind=kind,
                email=email,
                plan=plan,
                account_id=account_id,
                created_at=now,
                expires_at=now + LIFE_S[kind],
            )
        )
        audit(session, actor, f"link.{kind}", account_id, {"email": email}, address)
    return f"{PATHS[kind]}?token={token}"


def look_at_link(database: Database, kind: Kind, token: str) -> Token:
    """Return what a link is for without using it up; raise InvalidRequest when it is no good."""
    with database.read() as session:
        return _find(session, kind, token)


def use_link(session: Session, kind: Kind, token: str) -> Token:
    """Use a link up inside a transaction; raise InvalidRequest when it is no good."""
    found = _find(session, kind, token)
    session.delete(found)
    return found


def _find(session: Session, kind: Kind, token: str) -> Token:
    found = session.scalar(select(Token).where(Token.sha256 == _hash(token), Token.kind == kind))
    if found is None or found.expires_at < now_s():
        raise InvalidRequest("this link was used, has expired, or is incomplete; ask for a new one")
    return found


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
