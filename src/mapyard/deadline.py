"""A request's time limit and cancellation, looked at between vectorised steps."""

from __future__ import annotations

import time

from mapyard.errors import Timeout


class Deadline:
    """Time limit of one request; `cancel()` may be called from another thread.

    Work calls `check()` between steps of at most some milliseconds. It raises `Timeout` when the
    limit has passed, or `Cancelled` when the client went away.
    """

    __slots__ = ("_cancelled", "_ends_s", "limit_s")

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._ends_s = time.monotonic() + limit_s
        self._cancelled = False

    def cancel(self) -> None:
        """Make every further `check()` raise."""
        self._cancelled = True

    def lower(self, limit_s: float) -> None:
        """Let the limit be at most `limit_s` from now on."""
        ends_s = time.monotonic() + limit_s
        if ends_s < self._ends_s:
            self._ends_s, self.limit_s = ends_s, limit_s

    def remaining_s(self) -> float:
        """Return the seconds left, not below 0."""
        return max(0.0, self._ends_s - time.monotonic())

    def late_s(self) -> float:
        """Return the seconds since the limit passed, below 0 before."""
        return time.monotonic() - self._ends_s

    def check(self) -> None:
        """Raise when time is up or the request was cancelled."""
        if self._cancelled:
            raise Cancelled
        if time.monotonic() > self._ends_s:
            raise Timeout(
                f"the request took longer than its limit of {self.limit_s:g} s; "
                "ask for less at once: a smaller area, fewer elements, a narrower filter"
            )


class Cancelled(Exception):  # noqa: N818 - a signal, no answer is sent
    """The client went away; nobody waits for an answer."""


#: For library use and tests, where nobody waits.
def no_deadline() -> Deadline:
    """Return a deadline far away."""
    return Deadline(86_400.0 * 365)
