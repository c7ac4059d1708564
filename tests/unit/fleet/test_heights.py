"""Elevation rasters of a fleet: in builds near them, on nodes, and in answers over regions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from fleets import ask, make_front, make_single
from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import read_manifest
from mapyard.errors import MapyardError
from mapyard.fleet import build as fleet_build
from mapyard.fleet.build import Order, build_generation
from mapyard.fleet.generation import Generation, Region, read_split
from mapyard.fleet.heights import choose_rasters, fetch_rasters, list_rasters, upload_rasters
from mapyard.fleet.objects import Objects
from mapyard.fleet.split import split_regions
from osm_files import write_osm

pytest.importorskip("obstore")
pytestmark = [pytest.mark.timeout(1200)]

#: Rows and columns of a raster of one degree, from north to south and west to east.
_SIDE = 1_201
#: When an answer was made.
_MOMENT = re.compile(rb'"timestamp":\d+')
#: The peak: column and row of the raster, in the middle of a void.
_PEAK = 900, 600


def write_raster(folder: Path, name: str = "N00E000.hgt", lowest_m: int = 1_000) -> Path:
    """Write a slope down to the north, with a void of 21 × 21 cells around the peak."""
    heights = np.repeat(lowest_m + np.arange(_SIDE)[:, None], _SIDE, axis=1).astype(">i2")
    column, row = _PEAK
    heights[row - 10 : row + 11, column - 10 : column + 11] = -32768
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(heights.tobytes())
    return folder


@pytest.fixture(scope="module")
def rasters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_raster(tmp_path_factory.mktemp("rasters") / "srtm")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A road from west to east, and a peak in the east, higher than the slope around it."""
    column, row = _PEAK
    peak = (column / (_SIDE - 1), 1 - row / (_SIDE - 1))
    nodes: dict[int, Any] = {i: (0.05 + 0.1 * i, 0.2) for i in range(1, 10)}
    nodes |= {20: (*peak, {"natural": "saddle", "ele": "1615"})}
    nodes |= {30 + i: (0.05 + 0.001 * i, 0.8, {"amenity": "cafe", "name": "A"}) for i in range(12)}
    return write_osm(
        tmp_path_factory.mktemp("map") / "map.osm", nodes,
        {1: (list(range(1, 10)), {"highway": "primary", "name": "Main"})},
    )  # fmt: skip


class Built:
    """A store, and which datasets were built each time."""

    def __init__(self, folder: Path) -> None:
        self.split, self.store = folder / "split", folder / "store"
        self.orders: list[Order] = []

    def build(self, elevation: str = "") -> Generation:
        self.orders.clear()
        return build_generation(
            self.split, str(self.store), only=["text", "routing"], ray_address="", scratch="",
            say=lambda text: None, elevation=elevation,
        )  # fmt: skip

    def has_slopes(self, region: Region) -> bool:
        folder = self.store / "datasets" / region.name / region.dataset
        return bool(read_manifest(folder).parts["routing"].report["slopes"])


@pytest.fixture(scope="module")
def built(
    source: Path, rasters: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Built, Generation]:
    made = Built(tmp_path_factory.mktemp("built"))
    split_regions([source], "2", made.split, margin_m=200.0, roads="1")

    def build_all(orders: list[Order], *_: Any) -> dict[str, Region]:
        made.orders.extend(orders)
        return {order.region.name: fleet_build.build_region(order) for order in orders}

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fleet_build, "_build_all", build_all)
        first = made.build(str(rasters))
        assert {order.region.name: len(order.rasters) for order in made.orders} == {
            "r001": 0, "r002": 0, "places": 0, "roads-r001": 1,
        }  # fmt: skip
        assert made.build() == msgspec.structs.replace(first, created=made.build().created)
        assert made.orders == []  # those of before hold on
        without = made.build(fleet_build.NO_RASTERS)
        assert [order.region.name for order in made.orders] == ["roads-r001"]
        assert without.rasters == [] and without.id != first.id
        assert not made.has_slopes(without.get_region("roads-r001"))
    return made, first


def test_roads_get_their_grades(built: tuple[Built, Generation]) -> None:
    made, generation = built
    assert [raster.name for raster in generation.rasters] == ["N00E000.hgt"]
    assert made.has_slopes(generation.get_region("roads-r001"))


