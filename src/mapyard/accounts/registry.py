"""Accounts and their keys: create, list, change, revoke."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from mapyard.accounts.database import Database, bump_revision, now_s
from mapyard.accounts.keys import Environment, hash_key, make_key
from mapyard.accounts.models import Account, AuditEntry, Key, PlanChange
from mapyard.accounts.plans import MAX_ACTIVE_KEYS, Limits, effective_limits, get_plan
from mapyard.accounts.restrictions import Restrictions
from mapyard.errors import InvalidRequest, MapyardError, NotFound

#: Actor of what the command line and the server itself do.
SYSTEM: Final = "system"
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)*")


class Conflict(MapyardError):  # noqa: N818 - as in errors.py, named after its code
    """What was asked for contradicts what is there: an address taken, a fourth key."""

    status, code = 422, "validation_failed"


def normalize_email(email: str) -> str:
    """Return the address as it is stored, or raise InvalidRequest."""
    email = email.strip().lower()
    if len(email) > 254 or _EMAIL.fullmatch(email) is None:
        raise InvalidRequest.of("email", f"'{email[:80]}' is not an e-mail address")
    return email


def create_account(
    database: Database,
    email: str,
    plan: str = "free",
    *,
    operator: bool = False,
    actor: str = SYSTEM,
    **fields: Any,
) -> Account:
    """Create an account; raise Conflict when the address is taken."""
    email, plan = normalize_email(email), get_plan(plan).id
    with database.write() as session:
        return add_account(session, email, plan, operator=operator, actor=actor, **fields)


def add_account(
    session: Session, email: str, plan: str, *, operator: bool, actor: str, **fields: Any
) -> Account:
    """Create an account inside a transaction (`email` and `plan` were checked)."""
    if session.scalar(select(Account.id).where(Account.email == email)) is not None:
        raise Conflict(f"an account with the address {email} exists")
    account = Account(email=email, plan=plan, is_operator=operator, created_at=now_s(), **fields)
    session.add(account)
    session.flush()
    session.add(PlanChange(account_id=account.id, plan=plan, changed_at=now_s(), changed_by=actor))
    audit(session, actor, "account.create", account.id, {"email": email, "plan": plan})
    return account


def find_account(database: Database, email: str) -> Account | None:
    """Return the account of this address."""
    with database.read() as session:
        return session.scalar(select(Account).where(Account.email == normalize_email(email)))


def get_account(database: Database, email: str) -> Account:
    """Return the account of this address, or raise NotFound."""
    account = find_account(database, email)
    if account is None:
        raise NotFound(f"no account has the address {normalize_email(email)}")
    return account


def limits_of(account: Account) -> Limits:
    """Return the limits that are enforced for an account."""
    return effective_limits(account.plan, account.per_minute_override, account.month_units_override)


def list_accounts(database: Database) -> list[Account]:
    """Return all accounts, oldest first."""
    with database.read() as session:
        return list(session.scalars(select(Account).order_by(Account.id)))


def change_account(
    database: Database,
    account_id: int,
    *,
    action: str,
    actor: str = SYSTEM,
    address: str = "",
    **fields: Any,
) -> Account:
    """Set fields of an account (plan, overrides, suspension) and note it in the audit log."""
    with database.write() as session:
        account = session.get(Account, account_id)
        if account is None:
            raise NotFound(f"there is no account {account_id}")
        if "plan" in fields and get_plan(fields["plan"]).id != account.plan:
            session.add(
                PlanChange(
                    account_id=account_id,
                    plan=fields["plan"],
                    changed_at=now_s(),
                    changed_by=actor,
                )
            )
        for name, value in fields.items():
            setattr(account, name, value)
        audit(session, actor, action, account_id, fields, address)
        bump_revision(session)
        return account


def change_email(
    session: Session, account_id: int, email: str, actor: str, address: str = ""
) -> Account:
    """Give an account a new address inside a transaction; raise Conflict when it is taken."""
    account = session.get(Account, account_id)
    if account is None:
        raise NotFound(f"there is no account {account_id}")
    if session.scalar(select(Account.id).where(Account.email == email)) is not None:
        raise Conflict(f"an account with the address {email} exists")
    details = {"old": account.email, "new": email}
    account.email, account.verified_at = email, now_s()
    audit(session, actor, "email.change", account_id, details, address)
    return account


def create_key(
    database: Database,
    account_id: int,
    environment: Environment = "live",
    name: str = "",
    *,
    expires_at: int | None = None,
    restrictions: Restrictions | None = None,
    actor: str = SYSTEM,
    address: str = "",
) -> tuple[Key, str]:
    """Create a key; return its row and the key itself, which is stored nowhere.

    Raises Conflict when the account has three active keys.
    """
    with database.write() as session:
        return add_key(
            session, account_id, environment, name,
            expires_at=expires_at, restrictions=restrictions, actor=actor, address=address,
        )  # fmt: skip


def add_key(
    session: Session,
    account_id: int,
    environment: Environment,
    name: str,
    *,
    expires_at: int | None = None,
    restrictions: Restrictions | None = None,
    actor: str,
    address: str = "",
) -> tuple[Key, str]:
    """Create a key inside a transaction."""
    # The row lock makes two creators of one account wait for each other (PostgreSQL; on SQLite
    # every writing transaction is alone).
    locked = select(Account.id).where(Account.id == account_id).with_for_update()
    if session.scalar(locked) is None:
        raise NotFound(f"there is no account {account_id}")
    active = session.scalar(
        select(func.count()).where(Key.account_id == account_id, *is_active(now_s()))
    )
    if (active or 0) >= MAX_ACTIVE_KEYS:
        raise Conflict(
            f"the account has {MAX_ACTIVE_KEYS} active keys, which is the most; revoke one first"
        )
    secret = make_key(environment)
    key = Key(
        account_id=account_id,
        sha256=hash_key(secret),
        environment=environment,
        last_four=secret[-4:],
        name=name.strip()[:100],
        created_at=now_s(),
        expires_at=expires_at,
        restrictions=None if restrictions is None else msgspec.to_builtins(restrictions),
    )
    session.add(key)
    session.flush()
    details: dict[str, Any] = {"key": key.masked, "name": key.name}
    details |= _describe_limits(expires_at, restrictions)
    audit(session, actor, "key.create", account_id, details, address)
    bump_revision(session)
    return key, secret


def change_key(
    database: Database,
    account_id: int,
    key_id: int,
    *,
    expires_at: int | None,
    restrictions: Restrictions | None,
    actor: str = SYSTEM,
    address: str = "",
) -> Key:
    """Set a key's expiry and restrictions; every worker holds to them within two seconds."""
    with database.write() as session:
        key = session.get(Key, key_id)
        if key is None or key.account_id != account_id:
            raise NotFound(f"the account has no key {key_id}")
        if key.revoked_at is not None:
            raise Conflict("the key was revoked, which cannot be undone")
        key.expires_at = expires_at
        key.restrictions = None if restrictions is None else msgspec.to_builtins(restrictions)
        details = {"key": key.masked} | _describe_limits(expires_at, restrictions)
        audit(session, actor, "key.change", account_id, details, address)
        bump_revision(session)
        return key


