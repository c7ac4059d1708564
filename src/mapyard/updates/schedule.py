"""The schedule inside `mapyard serve`: updates as a niced process of their own.

A process of its own gives its memory back, cannot take the server with it, and yields the
processor to requests.
"""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from mapyard.dataset.catalog import Catalog
from mapyard.errors import MapyardError
from mapyard.settings import Settings
from mapyard.updates.chosen import find_source
from mapyard.updates.history import read_runs

log = logging.getLogger(__name__)

INTERVAL_S = {"minutely": 60.0, "hourly": 3600.0, "daily": 86_400.0}
#: How long after the time of the newest data a source usually has more, as a share of the interval.
JITTER = 0.1
#: A server that has never looked waits so long, so that starting is not slowed.
FIRST_LOOK_S = 600.0
_WARN_EVERY_S = 86_400.0


class Schedule:
    """Decides when to look for new data, and does it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._interval_s = INTERVAL_S.get(settings.updates, 0.0)
        self._next_s = 0.0
        self._warned_s = -_WARN_EVERY_S
        self._process: subprocess.Popen[bytes] | None = None

    def tick(self, now_s: float | None = None) -> None:
        """Start an update when one is due, and reap a finished one; call every few seconds."""
        now = time.time() if now_s is None else now_s
        if self._process is not None:
            if self._process.poll() is None:
                return
            self._report(self._process.returncode, now)
            self._process = None
        if not self._interval_s or not has_source(self._settings):
            return
        if not self._next_s:
            self._next_s = first_due_s(self._settings.data, self._interval_s, now)
        if now >= self._next_s:
            jitter = random.uniform(0, JITTER) * self._interval_s  # noqa: S311 - spreads load
            self._next_s = now + self._interval_s + jitter
            self._process = start_update(self._settings)

    def stop(self) -> None:
        """End a running update; the next run goes on where it stopped."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()

    def _report(self, code: int, now: float) -> None:
        runs = read_runs(self._settings.data)
        last = runs[-1] if runs else None
        if code == 0 and last is not None:
            if last.outcome == "updated":
                log.info("updated to %s (sequence %s)", last.dataset, last.to_sequence)
            if last.message:
                log.warning("the update %s", last.message)
            return
        if now - self._warned_s >= _WARN_EVERY_S:
            self._warned_s = now
            log.warning("the update failed: %s", last.message if last else f"exit code {code}")


def has_source(settings: Settings) -> bool:
    """Return whether the served dataset or the settings name a replication source."""
    if settings.update_source:
        return True
    try:
        manifest = Catalog(settings.data).manifest("current")
        return bool(find_source(settings.data, settings, manifest))
    except MapyardError:
        return False


def first_due_s(data: Path, interval_s: float, now_s: float) -> float:
    """Return when to look first: one interval after the last run, soon without one."""
    runs = read_runs(data)
    if not runs:
        return now_s + min(FIRST_LOOK_S, interval_s)
    last = datetime.fromisoformat(runs[-1].started).astimezone(UTC).timestamp()
    return min(now_s + interval_s, max(last + interval_s, now_s + min(FIRST_LOOK_S, interval_s)))


def start_update(settings: Settings) -> subprocess.Popen[bytes]:
    """Start `mapyard update` as a niced process."""
    return subprocess.Popen(  # noqa: S603 - fixed command, our own settings
        [sys.executable, "-m", "mapyard", "update", "--data", str(settings.data), "--quiet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.nice(19),
    )
