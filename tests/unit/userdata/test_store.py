"""The store of a dataset: filters find what plain Python finds, whatever fits into memory."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import resource
import time
from pathlib import Path
from typing import Any

import mapbox_vector_tile
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mapyard.deadline import no_deadline
from mapyard.errors import TooLarge
from mapyard.features.distance import Center
from mapyard.features.query import FeatureQuery, collect_rows
from mapyard.features.regions import AroundRegion, BoxRegion, Region, ShapeRegion
from mapyard.features.tags import TagFilter
from mapyard.geo.bbox import Bbox
from mapyard.library import import_process
from mapyard.library.import_process import Task, run_import
from mapyard.results.features import write_features
from mapyard.results.output import Output
from mapyard.results.streams import Format, stream_features
from mapyard.store import portions
from mapyard.store.portions import check_size
from mapyard.tiles import own
from mapyard.tiles.mercator import TileId
from mapyard.tiles.own import MOST, render_own_tile
from mapyard.userdata import spool
from mapyard.userdata.folders import sweep
from mapyard.userdata.rows import ImportFailed
from mapyard.userdata.write import Limits

from .conftest import Import, Made

NAMES = ["a", "b", "ä", "", "zz", '"q', "10", "9"]


def rows_of(made: Made, *tags: TagFilter, region: Region | None = None) -> list[int]:
    query = FeatureQuery((0, 2), tags, region)
    found = collect_rows(made.store, query, no_deadline())
    return [int(number) for number in made.store.ids[found]]


def table(seed: int, count: int) -> tuple[str, list[dict[str, Any]]]:
    rng = random.Random(seed)
    rows = [
        {
            "kind": rng.choice(NAMES), "n": str(rng.randrange(20)), "id": f"u{rng.random()}",
            "lat": round(rng.uniform(47, 48), 4), "lon": round(rng.uniform(9, 10), 4),
        }
        for _ in range(count)
    ]  # fmt: skip
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue(), rows


@pytest.mark.parametrize("run", [3, 1_000_000])
def test_filters_and_places_find_what_python_finds(
    make: Import, monkeypatch: pytest.MonkeyPatch, run: int
) -> None:
    monkeypatch.setattr(spool, "RUN", run)
    monkeypatch.setattr("mapyard.userdata.read.tables.PORTION", 7)
    text, rows = table(1, 300)
    made = make(text)

    def where(test: Any) -> list[int]:
        return [number for number, row in enumerate(rows, start=1) if test(row)]

    for name in NAMES[:3] + NAMES[4:]:
        assert rows_of(made, TagFilter("kind", "in", (name,))) == where(
            lambda row, name=name: row["kind"] == name
        )
    assert rows_of(made, TagFilter("kind", "absent")) == where(lambda row: row["kind"] == "")
    assert rows_of(made, TagFilter("n", "regex", ("^1",))) == where(
        lambda row: row["n"].startswith("1")
    )
    assert rows_of(made, TagFilter("n", "in", ("3", "4")), TagFilter("kind", "exists")) == where(
        lambda row: row["n"] in ("3", "4") and row["kind"]
    )
    for row in rows[:20]:
        assert rows_of(made, TagFilter("id", "in", (row["id"],))) == where(
            lambda other, row=row: other["id"] == row["id"]
        )
    box = Bbox(9.2, 47.2, 9.7, 47.6)
    assert rows_of(made, region=BoxRegion(box)) == where(
        lambda row: 9.2 <= row["lon"] <= 9.7 and 47.2 <= row["lat"] <= 47.6
    )
    assert rows_of(made, region=AroundRegion(shapely.Point(9.5, 47.5), 200_000)) == where(bool)
    triangle = shapely.Polygon([(9, 47), (10, 47), (9.5, 48)])
    assert rows_of(made, region=ShapeRegion("within", triangle)) == where(
        lambda row: triangle.contains(shapely.Point(row["lon"], row["lat"]))
    )


def test_lines_and_areas_are_found_exactly(make: Import) -> None:
    shapes = [
        shapely.box(9, 47, 9.4, 47.4), shapely.LineString([(9.1, 47.1), (9.9, 47.9)]),
        shapely.Point(9.2, 47.2), shapely.MultiPoint([(9.9, 47.1), (9.2, 47.3)]),
        shapely.MultiPolygon([shapely.box(9.6, 47.6, 9.7, 47.7), shapely.box(9.8, 47, 9.9, 47.05)]),
    ]  # fmt: skip
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["n", "wkt"])
    writer.writerows([n, shape.wkt] for n, shape in enumerate(shapes, start=1))
    made = make(out.getvalue())
    assert made.said.problem_count == 0
    asked = shapely.box(9.15, 47.15, 9.65, 47.65)
    for relation in ("intersects", "within", "crosses"):
        test = {"intersects": "intersects", "within": "within", "crosses": "crosses"}[relation]
        expected = [n for n, s in enumerate(shapes, start=1) if getattr(s, test)(asked)]
        assert rows_of(made, region=ShapeRegion(relation, asked)) == expected  # type: ignore[arg-type]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=5), max_size=4),
                min_size=1, max_size=12), st.integers(1, 4))  # fmt: skip
def test_any_property_is_found_by_its_text(
    make: Import, monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, str]], run: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(spool, "RUN", run)
        features = [{"type": "Feature", "geometry": None, "properties": row} for row in rows]
        made = make(json.dumps(features), format="geojson")
    assert [f["properties"] for f in made.features] == [
        {"@" * key.startswith("@") + key: value for key, value in row.items()} for row in rows
    ]
    for row in rows:
        for key, value in row.items():
            expected = [n for n, other in enumerate(rows, start=1) if other.get(key) == value]
            assert rows_of(made, TagFilter(key, "in", (value,))) == expected


def test_tiles_show_what_is_there(make: Import) -> None:
    import mapbox_vector_tile

    text, rows = table(2, 500)
    made = make(text)
    data = render_own_tile(made.store, TileId(0, 0, 0))
    layer = mapbox_vector_tile.decode(data)["features"]
    assert sorted(f["properties"]["id"] for f in layer["features"]) == sorted(
        row["id"] for row in rows
    )
    assert render_own_tile(made.store, TileId(5, 0, 0)) == b""
    areas = make("n,wkt\n1,\"POLYGON((9 47,10 47,10 48,9 47))\"\n2,\"MULTIPOINT(9 47,9.5 47.5)\"\n"
                 '3,"LINESTRING(9 47,10 48)"\n')  # fmt: skip
    layer = mapbox_vector_tile.decode(render_own_tile(areas.store, TileId(5, 16, 11)))["features"]
    kinds = sorted((f["properties"]["n"], f["geometry"]["type"]) for f in layer["features"])
    assert kinds == [(1, "Polygon"), (2, "Point"), (2, "Point"), (3, "LineString")]


def test_a_full_tile_shows_the_same_share_everywhere(make: Import) -> None:
    import mapbox_vector_tile

    count = MOST + 500
    text = "lat,lon\n" + "".join(
        f"{47 + n % 100 / 1e4},{9 + n // 100 / 1e4}\n" for n in range(count)
    )
    made = make(text)
    layer = mapbox_vector_tile.decode(render_own_tile(made.store, TileId(0, 0, 0)))["features"]
    assert len(layer["features"]) == MOST


def task(tmp_path: Path, text: str, **limits: int) -> Task:
    (tmp_path / "in.csv").write_text(text)
    found = {"features": 1_000_000, "storage_bytes": 1 << 30, **limits}
    return Task(str(tmp_path), str(tmp_path / "in.csv"), str(tmp_path / "out"), {}, **found)


def test_an_import_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    text, rows = table(3, 25_000)
    seen: list[int] = []
    done = run_import(task(tmp_path, text), seen.append)
    assert done.feature_count == len(rows)
    assert (tmp_path / "out" / "store.json").is_file()
    with pytest.raises(ImportFailed, match="more than 10 rows"):
        run_import(task(tmp_path, text, features=10))


def test_an_import_can_be_stopped(tmp_path: Path) -> None:
    text, _ = table(4, 60_000)
    with pytest.raises(ImportFailed, match="stopped"):
        run_import(task(tmp_path, text), is_stopped=lambda: True)


def test_an_import_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that never ends in a read says nothing of its progress."""
    hanging = task(tmp_path, "")
    (tmp_path / "in.csv").unlink()
    os.mkfifo(tmp_path / "in.csv")
    with pytest.raises(ImportFailed, match="stopped"):
        run_import(hanging, is_stopped=lambda: True)
    monkeypatch.setattr(import_process, "LIMIT_S", 0.1)
    with pytest.raises(ImportFailed, match="took more than"):
        run_import(hanging)

    def fail() -> bool:
        raise OSError("the database is away")

    with pytest.raises(OSError, match="away"):
        run_import(hanging, is_stopped=fail)
    assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]


