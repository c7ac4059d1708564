"""Every form of input to every form of output, rows in order, bad ones kept."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from typer.testing import CliRunner

from mapyard.bulk.read import open_source
from mapyard.cli import build_app
from mapyard.errors import MapyardError
from osm_files import EXAMPLES

#: Positions in Monaco, one that is not on Earth, one that is missing.
POSITIONS = [(43.7384, 7.4246), (43.7314, 7.4197), (95.0, 7.4), (None, None)]


@pytest.fixture(scope="module")
def data(build_once: Callable[..., Path]) -> Path:
    return build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"])


def run(*arguments: object) -> str:
    words = ["bulk", *map(str, arguments)]
    done = CliRunner().invoke(build_app(["bulk"]), words)
    if done.exception is not None:
        raise done.exception
    return done.stderr


def write(path: Path) -> Path:
    """Write POSITIONS; `code` must stay the text that it is where the form has texts."""
    rows = [
        {"code": f"0{number}", "lat": lat, "lon": lon}
        for number, (lat, lon) in enumerate(POSITIONS)
    ]
    match path.suffix:
        case ".csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, ["code", "lat", "lon"])
                writer.writeheader()
                writer.writerows(rows)
        case ".ndjson":
            path.write_text("\n".join(map(json.dumps, rows)))
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    match path.suffix:
        case ".csv":
            return list(csv.DictReader(path.read_text().splitlines()))
        case ".ndjson":
            return [json.loads(line) for line in path.read_text().splitlines()]
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("out", [".csv", ".ndjson", ".parquet"])
@pytest.mark.parametrize("form", [".csv", ".ndjson", ".parquet"])
def test_all_forms(data: Path, tmp_path: Path, form: str, out: str) -> None:
    source, target = write(tmp_path / f"in{form}"), tmp_path / f"out{out}"
    told = run("enrich", source, target, "--nearest", "amenity=pharmacy", "--data", data,
               "--workers", 1, "--block", 3)  # fmt: skip
    assert "4 rows" in told and "2 without an answer" in told
    rows = read(target)
    assert [row["code"] for row in rows] == ["00", "01", "02", "03"]
    # 160 and 164 m: measured with shapely in EPSG:32632, 0.1 % off.
    first, second, third, fourth = rows
    assert (first["pharmacy_id"], first["pharmacy_name"]) == ("node/3087473845", "Bughin")
    assert float(first["pharmacy_distance_m"]) == pytest.approx(164.4, abs=0.4)
    assert second["pharmacy_name"] == "G. Marsan"
    assert not first.get("error") and not second.get("error")
    assert "not on Earth" in third["error"] and not third.get("pharmacy_id")
    assert fourth["error"] == "lat is empty"
    if out == ".parquet":
        schema = pq.read_schema(target)
        assert schema.field("lat").type == pa.float64()
        assert schema.field("pharmacy_distance_m").type == pa.float64()
        assert schema.field("code").type == pa.string()


def test_geoparquet_stays_geoparquet(data: Path, tmp_path: Path) -> None:
    points = shapely.points([(7.4246, 43.7384), (7.4197, 43.7314)])
    geo = {"version": "1.1.0", "primary_column": "spot", "columns": {
        "spot": {"encoding": "WKB", "geometry_types": ["Point"]}}}  # fmt: skip
    table = pa.table({"spot": pa.array(shapely.to_wkb(points).tolist()), "n": pa.array([1, 2])})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "in.parquet")
    run(
        "reverse", tmp_path / "in.parquet", tmp_path / "out.parquet", "--data", data, "--workers", 1
    )
    made = pq.read_table(tmp_path / "out.parquet")
    assert json.loads(made.schema.metadata[b"geo"])["primary_column"] == "spot"
    assert made.column("spot").to_pylist() == table.column("spot").to_pylist()
    assert made.column("match_osm_id").to_pylist()[0] == 94399747
    run("reverse", tmp_path / "in.parquet", tmp_path / "out.csv", "--data", data, "--workers", 1)
    assert read(tmp_path / "out.csv")[0]["spot"] == "POINT (7.4246 43.7384)"
    run("reverse", tmp_path / "in.parquet", tmp_path / "o.ndjson", "--data", data, "--workers", 1)
    assert read(tmp_path / "o.ndjson")[0]["spot"]["coordinates"] == [7.4246, 43.7384]


def test_other_coordinates_are_refused(data: Path, tmp_path: Path) -> None:
    geo = {
        "primary_column": "g",
        "columns": {
            "g": {
                "encoding": "WKB",
                "crs": {"name": "UTM 32", "id": {"authority": "EPSG", "code": 32632}},
            }
        },
    }
    table = pa.table({"g": pa.array([shapely.to_wkb(shapely.Point(1, 2))])})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "in.parquet")
    with pytest.raises(MapyardError, match="UTM 32"):
        run("reverse", tmp_path / "in.parquet", tmp_path / "o.csv", "--data", data)


def test_features_of_geojson_stay_features(data: Path, tmp_path: Path) -> None:
    feature = {"type": "Feature", "id": 7, "geometry": {"type": "Point",
               "coordinates": [7.4246, 43.7384]}, "properties": {"a": None}}  # fmt: skip
    (tmp_path / "in.geojsonl").write_text(json.dumps(feature) + "\nbroken\n[1]\n")
    run("reverse", tmp_path / "in.geojsonl", tmp_path / "o.ndjson", "--data", data, "--workers", 1)
    first, second, third = read(tmp_path / "o.ndjson")
    assert first["geometry"] == feature["geometry"] and first["id"] == 7
    assert first["properties"]["match_osm_id"] == 94399747
    assert second["line"] == "broken" and "line 2 is not JSON" in second["error"]
    assert third == {"value": [1], "error": "line 3 is not an object"}


def test_an_answer_can_be_asked_again(data: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv")
    run("reverse", source, tmp_path / "a.csv", "--data", data, "--workers", 1)
    run("reverse", tmp_path / "a.csv", tmp_path / "b.csv", "--data", data, "--workers", 1)
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    run("reverse", source, tmp_path / "a.ndjson", "--data", data, "--workers", 1)
    run("reverse", tmp_path / "a.ndjson", tmp_path / "b.ndjson", "--data", data, "--workers", 1)
    assert (tmp_path / "a.ndjson").read_text() == (tmp_path / "b.ndjson").read_text()


def test_rows_with_too_many_fields_say_so(data: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("lat;lon\n43.7384;7.4246;8\n43.7384\n")
    run("reverse", tmp_path / "in.csv", tmp_path / "o.tsv", "--data", data, "--workers", 1)
    first, second = csv.DictReader((tmp_path / "o.tsv").read_text().splitlines(), delimiter="\t")
    assert first["error"] == "has 3 fields, the header 2"
    assert second["error"] == "lon is empty"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "", "-20"], "integer"),
        (["1", "2.5"], "number"),
        (["007"], "text"),
        (["1", "x"], "text"),
        (["99999999999999999999"], "number"),
        ([""], "text"),
    ],
)
def test_kinds_of_csv_columns(tmp_path: Path, values: list[str], kind: str) -> None:
    (tmp_path / "in.csv").write_text("a,b\n" + "".join(f"{value},1\n" for value in values))
    assert open_source(tmp_path / "in.csv").find_kinds()["a"] == kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, 2], "integer"),
        ([1, 2.5], "number"),
        ([True, False], "truth"),
        ([True, 1], "json"),
        (["a"], "text"),
        (["a", 1], "json"),
        ([[1]], "json"),
        ([None], "text"),
    ],
)
def test_kinds_of_members(tmp_path: Path, values: list[Any], kind: str) -> None:
    lines = [json.dumps({"a": value, "b": 1}) for value in values]
    (tmp_path / "in.ndjson").write_text("\n".join(lines))
    assert open_source(tmp_path / "in.ndjson").find_kinds()["a"] == kind


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,address\n1,x\n", "no column has a position; there are id, address"),
        ("", "is empty"),
        ("lat,lon,lat\n", "two columns called lat"),
    ],
)
def test_what_is_wrong_with_columns_is_said(
    data: Path, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(MapyardError, match=told):
        run("reverse", tmp_path / "in.csv", tmp_path / "o.csv", "--data", data)
    assert not (tmp_path / "o.csv").exists() and not (tmp_path / "o.csv.parts").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["reverse", "none.csv", "o.csv"], "there is no file none.csv"),
        (["reverse", "in.csv", "o.xlsx"], "the name tells the format"),
        (["reverse", "in.csv", "in.csv"], "is the input"),
        (["reverse", "in.csv", "o.csv", "--lat", "north"], "there is no column 'north'; there are"),
        (["reverse", "in.csv", "o.csv", "--encoding", "klingon"], "no encoding klingon"),
        (["route", "in.csv", "o.csv"], "no column has where the route begins"),
        (["route", "in.csv", "o.csv", "--lat", "lat"], "name two columns by comma"),
        (["match", "in.csv", "o.csv"], "tells traces apart"),
        (["match", "in.csv", "o.csv", "--by", "x"], "no column 'x'"),
        (["enrich", "in.csv", "o.csv"], "say what is joined"),
        (["enrich", "in.csv", "o.csv", "--nearest", "a=b", "--inside", "c=b"], "two joins"),
        (["nearest", "in.csv", "o.csv", "--set", "foo=1"], "no such parameter; there are"),
        (["nearest", "in.csv", "o.csv", "--mode", "boat"], "mode"),
        (["nearest", "in.csv", "o.csv"], "built without its part 'routing'"),
        (["matrix", "in.csv", "o.csv", "--to", "none.csv"], "there is no file none.csv"),
    ],
)
def test_wrong_questions_are_said(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "in.csv")
    with pytest.raises(MapyardError, match=told):
        run(*arguments, "--data", data)
