"""One machine's limits: quotas, wall clock, plan changes, files, several processes."""

from __future__ import annotations

import bisect
import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mapyard.accounts.decisions import Decision, day_and_month, month_start_s
from mapyard.accounts.errors import AccountsUnavailable
from mapyard.accounts.limiter import LocalLimiter, Used
from mapyard.accounts.plans import PLANS, Limits

FREE = PLANS["free"].limits
WIDE_FREE = Limits(10_000, 500, 40, None, overage=False)
SMALL_PRO = Limits(10_000, None, None, 10, overage=True)
NOON = dt.datetime(2026, 4, 6, 12, tzinfo=dt.UTC).timestamp()
DAY_S = 86_400


class Clock:
    """A wall clock and a monotonic clock to set by hand."""

    def __init__(self) -> None:
        self.wall_s = NOON
        self.monotonic_ns = 10**15

    def pass_s(self, seconds: float) -> None:
        self.wall_s += seconds
        self.monotonic_ns += int(seconds * 1e9)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(tmp_path: Path, clock: Clock) -> Iterator[LocalLimiter]:
    limiter = open_limiter(tmp_path, clock)
    yield limiter
    limiter.close()


def open_limiter(folder: Path, clock: Clock) -> LocalLimiter:
    return LocalLimiter(folder, clock=lambda: clock.wall_s, monotonic_ns=lambda: clock.monotonic_ns)


def ask(limiter: LocalLimiter, limits: Limits, count: int, *, premium: bool = False) -> list[str]:
    """Return the codes of so many requests at once, '' for admitted ones."""
    return [limiter.check(1, limits, premium=premium).code for _ in range(count)]


def test_the_window_slides(limiter: LocalLimiter, clock: Clock) -> None:
    first = limiter.check(1, FREE, premium=False)
    assert (first.allowed, first.limit, first.remaining) == (True, 10, 9)
    assert first.reset_s == NOON + 60
    clock.pass_s(20)
    assert ask(limiter, FREE, 9) == [""] * 9
    denied = limiter.check(1, FREE, premium=False)
    assert (denied.code, denied.remaining, denied.retry_after_s) == ("rate_limited", 0, 40)
    assert denied.reset_s == NOON + 60
    clock.pass_s(39.5)
    assert limiter.check(1, FREE, premium=False).retry_after_s == 1
    clock.pass_s(0.5)
    assert ask(limiter, FREE, 2) == ["", "rate_limited"]


def test_refused_requests_do_not_lengthen_the_wait(limiter: LocalLimiter, clock: Clock) -> None:
    ask(limiter, FREE, 10)
    clock.pass_s(59)
    assert set(ask(limiter, FREE, 100)) == {"rate_limited"}
    clock.pass_s(1)
    assert limiter.check(1, FREE, premium=False).allowed


def test_accounts_do_not_share(limiter: LocalLimiter) -> None:
    ask(limiter, FREE, 11)
    assert limiter.check(2, FREE, premium=False).remaining == 9


def test_free_caps_are_hard_per_kind_and_end_at_midnight(
    limiter: LocalLimiter, clock: Clock
) -> None:
    assert ask(limiter, WIDE_FREE, 501).count("") == 500
    assert ask(limiter, WIDE_FREE, 11, premium=True).count("") == 10
    denied = limiter.check(1, WIDE_FREE, premium=False)
    assert denied.code == "daily_limit_exceeded"
    assert denied.retry_after_s == 12 * 3600
    assert denied.remaining == 10_000 - 510
    error = denied.error()
    assert (error.status, error.code) == (429, "daily_limit_exceeded")
    assert error.headers["x-should-retry"] == "false"
    clock.pass_s(12 * 3600)
    assert limiter.check(1, WIDE_FREE, premium=False).allowed
    assert limiter.check(1, WIDE_FREE, premium=True).allowed


