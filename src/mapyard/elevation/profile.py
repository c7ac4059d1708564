"""Heights at positions and along lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.elevation.rasters import Rasters
from mapyard.errors import InvalidRequest, NotFound
from mapyard.geo.sphere import haversine_m

MAX_POINTS: Final = 10_000
#: Ups and downs below this are taken for noise of the raster, metres.
CLIMB_THRESHOLD_M: Final = 5.0

type Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Heights:
    """Heights of positions: metres above the sea (EGM96), NaN where there is no data."""

    heights_m: Floats
    is_filled: NDArray[np.bool_]  #: where the raster has a void, filled from around
    sources: list[str]  #: names of the rasters used
    resolution_m: float  #: of the coarsest one used


@dataclass(frozen=True, slots=True)
class Profile:
    """Heights along a line; figures are None where the whole line has no data."""

    positions: Floats  #: (n, 2), lon and lat
    distances_m: Floats  #: from the start
    heights: Heights
    min_m: float | None
    max_m: float | None
    avg_m: float | None
    ascent_m: float | None
    descent_m: float | None


class NoElevation(NotFound):
    """No elevation data covers any of the positions."""

    code = "no_elevation"


def find_heights(rasters: Rasters, positions: Floats) -> Heights:
    """Return the heights of positions (n, 2), lon and lat; raise `NoElevation` if there is none."""
    heights_m, source, is_filled = rasters.sample(positions[:, 0], positions[:, 1])
    used = np.unique(source[source >= 0]).tolist()
    if not used:
        raise NoElevation(
            "no elevation data covers any of the positions, or all of them lie in wide voids; "
            "put rasters of the area into the folder elevation/ of the data folder",
        )
    return Heights(
        heights_m=np.round(heights_m, 2),
        is_filled=is_filled,
        sources=[rasters.rasters[index].name for index in used],
        resolution_m=max(rasters.rasters[index].resolution_m for index in used),
    )


def make_profile(rasters: Rasters, line: Floats, *, interval_m: float | None = None) -> Profile:
    """Return the heights along a line (n, 2), n ≥ 2.

    `interval_m` puts further positions between the line's own, at most that far apart.
    """
    positions = line if interval_m is None else resample(line, interval_m)
    steps_m = haversine_m(positions[:-1, 0], positions[:-1, 1], positions[1:, 0], positions[1:, 1])
    distances_m = np.concatenate(([0.0], np.cumsum(steps_m)))
    heights = find_heights(rasters, positions)
    known = ~np.isnan(heights.heights_m)
    values = heights.heights_m[known]
    ascent_m, descent_m = climb(values)
    return Profile(
        positions=positions,
        distances_m=distances_m,
        heights=heights,
        min_m=float(values.min()),
        max_m=float(values.max()),
        avg_m=round(_average(distances_m[known], values), 2),
        ascent_m=ascent_m,
        descent_m=descent_m,
    )


def _average(distances_m: Floats, values: Floats) -> float:
    """Return the mean height over the way, not over the positions."""
    length_m = distances_m[-1] - distances_m[0]
    if length_m <= 0:
        return float(values.mean())
    return float(np.trapezoid(values, distances_m) / length_m)


def resample(line: Floats, interval_m: float) -> Floats:
    """Return the line with positions added, so that none are farther apart than `interval_m`.

    Raises `InvalidRequest` when that makes more than `MAX_POINTS`.
    """
    steps_m = haversine_m(line[:-1, 0], line[:-1, 1], line[1:, 0], line[1:, 1])
    with np.errstate(over="ignore"):
        wanted = np.maximum(1.0, np.ceil(steps_m / interval_m))
    if not wanted.sum() < MAX_POINTS:
        least_m = float(steps_m.sum()) / max(1, MAX_POINTS - len(line))
        raise InvalidRequest.of(
            "interval",
            f"makes more than {MAX_POINTS} positions of this line; "
            f"ask for {np.ceil(least_m):.0f} m or more",
        )
    parts = wanted.astype(np.int64)
    count = int(parts.sum()) + 1
    segment = np.repeat(np.arange(len(parts)), parts)
    first = np.concatenate(([0], np.cumsum(parts)[:-1]))
    share = (np.arange(count - 1) - first[segment]) / parts[segment]
    between = line[segment] + share[:, None] * (line[segment + 1] - line[segment])
    return np.concatenate([between, line[-1:]])


def climb(heights_m: Floats, threshold_m: float = CLIMB_THRESHOLD_M) -> tuple[float, float]:
    """Return metres up and down, leaving out ups and downs below the threshold.

    A turn counts once the height has moved back from the last extreme by the threshold: so noise
    does not add up, and a steady slope counts in full.
    """
    # Between turning points the slope has one sign, so only these need to be looked at.
    slopes = np.sign(np.diff(heights_m))
    moving = np.flatnonzero(slopes)
    if not moving.size:
        return 0.0, 0.0
    turns = np.flatnonzero(np.diff(slopes[moving])) + 1
    extremes = heights_m[np.concatenate(([0], moving[turns], [len(heights_m) - 1]))].tolist()
    up = down = 0.0
    settled = extreme = extremes[0]
    rising: bool | None = None
    for height in extremes[1:]:
        if rising is None:
            if abs(height - settled) >= threshold_m:
                rising, extreme = height > settled, height
        elif (height > extreme) == rising and height != extreme:
            extreme = height
        elif abs(height - extreme) >= threshold_m:
            if rising:
                up += extreme - settled
            else:
                down += settled - extreme
            settled, extreme, rising = extreme, height, not rising
    if rising:
        up += extreme - settled
    elif rising is False:
        down += settled - extreme
    return round(up, 1), round(down, 1)