def test_heights_are_those_of_one_machine(
    built: tuple[Built, Generation], source: Path, tmp_path: Path
) -> None:
    """Also in a void, where a peak tells them that only one of the regions has."""
    made, generation = built
    for region in generation.regions:
        data = tmp_path / "served" / region.name / "data"
        (data / "datasets").mkdir(parents=True)
        folder = made.store / "datasets" / region.name / region.dataset
        (data / "datasets" / region.dataset).symlink_to(folder)
        Catalog(data).use(region.dataset)
    node = tmp_path / "node"
    fetch_rasters(Objects(str(made.store)), generation.rasters, node)
    split = read_split(made.split)
    split.wholes = [region for region in split.wholes if region.name == "places"]
    front, application = make_front(split, tmp_path / "served", {"r001"}, node)
    one = tmp_path / "one"
    fetch_rasters(Objects(str(made.store)), generation.rasters, one)
    with Reporter(quiet=True) as progress:
        build_dataset([source], one, select_steps(["store"]), progress)
    single = make_single(one)
    column, row = _PEAK
    lon, lat = (column + 2) / (_SIDE - 1), 1 - row / (_SIDE - 1)
    line = {"type": "LineString", "coordinates": [[lon - 0.5, lat], [lon, lat], [lon, 0.2]]}
    asked: list[tuple[str, Any, Any]] = [
        *[("/api/v1/elevation", {"near": f"{lat},{lon}"}, None)] * 4,
        ("/api/v1/elevation/batch", {}, {"locations": [[lon, lat], [0.06, 0.8], [0.5, 0.5]]}),
        ("/api/v1/elevation/profile", {}, {"geometry": line, "interval": 500}),
        ("/ors/elevation/point", {"geometry": f"{lon},{lat}", "format_out": "point"}, None),
        ("/valhalla/height", {}, {"shape": [{"lat": lat, "lon": lon}], "range": False}),
    ]
    for path, params, body in asked:
        expected, found = (ask(app, path, params, body) for app in (single, application))
        assert found.status_code == expected.status_code == 200, (path, expected.text)
        texts = [_MOMENT.sub(b"", answer.content) for answer in (found, expected)]
        assert texts[0] == texts[1], path
    told = ask(application, "/api/v1/elevation", {"near": f"{lat},{lon}"}).json()
    assert 1_607 < told["properties"]["elevation_m"] < 1_615  # the slope alone has 1,600
    front.close()


def test_rasters_are_those_around_a_region(rasters: Path, tmp_path: Path) -> None:
    folder = write_raster(tmp_path / "two")
    write_raster(folder, "N00E001.hgt", 500)
    (folder / "notes.txt").write_text("of whom they are")
    found = list_rasters(folder)
    assert [raster.name for raster in found] == ["N00E000.hgt", "N00E001.hgt", "notes.txt"]
    west, both, none = (
        [raster.name for raster in choose_rasters(found, box)]
        for box in ((0.2, 0.2, 0.4, 0.4), (0.9, 0.2, 1.1, 0.4), (7.0, 40.0, 8.0, 41.0))
    )
    assert west == ["N00E000.hgt", "notes.txt"] and len(both) == 3 and none == ["notes.txt"]
    with pytest.raises(MapyardError, match="has no elevation rasters"):
        list_rasters(tmp_path)


def test_what_somebody_put_there_stays(rasters: Path, tmp_path: Path) -> None:
    objects, data = Objects(str(tmp_path / "store")), tmp_path / "data"
    folder = write_raster(tmp_path / "two")
    write_raster(folder, "N00E001.hgt", 500)
    first = list_rasters(folder)
    upload_rasters(objects, folder, first, lambda text: None)
    (data / "elevation").mkdir(parents=True)
    (data / "elevation" / "N00E000.hgt").write_bytes(b"mine")
    fetch_rasters(objects, first, data)
    own, fetched = ((data / "elevation" / f"N00E00{x}.hgt").read_bytes() for x in (0, 1))
    assert own == b"mine" and fetched == (folder / "N00E001.hgt").read_bytes()
    # A newer one takes the place of one that was fetched.
    write_raster(folder, "N00E001.hgt", 700)
    second = list_rasters(folder)
    upload_rasters(objects, folder, second, lambda text: None)
    fetch_rasters(objects, second, data)
    newer = (folder / "N00E001.hgt").read_bytes()
    assert (data / "elevation" / "N00E001.hgt").read_bytes() == newer != fetched
    assert (data / "elevation" / "N00E000.hgt").read_bytes() == b"mine"


def test_a_raster_that_is_not_as_it_was_is_refused(rasters: Path, tmp_path: Path) -> None:
    objects = Objects(str(tmp_path / "store"))
    found = list_rasters(rasters)
    upload_rasters(objects, rasters, found, lambda text: None)
    objects.put(found[0].place, b"other")
    with pytest.raises(MapyardError, match="checksum differs"):
        fetch_rasters(objects, found, tmp_path / "data")
    assert not (tmp_path / "data" / "elevation").exists()
