"""Areas out of the prepared graph, against a matrix of places around them, and the engine's."""

from itertools import pairwise

import numpy as np
import pytest
import shapely

from mapyard.errors import MapyardError
from mapyard.routing import compute_matrix, find_isochrones
from mapyard.routing.contraction.tiles import read_graph
from mapyard.routing.modes import TABLE_MODES

CASINO, SEA = (7.4281, 43.7392), (7.45, 43.70)


@pytest.fixture(scope="module")
def nodes(graph):
    roads = read_graph(graph / "tiles.tar")
    return np.column_stack([roads.lon, roads.lat])


def find_areas(engine, *arguments, **options):
    try:
        return [area.geometry for area in find_isochrones(engine, *arguments, **options)]
    except MapyardError as error:
        return error.code


@pytest.mark.parametrize("toward", [False, True])
@pytest.mark.parametrize(("metric", "limit"), [("time", 240.0), ("distance", 700.0)])
@pytest.mark.parametrize("mode", TABLE_MODES)
def test_areas_hold_what_the_matrix_says(engine, plain, nodes, mode, metric, limit, toward):
    rng = np.random.default_rng(6)
    wrong = {"mine": 0, "theirs": 0}
    total = 0
    for place in nodes[rng.integers(len(nodes), size=8)]:
        mine, theirs = (
            find_areas(one, *place.tolist(), [limit], mode, metric=metric, toward=toward)
            for one in (engine, plain)
        )
        if isinstance(mine, str) or isinstance(theirs, str):
            assert mine == theirs
            continue
        asked = nodes[rng.integers(len(nodes), size=250)]
        table = engine.tables.find(mode)
        asked = asked[np.unique(table.find_places(asked, 20.0).position)]
        ends = (asked, place[None, :]) if toward else (place[None, :], asked)
        cells = compute_matrix(engine, *ends, mode)
        values = cells.durations_s if metric == "time" else cells.distances_m
        expected = values.ravel() <= limit
        total += len(expected)
        for name, (area,) in (("mine", mine), ("theirs", theirs)):
            assert shapely.is_valid(area)
            inside = shapely.contains_xy(area, asked)
            wrong[name] += int((inside != expected).sum())
    assert total > 500
    # Cells are 80 by 110 m: places near the outline lie on either side of it.
    assert wrong["mine"] < 0.1 * total
    assert wrong["mine"] <= 1.2 * wrong["theirs"] + 0.01 * total


def test_the_engine_is_not_asked(engine, monkeypatch):
    monkeypatch.setattr(engine, "ask", None)
    for mode in TABLE_MODES:
        assert find_isochrones(engine, *CASINO, [300.0], mode)[0].area_m2 > 10_000
        assert find_isochrones(engine, *CASINO, [500.0], mode, metric="distance", toward=True)


def test_what_is_not_usual_is_asked_of_the_engine(engine, monkeypatch):
    asked = []
    call = engine.call
    monkeypatch.setattr(
        engine, "call", lambda action, *rest: asked.append(action) or call(action, *rest)
    )
    find_isochrones(engine, *CASINO, [300.0], "wheelchair")
    assert "isochrone" in asked


def test_errors_are_those_of_the_engine(engine, plain):
    assert find_areas(engine, *SEA, [300.0], "foot") == find_areas(plain, *SEA, [300.0], "foot")
    assert find_areas(engine, *SEA, [300.0], "foot") == "no_road_found"


def test_larger_areas_hold_smaller_ones(engine):
    limits = [600.0, 60.0, 300.0, 1.0]
    areas = dict(zip(limits, find_areas(engine, *CASINO, limits, "foot"), strict=True))
    ordered = [areas[limit] for limit in sorted(limits)]
    for inner, outer in pairwise(ordered):
        assert shapely.covers(outer, shapely.buffer(inner, -1e-9))
        assert outer.area > inner.area


def test_small_parts_and_holes_are_left_out(engine):
    (everything,) = find_areas(engine, *CASINO, [600.0], "auto")
    (largest,) = find_areas(engine, *CASINO, [600.0], "auto", least_share=0.2)
    assert largest.geom_type == "Polygon"
    rings = [len(part.interiors) for part in shapely.get_parts(everything)]
    assert len(largest.interiors) < sum(rings)
    assert (
        len(largest.interiors) == 0
        or min(shapely.Polygon(ring).area for ring in largest.interiors)
        >= 0.2 * shapely.Polygon(largest.exterior).area
    )


def test_rings_turn_as_geojson_wants(engine):
    (area,) = find_areas(engine, *CASINO, [600.0], "auto")
    for part in shapely.get_parts(area):
        assert part.exterior.is_ccw
        assert not any(ring.is_ccw for ring in part.interiors)
