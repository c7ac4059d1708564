"""Rules of certain hours: when a way has to be asked for once more, at the assumed time.

The engine searches some 9 % longer when it minds the time, and most ways meet no rule of hours. So
a way is asked for without one first. Rules only ever close roads and turns, so that a way which
meets none of them is the best one at any hour; the others are asked for again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.polyline import decode_polyline

_NAME: Final = "timed-turns.npy"
#: A node of a shape is the node of the graph up to its last digit.
_SAME_DEG: Final = 2e-6


def write_timed_turns(directory: Path, positions: NDArray[np.float64]) -> None:
    """Keep the places (n, 2), lon and lat, where turns are forbidden at certain hours."""
    np.save(directory / _NAME, positions)


def read_timed_turns(directory: Path) -> NDArray[np.float64] | None:
    """Return the places, or None where nobody looked for them."""
    path = directory / _NAME
    return np.load(path) if path.is_file() else None


def meets_hours(answer: dict[str, Any], timed_turns: NDArray[np.float64] | None) -> bool:
    """Return whether a route of the engine may break a rule of certain hours."""
    if timed_turns is None:
        return True
    trips = [answer["trip"], *(other["trip"] for other in answer.get("alternates", ()))]
    return any(_meets(trip, timed_turns) for trip in trips)


def _meets(trip: dict[str, Any], timed_turns: NDArray[np.float64]) -> bool:
    summary = trip["summary"]
    if summary["has_time_restrictions"]:
        return True
    lon, lat = timed_turns.T
    near = timed_turns[
        (lon >= summary["min_lon"] - _SAME_DEG) & (lon <= summary["max_lon"] + _SAME_DEG)
        & (lat >= summary["min_lat"] - _SAME_DEG) & (lat <= summary["max_lat"] + _SAME_DEG)
    ]  # fmt: skip
    if not len(near):
        return False
    order = near[np.argsort(near[:, 0])]
    for leg in trip["legs"]:
        shape = decode_polyline(leg["shape"])
        first = np.searchsorted(order[:, 0], shape[:, 0] - _SAME_DEG)
        last = np.searchsorted(order[:, 0], shape[:, 0] + _SAME_DEG, side="right")
        for at in np.flatnonzero(last > first).tolist():
            if (np.abs(order[first[at] : last[at], 1] - shape[at, 1]) <= _SAME_DEG).any():
                return True
    return False
