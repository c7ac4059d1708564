"""What a limit says about one request, and how an answer shows it."""

from __future__ import annotations

import datetime as dt
import math
from functools import lru_cache
from typing import Final

import msgspec

from mapyard.accounts.plans import WINDOW_S
from mapyard.errors import MapyardError

_EPOCH: Final = dt.date(1970, 1, 1)


class Decision(msgspec.Struct):
    """The answer of a limiter to one request.

    `limit`, `remaining` and `reset_s` (Unix seconds when `remaining` next grows) speak of the
    minute; `units` were reserved on `day` and in `month` (days and months since 1970, UTC) and are
    given back by `settle` when the request fails.
    """

    allowed: bool
    code: str
    limit: int
    remaining: int
    reset_s: int
    retry_after_s: int = 0
    units: int = 0
    premium: bool = False
    overage: bool = False
    admitted_s: int = 0
    day: int = 0
    month: int = 0
    account_id: int = 0
    key_id: int = 0
    #: The local limiter stood in for Redis: units go back to where they came from.
    local: bool = False

    def headers(self) -> dict[str, str]:
        """Return the rate-limit headers that every answer carries."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset_s),
        }

    def error(self) -> LimitExceeded:
        """Return the 429 of a request that was not allowed."""
        headers = {"Retry-After": str(self.retry_after_s)}
        if self.code == "rate_limited":
            message = (
                f"more than {self.limit} requests a minute; try again in {self.retry_after_s} s"
            )
        elif self.code == "daily_limit_exceeded":
            headers["x-should-retry"] = "false"
            kind = "premium" if self.premium else "standard"
            message = (
                f"the plan's {kind} requests of this UTC day are used up; "
                "they start again at midnight UTC, or choose a larger plan"
            )
        elif self.code == "map_session_used_up":
            headers = {"x-should-retry": "false"}
            message = (
                "this map session has shown all its tiles; "
                "begin another by POST /api/v1/tiles/session"
            )
            return LimitExceeded(message, code=self.code, headers=headers)
        else:
            headers["x-should-retry"] = "false"
            message = "the plan's allowance of this calendar month (UTC) is used up"
        details = {"limit": self.limit, "retry_after": self.retry_after_s}
        if self.code == "rate_limited":
            details["window_seconds"] = WINDOW_S
        else:
            del details["limit"]
        return LimitExceeded(message, code=self.code, details=details, headers=headers)


class LimitExceeded(MapyardError):  # noqa: N818 - as in errors.py, named after its code
    """A limit or a quota is used up."""

    status, code = 429, "rate_limited"


def day_and_month(unix_s: float) -> tuple[int, int]:
    """Return the days and the calendar months since 1970 of a time, UTC."""
    day = int(unix_s // 86_400)
    return day, _month_of_day(day)


@lru_cache(maxsize=16)
def _month_of_day(day: int) -> int:
    date = _EPOCH + dt.timedelta(days=day)
    return (date.year - 1970) * 12 + date.month - 1


def month_start_s(month: int) -> int:
    """Return the Unix time at which a month (counted as in `day_and_month`) begins."""
    year, zero_based = divmod(month, 12)
    return (dt.date(1970 + year, zero_based + 1, 1) - _EPOCH).days * 86_400


def whole_seconds(seconds: float, least: int = 1) -> int:
    """Round up to whole seconds, at least `least`."""
    return max(least, math.ceil(seconds))
