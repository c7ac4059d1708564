"""An unconfirmed account passes to the proven owner of its address: what others set there ends."""

from __future__ import annotations

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from mapyard.accounts.database import bump_revision, now_s
from mapyard.accounts.models import Account, Key, Passkey, RecoveryCode, Token
from mapyard.accounts.models import Session as SignIn


def take_over(session: Session, account: Account) -> None:
    """End password, second factor, passkeys, sessions, links and keys; confirm the address."""
    account.password_hash = None
    account.verified_at = now_s()
    drop_credentials(session, account)
    session.execute(
        update(Key)
        .where(Key.account_id == account.id, Key.revoked_at.is_(None))
        .values(revoked_at=now_s())
    )
    bump_revision(session)


def drop_credentials(session: Session, account: Account) -> None:
    """End second factor, passkeys, sessions and open links of an account."""
    account.totp_secret = account.totp_confirmed_at = account.totp_last_step = None
    for table in (RecoveryCode, Passkey, SignIn, Token):
        session.execute(delete(table).where(table.account_id == account.id))
    session.execute(delete(Token).where(Token.email == account.email))
