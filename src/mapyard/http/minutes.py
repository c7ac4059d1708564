"""What this machine did in each minute of the last day, for the operator's charts.

DATA/service/minutes.bin is a ring of rows, a row's place its minute modulo the minutes of a day.
The jobs process looks at the metrics every few seconds: counters are told as what they grew by in
the minute, gauges as the most that was seen.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.http import metrics

MINUTES: Final = 1_440
_NAME: Final = "minutes.bin"
_COUNTERS: Final = ("requests", "client_errors", "server_errors", "tiles", "tiles_made")
_TILE_ROUTE: Final = "/api/v1/tiles/{z}/{x}/{y}"
_GAUGES: Final = ("in_flight", "light", "heavy", "queries", "accounts")
ROW: Final = np.dtype(
    [
        ("minute", "<i8"),
        *((name, "<i8") for name in _COUNTERS),
        *((name, "<i4") for name in _GAUGES),
    ]
)


class Minutes:
    """Gathers the running minute, and writes its row each time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, int] | None = None
        self._row = np.zeros(1, ROW)

    def look(self, now_s: float | None = None) -> None:
        """Add what happened since the last look to the row of the minute."""
        found = read_numbers()
        before, self._seen = self._seen, found
        minute = int(now_s if now_s is not None else time.time()) // 60
        row = self._row
        if row["minute"][0] != minute:
            row[:] = 0
            row["minute"] = minute
            self._take_over(minute)
        for name in _GAUGES:
            row[name] = max(int(row[name][0]), found[name])
        if before is not None:
            for name in _COUNTERS:
                # The counters begin anew with the server.
                row[name] += found[name] - (before[name] if found[name] >= before[name] else 0)
        self._write(minute)

    def _take_over(self, minute: int) -> None:
        """Go on with the row of this minute where another process of this machine began it."""
        rows = read_rows(self._folder)
        if rows is not None and rows["minute"][minute % MINUTES] == minute:
            self._row[:] = rows[minute % MINUTES]

    def _write(self, minute: int) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(fd).st_size != MINUTES * ROW.itemsize:
                os.ftruncate(fd, MINUTES * ROW.itemsize)
            os.pwrite(fd, self._row.tobytes(), minute % MINUTES * ROW.itemsize)
        finally:
            os.close(fd)


def read_rows(folder: Path) -> NDArray[Any] | None:
    """Return all rows of the ring as they lie, None where there is none of this version."""
    try:
        raw = (folder / _NAME).read_bytes()
    except OSError:
        return None
    return np.frombuffer(raw, ROW) if len(raw) == MINUTES * ROW.itemsize else None


def read_minutes(folder: Path, count: int = MINUTES, now_s: float | None = None) -> NDArray[Any]:
    """Return the last `count` minutes, oldest first; zeros where nothing was noted."""
    last = int(now_s if now_s is not None else time.time()) // 60
    minutes = np.arange(last - count + 1, last + 1)
    found = np.zeros(count, ROW)
    rows = read_rows(folder)
    if rows is not None:
        found[:] = rows[minutes % MINUTES]
        found[found["minute"] != minutes] = np.zeros((), ROW)
    found["minute"] = minutes
    return found


def read_numbers() -> dict[str, int]:
    """Return the metrics that the rows have, summed over all processes of this server."""
    found = dict.fromkeys((*_COUNTERS, *_GAUGES), 0)
    for family in metrics.collect():
        for sample in family.samples:
            value = int(sample.value)
            if sample.name == "mapyard_http_request_duration_seconds_count":
                found["requests"] += value
                status = sample.labels["status"]
                if status.startswith("4"):
                    found["client_errors"] += value
                elif status.startswith("5"):
                    found["server_errors"] += value
                if sample.labels["route"] == _TILE_ROUTE and status == "200":
                    found["tiles"] += value
            elif sample.name == "mapyard_tiles_made_total":
                found["tiles_made"] += value
            elif sample.name == "mapyard_http_requests_in_flight":
                found["in_flight"] += value
            elif sample.name == "mapyard_pool_busy" and sample.labels["pool"] in found:
                found[sample.labels["pool"]] += value
    return found
