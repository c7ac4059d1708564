"""The plans as data (shared interface, "Limits"), and what an account's limits come to."""

from __future__ import annotations

from typing import Final

import msgspec

from mapyard.errors import InvalidRequest

#: Units that one request takes from a daily or monthly allowance.
STANDARD_UNITS: Final = 1
PREMIUM_UNITS: Final = 4

#: Overage prices: $0.50 and $1.50 per 1,000 requests, in millionths of a dollar per request.
OVERAGE_STANDARD_MICRO_USD: Final = 500
OVERAGE_PREMIUM_MICRO_USD: Final = 1_500

MAX_ACTIVE_KEYS: Final = 3
WINDOW_S: Final = 60


class Limits(msgspec.Struct, frozen=True):
    """What is enforced for one account; None means no such bound."""

    per_minute: int
    day_standard_units: int | None
    day_premium_units: int | None
    month_units: int | None
    #: Beyond `month_units` requests are admitted and metered (True) or refused (False).
    overage: bool
    #: Tiles of one map session.
    map_tiles: int = 5_000

    @property
    def map_per_minute(self) -> int:
        """Return the requests a minute of one map session: a map asks for many tiles at once."""
        return max(300, 10 * self.per_minute)


class Plan(msgspec.Struct, frozen=True):
    """One row of the price list; prices in millionths of a US dollar per month."""

    id: str
    name: str
    limits: Limits
    price_micro_usd: int | None


_PLANS = (
    Plan(
        "free", "Free", Limits(10, 500, 10 * PREMIUM_UNITS, None, overage=False, map_tiles=500), 0
    ),
    Plan("pro-100k", "Pro 100K", Limits(300, None, None, 100_000, overage=True), 50_000_000),
    Plan("pro-300k", "Pro 300K", Limits(1_000, None, None, 300_000, overage=True), 150_000_000),
    Plan("pro-1m", "Pro 1M", Limits(2_000, None, None, 1_000_000, overage=True), 500_000_000),
    Plan("enterprise", "Enterprise", Limits(10_000, None, None, None, overage=False), None),
)

PLANS: Final[dict[str, Plan]] = {plan.id: plan for plan in _PLANS}


def get_plan(plan_id: str) -> Plan:
    """Return the plan of this id, or raise InvalidRequest naming the choices."""
    plan = PLANS.get(plan_id)
    if plan is None:
        raise InvalidRequest.of("plan", f"'{plan_id}' is not one of {', '.join(PLANS)}")
    return plan


def effective_limits(
    plan_id: str, per_minute: int | None = None, month_units: int | None = None
) -> Limits:
    """Return the plan's limits with an operator's overrides in place of its own numbers."""
    limits = get_plan(plan_id).limits
    if per_minute is None and month_units is None:
        return limits
    return msgspec.structs.replace(
        limits,
        per_minute=limits.per_minute if per_minute is None else per_minute,
        month_units=limits.month_units if month_units is None else month_units,
    )


def overage_micro_usd(standard_requests: int, premium_requests: int) -> int:
    """Return the price of overage requests in millionths of a dollar, exactly."""
    return (
        standard_requests * OVERAGE_STANDARD_MICRO_USD
        + premium_requests * OVERAGE_PREMIUM_MICRO_USD
    )


class DatasetLimits(msgspec.Struct, frozen=True):
    """What an account may keep in datasets of its own."""

    datasets: int
    #: Of one dataset: bytes of an upload, rows, bytes on disk.
    upload_bytes: int
    features: int
    storage_bytes: int


_MB: Final = 1_000_000
_DATASET_LIMITS: Final = {
    "free": DatasetLimits(3, 20 * _MB, 10_000, 100 * _MB),
    "pro-100k": DatasetLimits(20, 500 * _MB, 1_000_000, 1_000 * _MB),
    "pro-300k": DatasetLimits(50, 1_000 * _MB, 2_000_000, 2_000 * _MB),
    "pro-1m": DatasetLimits(100, 2_000 * _MB, 5_000_000, 5_000 * _MB),
    "enterprise": DatasetLimits(1_000, 4_000 * _MB, 10_000_000, 10_000 * _MB),
}


def dataset_limits(plan_id: str | None) -> DatasetLimits:
    """Return what a plan allows in datasets; None, where no keys are asked for, is enterprise."""
    return _DATASET_LIMITS[get_plan(plan_id or "enterprise").id]
