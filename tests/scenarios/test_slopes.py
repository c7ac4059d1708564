"""Hills: with heights at build, riders and walkers mind them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.errors import Unsupported
from mapyard.geo.bbox import Bbox
from mapyard.routing import open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.building.heights import SIZE, VOID, write_heights
from mapyard.routing.costing import CostingOptions, check_slopes
from scenarios.ascii_map import Scene, write_scenes

ROAD = {"highway": "residential"}
#: Straight over the hill, or around its foot.
HILL = """
s----h----t
|         |
|         |
c---------d
"""


def make_scene() -> Scene:
    return Scene("hill", HILL, {"sh": ROAD, "ht": ROAD, "sc": ROAD, "cd": ROAD, "dt": ROAD})


@pytest.fixture(scope="module")
def hill(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder: Path = tmp_path_factory.mktemp("hill")
    scene = make_scene()
    write_scenes([scene], folder / "map.osm.pbf")
    lon, lat = scene.positions["h"]

    def find_heights(lons: np.ndarray, lats: np.ndarray) -> np.ndarray:
        """A ridge of 45 m across the straight street, as wide as a street."""
        over = np.maximum(0, 1 - np.abs(lats - lat) / 0.0012)
        return 400 + 45 * over * np.maximum(0, 1 - np.abs(lons - lon) / 0.006)

    lons, lats = zip(*scene.positions.values(), strict=True)
    box = Bbox(min(lons), min(lats), max(lons), max(lats))
    meta = build_graph(
        folder / "map.osm.pbf", folder / "routing", box, threads=1, find_heights=find_heights
    )
    assert meta is not None
    assert meta.has_slopes
    scene.engine = open_routing(folder / "routing")
    return scene


def test_uphill_takes_longer(hill: Scene) -> None:
    up, down = hill.route("sh", "bicycle"), hill.route("ht", "bicycle")
    assert up.distance_m == pytest.approx(down.distance_m, abs=2)
    assert up.duration_s > 1.2 * down.duration_s
    assert hill.route("sh", "foot").duration_s > hill.route("cd", "foot").duration_s / 2


def test_who_avoids_hills_rides_around(hill: Scene) -> None:
    assert hill.path("st", "bicycle", options=CostingOptions(use_hills=1.0)) == "sht"
    assert hill.path("st", "bicycle", options=CostingOptions(use_hills=0.0)) == "scdt"
    assert hill.path("st", "auto") == "sht"


def test_without_heights_the_options_are_refused() -> None:
    for options in (CostingOptions(use_hills=0.2), CostingOptions(max_grade_percent=6)):
        check_slopes(options, has_slopes=True)
        with pytest.raises(Unsupported, match="needs heights at build"):
            check_slopes(options, has_slopes=False)
    check_slopes(CostingOptions(use_lit=1.0), has_slopes=False)
    check_slopes(None, has_slopes=False)


def test_heights_are_written_as_the_engine_reads_them(tmp_path: Path) -> None:
    def find_heights(lons: np.ndarray, lats: np.ndarray) -> np.ndarray:
        return np.where(lons < 9.5, 100 * (lats - 47), np.nan)

    assert write_heights(find_heights, Bbox(9.2, 46.9, 9.3, 47.1), tmp_path) == 2
    cells = np.fromfile(tmp_path / "N47" / "N47E009.hgt", ">i2").reshape(SIZE, SIZE)
    assert cells[0, 0] == 100  # the northern edge comes first
    assert cells[-1, 0] == 0
    assert cells[0, -1] == VOID
    below = np.fromfile(tmp_path / "N46" / "N46E009.hgt", ">i2")
    assert below[0] == 0
    assert (
        write_heights(lambda lons, lats: np.full(len(lons), np.nan), Bbox(0, 0, 1, 1), tmp_path)
        == 0
    )


@pytest.mark.parametrize(
    ("box", "names"),
    [
        (Bbox(-0.5, -0.5, 0.5, 0.5), {"S01/S01W001", "S01/S01E000", "N00/N00W001", "N00/N00E000"}),
        (Bbox(179.5, -17.5, -179.5, -17.2), {"S18/S18E179", "S18/S18W180"}),
    ],
)
def test_degrees_have_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, box: Bbox, names: set[str]
) -> None:
    from mapyard.routing.building import heights

    monkeypatch.setattr(heights, "SIZE", 3)
    count = write_heights(lambda lons, lats: np.zeros(len(lons)), box, tmp_path)
    found = {str(path.relative_to(tmp_path))[:-4] for path in tmp_path.rglob("*.hgt")}
    assert found == names
    assert count == len(names)
