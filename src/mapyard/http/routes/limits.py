"""/limits: what the plans allow, as JSON; and the background jobs of accounts."""

from __future__ import annotations

from typing import Any

import msgspec

from mapyard.accounts.map_sessions import LIFE_S
from mapyard.accounts.plans import (
    MAX_ACTIVE_KEYS,
    OVERAGE_PREMIUM_MICRO_USD,
    OVERAGE_STANDARD_MICRO_USD,
    PLANS,
    PREMIUM_UNITS,
    STANDARD_UNITS,
    WINDOW_S,
    dataset_limits,
)
from mapyard.http.answer import JSON, Answer
from mapyard.http.background import Job, JobContext
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.params.parser import NoParams


@endpoint(
    "/limits",
    summary="Plans, limits and prices",
    tag="Operation",
    public=True,
    inline=True,
    needs_dataset=False,
    media_types=(JSON,),
    schema={"type": "object", "additionalProperties": True},
    examples=[Example({})],
)
def limits(ctx: Context, params: NoParams) -> Answer:
    """Say what each plan allows per minute, day and month, and what counts how much."""
    settings = ctx.settings
    fields: dict[str, Any] = {
        "window_seconds": WINDOW_S,
        "units": {"standard": STANDARD_UNITS, "premium": PREMIUM_UNITS},
        "premium_endpoints": sorted({e.path for e in ctx.services.endpoints if e.premium}),
        "overage_usd_per_1000": {
            "standard": OVERAGE_STANDARD_MICRO_USD / 1_000,
            "premium": OVERAGE_PREMIUM_MICRO_USD / 1_000,
        },
        "max_active_keys": MAX_ACTIVE_KEYS,
        "map_session_seconds": LIFE_S,
        "without_key_per_minute": settings.anonymous_per_minute,
        "max_body_bytes": settings.max_body_bytes,
        "timeout_seconds": settings.timeout_s,
        "plans": [
            {
                "id": plan.id,
                "name": plan.name,
                "usd_per_month": (
                    None if plan.price_micro_usd is None else plan.price_micro_usd / 1_000_000
                ),
                **msgspec.to_builtins(plan.limits),
                "map_per_minute": plan.limits.map_per_minute,
                "own_datasets": msgspec.to_builtins(dataset_limits(plan.id)),
            }
            for plan in PLANS.values()
        ],
    }
    return Answer.json(fields, headers={"Cache-Control": "public, max-age=300"})


def mark_uptime(ctx: JobContext) -> None:
    """Note that the service is up in this minute."""
    from mapyard.accounts.uptime import mark_minute

    if ctx.services.database is not None:
        mark_minute(ctx.services.database)


def deliver_webhooks(ctx: JobContext) -> None:
    """Post closed months to the operator's billing system."""
    from mapyard.accounts.webhook import deliver_due

    settings = ctx.services.settings
    if ctx.services.database is not None and settings.webhook_url:
        deliver_due(ctx.services.database, settings.webhook_url, settings.webhook_secret)


BACKGROUND_JOBS = (
    Job("uptime", 30.0, mark_uptime),
    Job("webhooks", 60.0, deliver_webhooks),
)
