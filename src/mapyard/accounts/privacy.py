"""What an account holds about a person: all of it as one document, and none of it any more.

A deleted account leaves its number and the ledger's counts under it, which bills are made of. The
address, the password, keys, sessions, links, names and network addresses go, in the audit log, too.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session

from mapyard.accounts.claim import drop_credentials
from mapyard.accounts.database import Database, bump_revision, now_s
from mapyard.accounts.models import (
    Account,
    AuditEntry,
    Base,
    Job,
    Key,
    Passkey,
    PlanChange,
    RequestError,
    UsageDay,
    UserDataset,
    WebhookDelivery,
)
from mapyard.accounts.models import Session as SignIn
from mapyard.accounts.registry import Conflict, audit
from mapyard.errors import NotFound

#: Columns that are secrets of the server, not facts about a person.
_SECRET: Final = frozenset(
    ("password_hash", "totp_secret", "totp_last_step", "sha256", "csrf_token", "public_key",
     "credential_id", "sign_count", "lease_owner")
)  # fmt: skip


def export_account(database: Database, account_id: int) -> dict[str, Any]:
    """Return all that is kept about an account, as a JSON value; no secret is in it."""
    with database.read() as session:
        account = session.get(Account, account_id)
        if account is None:
            raise NotFound(f"there is no account {account_id}")

        def rows(table: type[Base], condition: ColumnElement[bool]) -> list[dict[str, Any]]:
            return [_as_json(row) for row in session.scalars(select(table).where(condition))]

        return {
            "exported_at": _time(now_s()),
            "account": _as_json(account),
            "keys": [
                {**_as_json(key), "key": key.masked}
                for key in session.scalars(select(Key).where(Key.account_id == account_id))
            ],
            "plan_changes": rows(PlanChange, PlanChange.account_id == account_id),
            "passkeys": rows(Passkey, Passkey.account_id == account_id),
            "sessions": rows(SignIn, SignIn.account_id == account_id),
            "usage_days": rows(UsageDay, UsageDay.account_id == account_id),
            "request_errors": rows(RequestError, RequestError.account_id == account_id),
            "jobs": rows(Job, Job.account_id == account_id),
            "datasets": rows(UserDataset, UserDataset.account_id == account_id),
            "deliveries": rows(WebhookDelivery, WebhookDelivery.account_id == account_id),
            "audit": rows(
                AuditEntry,
                or_(AuditEntry.account_id == account_id, AuditEntry.actor == account.email),
            ),
        }


def delete_account(
    database: Database, account_id: int, *, actor: str = "", address: str = ""
) -> None:
    """Delete an account for good; raise Conflict for the last operator.

    The actor is told in the log only where it is not the deleted account itself.
    """
    with database.write() as session:
        account = session.get(Account, account_id)
        if account is None or account.deleted_at is not None:
            raise NotFound(f"there is no account {account_id}")
        if account.is_operator and not _has_other_operator(session, account_id):
            raise Conflict("this is the only operator; make another one first")
        email, gone = account.email, f"deleted-{account_id}@deleted.invalid"
        drop_credentials(session, account)
        session.execute(delete(Job).where(Job.account_id == account_id))
        session.execute(delete(UserDataset).where(UserDataset.account_id == account_id))
        session.execute(delete(RequestError).where(RequestError.account_id == account_id))
        session.execute(
            update(Key)
            .where(Key.account_id == account_id)
            .values(name="", restrictions=None, revoked_at=func.coalesce(Key.revoked_at, now_s()))
        )
        session.execute(
            update(PlanChange).where(PlanChange.changed_by == email).values(changed_by=gone)
        )
        _scrub_audit(session, account_id, email, gone)
        account.email, account.oidc_subject, account.password_hash = gone, None, None
        account.is_operator, account.verified_at = False, None
        account.suspended_reason = None
        account.suspended_at = account.deleted_at = now_s()
        by_itself = actor in ("", email)
        audit(
            session, gone if by_itself else actor, "account.delete", account_id, {},
            "" if by_itself else address,
        )  # fmt: skip
        bump_revision(session)


def _scrub_audit(session: Session, account_id: int, email: str, gone: str) -> None:
    """Take the person out of the log; what happened and when stays."""
    about = session.scalars(
        select(AuditEntry).where(
            or_(
                AuditEntry.account_id == account_id,
                AuditEntry.actor == email,
                AuditEntry.action.startswith("link."),
            )
        )
    )
    for entry in about:
        if entry.actor == email:
            entry.actor, entry.address = gone, ""
        if entry.account_id == account_id or entry.details.get("email") == email:
            entry.details = {
                name: value
                for name, value in entry.details.items()
                if name not in ("email", "name", "restrictions", "old", "new")
            }


def _has_other_operator(session: Session, account_id: int) -> bool:
    others = select(Account.id).where(
        Account.is_operator, Account.id != account_id, Account.suspended_at.is_(None)
    )
    return session.scalar(others.limit(1)) is not None


def _as_json(row: Base) -> dict[str, Any]:
    fields = {}
    for column in row.__table__.columns:
        if column.name in _SECRET:
            continue
        value = getattr(row, column.key)
        if (value is not None and column.name.endswith(("_at", "_until"))) or column.name == "at":
            value = _time(value)
        elif isinstance(value, dt.date):
            value = value.isoformat()
        elif isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        fields[column.name] = value
    return fields


def _time(unix_s: int) -> str:
    return dt.datetime.fromtimestamp(unix_s, dt.UTC).isoformat().replace("+00:00", "Z")
