"""What the ledger tells: sums by day, endpoint, key and outcome, latencies, the allowance left."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import case, func, select, true

from mapyard.accounts.database import Database
from mapyard.accounts.limiter import Used
from mapyard.accounts.models import Key, RequestError, UsageDay, UsageLatency
from mapyard.accounts.plans import PREMIUM_UNITS, Limits

Group = Literal["endpoint", "key_id", "status"]

#: Days that the forecast of the month looks back on.
_FORECAST_DAYS: Final = 7


class Sums(msgspec.Struct, frozen=True):
    """Requests and units of one day, or of one group."""

    standard: int = 0
    premium: int = 0
    #: Requests answered with 4xx, and with 5xx.
    client_errors: int = 0
    server_errors: int = 0
    units: int = 0
    overage_standard: int = 0
    overage_premium: int = 0
    mean_ms: float = 0.0

    @property
    def requests(self) -> int:
        """All requests."""
        return self.standard + self.premium


class Latency(msgspec.Struct, frozen=True):
    """Percentiles of answer times in milliseconds, upper ends of the histogram's buckets."""

    endpoint: str
    requests: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


class Allowance(msgspec.Struct, frozen=True):
    """What of an allowance is used; `total` None means there is no bound."""

    name: str
    used: int
    total: int | None
    unit: str

    @property
    def left(self) -> int | None:
        """What is left."""
        return None if self.total is None else max(0, self.total - self.used)


def _sum(value: Any, condition: Any) -> Any:
    return func.coalesce(func.sum(case((condition, value), else_=0)), 0)


def _columns() -> tuple[Any, ...]:
    row = UsageDay
    return (
        _sum(row.requests, row.premium.is_(False)),
        _sum(row.requests, row.premium.is_(True)),
        _sum(row.requests, (row.status >= 400) & (row.status < 500)),
        _sum(row.requests, row.status >= 500),
        func.coalesce(func.sum(row.units), 0),
        _sum(row.overage, row.premium.is_(False)),
        _sum(row.overage, row.premium.is_(True)),
        func.coalesce(func.sum(row.total_us), 0),
    )


def _as_sums(values: Any) -> Sums:
    standard, premium, client, server, units, over_standard, over_premium, total_us = (
        int(value) for value in values
    )
    requests = standard + premium
    return Sums(
        standard=standard,
        premium=premium,
        client_errors=client,
        server_errors=server,
        units=units,
        overage_standard=over_standard,
        overage_premium=over_premium,
        mean_ms=total_us / requests / 1000 if requests else 0.0,
    )


def sum_days(
    database: Database, account_id: int, first: dt.date, last: dt.date
) -> dict[dt.date, Sums]:
    """Return the sums of each day from first to last, days without a request included."""
    query = (
        select(UsageDay.day, *_columns())
        .where(UsageDay.account_id == account_id, UsageDay.day.between(first, last))
        .group_by(UsageDay.day)
    )
    with database.read() as session:
        found = {row[0]: _as_sums(row[1:]) for row in session.execute(query)}
    days = (first + dt.timedelta(i) for i in range((last - first).days + 1))
    return {day: found.get(day, Sums()) for day in days}


def sum_groups(
    database: Database, account_id: int | None, first: dt.date, last: dt.date, group: Group
) -> list[tuple[Any, Sums]]:
    """Return the sums per endpoint, key id or status, the most used first; None is all accounts."""
    column = getattr(UsageDay, group)
    query = (
        select(column, *_columns())
        .where(_whose(account_id), UsageDay.day.between(first, last))
        .group_by(column)
    )
    with database.read() as session:
        groups = [(row[0], _as_sums(row[1:])) for row in session.execute(query)]
    return sorted(groups, key=lambda group: (-group[1].requests, str(group[0])))


def _whose(account_id: int | None) -> Any:
    return true() if account_id is None else UsageDay.account_id == account_id


def sum_all(database: Database, account_id: int, first: dt.date, last: dt.date) -> Sums:
    """Return the sums of all days from first to last."""
    query = select(*_columns()).where(
        UsageDay.account_id == account_id, UsageDay.day.between(first, last)
    )
    with database.read() as session:
        return _as_sums(session.execute(query).one())


def iter_rows(
    database: Database, account_id: int, first: dt.date, last: dt.date
) -> Iterator[dict[str, Any]]:
    """Yield the ledger's rows with the keys' names, for CSV."""
    query = (
        select(UsageDay, Key)
        .outerjoin(Key, Key.id == UsageDay.key_id)
        .where(UsageDay.account_id == account_id, UsageDay.day.between(first, last))
        .order_by(UsageDay.day, UsageDay.endpoint, UsageDay.key_id, UsageDay.status)
    )
    with database.read() as session:
        for row, key in session.execute(query):
            yield {
                "day": row.day.isoformat(),
                "endpoint": row.endpoint,
                "key": key.masked if key else "web page",
                "key_name": key.name if key else "",
                "status": row.status,
                "kind": "premium" if row.premium else "standard",
                "requests": row.requests,
                "units": row.units,
                "overage_requests": row.overage,
                "mean_ms": round(row.total_us / row.requests / 1000, 3),
            }


