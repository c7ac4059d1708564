"""Shapes of store rows on the grid of zoom 14; nothing that has a geometry is lost."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.store.reader import E7, Store
from mapyard.tiles.cut import repair
from mapyard.tiles.mercator import GRID_SIZE, GRID_UNIT_M, project
from mapyard.tiles.shapes import (
    EMPTY,
    LINE,
    POINT,
    POLYGON,
    Geometries,
    Ints,
    Shapes,
    concatenate,
    drop_repeats,
    from_geometries,
    keep_runs,
    points,
)


def snap_rows(store: Store, rows: Ints, kind: int) -> tuple[Shapes, Ints]:
    """Return the shapes of rows and the index of each one's row; rows without one are left out."""
    if not len(rows):
        return EMPTY, np.empty(0, np.int64)
    if kind == POINT:
        return _snap_points(store, rows)
    if kind == LINE:
        return _split_at_antimeridian(*_snap_lines(store, rows))
    return _split_at_antimeridian(*snap_geometries(store.geometries(rows), POLYGON))


def snap_geometries(geometries: Geometries, kind: int) -> tuple[Shapes, Ints]:
    """Return lines or polygons, given in degrees, on the grid; sources as snap_rows."""
    whole, owner = from_geometries(shapely.transform(geometries, project), kind)
    shapes, left = drop_repeats(whole, kind)
    if kind == POLYGON:
        shapes, kept = repair(shapes, np.ones(len(shapes), np.bool_))
        left = left[kept]
    return _restore_collapsed(whole, shapes, left, owner, kind)


def mercator_areas_m2(store: Store, rows: Ints) -> NDArray[np.float64]:
    """Return the areas of rows in square metres of the Mercator projection; 0 for none."""
    areas = shapely.area(shapely.transform(store.geometries(rows), project))
    return np.nan_to_num(areas) * GRID_UNIT_M**2


def _snap_points(store: Store, rows: Ints) -> tuple[Shapes, Ints]:
    position = np.full((len(rows), 2), np.nan)
    is_node = rows < store.way_start
    nodes = rows[is_node]
    position[is_node] = np.column_stack([store.lon[nodes], store.lat[nodes]]) / E7
    areas = np.flatnonzero(~is_node)
    if len(areas):
        inner = shapely.point_on_surface(store.geometries(rows[areas]))
        position[areas] = np.column_stack([shapely.get_x(inner), shapely.get_y(inner)])
    source = np.flatnonzero(~np.isnan(position[:, 0]))
    return points(_to_grid(position[source])), source


def _snap_lines(store: Store, rows: Ints) -> tuple[Shapes, Ints]:
    coordinates, offsets = store.way_coordinates(rows)
    # Ways over the antimeridian are cut in two by the store.
    jumps = np.zeros(len(coordinates), np.bool_)
    jumps[1:] = np.abs(np.diff(coordinates[:, 0].astype(np.int64))) > 180 * E7
    jumps[offsets[:-1][offsets[:-1] < len(jumps)]] = False
    total = np.concatenate([[0], np.cumsum(jumps)])
    crossing = total[offsets[1:]] > total[offsets[:-1]]
    plain = np.flatnonzero((np.diff(offsets) >= 2) & ~crossing)
    every = np.arange(len(rows) + 1, dtype=np.int64)
    whole = Shapes(_to_grid(coordinates / E7), offsets, every).take(plain)
    shapes, left = drop_repeats(whole, LINE)
    shapes, source = _restore_collapsed(whole, shapes, left, plain, LINE)
    if not crossing.any():
        return shapes, source
    cut_rows = np.flatnonzero(crossing)
    parts, owner = snap_geometries(store.geometries(rows[cut_rows]), LINE)
    sources = np.concatenate([source, cut_rows[owner]])
    order = np.argsort(sources, kind="stable")
    return concatenate([shapes, parts]).take(order), sources[order]


def _split_at_antimeridian(shapes: Shapes, source: Ints) -> tuple[Shapes, Ints]:
    """Make two features of one with parts at both ends of the world: its box would be all of it."""
    boxes = shapes.boxes()
    wide = np.flatnonzero(boxes[:, 2] - boxes[:, 0] > GRID_SIZE // 2)
    if not len(wide):
        return shapes, source
    others = np.setdiff1d(np.arange(len(shapes)), wide)
    parts, sources = [shapes.take(others)], [others]
    chosen = shapes.take(wide)
    is_west = chosen.xy[chosen.rings[:-1], 0] < GRID_SIZE // 2
    for side in (is_west, ~is_west):
        part, left = keep_runs(chosen, side)
        parts.append(part)
        sources.append(wide[left])
    index = np.concatenate(sources)
    order = np.argsort(index, kind="stable")
    return concatenate(parts).take(order), source[index[order]]


def _to_grid(lon_lat_deg: NDArray[np.float64]) -> Ints:
    return np.clip(np.rint(project(lon_lat_deg)), 0, GRID_SIZE).astype(np.int64)


def _restore_collapsed(
    whole: Shapes, shapes: Shapes, left: Ints, owner: Ints, kind: int
) -> tuple[Shapes, Ints]:
    """Put back features smaller than the grid, as a segment or square of one unit."""
    lost = np.setdiff1d(np.arange(len(whole)), left)
    if not len(lost):
        return shapes, owner[left]
    corner = whole.xy[whole.rings[whole.features[lost]]]
    steps = np.array([[0, 0], [1, 0], [1, 1], [0, 1]] if kind == POLYGON else [[0, 0], [1, 0]])
    xy = (corner[:, None, :] + steps).reshape(-1, 2)
    edges = np.arange(len(lost) + 1, dtype=np.int64)
    sources = np.concatenate([left, lost])
    order = np.argsort(sources, kind="stable")
    together = concatenate([shapes, Shapes(xy, edges * len(steps), edges)]).take(order)
    return together, owner[sources[order]]