def test_the_minute_is_asked_before_the_day(limiter: LocalLimiter, clock: Clock) -> None:
    tight = Limits(2, 2, 40, None, overage=False)
    assert ask(limiter, tight, 3) == ["", "", "rate_limited"]
    clock.pass_s(60)
    assert ask(limiter, tight, 1) == ["daily_limit_exceeded"]


def test_units_come_back(limiter: LocalLimiter) -> None:
    decisions = [limiter.check(1, WIDE_FREE, premium=True) for _ in range(10)]
    assert not limiter.check(1, WIDE_FREE, premium=True).allowed
    limiter.give_back(decisions[3])
    assert limiter.used(1) == (0, 36, 36)
    assert limiter.check(1, WIDE_FREE, premium=True).allowed
    assert not limiter.check(1, WIDE_FREE, premium=True).allowed


def test_units_given_back_after_midnight_belong_to_yesterday(
    limiter: LocalLimiter, clock: Clock
) -> None:
    clock.pass_s(12 * 3600 - 1)
    decision = limiter.check(1, WIDE_FREE, premium=False)
    clock.pass_s(2)
    limiter.check(1, WIDE_FREE, premium=False)
    limiter.give_back(decision)
    assert limiter.used(1)[0] == 1


def test_overage_is_counted_by_kind_at_admission(limiter: LocalLimiter) -> None:
    decisions = [limiter.check(1, SMALL_PRO, premium=True) for _ in range(3)]
    # 4 + 4 + 4: the third began while units were left, so it is included.
    assert [d.overage for d in decisions] == [False, False, False]
    late = [limiter.check(1, SMALL_PRO, premium=premium) for premium in (False, True)]
    assert [(d.allowed, d.overage) for d in late] == [(True, True), (True, True)]
    limiter.give_back(decisions[0])
    assert not limiter.check(1, SMALL_PRO, premium=False).overage


def test_a_hard_month_is_refused_until_it_ends(limiter: LocalLimiter, clock: Clock) -> None:
    capped = Limits(10_000, None, None, 3, overage=False)
    assert ask(limiter, capped, 4) == ["", "", "", "monthly_limit_exceeded"]
    denied = limiter.check(1, capped, premium=False)
    may = dt.datetime(2026, 5, 1, tzinfo=dt.UTC).timestamp()
    assert denied.retry_after_s == may - NOON
    clock.wall_s = may
    assert limiter.check(1, capped, premium=False).allowed


def test_a_change_of_plan_resets_nothing(limiter: LocalLimiter, clock: Clock) -> None:
    assert ask(limiter, FREE, 11).count("") == 10
    large = PLANS["enterprise"].limits
    decision = limiter.check(1, large, premium=False)
    assert decision.remaining == 10_000 - 11
    assert ask(limiter, large, 9_989).count("") == 9_989
    assert ask(limiter, large, 1) == ["rate_limited"]
    clock.pass_s(30)
    small = limiter.check(1, FREE, premium=False)
    assert (small.code, small.retry_after_s) == ("rate_limited", 30)
    clock.pass_s(30)
    # The day's units were counted on every plan.
    assert ask(limiter, FREE, 1) == ["daily_limit_exceeded"]


@pytest.mark.parametrize("step_s", [3600, -3600, 13 * 3600, -13 * 3600, 40 * DAY_S, -40 * DAY_S])
def test_steps_of_the_wall_clock(limiter: LocalLimiter, clock: Clock, step_s: int) -> None:
    ask(limiter, FREE, 10)
    clock.wall_s += step_s
    denied = limiter.check(1, FREE, premium=False)
    # The minute does not follow the wall clock.
    assert (denied.code, denied.retry_after_s) == ("rate_limited", 60)
    clock.wall_s -= step_s
    # Back again, the day's and the month's counters are found as they were.
    assert limiter.used(1) == (10, 0, 10)


