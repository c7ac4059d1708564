"""Whose turn it is: slots for running queries, shared between accounts by what they cost.

An account never holds all slots, so that another's query begins at once. Of those that wait, the
account goes first that runs the fewest queries, then the one that used the least time lately.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Final

from mapyard.errors import Overloaded

#: Used time counts half after so many seconds.
_HALF_LIFE_S: Final = 60.0
_MOST_KEPT: Final = 10_000


class FairQueue[T]:
    """Waiting items by account; of one event loop, no locks."""

    def __init__(
        self, slots: int, most_waiting: int, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.slots = slots
        #: How many an account may run at once: all but one, where there are several.
        self.share = max(1, slots - 1)
        self._most_waiting = most_waiting
        self._monotonic = monotonic
        self._running: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[T]] = {}
        self._used: dict[Hashable, tuple[float, float]] = {}  # seconds, as of when

    @property
    def running(self) -> int:
        """Return how many run."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return sum(map(len, self._waiting.values()))

    def add(self, account: Hashable, item: T) -> None:
        """Let an item wait; raise Overloaded when too many do, in all or of this account."""
        own = len(self._waiting.get(account, ()))
        if self.waiting >= self._most_waiting or own >= max(1, self._most_waiting // 2):
            raise Overloaded(
                "the server has more queries waiting than it can answer in time; "
                "try again in a moment",
                details={"waiting": self.waiting, "limit": self._most_waiting},
            )
        self._waiting.setdefault(account, deque()).append(item)

    def drop(self, account: Hashable, item: T) -> None:
        """Forget an item that waits, if it still does."""
        line = self._waiting.get(account)
        if line is not None and item in line:
            line.remove(item)
            if not line:
                del self._waiting[account]

    def next(self) -> tuple[Hashable, T] | None:
        """Take the item whose turn it is; it runs from now on. None: no slot, or nobody waits."""
        if self.running >= self.slots:
            return None
        may_run = [name for name in self._waiting if self._running[name] < self.share]
        if not may_run:
            return None
        account = min(may_run, key=lambda name: (self._running[name], self.used_s(name)))
        line = self._waiting[account]
        item = line.popleft()
        if not line:
            del self._waiting[account]
        self._running[account] += 1
        return account, item

    def done(self, account: Hashable, took_s: float) -> None:
        """Free the slot of an item that ran."""
        self._running[account] -= 1
        if not self._running[account]:
            del self._running[account]
        if len(self._used) >= _MOST_KEPT:
            self._used.clear()
        self._used[account] = (self.used_s(account) + took_s, self._monotonic())

    def used_s(self, account: Hashable) -> float:
        """Return the time that an account used lately."""
        seconds, then_s = self._used.get(account, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self._monotonic() - then_s) / _HALF_LIFE_S))
