"""Outlines in coarser units, against the same rules written out one vertex at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import shapely

from mapyard.tiles.shapes import LINE, POLYGON, Shapes, simplify_rings, thin, to_geometries

Vertex = tuple[int, int]


def drop_from_line(line: list[Vertex]) -> list[Vertex]:
    kept = [here for i, here in enumerate(line) if i == 0 or here != line[i - 1]]
    return kept if len(kept) > 1 else []


def drop_from_ring(ring: list[Vertex]) -> list[Vertex]:
    while ring:
        count = len(ring)
        kept = [ring[i] for i in range(count) if ring[i] != ring[i - 1]]
        if len(kept) == count:
            corners = [(ring[i - 1], ring[i], ring[(i + 1) % count]) for i in range(count)]
            kept = [here for before, here, after in corners if turn(before, here, after)]
        if len(kept) == count:
            break
        ring = kept
    return ring


def turn(a: Vertex, b: Vertex, c: Vertex) -> int:
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])


def twice_area(ring: list[Vertex]) -> int:
    following = [*ring[1:], *ring[:1]]
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, following, strict=True))


def thin_by_hand(
    features: list[list[list[Vertex]]], kind: int, shift: int, origin: Vertex, least: int
) -> list[tuple[int, list[list[Vertex]]]]:
    half = (1 << shift) >> 1
    left = []
    for number, rings in enumerate(features):
        kept, has_outer = [], False
        for ring in rings:
            coarse = [
                ((x + half >> shift) - origin[0], (y + half >> shift) - origin[1]) for x, y in ring
            ]
            if kind == LINE:
                kept += [line] if (line := drop_from_line(coarse)) else []
                continue
            area = twice_area(coarse)
            if area > 0:
                has_outer = area >= 2 * least
            if area and abs(area) >= 2 * least and has_outer:
                kept.append(drop_from_ring(coarse))
        if kept:
            left.append((number, kept))
    return left


def pack(features: list[list[list[Vertex]]], types: tuple[Any, Any, Any]) -> Shapes:
    rings = [ring for feature in features for ring in feature]
    xy = np.array([v for ring in rings for v in ring], types[0]).reshape(-1, 2)
    return Shapes(
        xy,
        np.cumsum([0, *map(len, rings)]).astype(types[1]),
        np.cumsum([0, *map(len, features)]).astype(types[2]),
    )


def unpack(shapes: Shapes) -> list[list[list[Vertex]]]:
    rings, features = shapes.rings.tolist(), shapes.features.tolist()
    vertices: list[Vertex] = [(x, y) for x, y in shapes.xy.tolist()]
    lines = [vertices[a:b] for a, b in pairwise(rings)]
    return [lines[a:b] for a, b in pairwise(features)]


@pytest.mark.parametrize("kind", [LINE, POLYGON])
@pytest.mark.parametrize("seed", range(60))
def test_random_outlines(seed: int, kind: int) -> None:
    rng = np.random.default_rng(seed)
    shift = int(rng.integers(0, 4))
    span = int(rng.choice([3, 6, 60])) << shift

    def make_ring() -> list[Vertex]:
        return [(int(x), int(y)) for x, y in rng.integers(0, span, (rng.integers(0, 9), 2))]

    features = [[make_ring() for _ in range(rng.integers(0, 4))] for _ in range(30)]
    chosen = np.sort(rng.choice(30, 20, replace=False))
    types = (
        rng.choice([np.int32, np.int64]),
        rng.choice([np.uint32, np.int64]),
        rng.choice([np.uint32, np.int64]),
    )
    origin = (int(rng.integers(0, 5)), int(rng.integers(0, 5)))
    least = int(rng.choice([0, 2, 40])) if kind == POLYGON else 0
    made, left = thin(pack(features, types), kind, chosen, shift, origin, least)
    expected = thin_by_hand([features[i] for i in chosen.tolist()], kind, shift, origin, least)
    assert list(zip(left.tolist(), unpack(made), strict=True)) == expected


@pytest.mark.parametrize("seed", range(40))
def test_chosen_outlines_are_gathered(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def make_ring() -> list[Vertex]:
        return [(int(x), int(y)) for x, y in rng.integers(-99, 99, (rng.integers(0, 5), 2))]

    features = [[make_ring() for _ in range(rng.integers(0, 4))] for _ in range(20)]
    types = rng.choice([np.int32, np.int64]), *rng.choice([np.uint32, np.int64], 2)
    chosen = rng.integers(0, 20, int(rng.integers(0, 30)))
    taken = pack(features, types).take(chosen)
    assert unpack(taken) == [features[i] for i in chosen.tolist()]
    assert {part.dtype for part in (taken.xy, taken.rings, taken.features)} == {np.dtype(np.int64)}


def make_star(rng: np.random.Generator, count: int, least: float, most: float) -> list[Vertex]:
    """A ring around (0, 0), counter-clockwise on paper: clockwise on a screen."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, count))
    reach = rng.uniform(least, most, count)
    xy = np.rint(np.column_stack([reach * np.cos(angles), reach * np.sin(angles)])).astype(int)
    return [(int(x), int(y)) for x, y in xy]


