from __future__ import annotations

import json

import pytest
import shapely

from mapyard.tiles.palette import LIGHT
from mapyard.tiles.schema import LAYERS
from mapyard.tiles.style import make_style
from mapyard.tiles.table import TableInfo
from mapyard.tiles.world import read_world


@pytest.fixture(scope="module")
def land() -> shapely.Geometry:
    feature = json.loads(read_world())
    assert feature["type"] == "Feature"
    return shapely.geometry.shape(feature["geometry"])


def test_it_is_valid_and_light(land: shapely.Geometry) -> None:
    assert land.is_valid
    west, south, east, north = land.bounds
    assert (west, south, east) == (-180, -90, 180)
    assert 83 < north < 84
    assert len(read_world()) < 100_000


@pytest.mark.parametrize(
    ("lon", "lat", "is_land"),
    [
        (9.5, 47.1, True), (-100, 40, True), (151, -33, True), (0, -85, True), (178, -38, True),
        (179.5, 67.5, True), (-175, 66.5, True), (0, 0, False), (-30, 30, False),
        (-160, 0, False), (-5, 60, False), (8, 43, False), (51, 42, False),
    ],
)  # fmt: skip
def test_land_is_land(land: shapely.Geometry, lon: float, lat: float, *, is_land: bool) -> None:
    assert shapely.contains_xy(land, lon, lat) == is_land


@pytest.mark.parametrize(
    ("bounds", "boxes"), [((7.4, 43.4, 7.6, 43.8), 1), ((177.0, -20.0, -179.0, -15.0), 2)]
)
def test_the_box_of_the_data_lies_over_the_world(
    bounds: tuple[float, float, float, float], boxes: int
) -> None:
    info = TableInfo("shortbread 1.1", bounds, [0] * (len(LAYERS) + 1), [])
    style = make_style(LIGHT, info, base_url="http://maps.test/api/v1", key_suffix="?session=x")
    assert style["sources"]["world"]["data"].endswith("/tiles/world.json?session=x")
    box = shapely.geometry.shape(style["sources"]["extent"]["data"]["geometry"])
    assert box.is_valid
    assert len(box.geoms) == boxes
    ids = [layer["id"] for layer in style["layers"]]
    assert ids[:3] == ["background", "world", "extent"]
    assert (
        ids.index("ocean")
        < ids.index("extent-edge")
        < ids.index(next(name for name in ids if "motorway" in name))
    )
