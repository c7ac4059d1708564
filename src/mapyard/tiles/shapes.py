"""Packed shapes on an integer grid, and the steps between the store and a tile.

A `Shapes` holds n features without an object per feature: vertices, runs of vertices (points,
lines, or rings without their closing vertex), runs of runs per feature. y points down. Exterior
rings have positive area, holes negative, a hole follows its exterior ring.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.store.columns import offsets_of, ranges
from mapyard.store.kernels import Outlines, Thinned, load_kernels, place

POINT: Final = 1
LINE: Final = 2
POLYGON: Final = 3

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Geometries = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Vertices xy (v, 2); run r is xy[rings[r]:rings[r+1]]; feature f is runs features[f]:[f+1]."""

    xy: NDArray[np.int64]
    rings: Ints
    features: Ints

    def __len__(self) -> int:
        return len(self.features) - 1

    def take(self, indexes: Ints) -> Shapes:
        """Return the features at the indexes, in their order."""
        indexes = np.ascontiguousarray(indexes, np.int64)
        outlines, _kept = _outlines(self)
        (xy, rings, features, _), thinned = _make_room(self, indexes)
        _check(
            load_kernels().gather_outlines(
                ctypes.addressof(outlines), place(indexes), len(indexes), ctypes.addressof(thinned)
            )
        )
        return Shapes(xy, rings, features)

    def ring_owners(self) -> Ints:
        """Return the feature of each run."""
        return np.repeat(np.arange(len(self)), np.diff(self.features))

    def boxes(self) -> Ints:
        """Return (n, 4) boxes x0 y0 x1 y1; every feature has a vertex."""
        starts = self.rings[self.features[:-1]]
        if not len(starts):
            return np.empty((0, 4), np.int64)
        low = np.minimum.reduceat(self.xy, starts, axis=0)
        high = np.maximum.reduceat(self.xy, starts, axis=0)
        return np.column_stack([low, high])


EMPTY: Final = Shapes(np.empty((0, 2), np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))