@pytest.mark.parametrize("seed", range(60))
def test_rings_are_simplified_as_geos_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = []
    for _ in range(80):
        size = float(rng.choice([4, 9, 40, 900]))
        rings = [make_star(rng, int(rng.integers(3, 40)), size, 2 * size)]
        for _ in range(rng.integers(0, 3)):
            rings.append(make_star(rng, int(rng.integers(3, 12)), size / 8, size / 2)[::-1])
        if rng.random() < 0.3:  # a second part, beside
            far = make_star(rng, int(rng.integers(3, 12)), size, 2 * size)
            rings.append([(x + 5_000, y) for x, y in far])
        features.append(rings)
    wide = (np.int64, np.int64, np.int64)
    clean, _ = thin(pack(features, wide), POLYGON, np.arange(len(features)))
    made, is_doubtful, is_sure = simplify_rings(clean, 4.0)
    counts = np.diff(clean.rings)
    is_bare = np.maximum.reduceat(counts, clean.features[:-1]) <= 3
    before = to_geometries(clean, POLYGON)
    expected = shapely.simplify(before, 4.0, preserve_topology=False)
    expected[is_bare] = before[is_bare]
    compared = 0
    for number, (geometry, rings) in enumerate(zip(expected, unpack(made), strict=True)):
        if is_doubtful[number]:
            assert rings == [] and not is_sure[number]
            continue
        one = to_geometries(made.take(np.array([number])), POLYGON)[0]
        assert shapely.is_valid(one) or not is_sure[number]
        if shapely.is_valid(before[number]) and shapely.is_valid(one):
            parts = [shapely.get_coordinates(ring)[:-1] for ring in rings_of(geometry)]
            assert [[(int(x), int(y)) for x, y in part] for part in parts] == rings
            compared += 1
    assert compared > 30


@pytest.mark.parametrize("seed", range(40))
def test_what_is_surely_valid_is_valid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    span = int(rng.choice([20, 60, 400]))
    features = [
        [[(int(x), int(y)) for x, y in rng.integers(0, span, (rng.integers(3, 8), 2))]]
        for _ in range(200)
    ]
    wide = (np.int64, np.int64, np.int64)
    clean, _ = thin(pack(features, wide), POLYGON, np.arange(len(features)))
    made, _, is_sure = simplify_rings(clean, 4.0)
    valid = shapely.is_valid(to_geometries(made, POLYGON))
    assert valid[is_sure].all()
    # Nearly all that are valid and there are known to be; some touch lines that they could cross.
    assert is_sure.sum() > 0.8 * (valid & (np.diff(made.features) > 0)).sum() > 10


def rings_of(geometry: shapely.Geometry) -> list[shapely.Geometry]:
    return list(shapely.get_rings(shapely.get_parts(geometry)))


def test_a_ring_that_keeps_all_its_vertices() -> None:
    count = 3_000  # a saw: every cut is at the next vertex
    teeth = [(10 * i, 900 + 50 * (i % 2) + i) for i in range(count)]
    ring = [(0, 0), *teeth, (10 * count, 0)]
    shapes = pack([[ring[::-1]]], (np.int64, np.int64, np.int64))
    made, _, _ = simplify_rings(shapes, 4.0)
    expected = shapely.simplify(to_geometries(shapes, POLYGON), 4.0, preserve_topology=False)[0]
    assert len(made.xy) == shapely.get_num_coordinates(expected) - 1 > count


def test_nothing_is_left_of_nothing() -> None:
    made, left = thin(pack([], (np.int32, np.uint32, np.uint32)), LINE, np.arange(0))
    assert (len(made), left.tolist()) == (0, [])


@pytest.mark.parametrize("rings", [[0, 9, 3], [0, 2, 4], [2, 1, 3], [0, 3, 2**31]])
def test_damaged_shapes_are_told(rings: list[int]) -> None:
    xy = np.array([(0, 0), (9, 0), (9, 9)], np.int32)
    features = np.array([0, 1, 2], np.uint32)
    shapes = Shapes(xy, np.array(rings, np.uint32), features)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="damaged"):
        thin(shapes, LINE, np.arange(2))
    with pytest.raises(IndexError, match="damaged"):
        shapes.take(np.arange(2))
    wrong = Shapes(xy, np.array([0, 3], np.int64), np.array([0, 1], np.int64))
    with pytest.raises(IndexError):
        thin(wrong, LINE, np.array([1]))
