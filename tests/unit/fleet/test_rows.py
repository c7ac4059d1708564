"""Bulk work over regions, in this process: the files that one machine with the whole map writes."""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fleets import BOUNDS, ROADS_FOLDER, build_regions, build_roads, upload
from mapyard.bulk.run import Datasets, OneDataset, OwnPool, find_current, plan_bulk, run_plan
from mapyard.bulk.tasks import Wishes
from mapyard.errors import MapyardError
from mapyard.fleet.rows import Chooser, Regions, find_regions
from osm_files import EXAMPLES

pytest.importorskip("obstore")
pytestmark = [pytest.mark.xdist_group("fleet-front"), pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def store(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Monaco in four regions, its roads in one of all and one of the west."""
    regions = build_regions(EXAMPLES / "monaco.osm.pbf", shared_folder / "four-regions", 4, 200.0)
    roads = build_roads(shared_folder)
    url = tmp_path_factory.mktemp("store", numbered=True) / "maps"
    upload(
        url, [(regions, shared_folder / "four-regions"), (roads, shared_folder / ROADS_FOLDER)]
    )  # fmt: skip
    return url


@pytest.fixture(scope="module")
def one(monaco: Path) -> OneDataset:
    return find_current(monaco.resolve())


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a node, with heights."""
    data = tmp_path_factory.mktemp("node")
    (data / "elevation").mkdir()
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    return data


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Addresses, positions and pairs of them in Monaco; some are nowhere."""
    rng = random.Random(18)
    west, south, east, north = BOUNDS
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    streets = ["Rue Grimaldi", "Boulevard des Moulins", "Avenue de Monte-Carlo", "Nowhere"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "street", "housenumber", "lat", "lon", "to_lat", "to_lon", "trace"])
        for number in range(300):
            lat, lon = rng.uniform(south, north), rng.uniform(west, east)
            to_lat, to_lon = rng.uniform(south, north), rng.uniform(west, east)
            if number % 60 == 7:
                lat = 99
            writer.writerow([
                number, rng.choice(streets), rng.randint(1, 40), round(lat, 6), round(lon, 6),
                round(to_lat, 6), round(to_lon, 6), number // 9,
            ])  # fmt: skip
    return path


def run(name: str, rows: Path, target: Path, datasets: Datasets, **wishes: Any) -> str:
    plan = plan_bulk(name, rows, target, Wishes(**wishes), datasets, size=70)
    run_plan(plan, OwnPool(plan.job))
    return target.read_text()


def count_answers(text: str, column: str) -> int:
    return sum(bool(row[column]) for row in csv.DictReader(text.splitlines()))


@pytest.mark.parametrize(
    ("name", "wishes", "column", "least"),
    [
        ("geocode", {}, "match_lat", 150),
        ("reverse", {"radius_m": 300.0}, "match_lat", 150),
        ("nearest", {"radius_m": 500.0}, "road_name", 150),
        ("route", {"lat": "lat,to_lat", "lon": "lon,to_lon"}, "route_distance_m", 150),
        ("match", {"params": {"mode": "foot"}}, "match_lat", 30),
        ("matrix", {"best": 2, "params": {"mode": "foot"}}, "to_duration_s", 300),
        ("elevation", {}, "elevation_m", 250),
        ("enrich", {"nearest": ("amenity=cafe", "high:highway=residential"), "tags": ("name",),
                    "inside": ("boundary=administrative", "building"), "radius_m": 700.0},
         "cafe_distance_m", 200),
    ],
)  # fmt: skip
def test_answers_are_those_of_one_machine(
    name: str, wishes: dict[str, Any], column: str, least: int,
    store: Path, one: OneDataset, node: Path, rows: Path, tmp_path: Path,
) -> None:  # fmt: skip
    if name == "matrix":
        to = tmp_path / "to.csv"
        to.write_text("id,lat,lon\na,43.7384,7.4246\nb,43.7311,7.4197\nc,43.7440,7.4310\n")
        wishes = {**wishes, "to": str(to)}
    if name == "elevation":  # of the same rasters
        whole = tmp_path / "whole"
        shutil.copytree(node / "elevation", whole / "elevation")
        for link in ("datasets", "current"):
            (whole / link).symlink_to((one.data / link).resolve())
        one = one._replace(data=whole)
    expected = run(name, rows, tmp_path / "one.csv", one, **wishes)
    found = run(name, rows, tmp_path / "many.csv", find_regions(str(store), node), **wishes)
    assert found == expected
    assert count_answers(expected, column) >= least
    assert "are not on Earth" in expected or name == "geocode"


def test_rows_near_borders_ask_several_regions(store: Path, node: Path, rows: Path) -> None:
    """What the test above shows of joins, it shows of these."""
    regions = find_regions(str(store), node)
    plan = plan_bulk(
        "enrich", rows, rows.with_name("x.csv"), Wishes(nearest=("shop",), radius_m=700.0), regions
    )
    chooser = Chooser(plan.job.task, regions.generation)
    block = next(plan.source.iter_blocks(300))
    counts = [len(chooser.choose([row])) for row in block.get_rows() if row["lat"] != "99"]
    assert counts.count(1) > 20 and sum(count > 1 for count in counts) > 20


def test_few_regions_are_open_at_once(
    store: Path, one: OneDataset, node: Path, rows: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("mapyard.fleet.rows._OPEN", 1)
    wishes: dict[str, Any] = {"nearest": ("shop",), "radius_m": 700.0}
    expected = run("enrich", rows, tmp_path / "one.csv", one, **wishes)
    assert run("enrich", rows, tmp_path / "x.csv", find_regions(str(store), node), **wishes) == (
        expected
    )


def test_datasets_are_fetched_as_far_as_rows_ask(store: Path, rows: Path, tmp_path: Path) -> None:
    run("geocode", rows, tmp_path / "out.csv", find_regions(str(store), tmp_path / "data"))
    fetched = [
        json.loads(path.read_bytes())["region"]
        for path in (tmp_path / "data" / "datasets").glob("*/fetched.json")
    ]
    assert fetched == ["places"]


def test_a_row_that_no_region_of_roads_holds_says_so(
    store: Path, node: Path, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,from_lat,from_lon,to_lat,to_lon\na,43.73,7.42,43.74,7.43\n"
                    "b,43.73,7.42,44.9,7.42\n")  # fmt: skip
    text = run("route", rows, tmp_path / "out.csv", find_regions(str(store), node))
    first, second = csv.DictReader(text.splitlines())
    assert first["route_distance_m"] and not first["error"]
    assert second["error"] == "no region of roads holds all positions of the row"


def test_a_dataset_that_is_not_as_it_was_written_is_refused(
    store: Path, rows: Path, tmp_path: Path
) -> None:
    url = tmp_path / "maps"
    shutil.copytree(store, url)
    manifest = next((url / "datasets" / "places").glob("*/manifest.json"))
    file = max((path for path in manifest.parent.rglob("*") if path.is_file()),
               key=lambda path: path.stat().st_size)  # fmt: skip
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(MapyardError, match="checksum differs"):
        run("geocode", rows, tmp_path / "out.csv", find_regions(str(url), tmp_path / "data"))
    assert not list((tmp_path / "data" / "datasets").glob("*/manifest.json"))


def test_a_manifest_names_a_generation(store: Path) -> None:
    newest = find_regions(str(store))
    assert find_regions(f"{store}/generations/{newest.name}.json") == newest
    with pytest.raises(MapyardError, match="has no generation old"):
        find_regions(f"{store}/generations/old.json")


def test_a_generation_without_places_is_refused_at_once(store: Path, rows: Path) -> None:
    regions = find_regions(str(store))
    some = [region for region in regions.generation.regions if region.name != "places"]
    without = Regions(regions.url, msgspec.structs.replace(regions.generation, regions=some))
    with pytest.raises(MapyardError, match="has no dataset 'places'"):
        plan_bulk("geocode", rows, rows.with_name("x.csv"), Wishes(), without)
