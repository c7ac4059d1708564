"""180 and −180 degrees are one meridian: positions find roads on either side of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.geo.bbox import Bbox
from mapyard.routing import (
    Engine,
    compute_matrix,
    find_isochrones,
    find_nearest,
    find_routes,
    open_routing,
)
from mapyard.routing.building.graph import build_graph
from mapyard.routing.engine import NoRoad
from scenarios.ascii_map import Scene, write_scenes

#: The road begins 150 m east of the meridian.
CORNER = (-179.9986, -16.8)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder: Path = tmp_path_factory.mktemp("antimeridian")
    scene = Scene("east", "a b c d e f", {"abcdef": {"highway": "primary"}}, corner=CORNER)
    write_scenes([scene], folder / "fiji.osm.pbf")
    build_graph(folder / "fiji.osm.pbf", folder / "routing", Bbox(-180, -17, -179, -16), threads=1)
    return open_routing(folder / "routing")


@pytest.mark.parametrize(("lon", "away_m"), [(180.0, 149), (-180.0, 149), (179.999, 255)])
def test_the_nearest_road_may_lie_over_the_meridian(
    engine: Engine, lon: float, away_m: float
) -> None:
    road = find_nearest(engine, lon, CORNER[1])[0]
    assert road.lon == pytest.approx(CORNER[0], abs=1e-5)
    assert road.distance_m == pytest.approx(away_m, abs=2)
    assert len(find_nearest(engine, lon, CORNER[1], number=3)) == 1


def test_routes_and_matrices_and_areas_begin_there_too(engine: Engine) -> None:
    ends = np.array([[179.9995, CORNER[1]], [-179.99, CORNER[1]]])
    route = find_routes(engine, ends)[0]
    assert route.distance_m > 850
    assert route.waypoints[0].distance_m == pytest.approx(202, abs=2)
    assert compute_matrix(engine, ends, ends).distances_m[0, 1] == pytest.approx(
        route.distance_m, abs=2
    )
    assert find_isochrones(engine, *ends[0].tolist(), [60])[0].area_m2 > 1000


def test_the_radius_holds_over_the_meridian(engine: Engine) -> None:
    with pytest.raises(NoRoad):
        find_nearest(engine, 179.999, CORNER[1], radius_m=100)
