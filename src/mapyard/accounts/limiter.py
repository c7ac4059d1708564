"""Limits of one machine: a mapped file per account, shared by all worker processes.

The file holds the day and month counters and the sliding window (window.py). All reading and
writing happens under its flock, which the kernel releases when a process dies; the pages belong to
the kernel, so a killed worker loses nothing. The critical section takes microseconds.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from mapyard.accounts import window
from mapyard.accounts.decisions import Decision, day_and_month, month_start_s, whole_seconds
from mapyard.accounts.errors import AccountsUnavailable
from mapyard.accounts.mapped import FIRST, MappedWords
from mapyard.accounts.plans import PREMIUM_UNITS, STANDARD_UNITS, WINDOW_S, Limits

_MAGIC: Final = 0x4D59_4C49_4D30_3031  # "MYLIM001"
# Counters lie in a few slots by day and month, so that a wall clock that steps over midnight and
# back finds its counters again, and one that was years ahead leaves no trace.
_DAY_SLOTS: Final = 8
_MONTH_SLOTS: Final = 4
_DAYS: Final = FIRST  # word: per slot day, standard units, premium units
_MONTHS: Final = _DAYS + 3 * _DAY_SLOTS  # per slot month, units, overage standard, overage premium
_RING: Final = 64
_LEAST_CAPACITY: Final = 64
_OPEN_FILES: Final = 256


class Used(NamedTuple):
    """Units used: of the UTC day by kind, and of the month within its allowance."""

    day_standard: int = 0
    day_premium: int = 0
    month: int = 0


class Limiter(Protocol):
    """What admits requests: one machine's files, or Redis for several machines."""

    @property
    def is_away(self) -> bool:
        """Whether the shared limits cannot be reached at the moment."""
        ...

    def is_at_hand(self, account_id: int) -> bool:
        """Whether `check` answers without asking a server or opening a file."""
        ...

    def check(
        self, account_id: int, limits: Limits, *, premium: bool, is_counted: bool = False
    ) -> Decision:
        """Admit a request and reserve its units, or say which limit forbids it.

        `is_counted` says that the window holds it already: units alone are taken.
        """
        ...

    def give_back(self, decision: Decision) -> None:
        """Return the units of an admitted request that failed."""
        ...

    def close(self) -> None:
        """Let go what is open."""
        ...


