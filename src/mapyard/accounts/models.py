"""Tables of the accounts database. Times are Unix seconds, days are UTC dates, money is integer."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """Root of all models."""


def _time(**kwargs: Any) -> Any:
    return mapped_column(BigInteger, **kwargs)


class Revision(Base):
    """One row, raised by every change that the key check must see; workers poll it."""

    __tablename__ = "revision"
    id: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


class Account(Base):
    """Somebody who has keys, a plan and maybe a password."""

    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(String(254), unique=True)
    plan: Mapped[str] = mapped_column(String(32))
    is_operator: Mapped[bool] = mapped_column(default=False)
    per_minute_override: Mapped[int | None]
    month_units_override: Mapped[int | None] = mapped_column(BigInteger)
    password_hash: Mapped[str | None] = mapped_column(String(255))
    oidc_subject: Mapped[str | None] = mapped_column(String(255), unique=True)
    created_at: Mapped[int] = _time()
    verified_at: Mapped[int | None] = _time()
    suspended_at: Mapped[int | None] = _time()
    suspended_reason: Mapped[str | None] = mapped_column(String(500))
    #: Secret of the authenticator app (base32); asked for at sign-in once it was confirmed.
    totp_secret: Mapped[str | None] = mapped_column(String(64))
    totp_confirmed_at: Mapped[int | None] = _time()
    #: The last time step whose code was used, so that no code works twice.
    totp_last_step: Mapped[int | None] = mapped_column(BigInteger)
    #: What is left of a deleted account is its number, for the ledger.
    deleted_at: Mapped[int | None] = _time()


class Key(Base):
    """An API key; the key itself is stored nowhere."""

    __tablename__ = "keys"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    sha256: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    environment: Mapped[str] = mapped_column(String(4))
    last_four: Mapped[str] = mapped_column(String(4))
    name: Mapped[str] = mapped_column(String(100), default="")
    created_at: Mapped[int] = _time()
    last_used_at: Mapped[int | None] = _time()
    revoked_at: Mapped[int | None] = _time()
    expires_at: Mapped[int | None] = _time()
    #: What the key may do and from where, as of `restrictions.py`; None restricts nothing.
    restrictions: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))

    @property
    def masked(self) -> str:
        """The key as people may see it: prefix and last four."""
        return f"pk_{self.environment}_…{self.last_four}"

    def works_at(self, unix_s: int) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > unix_s)


class PlanChange(Base):
    """History of an account's plan."""

    __tablename__ = "plan_changes"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    plan: Mapped[str] = mapped_column(String(32))
    changed_at: Mapped[int] = _time()
    changed_by: Mapped[str] = mapped_column(String(254))


class UsageDay(Base):
    """The ledger: what one key did on one UTC day at one endpoint with one outcome."""

    __tablename__ = "usage_days"
    account_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    day: Mapped[dt.date] = mapped_column(primary_key=True)
    key_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    endpoint: Mapped[str] = mapped_column(String(64), primary_key=True)
    status: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    premium: Mapped[bool] = mapped_column(primary_key=True, autoincrement=False)
    requests: Mapped[int] = mapped_column(BigInteger)
    #: Units taken from the allowance (refused and failed requests take none).
    units: Mapped[int] = mapped_column(BigInteger)
    #: Requests admitted beyond the monthly allowance.
    overage: Mapped[int] = mapped_column(BigInteger)
    total_us: Mapped[int] = mapped_column(BigInteger)


class UsageLatency(Base):
    """Histogram of answer times: bucket b holds what took below 2**b / 8 milliseconds."""

    __tablename__ = "usage_latency"
    account_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    day: Mapped[dt.date] = mapped_column(primary_key=True)
    endpoint: Mapped[str] = mapped_column(String(64), primary_key=True)
    bucket: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    requests: Mapped[int] = mapped_column(BigInteger)


class UsageJournal(Base):
    """How far a worker's usage journal has been entered into the ledger."""

    __tablename__ = "usage_journals"
    journal: Mapped[str] = mapped_column(String(64), primary_key=True)
    consumed: Mapped[int] = mapped_column(BigInteger)


class RequestError(Base):
    """A recent request that failed, so that its owner can find out why."""

    __tablename__ = "request_errors"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int]
    key_id: Mapped[int]
    failed_at: Mapped[int] = _time()
    endpoint: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    code: Mapped[str] = mapped_column(String(32))
    request_id: Mapped[str] = mapped_column(String(32))
    __table_args__ = (Index("ix_request_errors_account", "account_id", "id"),)


