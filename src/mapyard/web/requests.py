"""The operator's page on requests: errors by endpoint, slow ones with what they asked."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts import reports
from mapyard.accounts.models import Account
from mapyard.http.services import Services
from mapyard.http.slow import read_slow
from mapyard.web.usage import list_periods, read_period, today_utc
from mapyard.web.visit import Visit, page

_SHOWN: Final = 100


def routes(services: Services) -> list[BaseRoute]:
    """Return the page of this module."""
    if services.database is None:
        return []
    return [page("/operator/requests", show_requests, needs="operator")]


def show_requests(visit: Visit) -> Response:
    """Show who failed where in a period, and what took long."""
    today = today_utc()
    first, last, period = read_period(visit.query.get("period", ""), today)
    database, settings = visit.database, visit.services.settings
    endpoints = reports.sum_groups(database, None, first, last, "endpoint")
    failed = [row for row in endpoints if row[1].client_errors or row[1].server_errors]
    errors = reports.recent_errors(database, None, _SHOWN, 500)
    slow = read_slow(visit.services.own_folder, _SHOWN)
    ids = {error.account_id for error in errors} | {entry.account for entry in slow}
    with database.read() as session:
        accounts = [session.get(Account, account_id) for account_id in ids if account_id]
    return visit.render(
        "operator_requests.html",
        period=period,
        periods=list_periods(today),
        endpoints=sorted(
            failed, key=lambda row: (-row[1].server_errors, -row[1].client_errors, row[0])
        ),
        statuses=reports.sum_groups(database, None, first, last, "status"),
        requests=sum(sums.requests for _, sums in endpoints),
        errors=errors,
        slow=slow,
        slow_s=settings.slow_s,
        keeps_text=settings.slow_text,
        emails={account.id: account.email for account in accounts if account is not None},
    )