def test_large_shapes_are_taken_in_portions(make: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    """With portions of a shape or two all is found as with one, and no page is too much."""
    rng = random.Random(8)
    lines = []
    for number in range(300):
        west, south = rng.uniform(9, 10), rng.uniform(47, 48)
        ring = [[west + x / 50, south + y / 50] for x, y in ((0, 0), (1, 0), (1, 1), (0, 0))]
        shape = {"type": "Polygon", "coordinates": [ring]}
        if number % 3 == 0:
            shape = {"type": "Point", "coordinates": [west, south]}
        lines.append(json.dumps({"type": "Feature", "geometry": shape, "properties": {"n": 1}}))
    made = make("\n".join(lines), format="ndjson")
    store, output = made.store, Output()
    circle = shapely.Point(9.5, 47.5).buffer(0.3)
    regions: list[Region] = [
        ShapeRegion("intersects", circle), ShapeRegion("within", circle, negated=True),
        AroundRegion(circle, 5_000), BoxRegion(Bbox(9.2, 47.2, 9.7, 47.9)),
    ]  # fmt: skip

    def stream(kind: Format) -> bytes:
        return b"".join(stream_features(store, [(store.listed, None)], output, kind))

    def ask() -> list[Any]:
        found: list[Any] = [rows_of(made, region=region) for region in regions]
        found.append(Center(circle).distances_m(store, store.listed).tolist())
        return [*found, stream("ndjson"), stream("csv"), stream("geojson")]

    expected = ask()
    assert all(len(rows) > 50 for rows in expected[:4])
    monkeypatch.setattr(portions, "PORTION_BYTES", 200)
    assert len(list(portions.iter_portions(store, store.listed))) > 90
    assert ask() == expected
    with pytest.raises(TooLarge, match="fewer rows"):
        portions.check_size(store, store.listed, 200)
    whole = mapbox_vector_tile.decode(render_own_tile(store, TileId(0, 0, 0)))["features"]
    monkeypatch.setattr(own, "MOST_BYTES", 4_000)
    some = mapbox_vector_tile.decode(render_own_tile(store, TileId(0, 0, 0)))["features"]
    assert 20 < len(some["features"]) < len(whole["features"])


def test_a_page_of_large_shapes_is_refused(make: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = [[9 + x / 1e4, 47 + x * x / 1e8] for x in range(5_000)]
    shape = {"type": "LineString", "coordinates": ring}
    line = json.dumps({"type": "Feature", "geometry": shape, "properties": {}})
    made = make("\n".join([line] * 4), format="ndjson")
    monkeypatch.setattr(check_size, "__defaults__", (200_000,))
    with pytest.raises(TooLarge, match=r"32\d,\d\d\d bytes, at most 200,000"):
        write_features(made.store, made.store.listed)
    assert len(write_features(made.store, made.store.listed[:2])) == 2
    assert len(write_features(made.store, made.store.listed, Output(geometry=False))) == 4


def test_a_large_file_takes_bounded_memory_and_time(make: Import, tmp_path: Path) -> None:
    """A tenth of a million rows; `python -m bench.datasets` has a million."""
    text, _ = table(5, 100_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    made = make(text, limits=Limits(200_000, 1 << 30))
    assert made.said.feature_count == 100_000
    assert time.process_time() - begun < 12
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10


def test_the_sweep_leaves_what_is_served(tmp_path: Path) -> None:
    for name in ("a/1", "a/2", "b/1", "incoming/x"):
        (tmp_path / "userdata" / name).mkdir(parents=True)
    (tmp_path / "userdata/incoming/waits").touch()
    in_use = ({("a", "2")}, {"waits"})
    assert sweep(tmp_path, *in_use) == 0
    assert sweep(tmp_path, *in_use, grace_s=-1) == 3
    assert [str(p.relative_to(tmp_path)) for p in sorted((tmp_path / "userdata").glob("*/*"))] == [
        "userdata/a/2", "userdata/incoming/waits",
    ]  # fmt: skip