class Job(Base):
    """Work that outlives its request; whichever worker holds the lease does it."""

    __tablename__ = "jobs"
    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    account_id: Mapped[int] = mapped_column(index=True)
    kind: Mapped[str] = mapped_column(String(32))
    state: Mapped[str] = mapped_column(String(16))
    request: Mapped[bytes]
    result: Mapped[bytes | None]
    error: Mapped[bytes | None]
    lease_owner: Mapped[str | None] = mapped_column(String(64))
    leased_until: Mapped[int | None] = _time()
    attempts: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[int] = _time()
    finished_at: Mapped[int | None] = _time()
    __table_args__ = (Index("ix_jobs_state", "state", "created_at"),)


class Session(Base):
    """A signed-in browser; the cookie holds the token, the table only its SHA-256."""

    __tablename__ = "sessions"
    sha256: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    csrf_token: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[int] = _time()
    expires_at: Mapped[int] = _time()
    user_agent: Mapped[str] = mapped_column(String(200), server_default=text("''"))
    #: "full" is signed in; "map" may only ask the API from the map page.
    kind: Mapped[str] = mapped_column(String(8), server_default=text("'full'"))
    address: Mapped[str] = mapped_column(String(64), server_default=text("''"))


class RecoveryCode(Base):
    """A code to sign in with once, when the authenticator is lost; only its SHA-256."""

    __tablename__ = "recovery_codes"
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), primary_key=True)
    sha256: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    created_at: Mapped[int] = _time()


class Passkey(Base):
    """A WebAuthn credential: signs in without a password."""

    __tablename__ = "passkeys"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    credential_id: Mapped[bytes] = mapped_column(LargeBinary(1_023), unique=True)
    public_key: Mapped[bytes]
    sign_count: Mapped[int] = mapped_column(BigInteger)
    name: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[int] = _time()
    last_used_at: Mapped[int | None] = _time()


class Token(Base):
    """A link that was handed out once: sign-up, password reset, a new address, an invitation."""

    __tablename__ = "tokens"
    sha256: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    email: Mapped[str] = mapped_column(String(254), index=True)
    plan: Mapped[str | None] = mapped_column(String(32))
    #: Whose link it is, where that is not told by the address.
    account_id: Mapped[int | None]
    created_at: Mapped[int] = _time()
    expires_at: Mapped[int] = _time()


class AuditEntry(Base):
    """Who changed what, when, from where."""

    __tablename__ = "audit"
    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[int] = _time(index=True)
    actor: Mapped[str] = mapped_column(String(254))
    action: Mapped[str] = mapped_column(String(64))
    account_id: Mapped[int | None] = mapped_column(index=True)
    details: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    address: Mapped[str] = mapped_column(String(64), default="")


class UptimeDay(Base):
    """The minutes of a UTC day in which a machine of the service was up."""

    __tablename__ = "uptime_days"
    day: Mapped[dt.date] = mapped_column(primary_key=True)
    minutes: Mapped[int]
    last_minute: Mapped[int]


class WebhookDelivery(Base):
    """The monthly usage of one account on its way to the operator's billing system."""

    __tablename__ = "webhook_deliveries"
    account_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    month: Mapped[str] = mapped_column(String(7), primary_key=True)
    attempts: Mapped[int]
    next_attempt_at: Mapped[int] = _time()
    delivered_at: Mapped[int | None] = _time()
    last_error: Mapped[str] = mapped_column(String(200))


class UserDataset(Base):
    """A dataset of somebody's own; what it holds lies in a folder (userdata/)."""

    __tablename__ = "user_datasets"
    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    name: Mapped[str] = mapped_column(String(200))
    slug: Mapped[str] = mapped_column(String(64))
    description: Mapped[str | None] = mapped_column(Text)
    attribution: Mapped[str | None] = mapped_column(String(500))
    license: Mapped[str | None] = mapped_column(String(200))
    source_url: Mapped[str | None] = mapped_column(String(2_000))
    strict_mode: Mapped[bool] = mapped_column(default=False)
    is_public: Mapped[bool] = mapped_column(default=False)
    #: pending, processing, ready, error.
    status: Mapped[str] = mapped_column(String(16), default="pending")
    error_message: Mapped[str | None] = mapped_column(String(1_000))
    #: The upload that is being read; what an earlier one comes to is thrown away.
    upload: Mapped[str | None] = mapped_column(String(36))
    #: The folder that is served, None before the first import.
    version: Mapped[str | None] = mapped_column(String(36))
    source_format: Mapped[str | None] = mapped_column(String(16))
    feature_count: Mapped[int | None] = mapped_column(BigInteger)
    storage_bytes: Mapped[int | None] = mapped_column(BigInteger)
    problem_count: Mapped[int | None] = mapped_column(BigInteger)
    #: schema, bbox, first problems of the version that is served.
    described: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    inserted_at: Mapped[int] = _time()
    updated_at: Mapped[int] = _time()
    __table_args__ = (UniqueConstraint("account_id", "slug", name="uq_user_datasets_slug"),)
