"""What forms of routing share: the roads that positions go to, and those of a route."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import MapyardError, TooLarge
from mapyard.geo.sphere import haversine_m
from mapyard.library.call import Call
from mapyard.library.ways import get_engine
from mapyard.routing.costing import CostingOptions
from mapyard.routing.edges import EdgePath, find_route_edges
from mapyard.routing.modes import Mode
from mapyard.routing.nearest import RoadEnd, find_ends
from mapyard.routing.snapping import no_road
from mapyard.routing.trip import Route


def find_road_ends(
    call: Call, lonlat: NDArray[np.float64], mode: Mode, radiuses_m: Sequence[float] | float
) -> list[RoadEnd]:
    """Return the nearest road's place of each position, within its radius; raise `NoRoad`."""
    most_m = np.broadcast_to(radiuses_m, len(lonlat)).tolist()
    found = find_ends(get_engine(call), lonlat, mode, max(most_m))
    ends = []
    for index, (end, radius_m) in enumerate(zip(found, most_m, strict=True)):
        if end is None or end.distance_m > radius_m:
            raise no_road(index, end.distance_m if end else None, mode, radius_m)
        ends.append(end)
    return ends


def check_pairs(call: Call, rows: int, columns: int, error: type[MapyardError] = TooLarge) -> int:
    """Return how many pairs a matrix may have, as the setting has it; raise where it has more."""
    most = call.settings.matrix_pairs
    if rows * columns > most:
        raise error(f"{rows} × {columns} pairs, at most {most}; ask for parts of the matrix")
    return most


def find_edges_of(
    call: Call, route: Route, mode: Mode, options: CostingOptions | None
) -> tuple[EdgePath, list[int]]:
    """Return the edges under a route, and the place in its line where each of them ends."""
    line = route.positions
    path = find_route_edges(get_engine(call), route, mode, options)
    along_m = measure(line)
    share = path.along_m[path.ends] / max(float(path.along_m[-1]), 1e-9)
    ends = np.searchsorted(along_m, share * along_m[-1] - 1e-3)
    found: list[int] = np.minimum(ends, len(line) - 1).tolist()
    found[-1] = len(line) - 1
    return path, found


def measure(line: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the meters from the start of a line to each of its positions."""
    steps_m = haversine_m(line[:-1, 0], line[:-1, 1], line[1:, 0], line[1:, 1])
    return np.append(0.0, np.cumsum(steps_m))


def find_stretches(values: Sequence[Any], ends: Sequence[int]) -> list[list[Any]]:
    """Return [first, last, value] of each stretch with one value; `ends` are ascending."""
    stretches: list[list[Any]] = []
    begin = 0
    for value, group in groupby(zip(values, ends, strict=True), key=lambda pair: pair[0]):
        end = max(end for _, end in group)
        if end > begin:
            stretches.append([begin, end, value])
            begin = end
    return stretches


def share_way(one: Route, other: Route) -> float:
    """Return the share of one route that the other takes too."""
    line, best = shapely.linestrings(one.positions), shapely.linestrings(other.positions)
    length = line.length
    return shapely.intersection(line, best).length / length if length else 1.0