class LocalLimiter:
    """Limits in `folder`, one file per account."""

    #: A file of this machine always answers.
    is_away: Final = False

    def __init__(
        self,
        folder: Path,
        *,
        window_s: float = WINDOW_S,
        clock: Callable[[], float] = time.time,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        used_before: Callable[[int], Used] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._window_ns = int(window_s * 1e9)
        self._clock = clock
        self._monotonic_ns = monotonic_ns
        self._used_before = used_before
        self._files: OrderedDict[int, MappedWords] = OrderedDict()
        self._lock = threading.Lock()

    def is_at_hand(self, account_id: int) -> bool:
        """Whether `check` answers without asking a server or opening a file."""
        return account_id in self._files

    def check(
        self, account_id: int, limits: Limits, *, premium: bool, is_counted: bool = False
    ) -> Decision:
        """Admit a request and reserve its units, or say which limit forbids it.

        `is_counted` says that the window holds it already: units alone are taken.
        """
        if account_id not in self._files:
            self._open_first(account_id)
        now_s = self._clock()
        day, month = day_and_month(now_s)
        decision = Decision(
            allowed=False,
            code="",
            limit=limits.per_minute,
            remaining=0,
            reset_s=0,
            units=PREMIUM_UNITS if premium else STANDARD_UNITS,
            premium=premium,
            admitted_s=int(now_s),
            day=day,
            month=month,
            account_id=account_id,
            local=True,
        )
        # Other processes wait for the file: only what needs it is done with it.
        with self._lock, self._open(account_id) as file:
            if file.words[_RING + window.CAPACITY] < limits.per_minute:
                _grow(file, limits.per_minute)
            count, wait_ns = self._take(file.words, limits, decision, is_counted=is_counted)
        decision.allowed = not decision.code
        decision.remaining = max(0, limits.per_minute - count)
        decision.reset_s = whole_seconds(now_s + wait_ns / 1e9)
        if not decision.allowed:
            decision.units = 0
            decision.overage = False
            decision.retry_after_s = whole_seconds(_wait_s(decision, now_s, wait_ns))
        return decision

    def give_back(self, decision: Decision) -> None:
        """Return the units of an admitted request that failed."""
        with self._lock, self._open(decision.account_id) as file:
            words = file.words
            at = _DAYS + 3 * (decision.day % _DAY_SLOTS)
            if words[at] == decision.day:
                _lower(words, at + 1 + decision.premium, decision.units)
            at = _MONTHS + 4 * (decision.month % _MONTH_SLOTS)
            if words[at] == decision.month:
                if decision.overage:
                    _lower(words, at + 2 + decision.premium, 1)
                else:
                    _lower(words, at + 1, decision.units)

    def used(self, account_id: int) -> Used:
        """Return what of the day's and the month's units is used."""
        if account_id not in self._files:
            self._open_first(account_id)
        with self._lock, self._open(account_id) as file:
            at_day, at_month = self._slots(file.words)
            words = file.words
            return Used(words[at_day + 1], words[at_day + 2], words[at_month + 1])

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            while self._files:
                self._files.popitem()[1].close()

    def _take(
        self, words: window.Words, limits: Limits, decision: Decision, *, is_counted: bool
    ) -> tuple[int, int]:
        """Count the request, or set the code of what forbids it; the file is locked.

        Returns the admissions inside the window with this one, and the ns until they are one fewer.
        """
        ring = words[_RING:]
        now_ns = self._monotonic_ns()
        premium, units = decision.premium, decision.units
        count = window.count_recent(ring, now_ns, self._window_ns)
        if count >= limits.per_minute and not is_counted:
            decision.code = "rate_limited"
            return count, window.free_at_ns(ring, self._window_ns, limits.per_minute) - now_ns
        wait_ns = window.oldest_ns(ring) + self._window_ns - now_ns if count else 0

        at_day = _slot(words, _DAYS, 3, _DAY_SLOTS, decision.day) + 1 + premium
        day_cap = limits.day_premium_units if premium else limits.day_standard_units
        if day_cap is not None and words[at_day] + units > day_cap:
            decision.code = "daily_limit_exceeded"
            return count, wait_ns
        at_month = _slot(words, _MONTHS, 4, _MONTH_SLOTS, decision.month) + 1
        if limits.month_units is not None and words[at_month] >= limits.month_units:
            if not limits.overage:
                decision.code = "monthly_limit_exceeded"
                return count, wait_ns
            decision.overage = True

        # In this order: a process that dies between leaves units taken for nothing, never a
        # request that was not counted.
        words[at_day] += units
        if decision.overage:
            words[at_month + 1 + premium] += 1
        else:
            words[at_month] += units
        if is_counted:
            return count, wait_ns
        window.push(ring, now_ns)
        return count + 1, wait_ns if count else self._window_ns

    def _open(self, account_id: int) -> MappedWords:
        """Return the open file; the lock is held."""
        file = self._files.get(account_id)
        if file is None:
            file = self._keep(account_id, self._map(account_id))
        else:
            self._files.move_to_end(account_id)
        return file

    def _open_first(self, account_id: int) -> None:
        """Open a file of an account not seen lately. The ledger is asked without the lock."""
        file = self._map(account_id)
        if file.is_new and self._used_before is not None:
            self._add(file, self._used_before(account_id))
        with self._lock:
            if account_id in self._files:
                file.close()
            else:
                self._keep(account_id, file)

    def _map(self, account_id: int) -> MappedWords:
        path = self._folder / f"{account_id}.limits"
        try:
            return MappedWords(path, magic=_MAGIC, length=_length(_LEAST_CAPACITY))
        except OSError as error:
            raise AccountsUnavailable(f"limits cannot be kept: {error.strerror}") from error

    def _keep(self, account_id: int, file: MappedWords) -> MappedWords:
        self._files[account_id] = file
        if len(self._files) > _OPEN_FILES:
            self._files.popitem(last=False)[1].close()
        return file

    def _add(self, file: MappedWords, used: Used) -> None:
        """Begin a new file with what the ledger knows: the old one was lost, or never was."""
        with file:
            at_day, at_month = self._slots(file.words)
            file.words[at_day + 1] += used.day_standard
            file.words[at_day + 2] += used.day_premium
            file.words[at_month + 1] += used.month

    def _slots(self, words: window.Words) -> tuple[int, int]:
        """Return where the counters of today and of this month lie."""
        day, month = day_and_month(self._clock())
        return (
            _slot(words, _DAYS, 3, _DAY_SLOTS, day),
            _slot(words, _MONTHS, 4, _MONTH_SLOTS, month),
        )


def _wait_s(decision: Decision, now_s: float, wait_ns: int) -> float:
    """Return after how long a refused request may succeed."""
    if decision.code == "rate_limited":
        return wait_ns / 1e9
    if decision.code == "daily_limit_exceeded":
        return (decision.day + 1) * 86_400 - now_s
    return month_start_s(decision.month + 1) - now_s


def _length(capacity: int) -> int:
    return _RING + window.words_needed(capacity)


def _grow(file: MappedWords, limit: int) -> None:
    capacity = max(file.words[_RING + window.CAPACITY], _LEAST_CAPACITY)
    while capacity < limit:
        capacity *= 2
    file.lengthen(_length(capacity))
    window.grow(file.words[_RING:], capacity)


def _lower(words: window.Words, at: int, units: int) -> None:
    words[at] = max(0, words[at] - units)


def _slot(words: window.Words, start: int, width: int, slots: int, period: int) -> int:
    """Return where the counters of this day or month lie, cleared if another's were there."""
    at = start + width * (period % slots)
    if words[at] != period:
        words[at] = period
        for i in range(at + 1, at + width):
            words[i] = 0
    return at
