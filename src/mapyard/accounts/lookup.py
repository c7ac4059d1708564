"""Find the account of a key, from memory while nothing changed.

Every change that matters raises the database's revision; each worker reads it at most twice a
second and forgets everything when it moved. So a revoked key stops within half a second, and a key
costs a look-up only once per change. Entries also end after a minute, for changes made by hand.

A worker reads the revision in a thread (`start`) and never waits for the database on its loop: what
only the database knows raises `MustAsk` there. While the database is silent, known keys go on for
ten minutes.
"""

from __future__ import annotations

import hmac
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Row, Select, select
from sqlalchemy.exc import SQLAlchemyError

from mapyard.accounts.database import Database
from mapyard.accounts.errors import AccountsUnavailable, MustAsk
from mapyard.accounts.keys import hash_key, is_well_formed
from mapyard.accounts.models import Account, Key, Revision
from mapyard.accounts.plans import Limits, effective_limits
from mapyard.accounts.restrictions import Guard, Restrictions
from mapyard.errors import MapyardError

log = logging.getLogger(__name__)

_POLL_S: Final = 0.5
_ENTRY_LIFE_S: Final = 60.0
_MOST_ENTRIES: Final = 50_000
#: The database counts as silent when its revision could not be read for so long.
_SILENT_S: Final = 2.0
#: So long known keys go on while the database is silent.
KNOWN_S: Final = 600.0


class Identity(msgspec.Struct, frozen=True):
    """Who asks: an account and which of its keys, with the limits to enforce."""

    account_id: int
    key_id: int
    plan: str
    limits: Limits
    #: Prefix and last four: fit for logs.
    masked_key: str
    #: What the key is restricted to; None for most keys, so that asking costs nothing.
    guard: Guard | None = None
    expires_at: int | None = None


class KeyRefused(MapyardError):  # noqa: N818 - as in errors.py, named after its code
    """No key, an unknown one, one that was revoked or has expired."""

    status, code = 401, "invalid_key"

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code=code, headers={"WWW-Authenticate": "Bearer"})


class AccountSuspended(MapyardError):  # noqa: N818 - as in errors.py, named after its code
    """The key is good, but the operator suspended its account."""

    status, code = 403, "account_suspended"


_MESSAGES: Final = {
    "missing_key": "an API key is needed: send it as header X-API-Key or Authorization: Bearer",
    "invalid_key": "this API key is not valid; look whether it was copied whole",
    "revoked_key": "this API key was revoked; create a new one in the dashboard",
    "expired_key": "this API key has expired; create a new one in the dashboard",
    "account_suspended": "this account is suspended; ask the operator of the service",
}


def _refusal(code: str) -> MapyardError:
    if code == AccountSuspended.code:
        return AccountSuspended(_MESSAGES[code])
    return KeyRefused(_MESSAGES[code], code)


