"""Regions hold what touches them, whole; each element has one owner."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import osmium
import pytest
import shapely
from osmium.osm.mutable import Node
from typer.testing import CliRunner

from mapyard.cli import build_app
from mapyard.errors import MapyardError
from mapyard.fleet.areas import E7, Area, cut_boxes, find_owners
from mapyard.fleet.generation import Split, read_split
from mapyard.fleet.split import Cut, check_sizes, split_regions
from mapyard.osm.pbf import read_header
from mapyard.osm.source import is_sorted
from osm_files import EXAMPLES, Member, write_osm

Elements = dict[tuple[str, int], tuple[object, ...]]


def read(path: Path) -> Elements:
    """Return all elements of a file with everything that they are."""
    found: Elements = {}
    for item in osmium.FileProcessor(str(path)):
        parts: object = None
        if item.is_node():
            parts = (item.location.x, item.location.y)
        elif item.is_way():
            parts = tuple(node.ref for node in item.nodes)
        else:
            parts = tuple((m.type, m.ref, m.role) for m in item.members)
        found[item.type_str(), item.id] = (parts, tuple(sorted(dict(item.tags).items())))
    return found


def read_guests(folder: Path) -> set[tuple[str, int]]:
    eids = np.load(folder / "guests.npy")
    assert (np.diff(eids) > 0).all()
    return {("nwr"[eid & 3], eid >> 2) for eid in eids.tolist()}


def expected_holders(source: Elements, areas: list[shapely.Geometry]) -> list[set[tuple[str, int]]]:
    """The definition, element by element: what touches an area, then all that it is made of."""
    held = []
    for area in areas:
        inside = {
            key for key, (at, _) in source.items()
            if key[0] == "n" and area.contains(shapely.Point(at[0] / E7, at[1] / E7))  # type: ignore[index]
        }  # fmt: skip
        ways = {
            key for key, (refs, _) in source.items()
            if key[0] == "w" and touches(source, refs, inside, area)
        }  # fmt: skip
        touched = inside | ways | {
            key for key, (members, tags) in source.items()
            if key[0] == "r" and ("type", "boundary") in tags and encloses(source, members, area)
        }  # fmt: skip
        while True:
            more = {
                key for key, (members, _) in source.items()
                if key[0] == "r" and any((t, r) in touched for t, r, _ in members)  # type: ignore[union-attr]
            }  # fmt: skip
            if more <= touched:
                break
            touched |= more
        while True:
            parts = set()
            for key in touched:
                if key[0] == "w":
                    parts |= {("n", ref) for ref in source[key][0]}  # type: ignore[union-attr]
                elif key[0] == "r":
                    parts |= {(t, r) for t, r, _ in source[key][0]}  # type: ignore[union-attr]
            parts &= source.keys()
            if parts <= touched:
                break
            touched |= parts
        held.append(touched)
    return held


def locate(source: Elements, refs: Any) -> list[tuple[float, float]]:
    found = [source["n", ref][0] for ref in refs if ("n", ref) in source]
    return [(x / E7, y / E7) for x, y in found]  # type: ignore[misc]


def is_near(points: list[tuple[float, float]], area: shapely.Geometry) -> bool:
    """Whether the box of some points meets an area."""
    return shapely.box(*shapely.MultiPoint(points).bounds).intersects(area)


def touches(source: Elements, refs: Any, inside: set[Any], area: shapely.Geometry) -> bool:
    at = locate(source, refs)
    if any(("n", ref) in inside for ref in refs):
        return True
    if len(refs) > 3 and refs[0] == refs[-1] and is_near(at, area):
        return True
    return any(is_near([one, other], area) for one, other in itertools.pairwise(at))


def encloses(source: Elements, members: Any, area: shapely.Geometry) -> bool:
    ways = [source[t, r][0] for t, r, _ in members if t == "w" and (t, r) in source]
    at = [point for refs in ways for point in locate(source, refs)]
    return bool(at) and is_near(at, area)


def make_random_map(path: Path, seed: int) -> Path:
    """Nodes over 10 × 10 km, ways between some, relations of all kinds, with gaps and cycles."""
    rng = random.Random(seed)
    nodes = {n: (9.5 + rng.random() * 0.1, 47.0 + rng.random() * 0.1) for n in range(1, 200)}
    ways = {
        w: ([rng.randint(1, 205) for _ in range(rng.randint(1, 4))], {"highway": "path"})
        for w in range(1, 40)
    }
    for refs, _ in list(ways.values())[::4]:
        if len(refs) > 2:
            refs.append(refs[0])
    relations: dict[int, tuple[list[Member], dict[str, str]]] = {}
    for r in range(1, 30):
        members: list[Member] = []
        for _ in range(rng.randint(1, 3)):
            kind = rng.choice(("node", "way", "way", "relation"))
            top = {"node": 205, "way": 85, "relation": 32}[kind]
            members.append((kind, rng.randint(1, top), "x"))
        relations[r] = (members, {"type": rng.choice(("route", "boundary"))})
    return write_osm(path, nodes, ways, relations)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [2, 5])
def test_regions_hold_what_the_definition_says(tmp_path: Path, seed: int, count: int) -> None:
    path = make_random_map(tmp_path / "map.osm", seed)
    out = tmp_path / "split"
    made = split_regions([path], str(count), out, margin_m=500.0)
    assert read_split(out) == made and len(made.regions) == count
    source = read(path)
    expected = expected_holders(source, [shapely.box(*region.grown) for region in made.regions])
    owners: dict[tuple[str, int], list[int]] = {key: [] for key in source}
    for number, region in enumerate(made.regions):
        found = read(out / region.name / "source.osm.pbf")
        guests = read_guests(out / region.name)
        lost = set(source) - set().union(*expected)  # nothing of it is in the file
        assert set(found) - lost == expected[number]
        assert all(found[key] == source[key] for key in found)  # whole
        assert guests <= set(found) and sum(region.guests.values()) == len(guests)
        assert sum(region.counts.values()) == len(found)
        assert is_sorted(out / region.name / "source.osm.pbf")
        for key in set(found) - guests:
            owners[key].append(number)
    assert all(len(numbers) == 1 for numbers in owners.values())
    for (kind, osm_id), (at, _) in source.items():
        if kind == "n":  # by the region that it lies in
            area = shapely.from_geojson(json.dumps(made.regions[owners[kind, osm_id][0]].area))
            assert area.covers(shapely.Point(at[0] / E7, at[1] / E7))  # type: ignore[index]
        elif kind == "w" and any(("n", ref) in source for ref in at):  # type: ignore[union-attr]
            first = next(ref for ref in at if ("n", ref) in source)  # type: ignore[union-attr]
            assert owners[kind, osm_id] == owners["n", first]


def make_town(path: Path) -> Path:
    """Two of each: what the geocoder reads, what low zooms show, what is neither."""
    return write_osm(
        path,
        {1: (9.0, 47.0, {"addr:housenumber": "1"}), 2: (9.0, 47.01, {"natural": "tree"}),
         3: (9.0, 47.02, {"name:de": "Stein"}), 4: (9.01, 47.0, {"power": "pole"}),
         5: (9.02, 47.0, {"amenity": "cafe"}), 6: (9.03, 47.0), 7: (9.03, 47.01), 8: (9.03, 47.02),
         9: (9.04, 47.0), 10: (9.04, 47.01), 11: (50.0, 1.0, {"name": "Far"})},
        {1: ([6, 7, 8, 6], {"building": "yes"}), 2: ([6, 7, 8, 6], {"building": "no", "name": "A"}),
         3: ([9, 10], {"highway": "path"}), 4: ([7, 10], {"highway": "residential", "name": "B"}),
         5: ([1, 2], {"waterway": "ditch"}), 6: ([2, 3], {"boundary": "marker"})},
        {1: ([("way", 1, "outer")], {"type": "multipolygon", "landuse": "forest"}),
         2: ([("way", 6, "outer"), ("relation", 1, "")], {"boundary": "administrative"}),
         3: ([("way", 5, "")], {"type": "site"})},
    )  # fmt: skip


def test_wholes_hold_what_their_readers_read(tmp_path: Path) -> None:
    path = make_town(tmp_path / "map.osm")
    made = split_regions([path], "2", tmp_path / "out", margin_m=0.0)
    assert [whole.name for whole in made.wholes] == ["places", "overview"]
    assert [whole.parts for whole in made.wholes] == [["text"], ["tiles"]]
    places, overview = (
        read(tmp_path / "out" / name / "source.osm.pbf") for name in ("places", "overview")
    )
    relations = {("r", 1), ("r", 2), ("w", 1), ("w", 6), *(("n", n) for n in (2, 3, 6, 7, 8))}
    assert set(places) == relations | {
        ("n", 1), ("n", 5), ("w", 2), ("w", 4), ("n", 10), ("n", 11)
    }  # fmt: skip
    assert set(overview) == relations | {("w", 3), ("w", 4), ("n", 9), ("n", 10)}
    source = read(path)
    assert all(source[key] == found[key] for found in (places, overview) for key in found)
    for whole in made.wholes:
        assert read_guests(tmp_path / "out" / whole.name) == set()
        assert sum(whole.guests.values()) == 0


def test_wholes_leave_out_what_no_drawn_area_has(tmp_path: Path) -> None:
    path = make_town(tmp_path / "map.osm")
    shape = json.loads(shapely.to_geojson(shapely.box(8, 46, 10, 48)))
    area = {"type": "Feature", "properties": {"name": "town"}, "geometry": shape}
    (tmp_path / "areas.json").write_text(json.dumps({"features": [area]}))
    split_regions([path], str(tmp_path / "areas.json"), tmp_path / "out", margin_m=0.0)
    places = read(tmp_path / "out" / "places" / "source.osm.pbf")
    assert ("n", 1) in places and ("n", 11) not in places
    area["properties"] = {"name": "places"}
    (tmp_path / "areas.json").write_text(json.dumps({"features": [area]}))
    with pytest.raises(MapyardError, match="no region may be called places"):
        split_regions([path], str(tmp_path / "areas.json"), tmp_path / "again", margin_m=0.0)


def test_the_time_of_the_data_is_that_of_the_whole(tmp_path: Path) -> None:
    """Also where the file does not say it: else each region would have that of its newest."""
    path = tmp_path / "map.osm.pbf"
    with osmium.SimpleWriter(str(path)) as writer:
        for number, lon, day in ((1, 9.0, 5), (2, 10.0, 3)):
            at = f"2026-01-0{day}T00:00:00Z"
            writer.add_node(Node(id=number, location=(lon, 47.0), version=1, timestamp=at))
    made = split_regions([path], "2", tmp_path / "out", margin_m=0.0)
    assert made.osm_timestamp == "2026-01-05T00:00:00Z"
    for region in [*made.regions, *made.wholes]:
        header = read_header(tmp_path / "out" / region.name / "source.osm.pbf")
        assert header.replication_timestamp == 1_767_571_200


def test_many_regions_need_more_than_one_word_of_bits(tmp_path: Path) -> None:
    path = make_random_map(tmp_path / "map.osm", 1)
    made = split_regions([path], "70", tmp_path / "out", margin_m=0.0)
    owned = [sum(region.counts.values()) - sum(region.guests.values()) for region in made.regions]
    assert sum(owned) == len(read(path)) and sum(1 for count in owned if count) > 60


def test_drawn_areas(tmp_path: Path) -> None:
    path = write_osm(
        tmp_path / "map.osm",
        {1: (1.0, 1.0), 2: (3.0, 1.0), 3: (50.0, 1.0), 4: (50.1, 1.0), 5: (1.5, 1.0)},
        {1: ([3, 1], {}), 2: ([3, 4], {}), 3: ([2, 1], {})},
    )
    areas = {"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"name": "The West"},
         "geometry": json.loads(shapely.to_geojson(shapely.box(0, 0, 2, 2)))},
        {"type": "Feature", "properties": {"name": "east"},
         "geometry": json.loads(shapely.to_geojson(shapely.box(1.4, 0, 4, 2)))},
    ]}  # fmt: skip
    (tmp_path / "areas.json").write_text(json.dumps(areas))
    made = split_regions([path], str(tmp_path / "areas.json"), tmp_path / "out", margin_m=0.0)
    assert [region.name for region in made.regions] == ["the-west", "east"]
    west, east = (read(tmp_path / "out" / name / "source.osm.pbf") for name in ("the-west", "east"))
    assert set(west) == {("n", 1), ("n", 2), ("n", 3), ("n", 5), ("w", 1), ("w", 3)}
    # Way 1 passes the east, from 50 to 1 degrees, without a node there.
    assert set(east) == {("n", 1), ("n", 2), ("n", 3), ("n", 5), ("w", 1), ("w", 3)}
    # Node 5 lies in both: the first area counts. Node 3 is in none, and kept by the first.
    assert read_guests(tmp_path / "out" / "east") == {("n", 1), ("n", 3), ("n", 5), ("w", 1)}
    assert read_guests(tmp_path / "out" / "the-west") == {("n", 2), ("w", 3)}
    assert made.left_out == {"nodes": 1, "ways": 1, "relations": 0}


def test_boxes_are_of_similar_weight_and_cover_the_earth() -> None:
    rng = np.random.default_rng(3)
    # Half of all in one town.
    lon = np.concatenate([rng.uniform(5, 15, 50_000), rng.normal(11, 0.05, 50_000)])
    lat = np.concatenate([rng.uniform(45, 50, 50_000), rng.normal(48, 0.05, 50_000)])
    x, y = (lon * E7).astype(np.int32), (lat * E7).astype(np.int32)
    bounds = int(x.min()), int(y.min()), int(x.max()), int(y.max())
    areas = cut_boxes(iter([(x[:30_000], y[:30_000]), (x[30_000:], y[30_000:])]), bounds, 7)
    counts = np.bincount(find_owners(areas, x, y), minlength=7)
    assert counts.sum() == 100_000 and counts.max() < 1.2 * counts.min()
    ends = np.array([-180 * E7, 180 * E7, 0], np.int32), np.array([-90 * E7, 90 * E7, 0], np.int32)
    assert (find_owners(areas, *ends) >= 0).all()
    everywhere = (
        (rng.uniform(-180, 180, 10_000) * E7).astype(np.int32),
        (rng.uniform(-90, 90, 10_000) * E7).astype(np.int32),
    )
    assert (sum(area.holds(*everywhere).astype(int) for area in areas) == 1).all()


def test_a_margin_is_measured_in_meters() -> None:
    grown = Area("a", (10 * E7, 60 * E7, 11 * E7, 61 * E7)).grow(10_000)
    west, south, east, north = (value / E7 for value in grown.box)
    # A degree of latitude has 111.195 km, one of longitude at 61° 53.91 km.
    assert (10 - west, east - 11) == pytest.approx((0.1855, 0.1855), abs=1e-4)
    assert (60 - south, north - 61) == pytest.approx((0.08993, 0.08993), abs=1e-5)


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(build_app(["regions"]), ["regions", *map(str, arguments)])
    if isinstance(done.exception, MapyardError):
        raise done.exception
    return done.exit_code, done.stderr


def test_the_command(tmp_path: Path) -> None:
    monaco = EXAMPLES / "monaco.osm.pbf"
    code, told = run("split", monaco, "--regions", 2, "--out", tmp_path / "out", "--margin", 300)
    assert code == 0 and "r002" in told
    made: Split = read_split(tmp_path / "out")
    assert made.osm_timestamp == "2026-04-06T20:21:15Z"
    assert not (tmp_path / "out" / ".scratch").exists()
    with pytest.raises(MapyardError, match="has a split already"):
        run("split", monaco, "--regions", 2, "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("regions", "told"),
    [
        ("0", "1 to 1,024"),
        ("none.json", "a number, or a GeoJSON file"),
        ("bad.json", "not a GeoJSON FeatureCollection"),
        ("line.json", "valid Polygon"),
    ],
)
def test_wrong_regions_are_said(tmp_path: Path, regions: str, told: str) -> None:
    (tmp_path / "bad.json").write_text("{}")
    line = {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}
    (tmp_path / "line.json").write_text(
        json.dumps({"features": [{"properties": {"name": "a"}, "geometry": line}]})
    )
    if regions.endswith(".json"):
        regions = str(tmp_path / regions)
    with pytest.raises(MapyardError, match=told):
        run("split", EXAMPLES / "monaco.osm.pbf", "--regions", regions, "--out", tmp_path / "o")


def test_an_extract_that_no_dataset_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapyard.fleet.split.MAX_ROWS", 20_000)
    with pytest.raises(MapyardError, match=r"r001 would have [0-9,]+ elements, .*--regions"):
        split_regions([EXAMPLES / "monaco.osm.pbf"], "3", tmp_path / "out")
    assert not list((tmp_path / "out").glob("*/source.osm.pbf"))
    area = Area("x", (0, 0, 1, 1))
    for kind, advice in (("", "--regions"), ("whole", "not cut.*continents"), ("roads", "--roads")):
        cuts = [Cut("", area, area, ()), Cut(kind, area, area, ())]
        holders: Any = SimpleNamespace(count_held=lambda count: np.array([20_000, 20_001]))
        with pytest.raises(MapyardError, match=f"20,001 elements, .* 20,000; .*{advice}"):
            check_sizes(holders, cuts)
        holders = SimpleNamespace(count_held=lambda count: np.array([20_000, 20_000]))
        check_sizes(holders, cuts)


def test_what_is_counted_is_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []

    def note(holders: Any, cuts: Any) -> None:
        counted.extend(holders.count_held(len(cuts)).tolist())

    monkeypatch.setattr("mapyard.fleet.split.check_sizes", note)
    made = split_regions([EXAMPLES / "monaco.osm.pbf"], "3", tmp_path / "out", roads="1")
    assert counted == [sum(region.counts.values()) for region in made.extracts]
