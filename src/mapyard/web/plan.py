"""The plan page and the monthly statements."""

from __future__ import annotations

import datetime as dt
import time

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from mapyard.accounts import registry
from mapyard.accounts.models import Account
from mapyard.accounts.plans import PLANS, get_plan
from mapyard.accounts.statements import Statement, list_months, make_statement
from mapyard.errors import InvalidRequest, NotFound
from mapyard.http.services import Services
from mapyard.web.usage import today_utc
from mapyard.web.visit import Refused, Visit, page


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/account/plan", show_plan, change_plan, needs="account"),
        page("/account/statements/{month}", show_statement, needs="account"),
    ]


def show_plan(visit: Visit) -> Response:
    """Show the plans and the statements."""
    database, account = visit.database, visit.account
    months = list_months(database, account, today_utc())
    return visit.render(
        "plan.html",
        current=PLANS[account.plan],
        offered=list(PLANS.values()),
        limits=registry.limits_of(account),
        statements=[get_statement(visit, account, month) for month in months[:24]],
    )


def change_plan(visit: Visit) -> Response:
    """Change to a plan with a published price; others are agreed with the operator."""
    plan = get_plan(visit.form.get("plan", ""))
    if plan.price_micro_usd is None and not visit.account.is_operator:
        raise Refused(f"the plan {plan.name} is agreed with the operator of the service")
    if plan.id == visit.account.plan:
        return visit.redirect("/account/plan")
    if visit.form.get("confirmed") != plan.id:
        return visit.render(
            "plan_confirm.html",
            current=PLANS[visit.account.plan],
            wanted=plan,
            month_ends=last_day(today_utc()),
        )
    registry.change_account(
        visit.database,
        visit.account.id,
        action="account.plan",
        actor=visit.actor,
        address=visit.address,
        plan=plan.id,
    )
    return visit.redirect("/account/plan", "plan")


def last_day(day: dt.date) -> dt.date:
    """Return the last day of a day's month."""
    return (day.replace(day=1) + dt.timedelta(32)).replace(day=1) - dt.timedelta(1)


def show_statement(visit: Visit) -> Response:
    """Show one month, as a page to print or as JSON (2026-04.json)."""
    month: str = visit.request.path_params["month"]
    statement = get_statement(visit, visit.account, month.removesuffix(".json"))
    return send_statement(visit, statement, as_json=month.endswith(".json"))


def send_statement(visit: Visit, statement: Statement, *, as_json: bool) -> Response:
    """Return the statement in the form asked for."""
    if as_json:
        return JSONResponse(statement.as_json())
    return visit.render("statement.html", statement=statement)


def get_statement(visit: Visit, account: Account, month: str) -> Statement:
    """Return a month's statement; raise InvalidRequest or NotFound."""
    try:
        statement = make_statement(visit.database, account, month, now_s=time.time())
    except ValueError:
        raise InvalidRequest.of("month", "must be a month such as 2026-04") from None
    if statement.first_day > today_utc():
        raise NotFound("this month has not begun")
    return statement
