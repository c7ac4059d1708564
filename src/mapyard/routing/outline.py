"""Areas of what is reached, out of the prepared graph.

The seconds or meters to each road within reach go into the cells of a grid, and the outline lies
between the cells under the limit and the others. Cells are smaller than the engine's
(valhalla/thor/isochrone.cc), whose are 0.001 degrees around the position, larger where the farthest
one could get is more than 300 of them; so areas are nearer to what a matrix says of places in and
around them than the engine's are (docs/decisions/033).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.sphere import DEGREE_M
from mapyard.routing.contraction.grid import Grid, fill_grid
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.table import Metric, ModeTable
from mapyard.routing.modes import Mode
from mapyard.routing.snapping import DETOUR_M, NEEDS

#: How fast one is at most, to tell the size of cells; meters a second.
_TOP_SPEEDS_M_S: Final[dict[Mode, float]] = {
    "auto": 31.29, "truck": 31.29, "foot": 2.235, "bicycle": 8.941,
}  # fmt: skip
#: What the engine adds to the limit for that.
_ADDED: Final = {"time": 600.0, "distance": 10_000.0}
_CELLS: Final = 300
_LEAST_DEG, _MOST_DEG = 0.001, 0.005
#: How many of our cells are as wide as one of the engine's.
_FINER: Final = 1.8
#: Roads so far over the limit are still put into cells, so that the outline lies between both.
_BEYOND: Final = {"time": 80.0, "distance": 270.0}
#: What is taken for the cells without roads: so much over the limit.
_GAPS: Final = {"time": 60.0, "distance": 1_000.0}
#: How many cells far beyond its own one walks from a road: places beside it are within reach, too.
_BESIDE: Final = 1
_WALK_M_S: Final = 1.42
#: Roads so many cells below the limit are put into cells less finely.
_SURE: Final = 4
#: From a road to the middle of its own cell.
_USUAL_SPEEDS_M_S: Final[dict[Mode, float]] = {
    "auto": 11.0, "truck": 11.0, "foot": 1.42, "bicycle": 5.0,
}  # fmt: skip


def find_outlines(
    table: ModeTable,
    places: Places,
    position: NDArray[np.float64],
    mode: Mode,
    radius_m: float,
    limits: NDArray[np.float64],
    metric: Metric,
    *,
    toward: bool,
    least_share: float,
) -> tuple[tuple[float, float], list[shapely.Geometry]] | None:
    """Return the road's place of a position (1, 2), and the area within each limit, ascending.

    `places` are those of the position. From a road without connection, the area holds both what is
    reached from there and from the connected one that routes are moved on to. None where the engine
    has to say.
    """
    need = NEEDS["destination" if toward else "origin"]
    moved_to, moved = table.find_connected(position, radius_m, need, DETOUR_M, places)
    if moved[0]:
        places = _join(places, table.find_places(moved_to, radius_m))
    most = float(limits[-1])
    reach = table.find_reached(places, toward=toward, metric=metric, most=most + _BEYOND[metric])
    if reach.is_stuck:
        return None
    # Ferries are passed, not reached.
    kept = np.flatnonzero(~table.roads.find_ferries(reach.edges))
    codes = table.roads.find_codes(reach.edges.take(kept))
    lon, lat = position[0].tolist()
    size_deg = _find_cell_size(mode, most, metric)
    # What it takes to cross a cell where there is no road.
    across, slower = size_deg * DEGREE_M, 1.0
    if metric == "time":
        speed_m_s = _USUAL_SPEEDS_M_S[mode]
        across, slower = across / speed_m_s, speed_m_s / _WALK_M_S
    grid = fill_grid(
        table.roads, codes, reach.begin.take(kept), reach.end.take(kept), (lon, lat), size_deg,
        (across * math.cos(math.radians(lat)), across),
        beside=_BESIDE, slower=slower, sure=float(limits[0]) - _SURE * across,
    )  # fmt: skip
    lon, lat = places.at[0].tolist()
    return (lon, lat), [_draw(grid, limit, _GAPS[metric], least_share) for limit in limits.tolist()]


def _join(places: Places, others: Places) -> Places:
    """Return the places of two positions as those of one."""
    return Places(
        1,
        np.zeros(len(places.edge) + len(others.edge), np.int64),
        np.concatenate([places.edge, others.edge]),
        np.concatenate([places.share, others.share]),
        np.concatenate([places.away_m, others.away_m]),
        np.concatenate([places.at, others.at]),
    )


def _find_cell_size(mode: Mode, most: float, metric: Metric) -> float:
    speed_m_s = _TOP_SPEEDS_M_S[mode] if metric == "time" else 1.0
    farthest_m = (most + _ADDED[metric]) * speed_m_s
    size_deg = round(farthest_m / DEGREE_M / _CELLS / _LEAST_DEG) * _LEAST_DEG
    return min(max(size_deg, _LEAST_DEG), _MOST_DEG) / _FINER


def _draw(grid: Grid, limit: float, gap: float, least_share: float) -> shapely.Geometry:
    points, first = grid.trace(limit, gap)
    if not len(first):
        return shapely.Polygon()
    counts = np.diff(np.append(first, len(points)))
    following = np.arange(1, len(points) + 1)
    following[first + counts - 1] = first
    x, y = points.T
    area = np.add.reduceat(x * y[following] - x[following] * y, first) / 2
    kept = np.flatnonzero(np.abs(area) >= least_share * np.abs(area).max())
    ring = np.repeat(np.arange(len(first)), counts)
    rings = shapely.linearrings(points, indices=ring)[kept]
    return _nest(rings, area[kept])


def _nest(rings: NDArray[np.object_], area: NDArray[np.float64]) -> shapely.Geometry:
    """Return the area within rings that lie to the left of theirs, holes cut out."""
    is_outer = area > 0
    outers, holes = rings[is_outer], rings[~is_outer]
    if len(outers) == 1:
        return shapely.Polygon(outers[0], holes)
    shells = shapely.polygons(outers)
    if not len(holes):
        return shapely.MultiPolygon(shells.tolist())
    # A hole is that of the smallest area around it.
    hole, shell = shapely.STRtree(shells).query(shapely.get_point(holes, 0), predicate="within")
    order = np.lexsort((area[is_outer][shell], hole))
    hole, nearest = np.unique(hole[order], return_index=True)
    shell = shell[order][nearest]
    for index in np.unique(shell).tolist():
        shells[index] = shapely.Polygon(outers[index], holes[hole[shell == index]])
    return shapely.MultiPolygon(shells.tolist())
