"""Open the accounts of a data directory, made ready on first use."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from sqlalchemy import func, select

from mapyard.accounts import registry
from mapyard.accounts.database import Database, open_database
from mapyard.accounts.links import make_link
from mapyard.accounts.models import Account
from mapyard.errors import NotFound

#: Changing tables may take a while.
MIGRATION_S: Final = 600.0
OWNER_EMAIL: Final = "owner@localhost"
VISITORS_EMAIL: Final = "visitors@localhost"


def open_accounts(data: Path, url: str | None = None) -> Database:
    """Open and migrate the accounts database; for commands and the supervisor, not for workers."""
    from mapyard.accounts.schema import migrate  # Alembic: half a second that workers need not pay

    patient = open_database(data, url, limit_s=MIGRATION_S)
    try:
        migrate(patient)
    finally:
        patient.close()
    return open_database(data, url)


def ensure_owner(database: Database, email: str = OWNER_EMAIL) -> str | None:
    """Give a new server its owner: an operator account on the Enterprise plan.

    Returns the owner's key, to be shown once and never logged; None when there are accounts.
    """
    with database.write() as session:
        if session.scalar(select(func.count()).select_from(Account)):
            return None
        owner = registry.add_account(
            session,
            registry.normalize_email(email),
            "enterprise",
            operator=True,
            actor=registry.SYSTEM,
        )
        _, secret = registry.add_key(session, owner.id, "live", "first key", actor=registry.SYSTEM)
        return secret


def find_owner(database: Database) -> Account | None:
    """Return the operator's account for which the map page asks: the oldest that is active."""
    with database.read() as session:
        return session.scalar(
            select(Account)
            .where(Account.is_operator, Account.suspended_at.is_(None))
            .order_by(Account.id)
            .limit(1)
        )


def make_map_link(database: Database, *, actor: str = registry.SYSTEM) -> str:
    """Return path and query of a link that opens the operator's map page in one browser."""
    owner = find_owner(database)
    if owner is None:
        raise NotFound(
            "there is no operator; make one with: mapyard accounts create EMAIL "
            "--plan enterprise --operator"
        )
    return make_link(database, "open", owner.email, actor=actor, account_id=owner.id)


def ensure_visitors(database: Database, per_minute: int) -> int:
    """Return the account for which the map page asks when nobody is signed in.

    It is made at the first use; its limit follows the setting, and operators see its usage and can
    suspend it like any other.
    """
    with database.read() as session:
        account = session.scalar(select(Account).where(Account.email == VISITORS_EMAIL))
    if account is None:
        with contextlib.suppress(registry.Conflict):  # another worker was first
            registry.create_account(
                database, VISITORS_EMAIL, "enterprise", per_minute_override=per_minute
            )
        account = registry.get_account(database, VISITORS_EMAIL)
    if account.per_minute_override != per_minute:
        registry.change_account(
            database, account.id, action="account.limits", per_minute_override=per_minute
        )
    return account.id
