"""Sessions of signed-in browsers. The cookie holds a random token, the table only its SHA-256."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal, NamedTuple

from sqlalchemy import delete, select

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.models import Account, Session

LIFE_S: Final = 14 * 86_400

#: "full" is signed in; "map" lets the map page ask the API and opens no page of the account.
Kind = Literal["full", "map"]


class SignedIn(NamedTuple):
    """A session and whose it is."""

    session: Session
    account: Account


def start_session(
    database: Database,
    account_id: int,
    user_agent: str,
    *,
    address: str = "",
    kind: Kind = "full",
) -> str:
    """Begin a session and return its token. Nothing a browser sent becomes part of it."""
    token = secrets.token_urlsafe(32)
    now = now_s()
    with database.write() as session:
        session.execute(delete(Session).where(Session.expires_at < now))
        session.add(
            Session(
                sha256=_hash(token),
                account_id=account_id,
                csrf_token=secrets.token_urlsafe(24),
                created_at=now,
                expires_at=now + LIFE_S,
                user_agent=user_agent[:200],
                kind=kind,
                address=address[:64],
            )
        )
    return token


def find_session(database: Database, token: str, kind: Kind = "full") -> SignedIn | None:
    """Return the session of a token, None when it ended or its account is suspended."""
    if not token:
        return None
    query = (
        select(Session, Account)
        .join(Account, Account.id == Session.account_id)
        .where(Session.sha256 == _hash(token), Session.kind == kind)
    )
    with database.read() as session:
        row = session.execute(query).one_or_none()
    if row is None:
        return None
    found = SignedIn(*row)
    if found.session.expires_at < now_s() or found.account.suspended_at is not None:
        return None
    return found


def list_sessions(database: Database, account_id: int) -> list[Session]:
    """Return the running sessions of an account, newest first."""
    query = (
        select(Session)
        .where(Session.account_id == account_id, Session.expires_at >= now_s())
        .order_by(Session.created_at.desc())
    )
    with database.read() as session:
        return list(session.scalars(query))


def end_session(database: Database, token: str) -> None:
    """End the session of a token."""
    with database.write() as session:
        session.execute(delete(Session).where(Session.sha256 == _hash(token)))


def end_named_session(database: Database, account_id: int, name: str) -> bool:
    """End one session of this account by the hex of its SHA-256; say whether there was one."""
    try:
        digest = bytes.fromhex(name)
    except ValueError:
        return False
    mine = (Session.sha256 == digest, Session.account_id == account_id)
    with database.write() as session:
        ended = session.execute(delete(Session).where(*mine).returning(Session.sha256))
        return ended.first() is not None


def end_all_sessions(database: Database, account_id: int) -> None:
    """End all sessions of an account, as after a change of its password."""
    with database.write() as session:
        session.execute(delete(Session).where(Session.account_id == account_id))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
