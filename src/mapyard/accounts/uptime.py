"""Uptime: one mark a minute while the service runs."""

from __future__ import annotations

import contextlib
import datetime as dt
from typing import Final

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.models import UptimeDay

DAYS: Final = 90


def mark_minute(database: Database) -> None:
    """Count the running minute of today, once however many machines mark it."""
    now = dt.datetime.fromtimestamp(now_s(), dt.UTC)
    minute = now.hour * 60 + now.minute
    # Two machines may begin a day at once: one mark is enough.
    with contextlib.suppress(IntegrityError), database.write() as session:
        row = session.get(UptimeDay, now.date(), with_for_update=True)
        if row is None:
            session.add(UptimeDay(day=now.date(), minutes=1, last_minute=minute))
        elif row.last_minute < minute:
            row.minutes += 1
            row.last_minute = minute


def share_of_days(database: Database) -> list[tuple[dt.date, float | None]]:
    """Return the share of each of the last 90 days that the service was up, oldest first.

    None stands for days before the first mark. The first day counts from its first mark, and today
    up to now.
    """
    now = dt.datetime.fromtimestamp(now_s(), dt.UTC)
    today = now.date()
    first = today - dt.timedelta(DAYS - 1)
    with database.read() as session:
        rows = session.scalars(select(UptimeDay).where(UptimeDay.day >= first)).all()
        oldest = session.scalar(select(UptimeDay.day).order_by(UptimeDay.day).limit(1))
    minutes = {row.day: row.minutes for row in rows}
    shares: list[tuple[dt.date, float | None]] = []
    for i in range(DAYS):
        day = first + dt.timedelta(i)
        if oldest is None or day < oldest:
            shares.append((day, None))
            continue
        whole = now.hour * 60 + now.minute + 1 if day == today else 1_440
        if day == oldest:
            row = next(row for row in rows if row.day == day) if day in minutes else None
            begun = row.last_minute + 1 - row.minutes if row is not None else 0
            whole = max(1, whole - begun)
        shares.append((day, min(1.0, minutes.get(day, 0) / whole)))
    return shares
