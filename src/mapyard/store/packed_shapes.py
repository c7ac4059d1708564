"""Shapes as stored: whole 1e-7 degrees, each the difference to the one before, compressed.

That takes a quarter of compressed WKB. What does not lie on the grid is kept as WKB.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.store.arrays import E7
from mapyard.store.packed_heap import pack

type Shapes = NDArray[np.object_]
type Numbers = NDArray[np.int32]

_POLYGONS: Final = (3, 6)
#: In place of a kind of shape: the rest is WKB.
_WKB: Final = -1
_INT32_MAX: Final = 2**31 - 1


def pack_shape(shape: Any) -> bytes:
    """Return the packed form: kind, parts, rings of each part, points of each ring, x, y."""
    kind = int(shapely.get_type_id(shape))
    if kind > _POLYGONS[1]:
        return _pack_wkb(shape)
    is_multi = kind >= 4
    parts = shapely.get_parts(shape) if is_multi else np.array([shape])
    if kind in _POLYGONS:
        rings, owners = shapely.get_rings(parts, return_index=True)
        ring_counts = np.bincount(owners, minlength=len(parts))
    else:
        rings, ring_counts = parts, np.ones(len(parts), np.int64)
    positions = shapely.get_coordinates(shape)
    grid = np.rint(positions * E7).astype(np.int64)
    steps = np.diff(grid, axis=0, prepend=0)
    if (grid / E7 != positions).any() or (np.abs(steps) > _INT32_MAX).any():
        return _pack_wkb(shape)
    numbers = [[kind, len(parts)], ring_counts, shapely.get_num_coordinates(rings), steps.T.ravel()]
    return pack(np.concatenate(numbers).astype("<i4").tobytes())


def _pack_wkb(shape: Any) -> bytes:
    return pack(np.array(_WKB, "<i4").tobytes() + shapely.to_wkb(shape))


def read_shapes(texts: list[bytes]) -> Shapes:
    """Return the shapes of unpacked texts."""
    shapes = np.full(len(texts), None, np.object_)
    areas, packed = [], []
    for index, text in enumerate(texts):
        numbers = np.frombuffer(text[: len(text) & ~3], "<i4")
        if numbers[0] in _POLYGONS:
            areas.append(index)
            packed.append(numbers)
        elif numbers[0] == _WKB:
            shapes[index] = shapely.from_wkb(text[4:])
        else:
            shapes[index] = _read_other(numbers)
    if areas:
        shapes[areas] = _read_areas(packed)
    return shapes


def _read_areas(packed: list[Numbers]) -> Shapes:
    """Return polygons and multipolygons, made together."""
    part_counts = np.array([numbers[1] for numbers in packed])
    ring_counts = np.concatenate(
        [numbers[2 : 2 + count] for numbers, count in zip(packed, part_counts, strict=True)]
    )
    rings_of = np.add.reduceat(ring_counts, np.cumsum(part_counts) - part_counts)
    starts = 2 + part_counts + rings_of
    point_counts = np.concatenate(
        [n[b - r : b] for n, b, r in zip(packed, starts, rings_of, strict=True)]
    )
    positions = np.concatenate([_positions(n[b:]) for n, b in zip(packed, starts, strict=True)])
    of_ring = np.repeat(np.arange(len(point_counts)), point_counts)
    rings = shapely.linearrings(positions / E7, indices=of_ring)
    of_part = np.repeat(np.arange(len(ring_counts)), ring_counts)
    parts = shapely.polygons(rings, indices=of_part)
    shapes: Shapes = parts[np.cumsum(part_counts) - part_counts]
    is_multi = np.array([numbers[0] for numbers in packed]) == _POLYGONS[1]
    if is_multi.any():
        owners = np.repeat(np.cumsum(is_multi) - 1, part_counts)
        chosen = np.repeat(is_multi, part_counts)
        shapes[is_multi] = shapely.multipolygons(parts[chosen], indices=owners[chosen])
    return shapes


def _positions(steps: Numbers) -> NDArray[np.int64]:
    return steps.reshape(2, -1).cumsum(axis=1, dtype=np.int64).T


def _read_other(numbers: Numbers) -> Any:
    """Return points or lines."""
    kind, part_count = numbers[:2].tolist()
    point_counts = numbers[2 + part_count : 2 + 2 * part_count]
    positions = _positions(numbers[2 + 2 * part_count :]) / E7
    if kind in (0, 4):
        points = shapely.points(positions)
        return points[0] if kind == 0 else shapely.multipoints(points)
    lines = shapely.linestrings(positions, indices=np.repeat(np.arange(part_count), point_counts))
    return lines[0] if kind == 1 else shapely.multilinestrings(lines)
