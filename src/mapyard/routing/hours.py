"""Rules of certain hours: when a way has to be asked for once more, at the assumed time.

The engine searches some 9 % longer when it minds the time, and most ways meet no rule of hours. So
a way is asked for without one first. Rules only ever close roads and turns, so that a way which
meets none that closes at the assumed time is the best one then; the others are asked for again.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.polyline import decode_polyline

_NAME: Final = "hours.npz"
#: A node of a shape is the node of the graph up to its last digit.
_SAME_DEG: Final = 2e-6


@dataclass(frozen=True, slots=True)
class Hours:
    """Where something is closed at certain hours; positions (n, 2) are lon and lat."""

    #: Nodes after which a turn is forbidden at certain hours.
    turns: NDArray[np.float64]
    #: Both ends of the roads that are closed to some mode at the assumed time.
    roads: NDArray[np.float64]
    #: The longest of these roads: a shorter way may lie on one without meeting its ends.
    longest_m: float

    def write(self, directory: Path) -> None:
        """Keep them beside the tiles."""
        np.savez(directory / _NAME, turns=self.turns, roads=self.roads, longest_m=self.longest_m)

    @classmethod
    def read(cls, directory: Path) -> Hours | None:
        """Return what was kept, or None where nobody looked."""
        try:
            with np.load(directory / _NAME) as kept:
                return cls(kept["turns"], kept["roads"], float(kept["longest_m"]))
        except (FileNotFoundError, zipfile.BadZipFile, KeyError):
            return None


def meets_hours(answer: dict[str, Any], hours: Hours | None) -> bool:
    """Return whether a route of the engine may break a rule of certain hours."""
    if hours is None:
        return True
    trips = [answer["trip"], *(other["trip"] for other in answer.get("alternates", ()))]
    return any(_meets(trip, hours) for trip in trips)


def _meets(trip: dict[str, Any], hours: Hours) -> bool:
    summary = trip["summary"]
    places = hours.turns
    if summary["has_time_restrictions"]:
        # Not all of them are closed at the assumed time.
        if summary["length"] * 1_000.0 <= hours.longest_m:
            return True
        places = np.concatenate([hours.turns, hours.roads])
    lon, lat = places.T
    near = places[
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
