"""What each task adds to rows."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import shapely
from typer.testing import CliRunner

import mapyard
from mapyard.bulk.joins import parse_join
from mapyard.bulk.tasks import read_time
from mapyard.cli import build_app
from mapyard.errors import InvalidRequest, MapyardError
from osm_files import EXAMPLES

A, B = (43.7384, 7.4246), (43.7314, 7.4197)


def run(monaco: Path, *arguments: object) -> None:
    words = ["bulk", *map(str, arguments), "--data", str(monaco), "--workers", "1"]
    done = CliRunner().invoke(build_app(["bulk"]), words)
    if done.exception is not None:
        raise done.exception


def read(path: Path) -> list[dict[str, Any]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    path.write_text(
        f"id,from_lat,from_lon,to_lat,to_lon\n1,{A[0]},{A[1]},{B[0]},{B[1]}\n2,{A[0]},{A[1]},1,1\n"
    )
    return path


def test_routes_are_those_of_the_library(monaco: Path, trips: Path, tmp_path: Path) -> None:
    run(monaco, "route", trips, tmp_path / "o.csv", "--mode", "foot")
    first, second = read(tmp_path / "o.csv")
    with mapyard.open(monaco) as source:
        found = source.route((A[1], A[0]), (B[1], B[0]), mode="foot")
    assert float(first["route_distance_m"]) == found.distance_m
    assert float(first["route_duration_s"]) == found.duration_s
    assert second["error"].startswith("position 1: no road")
    run(monaco, "route", trips, tmp_path / "o.parquet", "--mode", "foot", "--geometry")
    table = pq.read_table(tmp_path / "o.parquet")
    assert json.loads(table.schema.metadata[b"geo"])["primary_column"] == "route_geometry"
    assert shapely.from_wkb(table.column("route_geometry")[0].as_py()).equals(found.geometry)


def test_matrix_writes_a_row_per_pair(monaco: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"who,lat,lon\na,{A[0]},{A[1]}\nb,99,9\n")
    (tmp_path / "to.csv").write_text(
        f"name,lat,lon\nfar,{B[0]},{B[1]}\nnear,43.7380,7.4250\nsame,{A[0]},{A[1]}\n"
    )
    run(monaco, "matrix", tmp_path / "in.csv", tmp_path / "o.csv", "--to", tmp_path / "to.csv")
    rows = read(tmp_path / "o.csv")
    assert [row["to"] for row in rows] == ["far", "near", "same", ""]
    assert [row["to_rank"] for row in rows][:1] == ["3"] and rows[2]["to_duration_s"] == "0.0"
    assert rows[3]["who"] == "b" and "not on Earth" in rows[3]["error"]
    run(monaco, "matrix", tmp_path / "in.csv", tmp_path / "best.csv", "--to", tmp_path / "to.csv",
        "--best", 1)  # fmt: skip
    assert [(row["who"], row["to"]) for row in read(tmp_path / "best.csv")] == [
        ("a", "same"), ("b", ""),
    ]  # fmt: skip


def test_traces_are_not_cut_by_blocks(monaco: Path, tmp_path: Path) -> None:
    """Two trips of 12 points each, in blocks of 5: each is matched as a whole."""
    with mapyard.open(monaco) as source:
        line = source.route((A[1], A[0]), (B[1], B[0])).geometry
        points = [line.interpolate(share / 11, normalized=True) for share in range(12)]
        whole = source.match([(point.x, point.y) for point in points])
    lines = [f"{trip},{p.y},{p.x}" for trip in "xy" for p in points]
    lines.insert(3, "x,,")
    (tmp_path / "in.csv").write_text("\n".join(["trip,lat,lon", *lines]))
    run(monaco, "match", tmp_path / "in.csv", tmp_path / "o.csv", "--block", 5)
    rows = read(tmp_path / "o.csv")
    assert len(rows) == 25 and rows[3]["error"] == "lat is empty"
    del rows[3]
    assert {row["match_confidence"] for row in rows[:12]} == {str(whole.confidence)}
    assert [row["match_lat"] for row in rows[:12]] == [row["match_lat"] for row in rows[12:]]
    # Of the ways under and over each other another one may be nearer, but not of most.
    assert sorted(float(row["match_distance_m"]) for row in rows)[len(rows) // 2] < 2


def test_nearest_roads_and_heights(monaco: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"lat,lon\n{A[0]},{A[1]}\n0,0\n")
    run(monaco, "nearest", tmp_path / "in.csv", tmp_path / "o.csv")
    first, second = read(tmp_path / "o.csv")
    assert (first["road_name"], first["road_highway"]) == ("Avenue de l'Hermitage", "residential")
    assert "no road" in second["error"]
    with pytest.raises(MapyardError, match="no elevation data is installed"):
        run(monaco, "elevation", tmp_path / "in.csv", tmp_path / "e.csv")
    data = tmp_path / "data"
    (data / "elevation").mkdir(parents=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    for name in ("datasets", "current"):
        (data / name).symlink_to((monaco / name).resolve())
    run(data, "elevation", tmp_path / "in.csv", tmp_path / "e.csv")
    height, missing = read(tmp_path / "e.csv")
    # The four cells of the raster around it have 58 to 75 m.
    assert 58 < float(height["elevation_m"]) < 75
    assert missing["error"] == "no elevation data here"


def test_smallest_area_around_is_joined(monaco: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"lat,lon\n{B[0]},{B[1]}\n")
    joins = ("--inside", "quarter:boundary=administrative", "--inside", "building")
    run(monaco, "enrich", tmp_path / "in.csv", tmp_path / "o.csv", *joins, "--columns", "phone")
    (row,) = read(tmp_path / "o.csv")
    # Of the areas around (France, Monaco, Monaco-Ville) the quarter is the smallest.
    assert row["quarter_name"] == "Monaco-Ville"
    assert (row["building_id"], row["building_name"], row["building_phone"]) == (
        "relation/393226", "Palais princier de Monaco", "+377 93 25 18 31",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "tags"),
    [
        ("amenity=pharmacy", "pharmacy", ("amenity=pharmacy",)),
        ("building", "building", ("building",)),
        ("near:amenity=cafe,wifi=*", "near", ("amenity=cafe", "wifi=*")),
        ("addr:city=Vaduz", "addr", ("city=Vaduz",)),
    ],
)
def test_joins_are_read(text: str, name: str, tags: tuple[str, ...]) -> None:
    assert parse_join(text, "--nearest", is_area=False)[:2] == (name, tags)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(12, 12.0), ("12.5", 12.5), ("1970-01-01T00:01:00Z", 60.0), ("1970-01-01 00:01", 60.0)],
)
def test_times_are_read(value: Any, seconds: float) -> None:
    assert read_time(value, "t") == seconds


@pytest.mark.parametrize("value", ["noon", None, True])
def test_other_times_are_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="t is neither"):
        read_time(value, "t")
