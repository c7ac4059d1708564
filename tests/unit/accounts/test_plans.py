from __future__ import annotations

import pytest

from mapyard.accounts.plans import PLANS, effective_limits, get_plan, overage_micro_usd
from mapyard.errors import InvalidRequest


def test_the_published_table() -> None:
    table = {
        plan.id: (plan.limits.per_minute, plan.limits.month_units, plan.price_micro_usd)
        for plan in PLANS.values()
    }
    assert table == {
        "free": (10, None, 0),
        "pro-100k": (300, 100_000, 50_000_000),
        "pro-300k": (1_000, 300_000, 150_000_000),
        "pro-1m": (2_000, 1_000_000, 500_000_000),
        "enterprise": (10_000, None, None),
    }
    free = PLANS["free"].limits
    assert (free.day_standard_units, free.day_premium_units, free.overage) == (500, 40, False)
    assert all(PLANS[name].limits.overage for name in ("pro-100k", "pro-300k", "pro-1m"))


def test_overage_prices_per_thousand() -> None:
    assert overage_micro_usd(1_000, 0) == 500_000
    assert overage_micro_usd(0, 1_000) == 1_500_000
    assert overage_micro_usd(1, 1) == 2_000


def test_overrides_replace_the_plan() -> None:
    limits = effective_limits("enterprise", per_minute=5, month_units=7)
    assert (limits.per_minute, limits.month_units, limits.overage) == (5, 7, False)
    assert effective_limits("pro-1m") is PLANS["pro-1m"].limits


def test_an_unknown_plan_names_the_choices() -> None:
    with pytest.raises(InvalidRequest, match="free, pro-100k"):
        get_plan("gold")
