"""What a car uses along a way: rolling, air, slopes, and what runs beside the motor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.edges import EdgePath
from mapyard.routing.electric.vehicle import ElectricVehicle

type Floats = NDArray[np.float64]
type FindHeights = Callable[[Floats], Floats]

GRAVITY_M_S2: Final = 9.81
AIR_KG_M3: Final = 1.2
#: Heights are looked at so far apart: shorter slopes are noise of the raster, meters.
SLOPE_OVER_M: Final = 200.0
_J_PER_WH: Final = 3_600.0


def compute_energy_wh(
    vehicle: ElectricVehicle, lengths_m: Floats, speeds_m_s: Floats, climbs_m: Floats
) -> Floats:
    """Return Wh out of the battery per piece of a way at a steady speed; below 0 where it regains.

    Downhill, what the slope gives beyond rolling and air is regained in part.
    """
    weight_n = vehicle.mass_kg * GRAVITY_M_S2
    lengths_m = np.asarray(lengths_m, np.float64)
    flat_m = np.sqrt(np.maximum(lengths_m**2 - climbs_m**2, 0.0))
    wheels_j = (
        vehicle.rolling_resistance * weight_n * flat_m
        + 0.5 * AIR_KG_M3 * vehicle.drag_area_m2 * speeds_m_s**2 * lengths_m
        + weight_n * climbs_m
    )
    battery_j = np.where(
        wheels_j > 0, wheels_j / vehicle.efficiency, wheels_j * vehicle.regeneration
    )
    beside_j = vehicle.auxiliary_w * lengths_m / np.maximum(speeds_m_s, 0.1)
    return np.asarray((battery_j + beside_j) / _J_PER_WH)


def follow_path(
    vehicle: ElectricVehicle, path: EdgePath, find_heights: FindHeights | None
) -> tuple[Floats, Floats]:
    """Return the Wh used up to places of a way, and the meters up to them.

    Places are the ends of edges and, on longer ones, every `SLOPE_OVER_M`. `find_heights` gives the
    heights of positions; None takes the way as flat.
    """
    lengths_m = path.lengths_m
    ends_m = np.cumsum(lengths_m)
    total_m = float(ends_m[-1])
    marks_m = np.linspace(0.0, total_m, max(2, round(total_m / SLOPE_OVER_M) + 1))
    bounds_m = np.unique(np.concatenate([[0.0], ends_m, marks_m]))
    pieces_m = np.diff(bounds_m)
    edges = np.searchsorted(ends_m, (bounds_m[:-1] + bounds_m[1:]) / 2).clip(0, len(ends_m) - 1)
    speeds_m_s = np.array([edge.speed_kmh for edge in path.edges]) / 3.6
    speeds_m_s = np.where(speeds_m_s > 0, speeds_m_s, 1.0)[edges]
    climbs_m = np.zeros(len(pieces_m))
    if find_heights is not None:
        places = np.column_stack(
            [np.interp(marks_m, path.along_m, path.positions[:, axis]) for axis in (0, 1)]
        )
        climbs_m = np.diff(fill_heights(marks_m, find_heights(places), bounds_m))
    used_wh = compute_energy_wh(vehicle, pieces_m, speeds_m_s, climbs_m)
    # Turns and crossings take time in which only what runs beside the motor uses energy.
    waits_s = max(0.0, float(path.durations_s.sum() - (pieces_m / speeds_m_s).sum()))
    used_wh = used_wh + vehicle.auxiliary_w * waits_s / _J_PER_WH * pieces_m / max(total_m, 1.0)
    return np.cumsum(used_wh), bounds_m[1:]


def fill_heights(at_m: Floats, heights_m: Floats, wanted_m: Floats) -> Floats:
    """Return heights at places between known ones; missing ones are those between neighbors."""
    known = ~np.isnan(heights_m)
    if not known.any():
        return np.zeros(len(wanted_m))
    return np.interp(wanted_m, at_m[known], heights_m[known])