def measure_latency(
    database: Database, account_id: int, first: dt.date, last: dt.date
) -> list[Latency]:
    """Return the percentiles per endpoint, the most used first."""
    query = (
        select(UsageLatency.endpoint, UsageLatency.bucket, func.sum(UsageLatency.requests))
        .where(UsageLatency.account_id == account_id, UsageLatency.day.between(first, last))
        .group_by(UsageLatency.endpoint, UsageLatency.bucket)
    )
    histograms: dict[str, dict[int, int]] = defaultdict(dict)
    with database.read() as session:
        for endpoint, bucket, requests in session.execute(query):
            histograms[endpoint][bucket] = int(requests)
    rows = [
        Latency(
            endpoint,
            sum(histogram.values()),
            *(percentile_ms(histogram, share) for share in (0.50, 0.95, 0.99)),
        )
        for endpoint, histogram in histograms.items()
    ]
    return sorted(rows, key=lambda row: (-row.requests, row.endpoint))


def percentile_ms(histogram: dict[int, int], share: float) -> float:
    """Return the answer time below which this share of requests lies: a bucket's upper end."""
    wanted = share * sum(histogram.values())
    seen = 0
    for bucket in sorted(histogram):
        seen += histogram[bucket]
        if seen >= wanted:
            return float(2**bucket / 8)
    return 0.0


def recent_errors(
    database: Database, account_id: int | None, limit: int = 50, least_status: int = 400
) -> list[RequestError]:
    """Return the latest failed requests, newest first; None is all accounts."""
    is_of = true() if account_id is None else RequestError.account_id == account_id
    query = (
        select(RequestError)
        .where(is_of, RequestError.status >= least_status)
        .order_by(RequestError.id.desc())
        .limit(limit)
    )
    with database.read() as session:
        return list(session.scalars(query))


def month_bounds(month: str) -> tuple[dt.date, dt.date]:
    """Return the first and last day of a month written 2026-04; raise ValueError."""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}", month) is None:
        raise ValueError(f"no month: {month[:20]!r}")
    year, number = int(month[:4]), int(month[5:])
    first = dt.date(year, number, 1)
    return first, first.replace(day=calendar.monthrange(year, number)[1])


def allowances(
    database: Database, account_id: int, limits: Limits, today: dt.date
) -> list[Allowance]:
    """Return what of each bound of the plan is used, some seconds ago."""
    used = units_used(database, account_id, today)
    found = []
    if limits.day_standard_units is not None:
        total = limits.day_standard_units
        found.append(Allowance("Today, standard", used.day_standard, total, "requests"))
    if limits.day_premium_units is not None:
        total = limits.day_premium_units // PREMIUM_UNITS
        requests = used.day_premium // PREMIUM_UNITS
        found.append(Allowance("Today, premium", requests, total, "requests"))
    found.append(Allowance("This month", used.month, limits.month_units, "units"))
    return found


def units_used(database: Database, account_id: int, today: dt.date) -> Used:
    """Return what the ledger knows of the units that the limits count."""
    day = dict(sum_days_units(database, account_id, today, today))
    sums = sum_all(database, account_id, today.replace(day=1), today)
    over = sums.overage_standard + PREMIUM_UNITS * sums.overage_premium
    return Used(day.get(False, 0), day.get(True, 0), sums.units - over)


def sum_days_units(
    database: Database, account_id: int, first: dt.date, last: dt.date
) -> list[tuple[bool, int]]:
    """Return the units by kind, premium or not."""
    query = (
        select(UsageDay.premium, func.sum(UsageDay.units))
        .where(UsageDay.account_id == account_id, UsageDay.day.between(first, last))
        .group_by(UsageDay.premium)
    )
    with database.read() as session:
        return [(bool(row[0]), int(row[1])) for row in session.execute(query)]


def forecast_units(days: dict[dt.date, Sums], today: dt.date) -> int:
    """Return the units that the month will come to if the last week's pace holds.

    `days` reach back to the month's first day, or a week, whichever is longer.
    """
    first, last = month_bounds(f"{today:%Y-%m}")
    so_far = sum(sums.units for day, sums in days.items() if first <= day <= today)
    whole = [today - dt.timedelta(i) for i in range(1, _FORECAST_DAYS + 1)]
    known = [days[day].units for day in whole if day in days]
    pace = max(sum(known) / len(known) if known else 0.0, float(days[today].units))
    return so_far + round(pace * (last - today).days)
