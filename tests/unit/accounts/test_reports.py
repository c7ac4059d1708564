from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from mapyard.accounts import registry, reports
from mapyard.accounts.database import Database
from mapyard.accounts.gate import flush_usage
from mapyard.accounts.journal import JournalWriter
from mapyard.accounts.models import Account
from mapyard.accounts.plans import PLANS
from mapyard.accounts.reports import Sums
from mapyard.accounts.statements import list_months, make_statement

APRIL_6 = dt.date(2026, 4, 6)


def at(day: dt.date) -> int:
    return int(dt.datetime(day.year, day.month, day.day, 12, tzinfo=dt.UTC).timestamp())


@pytest.fixture
def account(tmp_path: Path, database: Database) -> Account:
    """An account with 3 standard, 2 premium requests and a failed one on two days of April."""
    account = registry.create_account(database, "me@example.org", "pro-100k")
    key, _ = registry.create_key(database, account.id, name="=shop")
    writer = JournalWriter(tmp_path / "usage")

    def note(
        day: dt.date,
        endpoint: str,
        status: int = 200,
        took_us: int = 1_000,
        *,
        premium: bool = False,
        overage: bool = False,
    ) -> None:
        failed = status == 429 or status >= 500
        writer.append(
            admitted_s=at(day), account_id=account.id, key_id=key.id, took_us=took_us,
            status=status, units=0 if failed else (4 if premium else 1), premium=premium,
            overage=overage, endpoint=endpoint,
        )  # fmt: skip

    note(APRIL_6, "/api/v1/search")
    note(APRIL_6, "/api/v1/search", took_us=3_000)
    note(APRIL_6, "/api/v1/route", premium=True, took_us=20_000)
    note(APRIL_6 + dt.timedelta(2), "/api/v1/route", 503, premium=True)
    note(APRIL_6 + dt.timedelta(2), "/api/v1/search", 404, overage=True)
    note(APRIL_6 + dt.timedelta(2), "/api/v1/route", premium=True, overage=True)
    writer.close()
    flush_usage(database, tmp_path)
    return account


def test_days_without_requests_are_there(database: Database, account: Account) -> None:
    days = reports.sum_days(database, account.id, APRIL_6, APRIL_6 + dt.timedelta(2))
    assert [sums.requests for sums in days.values()] == [3, 0, 3]
    assert days[APRIL_6].units == 6
    assert days[APRIL_6].mean_ms == pytest.approx(8.0)
    last = days[APRIL_6 + dt.timedelta(2)]
    assert (last.client_errors, last.server_errors) == (1, 1)
    assert (last.overage_standard, last.overage_premium) == (1, 1)


def test_groups_and_rows(database: Database, account: Account) -> None:
    first, last = dt.date(2026, 4, 1), dt.date(2026, 4, 30)
    endpoints = reports.sum_groups(database, account.id, first, last, "endpoint")
    assert [(name, sums.requests) for name, sums in endpoints] == [
        ("/api/v1/route", 3), ("/api/v1/search", 3),
    ]  # fmt: skip
    statuses = reports.sum_groups(database, account.id, first, last, "status")
    assert {name: sums.requests for name, sums in statuses} == {200: 4, 404: 1, 503: 1}
    rows = list(reports.iter_rows(database, account.id, first, last))
    assert sum(row["requests"] for row in rows) == 6
    assert rows[0]["key"].startswith("pk_live_…")
    assert reports.sum_all(database, account.id + 1, first, last) == Sums()


def test_latency_percentiles(database: Database, account: Account) -> None:
    rows = reports.measure_latency(database, account.id, APRIL_6, APRIL_6)
    search = next(row for row in rows if row.endpoint == "/api/v1/search")
    assert (search.requests, search.p50_ms, search.p99_ms) == (2, 2.0, 4.0)
    assert reports.percentile_ms({3: 99, 10: 1}, 0.5) == 1.0
    assert reports.percentile_ms({3: 99, 10: 1}, 0.999) == 128.0
    assert reports.percentile_ms({}, 0.5) == 0.0


def test_allowances(database: Database, account: Account) -> None:
    today = APRIL_6 + dt.timedelta(2)
    month = reports.allowances(database, account.id, PLANS["pro-100k"].limits, today)[0]
    # 6 units within the allowance; those of overage requests are not of it.
    assert (month.used, month.total, month.left) == (6, 100_000, 99_994)
    standard, premium, _ = reports.allowances(database, account.id, PLANS["free"].limits, today)
    assert (standard.used, standard.left) == (1, 499)
    assert (premium.used, premium.left) == (1, 9)


def test_the_forecast_holds_the_pace() -> None:
    today = dt.date(2026, 4, 20)
    days = {today - dt.timedelta(i): Sums(units=100) for i in range(20)}
    assert reports.forecast_units(days, today) == 2_000 + 10 * 100
    assert reports.forecast_units({today: Sums()}, today) == 0


@pytest.mark.parametrize("text", ["", "2026", "2026-13", "2026-4-6", "x-y", "２０２６-04"])
def test_what_is_no_month(text: str) -> None:
    with pytest.raises(ValueError, match="month"):
        reports.month_bounds(text)


def test_a_statement_is_exact(database: Database, account: Account) -> None:
    statement = make_statement(database, account, "2026-04", now_s=at(dt.date(2026, 5, 2)))
    assert statement.closed
    assert (statement.standard_requests, statement.premium_requests) == (3, 3)
    assert statement.used_units == 6
    assert (statement.overage_standard_requests, statement.overage_premium_requests) == (1, 1)
    assert statement.overage_micro_usd == 500 + 1_500
    body = statement.as_json()
    assert body["currency"] == "USD"
    assert body["total_micro_usd"] == statement.total_micro_usd
    # The account was created after that month: it is priced by the plan that it has.
    assert statement.total_micro_usd == 50_000_000 + 2_000


def test_a_statement_knows_the_plan_of_its_month(database: Database) -> None:
    account = registry.create_account(database, "new@example.org", "pro-100k")
    registry.change_account(database, account.id, action="account.plan", plan="enterprise")
    month = f"{dt.datetime.now(dt.UTC):%Y-%m}"
    statement = make_statement(database, account, month, now_s=0)
    assert not statement.closed
    assert statement.plan == "enterprise"
    assert [plan for _, plan in statement.plan_changes] == ["pro-100k", "enterprise"]
    assert statement.total_micro_usd is None


def test_months_with_statements(database: Database, account: Account) -> None:
    assert list_months(database, account, dt.date(2026, 6, 3)) == ["2026-06", "2026-05", "2026-04"]
