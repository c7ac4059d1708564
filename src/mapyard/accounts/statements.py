"""Monthly statements: the plan's price and the overage, exact in millionths of a dollar."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
from sqlalchemy import func, select

from mapyard.accounts.database import Database
from mapyard.accounts.models import Account, PlanChange, UsageDay
from mapyard.accounts.plans import (
    OVERAGE_PREMIUM_MICRO_USD,
    OVERAGE_STANDARD_MICRO_USD,
    PREMIUM_UNITS,
    get_plan,
    overage_micro_usd,
)
from mapyard.accounts.reports import month_bounds, sum_all


class Statement(msgspec.Struct, frozen=True):
    """One account's month. `closed` is False while requests may still be added."""

    email: str
    account_id: int
    month: str
    first_day: dt.date
    last_day: dt.date
    closed: bool
    #: The plan at the month's end (now, in the running month), and all plans of the month.
    plan: str
    plan_name: str
    plan_changes: list[tuple[int, str]]
    standard_requests: int
    premium_requests: int
    included_units: int | None
    used_units: int
    overage_standard_requests: int
    overage_premium_requests: int
    plan_micro_usd: int | None
    overage_micro_usd: int

    @property
    def total_micro_usd(self) -> int | None:
        """What the month comes to; None where the plan's price is agreed apart."""
        if self.plan_micro_usd is None:
            return None
        return self.plan_micro_usd + self.overage_micro_usd

    @property
    def overage_standard_micro_usd(self) -> int:
        """The standard part of the overage."""
        return self.overage_standard_requests * OVERAGE_STANDARD_MICRO_USD

    @property
    def overage_premium_micro_usd(self) -> int:
        """The premium part of the overage."""
        return self.overage_premium_requests * OVERAGE_PREMIUM_MICRO_USD

    def as_json(self) -> dict[str, Any]:
        """Return the statement as JSON value, amounts in millionths of a dollar."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        fields["plan_changes"] = [
            {"at": dt.datetime.fromtimestamp(at, dt.UTC).isoformat(), "plan": plan}
            for at, plan in self.plan_changes
        ]
        fields["total_micro_usd"] = self.total_micro_usd
        fields["currency"] = "USD"
        return fields


def make_statement(database: Database, account: Account, month: str, *, now_s: float) -> Statement:
    """Return the statement of a month written 2026-04; raise ValueError for other texts."""
    first, last = month_bounds(month)
    end_s = _midnight_s(last + dt.timedelta(1))
    sums = sum_all(database, account.id, first, last)
    with database.read() as session:
        changes = session.execute(
            select(PlanChange.changed_at, PlanChange.plan)
            .where(PlanChange.account_id == account.id, PlanChange.changed_at < end_s)
            .order_by(PlanChange.id)
        ).all()
    plan = get_plan(changes[-1][1] if changes else account.plan)
    over_standard, over_premium = sums.overage_standard, sums.overage_premium
    return Statement(
        email=account.email,
        account_id=account.id,
        month=f"{first:%Y-%m}",
        first_day=first,
        last_day=last,
        closed=now_s >= end_s,
        plan=plan.id,
        plan_name=plan.name,
        plan_changes=[(at, name) for at, name in changes if at >= _midnight_s(first)],
        standard_requests=sums.standard,
        premium_requests=sums.premium,
        included_units=plan.limits.month_units,
        used_units=sums.units - over_standard - PREMIUM_UNITS * over_premium,
        overage_standard_requests=over_standard,
        overage_premium_requests=over_premium,
        plan_micro_usd=plan.price_micro_usd,
        overage_micro_usd=overage_micro_usd(over_standard, over_premium),
    )


def list_months(database: Database, account: Account, today: dt.date) -> list[str]:
    """Return the months with usage, and the running one, newest first."""
    with database.read() as session:
        oldest = session.scalar(
            select(func.min(UsageDay.day)).where(UsageDay.account_id == account.id)
        )
    month = today.replace(day=1)
    start = (oldest or today).replace(day=1)
    months = []
    while month >= start:
        months.append(f"{month:%Y-%m}")
        month = (month - dt.timedelta(1)).replace(day=1)
    return months


def _midnight_s(day: dt.date) -> int:
    return int(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).timestamp())
