"""The usage page: allowance, charts, tables, recent errors, CSV."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterator
from typing import Final

from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute

from mapyard.accounts import registry, reports
from mapyard.accounts.plans import PLANS
from mapyard.errors import InvalidRequest
from mapyard.http.services import Services
from mapyard.web.charts import Bar, draw_bars
from mapyard.web.visit import Visit, page

#: What an account's owner can do about an error, by its code.
ADVICE: Final = {
    "invalid_request": "Look at the parameters named in the answer.",
    "invalid_query": "The answer says line and column; correct the query there.",
    "key_not_allowed": "The key is restricted; look at its page, or use another key.",
    "invalid_cursor": "Send the cursor exactly as it came, with the same parameters.",
    "stale_cursor": "The data was updated: start again from the first page.",
    "not_found": "Look at the path and the id.",
    "no_route_found": "No way leads between the points in this mode; try another mode.",
    "no_road_found": "No road is near the point; enlarge the radius.",
    "no_elevation": "No elevation data covers the points.",
    "method_not_allowed": "The answer's Allow header names the methods.",
    "timeout": "Ask for less at once: a smaller area, a narrower filter.",
    "too_large": "Send less in one request; the answer names the limit.",
    "validation_failed": "The answer says what cannot be served and what to use instead.",
    "rate_limited": "Wait for Retry-After, spread requests out, or choose a larger plan.",
    "daily_limit_exceeded": "Wait until midnight UTC, or choose a larger plan.",
    "monthly_limit_exceeded": "Wait for the next month, or ask the operator.",
    "not_installed": "The operator has not built this part of the data.",
    "not_implemented": "This service does not offer this.",
    "overloaded": "Try again after Retry-After; it took no units.",
    "internal_error": "A fault of the service: tell the operator the request id. No units taken.",
}


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/account/usage", show_usage, needs="account"),
        page("/account/usage.csv", send_csv, needs="account"),
    ]


def show_usage(visit: Visit) -> Response:
    """Show a month, or the last 30 days."""
    today = today_utc()
    first, last, period = read_period(visit.query.get("period", ""), today)
    database, account = visit.database, visit.account
    days = reports.sum_days(database, account.id, first, min(last, today))
    totals = reports.sum_all(database, account.id, first, last)
    keys = {key.id: key for key in registry.list_keys(database, account.id)}
    limits = registry.limits_of(account)
    recent = reports.sum_days(
        database, account.id, min(today.replace(day=1), today - dt.timedelta(7)), today
    )
    return visit.render(
        "usage.html",
        period=period,
        periods=list_periods(today),
        first=first,
        last=min(last, today),
        totals=totals,
        days=days,
        chart=draw_requests(days),
        error_chart=draw_errors(days),
        endpoints=reports.sum_groups(database, account.id, first, last, "endpoint"),
        by_key=reports.sum_groups(database, account.id, first, last, "key_id"),
        by_status=reports.sum_groups(database, account.id, first, last, "status"),
        keys=keys,
        latency=reports.measure_latency(database, account.id, first, last),
        allowances=reports.allowances(database, account.id, limits, today),
        forecast=reports.forecast_units(recent, today),
        limits=limits,
        plan=PLANS[account.plan],
        errors=reports.recent_errors(database, account.id, 25),
        advice=ADVICE,
    )


def send_csv(visit: Visit) -> Response:
    """Send the ledger's rows of the period."""
    first, last, period = read_period(visit.query.get("period", ""), today_utc())
    rows = reports.iter_rows(visit.database, visit.account.id, first, last)
    name = f"mapyard-usage-{period}.csv"
    return StreamingResponse(
        write_csv(rows),
        media_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def write_csv(rows: Iterator[dict[str, object]]) -> Iterator[str]:
    """Yield CSV with a header row; a name cannot become a spreadsheet's formula."""
    buffer = io.StringIO()
    columns = [
        "day", "endpoint", "key", "key_name", "status", "kind", "requests", "units",
        "overage_requests", "mean_ms",
    ]  # fmt: skip
    writer = csv.DictWriter(buffer, columns)
    writer.writeheader()
    for row in rows:
        name = str(row["key_name"])
        writer.writerow(
            row | {"key_name": f"'{name}" if name[:1] in ("=", "+", "-", "@") else name}
        )
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def draw_requests(days: dict[dt.date, reports.Sums]) -> str:
    """Return the chart of requests by day and kind."""
    bars = [
        Bar(
            f"{day.day}",
            f"{day:%d %b}: {sums.standard:,} standard, {sums.premium:,} premium, "
            f"{sums.units:,} units",
            (("standard", sums.standard), ("premium", sums.premium)),
        )
        for day, sums in days.items()
    ]
    total = sum(sums.requests for sums in days.values())
    return draw_bars(bars, f"Requests by day, {total:,} in all; the table below has the numbers")


def draw_errors(days: dict[dt.date, reports.Sums]) -> str:
    """Return the chart of failed requests by day, '' when none failed."""
    counts = {day: sums.client_errors + sums.server_errors for day, sums in days.items()}
    if not any(counts.values()):
        return ""
    bars = [
        Bar(f"{day.day}", f"{day:%d %b}: {count:,} failed", (("errors", count),))
        for day, count in counts.items()
    ]
    return draw_bars(bars, f"Failed requests by day, {sum(counts.values()):,} in all")


def read_period(text: str, today: dt.date) -> tuple[dt.date, dt.date, str]:
    """Return first and last day of '30d' (the default) or of a month such as 2026-04."""
    if text in ("", "30d"):
        return today - dt.timedelta(29), today, "30d"
    try:
        first, last = reports.month_bounds(text)
    except ValueError:
        raise InvalidRequest.of("period", "must be 30d or a month such as 2026-04") from None
    return first, last, text


def list_periods(today: dt.date) -> list[tuple[str, str]]:
    """Return the periods to choose from: value and name."""
    periods = [("30d", "Last 30 days")]
    month = today.replace(day=1)
    for _ in range(12):
        periods.append((f"{month:%Y-%m}", f"{month:%B %Y}"))
        month = (month - dt.timedelta(1)).replace(day=1)
    return periods


def today_utc() -> dt.date:
    """Return the UTC day."""
    return dt.datetime.now(dt.UTC).date()
