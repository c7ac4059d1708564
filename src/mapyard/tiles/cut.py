"""From shapes on the grid to the shapes of one tile: scale, clip, generalize, repair.

At zoom 14 nothing is generalized: shapes inside the tile are only moved, those at its edge are
clipped. Below, shapes lose detail under half a pixel, and what is smaller than a pixel goes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import shapely

from mapyard.tiles.mercator import BUFFER, EXTENT_BITS, MAX_ZOOM, TileId
from mapyard.tiles.shapes import (
    LINE,
    POINT,
    POLYGON,
    Ints,
    Mask,
    Shapes,
    concatenate,
    drop_repeats,
    from_geometries,
    keep_runs,
    simplify_rings,
    thin,
    to_geometries,
)

#: Units of a tile (4096 across, 8 to a pixel of a 512 px tile).
TOLERANCE: Final = 4.0
MIN_AREA: Final = 48
MIN_LENGTH: Final = 2.0
_LEAST: Final = {LINE: 0, POLYGON: MIN_AREA}

_LOW, _HIGH = -BUFFER, (1 << EXTENT_BITS) + BUFFER

Cut = tuple[Shapes, Ints]  # what is left, and the index of each one's source


def cut(
    shapes: Shapes,
    kind: int,
    tile: TileId,
    groups: Ints | None = None,
    dissolve: bool = False,
    chosen: Ints | None = None,
) -> Cut:
    """Return the features as they are in a tile, in tile units, and the source of each.

    Below zoom 14 lines of the same group that touch are joined; the source is the first of them.
    `dissolve` makes one feature of all polygons. The features are the chosen ones, all by default;
    groups and sources are by their places among these.
    """
    if chosen is None:
        chosen = np.arange(len(shapes))
    is_full_detail = tile.z == MAX_ZOOM
    if kind == POINT or is_full_detail:
        scaled, source = _scale(shapes.take(chosen), tile), np.arange(len(chosen))
    else:
        origin = tile.x << EXTENT_BITS, tile.y << EXTENT_BITS
        scaled, source = thin(shapes, kind, chosen, MAX_ZOOM - tile.z, origin, _LEAST[kind])
    if kind == POINT:
        inside = ((scaled.xy >= _LOW) & (scaled.xy <= _HIGH)).all(axis=1)
        return keep_runs(scaled, inside)
    scaled, left, is_changed = _clip(scaled, kind)
    source = source[left]
    if dissolve and len(scaled) > 1:
        scaled, source = _dissolve(scaled), source[:1]
        is_changed = np.ones(len(scaled), np.bool_)
    if not is_full_detail:
        if kind == LINE and groups is not None:
            scaled, left = _join(scaled, groups[source])
            source = source[left]
        scaled, left, is_changed = _simplify(scaled, kind)
        source = source[left]
    if kind == POLYGON:
        scaled, left = repair(scaled, is_changed)
        source = source[left]
    return scaled, source


def _scale(shapes: Shapes, tile: TileId) -> Shapes:
    """Return the shapes in whole units of the tile, relative to its corner."""
    shift = MAX_ZOOM - tile.z
    half = (1 << shift) >> 1
    origin = np.array([tile.x, tile.y], np.int64) << EXTENT_BITS
    xy = ((shapes.xy + half) >> shift) - origin
    return Shapes(xy, shapes.rings, shapes.features)


def _clip(shapes: Shapes, kind: int) -> tuple[Shapes, Ints, Mask]:
    """Return what lies in the tile and its buffer, the sources, and which features were cut."""
    boxes = shapes.boxes()
    inside = (boxes[:, :2] >= _LOW).all(axis=1) & (boxes[:, 2:] <= _HIGH).all(axis=1)
    if inside.all():
        return shapes, np.arange(len(shapes)), np.zeros(len(shapes), np.bool_)
    meets = (boxes[:, :2] <= _HIGH).all(axis=1) & (boxes[:, 2:] >= _LOW).all(axis=1)
    whole, crossing = np.flatnonzero(inside), np.flatnonzero(~inside & meets)
    geometries = to_geometries(shapes.take(crossing), kind)
    clipped = shapely.clip_by_rect(geometries, _LOW, _LOW, _HIGH, _HIGH)
    parts, source = from_geometries(clipped, kind)
    parts, left = drop_repeats(parts, kind)
    sources = np.concatenate([whole, crossing[source[left]]])
    order = np.argsort(sources, kind="stable")
    together = concatenate([shapes.take(whole), parts]).take(order)
    return together, sources[order], order >= len(whole)


def _join(shapes: Shapes, groups: Ints) -> Cut:
    """Join touching lines of the same group; return the index of the first line of each group."""
    unique, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    if len(unique) == len(groups):
        return shapes, np.arange(len(shapes))
    order = np.argsort(first)  # groups in the order of their first line
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    owner = rank[inverse]
    by_group = np.argsort(owner, kind="stable")
    sorted_shapes = shapes.take(by_group)
    features = np.searchsorted(owner[by_group], np.arange(len(unique) + 1))
    merged = Shapes(sorted_shapes.xy, sorted_shapes.rings, sorted_shapes.features[features])
    lines = shapely.line_merge(to_geometries(merged, LINE))
    result, source = from_geometries(lines, LINE)
    return result, first[order][source]


def _dissolve(shapes: Shapes) -> Shapes:
    """Return one feature that covers all polygons, which may touch but not overlap."""
    pieces = shapely.make_valid(to_geometries(shapes, POLYGON), method="structure")
    union = shapely.union_all(pieces, grid_size=1.0)
    whole, _ = from_geometries(np.array([union], np.object_), POLYGON)
    return drop_repeats(whole, POLYGON)[0]


def _simplify(shapes: Shapes, kind: int) -> tuple[Shapes, Ints, Mask]:
    """Remove vertices that change the outline by less than TOLERANCE, and short lines.

    Return what is left, the source of each, and which may have become invalid.
    """
    if kind == LINE:
        return *_simplify_by_geos(shapes, kind), np.zeros(0, np.bool_)
    simple, is_doubtful, is_sure = simplify_rings(shapes, TOLERANCE)
    unsure = np.flatnonzero(~is_sure & (np.diff(simple.features) > 0))
    is_doubtful[unsure] = ~shapely.is_valid(to_geometries(simple.take(unsure), kind))
    good, others = np.flatnonzero(~is_doubtful), np.flatnonzero(is_doubtful)
    taken, left = thin(simple, kind, good, least_area=MIN_AREA)
    if not len(others):
        return taken, good[left], np.zeros(len(left), np.bool_)
    mended, found = _simplify_by_geos(shapes.take(others), kind)
    sources = np.concatenate([good[left], others[found]])
    order = np.argsort(sources, kind="stable")
    return concatenate([taken, mended]).take(order), sources[order], order >= len(left)


def _simplify_by_geos(shapes: Shapes, kind: int) -> Cut:
    """Remove vertices; what becomes invalid is mended."""
    if not len(shapes):
        return shapes, np.empty(0, np.int64)
    counts = np.diff(shapes.rings)
    # Straight lines and triangles have nothing to lose.
    bare = np.maximum.reduceat(counts, shapes.features[:-1]) <= (2 if kind == LINE else 3)
    geometries = to_geometries(shapes, kind)
    detailed = ~bare
    geometries[detailed] = shapely.simplify(
        geometries[detailed], TOLERANCE, preserve_topology=False
    )
    if kind == LINE:
        long = shapely.length(geometries) >= MIN_LENGTH
        geometries[~long] = None
    result, source = from_geometries(geometries, kind)
    result, left = thin(result, kind, np.arange(len(result)), least_area=_LEAST[kind])
    return result, source[left]


def repair(shapes: Shapes, suspects: Mask) -> Cut:
    """Make polygons on whole units valid again where rounding or cutting broke them."""
    chosen = np.flatnonzero(suspects)
    geometries = to_geometries(shapes.take(chosen), POLYGON)
    bad = ~shapely.is_valid(geometries)
    if not bad.any():
        return shapes, np.arange(len(shapes))
    mended = shapely.make_valid(geometries[bad], method="structure", keep_collapsed=False)
    fixed, source = from_geometries(shapely.set_precision(mended, 1.0), POLYGON)
    fixed, left = drop_repeats(fixed, POLYGON)
    broken = np.zeros(len(shapes), np.bool_)
    broken[chosen[bad]] = True
    good = np.flatnonzero(~broken)
    sources = np.concatenate([good, chosen[bad][source[left]]])
    order = np.argsort(sources, kind="stable")
    return concatenate([shapes.take(good), fixed]).take(order), sources[order]