def concatenate(parts: list[Shapes]) -> Shapes:
    """Return the features of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Shapes(
        np.concatenate([p.xy for p in parts]),
        offsets_of(np.concatenate([np.diff(p.rings) for p in parts])),
        offsets_of(np.concatenate([np.diff(p.features) for p in parts])),
    )


def points(xy: NDArray[Any]) -> Shapes:
    """Return one point feature per row of xy."""
    edges = np.arange(len(xy) + 1, dtype=np.int64)
    return Shapes(xy.astype(np.int64), edges, edges)


def ring_areas(xy: NDArray[Any], rings: Ints) -> Ints:
    """Return twice the signed area of each ring; positive is clockwise on a screen (y down)."""
    areas = np.zeros(len(rings) - 1, np.int64)
    filled = np.diff(rings) > 0
    if not filled.any():
        return areas
    starts = rings[:-1][filled]
    following = np.arange(1, len(xy) + 1)
    following[rings[1:][filled] - 1] = starts
    # Relative to the first vertex of the ring, so that world coordinates cannot overflow.
    base = np.repeat(xy[starts], np.diff(rings)[filled], axis=0)
    a, b = xy - base, xy[following] - base
    areas[filled] = np.add.reduceat(a[:, 0] * b[:, 1] - b[:, 0] * a[:, 1], starts)
    return areas


def to_geometries(shapes: Shapes, kind: int) -> Geometries:
    """Return LINE features as MultiLineStrings or POLYGON features as MultiPolygons."""
    if kind == LINE:
        return np.asarray(
            shapely.from_ragged_array(
                shapely.GeometryType.MULTILINESTRING,
                shapes.xy.astype(np.float64),
                (shapes.rings, shapes.features),
            )
        )
    counts = np.diff(shapes.rings)
    closed = offsets_of(counts + 1)
    place = ranges(shapes.rings[:-1], counts + 1)
    place[closed[1:] - 1] = shapes.rings[:-1]
    outer = np.flatnonzero(ring_areas(shapes.xy, shapes.rings) > 0)
    polygons = np.append(outer, len(counts))
    features = np.searchsorted(outer, shapes.features)
    return np.asarray(
        shapely.from_ragged_array(
            shapely.GeometryType.MULTIPOLYGON,
            shapes.xy[place].astype(np.float64),
            (closed, polygons, features),
        )
    )


def from_geometries(geometries: Geometries, kind: int) -> tuple[Shapes, Ints]:
    """Return the lines or polygons in geometries, rounded, and the index of each one's source.

    Parts of other types (a polygon clipped to a line) are left out, features without any part too.
    """
    parts, owner = shapely.get_parts(geometries, return_index=True)
    inner, parent = shapely.get_parts(parts, return_index=True)  # a collection holds collections
    owner = owner[parent]
    wanted = shapely.get_type_id(inner) == (1 if kind == LINE else 3)
    inner, owner = inner[wanted], owner[wanted]
    if kind == POLYGON:
        inner, polygon = shapely.get_rings(inner, return_index=True)
        owner = owner[polygon]
    coordinates, run = shapely.get_coordinates(inner, return_index=True)
    xy = np.rint(coordinates).astype(np.int64)
    counts = np.bincount(run, minlength=len(inner))
    if kind == POLYGON and len(xy):
        ends = np.cumsum(counts)
        keep = np.ones(len(xy), np.bool_)
        keep[ends[counts > 0] - 1] = False
        first = np.flatnonzero(np.diff(polygon, prepend=-1))
        is_outer = np.zeros(len(inner), np.bool_)
        is_outer[first] = True
        xy, rings = xy[keep], offsets_of(counts - 1)
        xy = wind(xy, rings, is_outer)
    else:
        rings = offsets_of(counts)
    source, runs = np.unique(owner, return_counts=True)
    return Shapes(xy, rings, offsets_of(runs)), source


def wind(xy: Ints, rings: Ints, is_outer: Mask) -> Ints:
    """Return xy with exterior rings turned to positive area and the others to negative."""
    turn = (ring_areas(xy, rings) > 0) != is_outer
    if not turn.any():
        return xy
    counts = np.diff(rings)
    place = np.arange(len(xy))
    turned = np.repeat(turn, counts)
    mirrored = np.repeat(rings[:-1] + rings[1:] - 1, counts) - place
    return xy[np.where(turned, mirrored, place)]


def drop_repeats(shapes: Shapes, kind: int) -> tuple[Shapes, Ints]:
    """Remove repeated and, in rings, collinear vertices; return what is left and its sources.

    Lines of one vertex and rings without area go; a hole of a ring that went goes too.
    """
    return thin(shapes, kind, np.arange(len(shapes)))


def thin(
    shapes: Shapes,
    kind: int,
    chosen: Ints,
    shift: int = 0,
    origin: tuple[int, int] = (0, 0),
    least_area: int = 0,
) -> tuple[Shapes, Ints]:
    """Return what `drop_repeats` does, of chosen features in units that are coarser by some bits.

    `origin` is in these units. Rings of less than `least_area` go.
    """
    chosen = np.ascontiguousarray(chosen, np.int64)
    outlines, _kept = _outlines(shapes)
    (xy, rings, features, left), thinned = _make_room(shapes, chosen)
    grid = np.array([shift, *origin], np.int64)
    count = _check(
        load_kernels().thin_outlines(
            ctypes.addressof(outlines), place(chosen), len(chosen), place(grid), kind == POLYGON,
            2 * least_area, ctypes.addressof(thinned),
        )
    )  # fmt: skip
    features = features[: count + 1]
    rings = rings[: features[-1] + 1]
    # What is left is mostly little, and not to hold the room of all.
    return Shapes(xy[: rings[-1]].copy(), rings.copy(), features.copy()), left[:count].copy()


def simplify_rings(shapes: Shapes, tolerance: float) -> tuple[Shapes, Mask, Mask]:
    """Return polygons without the vertices within a tolerance of what is left, as GEOS does.

    Rings that collapse go. Polygons without a ring of more than three vertices stay as they are.
    Those of which it cannot be said what is left of them are told, and empty; and then those that
    are surely valid.
    """
    outlines, (old_xy, old_rings, old_features) = _outlines(shapes, as_wide=True)
    xy, rings, features = (np.empty_like(side) for side in (old_xy, old_rings, old_features))
    ends = np.empty(int(np.diff(old_rings).max(initial=0)) + 1, np.int64)
    is_doubtful, is_sure = np.empty(len(shapes), np.bool_), np.empty(len(shapes), np.bool_)
    count = _check(
        load_kernels().simplify_polygons(
            ctypes.addressof(outlines), tolerance, place(ends), len(ends),
            *map(place, (xy, rings, features, is_doubtful, is_sure)),
        )
    )  # fmt: skip
    return Shapes(xy[:count], rings[: features[-1] + 1], features), is_doubtful, is_sure


def _make_room(shapes: Shapes, chosen: Ints) -> tuple[list[NDArray[np.int64]], Thinned]:
    """Return arrays with room for chosen features: vertices, runs, features, and numbers of them.

    And the same for kernels, which do not go beyond it.
    """
    starts, stops = shapes.features[chosen], shapes.features[chosen + 1]
    begins, ends = shapes.rings[starts], shapes.rings[stops]
    runs = int(stops.sum(dtype=np.int64) - starts.sum(dtype=np.int64))
    vertices = int(ends.sum(dtype=np.int64) - begins.sum(dtype=np.int64))
    if min(vertices, runs) < 0 or ends.max(initial=0) > len(shapes.xy):
        raise IndexError("the shapes are damaged")
    sizes = (vertices, 2), runs + 1, len(chosen) + 1, len(chosen)
    arrays = [np.empty(size, np.int64) for size in sizes]
    return arrays, Thinned(*map(place, arrays), vertices, runs)


def _check(count: int) -> int:
    if count < 0:
        raise IndexError("the shapes are damaged")
    return count


def _outlines(shapes: Shapes, as_wide: bool = False) -> tuple[Outlines, list[NDArray[Any]]]:
    """Return shapes for kernels, and the arrays, which have to be kept as long as it is used."""
    kinds: tuple[type[np.generic], type[np.generic]] = (np.int32, np.uint32)
    if as_wide:
        kinds = np.int64, np.int64
    sides = [_of_types(shapes.xy, kinds[0])]
    sides += [_of_types(offsets, kinds[1]) for offsets in (shapes.rings, shapes.features)]
    lengths = len(shapes.xy), len(shapes.rings) - 1, len(shapes)
    return Outlines(*map(place, sides), *lengths, *(side.itemsize == 8 for side in sides)), sides


def _of_types(values: NDArray[Any], narrow: type[np.generic]) -> NDArray[Any]:
    """Return values in four bytes each, or in eight."""
    kind = narrow if values.dtype == narrow else np.int64
    return np.ascontiguousarray(values, kind)


def keep_runs(shapes: Shapes, good: Mask) -> tuple[Shapes, Ints]:
    """Return the runs marked good, and the indexes of the features that have any."""
    if good.all():
        filled = np.diff(shapes.features) > 0
        if filled.all():
            return shapes, np.arange(len(shapes))
    counts = np.diff(shapes.rings)
    xy = shapes.xy[np.repeat(good, counts)]
    kept = np.concatenate([[0], np.cumsum(good)])
    runs = np.diff(kept[shapes.features])
    left = np.flatnonzero(runs)
    return Shapes(xy, offsets_of(counts[good]), offsets_of(runs[left])), left
