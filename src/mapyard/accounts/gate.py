"""What the HTTP middleware calls inline around each request: authenticate, admit, settle.

Each call takes microseconds; the database is asked only for keys not seen since the last change.
With `may_wait` False nothing is waited for: what a server or the disk must tell raises MustAsk,
and the caller asks again in a thread.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy.exc import SQLAlchemyError

from mapyard.accounts.addresses import AddressLimiter
from mapyard.accounts.database import Database
from mapyard.accounts.decisions import Decision
from mapyard.accounts.errors import MustAsk
from mapyard.accounts.journal import JournalWriter
from mapyard.accounts.limiter import Limiter, LocalLimiter, Used
from mapyard.accounts.lookup import Identity, KeyLookup
from mapyard.accounts.map_sessions import MapSessions
from mapyard.accounts.usage import enter_journals
from mapyard.private import make_private_folder
from mapyard.threads import BoundedThread

#: Answers waiting to be given back to a limiter on another machine.
_MOST_LATER: Final = 10_000
_CLOSE_S: Final = 2.0

LIMITS_FOLDER: Final = "limits"
USAGE_FOLDER: Final = "usage"


class MapGrant(NamedTuple):
    """A new map session: its token, its end in Unix seconds, and how many tiles it shows."""

    token: str
    ends_s: int
    tiles: int


class AccountsGate:
    """The gate of one worker process.

    >>> identity = gate.authenticate(raw_key)          # KeyRefused → 401, AccountSuspended → 403
    >>> decision = gate.admit(identity, premium=True)  # decision.allowed, .headers(), .error()
    >>> gate.settle(decision, 200, "/api/v1/route", 12.5)  # always, also when not allowed
    """

    def __init__(
        self,
        database: Database,
        data: Path,
        *,
        anonymous_per_minute: int = 60,
        pages_per_minute: int = 0,
        redis_url: str | None = None,
        secret: bytes = b"",
    ) -> None:
        for folder in (LIMITS_FOLDER, USAGE_FOLDER):
            make_private_folder(data / folder)
        self._database = database
        self._lookup = KeyLookup(database)
        local = LocalLimiter(data / LIMITS_FOLDER / "accounts", used_before=self._used_before)
        self._limiter: Limiter = local
        if redis_url:
            from mapyard.accounts.redis_limiter import RedisLimiter

            self._limiter = RedisLimiter(redis_url, fallback=local)
        self._addresses = AddressLimiter(
            data / LIMITS_FOLDER / f"addresses-{anonymous_per_minute}.limits", anonymous_per_minute
        )
        self._pages: AddressLimiter | None = None
        if pages_per_minute:
            self._pages = AddressLimiter(data / LIMITS_FOLDER / "pages.limits", pages_per_minute)
        self._maps = MapSessions(data / LIMITS_FOLDER / "maps", secret or os.urandom(32))
        self._journal = JournalWriter(data / USAGE_FOLDER)
        self._later: BoundedThread | None = None

    def start(self) -> None:
        """Do in threads what takes time, for a worker; until `close`."""
        self._later = BoundedThread("give-back", _MOST_LATER)
        self._lookup.start()
        self._journal.prepare()

    def authenticate(self, raw_key: str | None, *, may_wait: bool = True) -> Identity:
        """Return whose key this is; raise KeyRefused (401) or AccountSuspended (403)."""
        return self._lookup.find_account_by_key(raw_key, may_wait=may_wait)

    def authenticate_account(self, account_id: int, *, may_wait: bool = True) -> Identity:
        """Return the identity of an account whose own page asks; raises as `authenticate`."""
        return self._lookup.find_account(account_id, may_wait=may_wait)

    def admit(self, identity: Identity, *, premium: bool, may_wait: bool = True) -> Decision:
        """Admit a request and reserve its units, or say which limit forbids it."""
        if not may_wait and not self._limiter.is_at_hand(identity.account_id):
            raise MustAsk
        decision = self._limiter.check(identity.account_id, identity.limits, premium=premium)
        decision.key_id = identity.key_id
        return decision

    def admit_premium(self, decision: Decision, count: int) -> list[Decision]:
        """Count an admitted standard request as `count` premium ones, now that it is known to be.

        The units of the standard one go back first. The last decision may forbid: then those
        before it are to be settled as refused too. May wait for a server or the disk.
        """
        limits = self._lookup.find_account(decision.account_id).limits
        self._limiter.give_back(decision)
        made: list[Decision] = []
        for number in range(count):
            one = self._limiter.check(
                decision.account_id, limits, premium=True, is_counted=number == 0
            )
            one.key_id = decision.key_id
            made.append(one)
            if not one.allowed:
                break
        return made

    def begin_map(self, account_id: int, key_id: int) -> MapGrant:
        """Begin a map session for an account; may wait for the database and the disk."""
        identity = self._lookup.find_account(account_id)
        token, ends_s = self._maps.begin(account_id, key_id)
        return MapGrant(token, ends_s, identity.limits.map_tiles)

    def admit_map(
        self, token: str, *, is_tile: bool, may_wait: bool = True
    ) -> tuple[Identity, Decision]:
        """Admit a request of a map session; raises MapSessionRefused, AccountSuspended."""
        session = self._maps.read(token)
        identity = self._lookup.find_account(session.account_id, may_wait=may_wait)
        decision = self._maps.check(session, identity.limits, is_tile=is_tile, may_wait=may_wait)
        return identity, decision

    def admit_address(self, address: str) -> Decision:
        """Count a request without a valid key for its client address."""
        return self._addresses.check(address)

    def admit_page(self, address: str) -> Decision:
        """Count a page, form or public endpoint for its client address, where they are counted."""
        return self._pages.check(address) if self._pages is not None else self.peek_address(address)

    def peek_address(self, address: str) -> Decision:
        """Return the state of a client address, counting nothing: for pages that need no key."""
        return self._addresses.check(address, take=False)

    def settle(
        self,
        decision: Decision,
        status: int,
        endpoint: str,
        took_ms: float,
        *,
        code: str = "",
        request_id: str = "",
    ) -> None:
        """Note the outcome of a request; its units go back when it failed by 429 or 5xx.

        `endpoint` is the route's template, never the path that was asked for; `code` is the error
        code of the answer. Requests without a key are not noted.
        """
        if not decision.account_id:
            return
        units, overage = decision.units, decision.overage
        if decision.allowed and units and (status == 429 or status >= 500):
            self._give_back(decision)
            units, overage = 0, False
        self._journal.append(
            admitted_s=decision.admitted_s,
            account_id=decision.account_id,
            key_id=decision.key_id,
            took_us=max(0, int(took_ms * 1000)),
            status=status,
            units=units,
            premium=decision.premium,
            overage=overage,
            endpoint=endpoint,
            code=code,
            request_id=request_id,
        )

    def _give_back(self, decision: Decision) -> None:
        if self._later is None or decision.local:
            self._limiter.give_back(decision)
        else:
            self._later.submit(lambda: self._limiter.give_back(decision))

    @property
    def lost_records(self) -> int:
        """Usage records that could not be kept (a full disk); for /metrics."""
        return self._journal.lost

    @property
    def is_redis_away(self) -> bool:
        """Whether Redis does not answer, so that this machine enforces the limits alone."""
        return self._limiter.is_away

    @property
    def is_database_silent(self) -> bool:
        """Whether the accounts database has not answered for some seconds."""
        return self._lookup.is_database_silent

    def close(self) -> None:
        """Let the journal go, so that the supervisor enters and deletes it."""
        self._lookup.close()
        if self._later is not None:
            self._later.close(_CLOSE_S)
        self._journal.close()
        self._addresses.close()
        self._maps.close()
        if self._pages is not None:
            self._pages.close()
        self._limiter.close()

    def _used_before(self, account_id: int) -> Used:
        from mapyard.accounts.reports import units_used

        today = dt.datetime.now(dt.UTC).date()
        with contextlib.suppress(SQLAlchemyError):  # it answers without its past then
            return units_used(self._database, account_id, today)
        return Used()


def flush_usage(database: Database, data: Path) -> int:
    """Enter all workers' usage into the ledger; the supervisor calls this every few seconds."""
    return enter_journals(database, data / USAGE_FOLDER)