def _describe_limits(expires_at: int | None, restrictions: Restrictions | None) -> dict[str, str]:
    """Return expiry and restrictions of a key as the audit log shows them."""
    until = "never"
    if expires_at is not None:
        until = f"{dt.datetime.fromtimestamp(expires_at, dt.UTC):%Y-%m-%d %H:%M}"
    held = "; ".join(restrictions.describe()) if restrictions is not None else "none"
    return {"expires": until, "restrictions": held}


def is_active(now: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of keys that work: neither revoked nor expired."""
    return Key.revoked_at.is_(None), or_(Key.expires_at.is_(None), Key.expires_at > now)


def list_keys(database: Database, account_id: int) -> list[Key]:
    """Return all keys of an account, revoked ones included, oldest first."""
    with database.read() as session:
        query = select(Key).where(Key.account_id == account_id).order_by(Key.id)
        return list(session.scalars(query))


def find_key(keys: Sequence[Key], wanted: str) -> Key:
    """Return the key of this id, or the active one with these last four; raise NotFound."""
    matches = [key for key in keys if str(key.id) == wanted] or [
        key for key in keys if key.last_four == wanted and key.revoked_at is None
    ]
    if len(matches) != 1:
        raise NotFound(
            f"the account has {'no' if not matches else 'more than one'} key '{wanted}'; "
            "name it by its id (mapyard keys list EMAIL)"
        )
    return matches[0]


def revoke_key(
    database: Database, account_id: int, key_id: int, *, actor: str = SYSTEM, address: str = ""
) -> Key:
    """Revoke a key of this account; every worker refuses it within two seconds."""
    with database.write() as session:
        key = session.get(Key, key_id)
        if key is None or key.account_id != account_id:
            raise NotFound(f"the account has no key {key_id}")
        if key.revoked_at is None:
            key.revoked_at = now_s()
            details = {"key": key.masked, "name": key.name}
            audit(session, actor, "key.revoke", account_id, details, address)
            bump_revision(session)
        return key


def audit(
    session: Session,
    actor: str,
    action: str,
    account_id: int | None,
    details: dict[str, Any],
    address: str = "",
) -> None:
    """Note a change in the audit log; no secret ever belongs into `details`."""
    hidden = {"password_hash", "totp_secret"}
    shown = {name: value for name, value in details.items() if name not in hidden}
    session.add(
        AuditEntry(
            at=now_s(),
            actor=actor,
            action=action,
            account_id=account_id,
            details=shown,
            address=address,
        )
    )