class KeyLookup:
    """Look up keys in `database`, with a cache per process."""

    def __init__(
        self, database: Database, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._monotonic = monotonic
        self._lock = threading.Lock()
        #: Per SHA-256 the identity, or the code of the refusal, and when the entry ends.
        self._entries: dict[bytes, tuple[Identity | str, float]] = {}
        self._revision = -1
        self._next_poll_s = 0.0
        self._heard_s = monotonic()  # when the database last answered a poll
        self._poller: threading.Thread | None = None
        self._has_polled = threading.Event()
        self._stop = threading.Event()

    def start(self) -> None:
        """Poll in a thread from now on, until `close`."""
        self._next_poll_s = float("inf")
        self._poller = threading.Thread(target=self._keep_polling, name="revision", daemon=True)
        self._poller.start()
        self._has_polled.wait(_SILENT_S)  # what is looked up before would be forgotten

    def close(self) -> None:
        """Stop polling."""
        self._stop.set()

    @property
    def is_database_silent(self) -> bool:
        """Whether the database has not answered for some seconds."""
        return self._monotonic() - self._heard_s > _SILENT_S

    def find_account_by_key(self, raw_key: str | None, *, may_wait: bool = True) -> Identity:
        """Return whose key this is; raise KeyRefused, AccountSuspended, or MustAsk."""
        if not raw_key:
            raise _refusal("missing_key")
        now_s = self._monotonic()
        if now_s >= self._next_poll_s:
            self._poll(now_s)
        return self._find(raw_key, hash_key(raw_key), now_s, may_wait=may_wait)

    def find_account(self, account_id: int, *, may_wait: bool = True) -> Identity:
        """Return the identity of an account without a key, for the server's own pages."""
        now_s = self._monotonic()
        if now_s >= self._next_poll_s:
            self._poll(now_s)
        return self._find(None, b"account %d" % account_id, now_s, account_id, may_wait=may_wait)

    def _find(
        self,
        raw_key: str | None,
        name: bytes,
        now_s: float,
        account_id: int = 0,
        *,
        may_wait: bool,
    ) -> Identity:
        entries = self._entries  # a poll in another thread puts a new dict in its place
        entry = entries.get(name)
        if entry is None or now_s >= entry[1]:
            if raw_key is not None and not is_well_formed(raw_key):
                raise _refusal("invalid_key")
            is_silent = self._poller is not None and now_s - self._heard_s > _SILENT_S
            if is_silent and (entry is None or now_s - self._heard_s > KNOWN_S):
                raise AccountsUnavailable("the accounts database does not answer")
            if entry is None or not is_silent:
                if not may_wait:
                    raise MustAsk
                if len(entries) >= _MOST_ENTRIES:
                    entries.clear()
                if raw_key is not None:
                    found, life_s = self._read_key(name)
                else:
                    found, life_s = self._read(account_id), _ENTRY_LIFE_S
                entry = entries[name] = (found, now_s + life_s)
            elif _has_expired(entry[0]):
                raise _refusal("expired_key")
        if isinstance(entry[0], Identity):
            return entry[0]
        raise _refusal(entry[0])

    def _keep_polling(self) -> None:
        while not self._stop.is_set():
            self._ask_revision()
            self._has_polled.set()
            self._stop.wait(_POLL_S)

    def _poll(self, now_s: float) -> None:
        with self._lock:
            if now_s < self._next_poll_s:
                return
            self._next_poll_s = now_s + _POLL_S
        self._ask_revision()

    def _ask_revision(self) -> None:
        with self._lock:
            try:
                with self._database.engine.connect() as connection:
                    revision = connection.scalar(select(Revision.value))
            except SQLAlchemyError as error:
                # Nobody can revoke anything in a database that is away: known keys go on.
                log.warning("the accounts database does not answer: %s", type(error).__name__)
                return
            self._heard_s = self._monotonic()
            if revision != self._revision:
                self._revision = revision if revision is not None else -1
                self._entries = {}

    def _read_key(self, digest: bytes) -> tuple[Identity | str, float]:
        """Return whose key it is, or why it is refused, and how long that holds, seconds."""
        query = (
            select(
                Key.id,
                Key.sha256,
                Key.environment,
                Key.last_four,
                Key.revoked_at,
                Key.expires_at,
                Key.restrictions,
                *_ACCOUNT,
            )
            .join(Account, Account.id == Key.account_id)
            .where(Key.sha256 == digest)
        )
        row = self._ask(query)
        if row is None or not hmac.compare_digest(row[1], digest):
            return "invalid_key", _ENTRY_LIFE_S
        key_id, _, environment, last_four, revoked_at, expires_at, restrictions, *account = row
        if revoked_at is not None:
            return "revoked_key", _ENTRY_LIFE_S
        life_s = _ENTRY_LIFE_S
        if expires_at is not None:  # remembered until then, so that no request asks for the time
            life_s = min(life_s, expires_at - time.time())
            if life_s <= 0:
                return "expired_key", _ENTRY_LIFE_S
        found = _identify(account, key_id, f"pk_{environment}_…{last_four}")
        if restrictions is not None and isinstance(found, Identity):
            guard = Guard(msgspec.convert(restrictions, Restrictions))
            found = msgspec.structs.replace(found, guard=guard)
        if expires_at is not None and isinstance(found, Identity):
            found = msgspec.structs.replace(found, expires_at=expires_at)
        return found, life_s

    def _read(self, account_id: int) -> Identity | str:
        row = self._ask(select(*_ACCOUNT).where(Account.id == account_id))
        return "invalid_key" if row is None else _identify(row, 0, "web page")

    def _ask(self, query: Select[*tuple[Any, ...]]) -> Row[*tuple[Any, ...]] | None:
        try:
            with self._database.engine.connect() as connection:
                return connection.execute(query).one_or_none()
        except SQLAlchemyError as error:
            raise AccountsUnavailable("the accounts database does not answer") from error


_ACCOUNT: Final = (
    Account.id,
    Account.plan,
    Account.per_minute_override,
    Account.month_units_override,
    Account.suspended_at,
)


def _identify(account: Sequence[Any], key_id: int, name: str) -> Identity | str:
    account_id, plan, per_minute, month_units, suspended_at = account
    if suspended_at is not None:
        return AccountSuspended.code
    limits = effective_limits(plan, per_minute, month_units)
    return Identity(account_id, key_id, plan, limits, name)


def _has_expired(found: Identity | str) -> bool:
    """Return whether a key known from before a silence of the database has expired since."""
    expires_at = found.expires_at if isinstance(found, Identity) else None
    return expires_at is not None and expires_at <= time.time()
