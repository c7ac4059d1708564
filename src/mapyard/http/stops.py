"""Stops: an account asks that its running queries end, in whatever worker they run.

A stop is the time of a file. Workers look at it while they wait for a query, some times a second.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from mapyard.errors import MapyardError
from mapyard.settings import Settings


class Stopped(MapyardError):  # noqa: N818 - named for what happened, as in errors.py
    """The query's account stopped it."""

    status, code = 409, "stopped"

    def __init__(self) -> None:
        super().__init__(
            "this query was stopped: its account asked /api/kill_my_queries",
            headers={"x-should-retry": "false"},
        )


def stop_queries(settings: Settings, account_id: int) -> None:
    """Stop the queries of an account that run now."""
    path = _path(settings, account_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    now_ns = time.time_ns()
    os.utime(path, ns=(now_ns, now_ns))


def last_stop_ns(settings: Settings, account_id: int) -> int:
    """Return when an account last stopped its queries, nanoseconds since 1970; 0: never."""
    try:
        return _path(settings, account_id).stat().st_mtime_ns
    except OSError:
        return 0


def _path(settings: Settings, account_id: int) -> Path:
    return settings.data / "cache" / "stops" / str(account_id)