def test_counters_survive_a_restart_and_a_torn_file_begins_anew(
    tmp_path: Path, clock: Clock
) -> None:
    first = open_limiter(tmp_path, clock)
    ask(first, FREE, 10)
    first.close()
    second = open_limiter(tmp_path, clock)
    assert ask(second, FREE, 1) == ["rate_limited"]
    second.close()
    (tmp_path / "1.limits").write_bytes(b"\0" * 100)
    third = open_limiter(tmp_path, clock)
    assert ask(third, FREE, 1) == [""]
    third.close()


def test_a_lost_file_begins_with_what_the_ledger_knows(tmp_path: Path, clock: Clock) -> None:
    limiter = LocalLimiter(
        tmp_path,
        clock=lambda: clock.wall_s,
        monotonic_ns=lambda: clock.monotonic_ns,
        used_before=lambda _: Used(day_standard=499, day_premium=36, month=535),
    )
    assert ask(limiter, WIDE_FREE, 2) == ["", "daily_limit_exceeded"]
    assert ask(limiter, WIDE_FREE, 2, premium=True) == ["", "daily_limit_exceeded"]
    assert limiter.used(1) == (500, 40, 540)
    limiter.close()
    again = open_limiter(tmp_path, clock)
    assert again.used(1) == (500, 40, 540)
    again.close()


def test_a_full_disk_is_an_error_of_the_service(
    limiter: LocalLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(AccountsUnavailable, match="No space left"):
        limiter.check(1, FREE, premium=False)
    monkeypatch.undo()
    assert limiter.check(1, FREE, premium=False).allowed


def test_more_accounts_than_open_files(limiter: LocalLimiter) -> None:
    for account_id in range(600):
        limiter.check(account_id, FREE, premium=False)
    assert limiter.check(3, FREE, premium=False).remaining == 8


def test_eight_processes_admit_exactly_300(
    tmp_path: Path, hammer: Callable[..., list[float]]
) -> None:
    assert len(hammer(8, tmp_path, 300, 60.0, 0.5)) == 300


def test_in_any_window_never_more_than_the_limit(
    tmp_path: Path, hammer: Callable[..., list[float]]
) -> None:
    window_s = 0.5
    admitted = hammer(3, tmp_path, 300, window_s, 2.5)
    # The times are from just before each check, which may wait some milliseconds for its turn: so
    # the windows that are looked at are a little shorter.
    looked_at_s = window_s - 0.1
    most = max(bisect.bisect_left(admitted, at + looked_at_s) - i for i, at in enumerate(admitted))
    assert most <= 300
    assert len(admitted) >= 300 * 4


def test_headers_and_the_error_body() -> None:
    decision = Decision(
        allowed=False, code="rate_limited", limit=10, remaining=0, reset_s=99, retry_after_s=7
    )
    assert decision.headers() == {
        "X-RateLimit-Limit": "10",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": "99",
    }
    error = decision.error()
    assert error.headers == {"Retry-After": "7"}
    assert error.details == {"limit": 10, "window_seconds": 60, "retry_after": 7}


def test_months_are_calendar_months() -> None:
    for date in (dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2026, 12, 31)):
        at_s = dt.datetime(date.year, date.month, date.day, tzinfo=dt.UTC).timestamp()
        month = day_and_month(at_s + 86_399)[1]
        assert month == (date.year - 1970) * 12 + date.month - 1
        first = dt.datetime(date.year, date.month, 1, tzinfo=dt.UTC).timestamp()
        assert month_start_s(month) == first


def test_what_is_counted_already_takes_units_alone(limiter: LocalLimiter) -> None:
    tight = Limits(2, 500, 8, None, overage=False)
    ask(limiter, tight, 2)
    further = limiter.check(1, tight, premium=True, is_counted=True)
    assert (further.allowed, further.units, further.remaining) == (True, 4, 0)
    assert ask(limiter, tight, 1) == ["rate_limited"]
    assert limiter.check(1, tight, premium=True, is_counted=True).allowed
    refused = limiter.check(1, tight, premium=True, is_counted=True)
    assert refused.code == "daily_limit_exceeded"
    assert limiter.used(1) == (2, 8, 10)
