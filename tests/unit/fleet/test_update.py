"""A split that is updated by diffs is what a new split of the changed map is."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import osmium
import pytest
import shapely

from fleets import ask, exact_requests, make_front, make_single, normalize
from mapyard.builder.progress import Reporter
from mapyard.dataset.catalog import Catalog
from mapyard.errors import MapyardError
from mapyard.fleet import build as fleet_build
from mapyard.fleet import changes as fleet_changes
from mapyard.fleet.areas import Area, restore_area
from mapyard.fleet.build import Order, build_generation
from mapyard.fleet.changes import Updated, update_regions
from mapyard.fleet.generation import Region, Split, read_split
from mapyard.fleet.objects import Objects
from mapyard.fleet.split import split_regions
from mapyard.osm.pbf import read_header
from mapyard.osm.source import is_sorted
from mapyard.settings import Settings
from mapyard.store.reader import open_store
from osm_files import EXAMPLES, TEST_DATA
from stores import find_differences

pytestmark = [pytest.mark.xdist_group("fleet-update"), pytest.mark.timeout(1200)]

OLD, NEW = TEST_DATA / "monaco-2025-11-08.osm.pbf", EXAMPLES / "monaco.osm.pbf"
DIFFS = TEST_DATA / "monaco-updates"

#: Type and id → version, position or parts, tags.
type Key = tuple[str, int]
type Item = tuple[int, Any, dict[str, str]]
type Map = dict[Key, Item]

TAGS: list[dict[str, str]] = [
    {}, {}, {"highway": "path"}, {"highway": "residential", "name": "A"}, {"building": "yes"},
    {"leisure": "park"}, {"natural": "water"}, {"amenity": "cafe"}, {"addr:housenumber": "1"},
]  # fmt: skip
KINDS = [
    {"type": "boundary", "boundary": "administrative"}, {"type": "multipolygon", "leisure": "park"},
    {"type": "restriction", "restriction": "no_u_turn"}, {"type": "route", "route": "bicycle"},
    {"type": "site"}, {"type": "multipolygon", "natural": "water"},
]  # fmt: skip


def make_item(rng: random.Random, key: Key, version: int) -> Item:
    """Return a random element; it may refer to what is not there."""
    kind, _ = key
    if kind == "node":
        at = (round(9.5 + rng.random() * 0.1, 7), round(47.0 + rng.random() * 0.1, 7))
        return version, at, rng.choice(TAGS)
    if kind == "way":
        refs = [rng.randint(1, 130) for _ in range(rng.randint(1, 5))]
        return version, refs + refs[:1] * rng.randint(0, 1), rng.choice(TAGS)
    members = [
        (
            of,
            rng.randint(1, {"node": 130, "way": 70, "relation": 32}[of]),
            rng.choice(("", "outer")),
        )
        for of in rng.choices(("node", "way", "relation"), (1, 4, 1), k=rng.randint(1, 4))
    ]
    return version, members, rng.choice(KINDS)


def make_map(rng: random.Random) -> Map:
    keys = [(kind, number) for kind, count in (("node", 120), ("way", 60), ("relation", 30))
            for number in range(1, count + 1) if rng.random() < 0.9]  # fmt: skip
    return {key: make_item(rng, key, 1) for key in keys}


def change_map(rng: random.Random, before: Map) -> tuple[Map, set[Key]]:
    """Return the map after some changes, new and deleted elements, and what was deleted."""
    after = dict(before)
    gone = {key for key in before if rng.random() < 0.06}
    for key in gone:
        del after[key]
    for key in list(after):
        if rng.random() < 0.08:
            after[key] = make_item(rng, key, 2)
    for kind, count in (("node", 130), ("way", 66), ("relation", 32)):
        for number in range(1, count + 1):
            if (kind, number) not in before and rng.random() < 0.5:
                after[kind, number] = make_item(rng, (kind, number), 1)
    return after, gone


def write_items(items: Map) -> Iterator[str]:
    order = ["node", "way", "relation"]
    for kind, number in sorted(items, key=lambda key: (order.index(key[0]), key[1])):
        version, parts, tags = items[kind, number]
        at = f' lon="{parts[0]}" lat="{parts[1]}"' if kind == "node" else ""
        yield f'<{kind} id="{number}" version="{version}"{at}>'
        if kind == "way":
            yield from (f'<nd ref="{ref}"/>' for ref in parts)
        elif kind == "relation":
            yield from (f'<member type="{t}" ref="{r}" role="{role}"/>' for t, r, role in parts)
        yield from (f"<tag k={quoteattr(k)} v={quoteattr(v)}/>" for k, v in tags.items())
        yield f"</{kind}>"


def write_map(path: Path, items: Map) -> Path:
    path.write_text("\n".join(['<osm version="0.6">', *write_items(items), "</osm>"]))
    return path


def write_diff(path: Path, before: Map, after: Map, gone: set[Key]) -> Path:
    changed = {key: item for key, item in after.items() if before.get(key) != item}
    lines = ['<osmChange version="0.6"><modify>', *write_items(changed), "</modify><delete>"]
    lines += write_items({key: (2, *before[key][1:]) for key in gone})
    path.write_text("\n".join([*lines, "</delete></osmChange>"]))
    return path


def read(path: Path) -> dict[Key, Any]:
    """Return all that an extract has, in its order."""
    found: dict[Key, Any] = {}
    for item in osmium.FileProcessor(path):
        parts: Any = None
        if item.is_node():
            parts = item.location.x, item.location.y
        elif item.is_way():
            parts = [node.ref for node in item.nodes]
        else:
            parts = [(m.type, m.ref, m.role) for m in item.members]
        found[item.type_str(), item.id] = (
            item.version, item.timestamp, item.changeset, item.uid, item.user, parts,
            sorted(dict(item.tags).items()),
        )  # fmt: skip
    return found


def update(folder: Path, *sources: object, **settings: Any) -> Updated | None:
    return update_regions(folder, [*map(str, sources)], Settings(**settings), Reporter(quiet=True))


def check_equal(folder: Path, fresh: Path) -> None:
    """Compare an updated split with a new one."""
    found, expected = read_split(folder), read_split(fresh)
    assert found.left_out == expected.left_out
    assert found.osm_timestamp == expected.osm_timestamp
    for one, other in zip(found.extracts, expected.extracts, strict=True):
        assert (one.name, one.area, one.grown, one.kind, one.parts, one.box) == (
            other.name, other.area, other.grown, other.kind, other.parts, other.box,
        )  # fmt: skip
        path, new = (base / one.name for base in (folder / found.folder, fresh))
        elements = read(path / "source.osm.pbf")
        assert elements == read(new / "source.osm.pbf"), one.name
        assert list(elements) == list(read(new / "source.osm.pbf"))
        assert is_sorted(path / "source.osm.pbf")
        assert (one.counts, one.guests) == (other.counts, other.guests)
        guests = [np.load(base / "guests.npy").tolist() for base in (path, new)]
        assert guests[0] == guests[1]
        headers = [read_header(base / "source.osm.pbf") for base in (path, new)]
        for name in ("bbox", "replication_timestamp"):
            assert getattr(headers[0], name) == getattr(headers[1], name)


def write_areas(path: Path, **boxes: tuple[float, float, float, float]) -> Path:
    features = [{"type": "Feature", "properties": {"name": name}, "geometry":
                 json.loads(shapely.to_geojson(shapely.box(*box).buffer(0.001)))}
                for name, box in boxes.items()]  # fmt: skip
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def keep_boxes(monkeypatch: pytest.MonkeyPatch, split: Split) -> None:
    """Let a new split have the boxes of another one: those of a changed map would differ."""
    areas = {False: split.regions, True: split.roads}

    def cut(positions: Any, bounds: Any, count: int) -> list[Area]:
        # Roads are cut second, and are fewer.
        return [restore_area(region.name.removeprefix("roads-"), region.area, region.box)
                for region in areas[count != len(split.regions)]]  # fmt: skip

    monkeypatch.setattr("mapyard.fleet.split.cut_boxes", cut)


@pytest.mark.parametrize("seed", range(12))
def test_an_updated_split_is_a_new_split(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    old = make_map(rng)
    new, gone = change_map(rng, old)
    source = write_map(tmp_path / "old.osm", old)
    if seed % 3:
        regions, roads = str(rng.choice([3, 5])), "2"
    else:  # drawn, with gaps between and around them
        regions = str(write_areas(tmp_path / "a.json", a=(9.5, 47, 9.53, 47.08),
                                  b=(9.54, 47.02, 9.59, 47.1)))  # fmt: skip
        roads = str(write_areas(tmp_path / "r.json", all=(9.5, 47, 9.58, 47.1),
                                b=(9.52, 47, 9.6, 47.04)))  # fmt: skip
    how: dict[str, Any] = {"margin_m": rng.choice([0.0, 700.0]), "roads": roads,
                           "roads_margin_m": rng.choice([0.0, 900.0])}  # fmt: skip
    split = split_regions([source], regions, tmp_path / "split", **how)
    diff = write_diff(tmp_path / "day.osc", old, new, gone)
    done = update(tmp_path / "split", diff)
    assert done is not None and done.run.deleted == len(gone) > 0
    if seed % 3:
        keep_boxes(monkeypatch, split)
    fresh = write_map(tmp_path / "new.osm", new)
    split_regions([fresh], regions, tmp_path / "fresh", **how)
    check_equal(tmp_path / "split", tmp_path / "fresh")
    # Elements have moved over borders, in both directions.
    moved = [np.load(tmp_path / "split" / done.split.folder / region.name / "left.npy")
             for region in done.split.regions]  # fmt: skip
    left = {int(eid) for eids in moved for eid in eids}
    of_gone = {number * 4 + ["node", "way", "relation"].index(kind) for kind, number in gone}
    assert left - of_gone
    # The same diff again changes nothing; the file of before is not needed any more.
    again = update(tmp_path / "split", diff)
    assert again is not None
    check_equal(tmp_path / "split", tmp_path / "fresh")
    kept = [path.name for path in (tmp_path / "split").iterdir() if path.name[0] != "."]
    assert sorted(kept) == sorted([again.split.folder, "split.json"])


@pytest.fixture(scope="module")
def updated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Monaco in November, in three regions with roads, and the months after: two splits."""
    folder = tmp_path_factory.mktemp("update")
    split_regions([OLD], "3", folder / "split", margin_m=150.0, roads="1")
    return folder


@pytest.mark.timeout(1200)
def test_a_generation_is_updated_by_daily_diffs(
    updated: Path, monkeypatch: pytest.MonkeyPatch, monaco: Path
) -> None:
    """From build to build; then all regions answer as one machine with the newer extract."""
    built: list[tuple[str, bool]] = []

    def build_all(orders: list[Order], ray_address: str, say: Any) -> dict[str, Region]:
        built.extend((order.region.name, order.before is not None) for order in orders)
        return {order.region.name: fleet_build.build_region(order) for order in orders}

    monkeypatch.setattr(fleet_build, "_build_all", build_all)
    split, store = updated / "split", updated / "store"

    def build() -> Any:
        return build_generation(
            split, str(store), only=None, ray_address="", scratch="", say=lambda text: None
        )

    before = read_split(split)
    first = build()
    assert [is_update for _, is_update in built] == [False] * 6
    done = update(split, DIFFS)
    assert done is not None and not done.more and done.run.to_sequence == 4612
    assert done.split.osm_timestamp == "2026-04-06T20:21:15Z"
    keep_boxes(monkeypatch, before)
    split_regions([NEW], "3", updated / "fresh", margin_m=150.0, roads="1")
    check_equal(split, updated / "fresh")
    built.clear()
    second = build()
    assert built == [(region.name, True) for region in done.split.extracts]
    assert second.osm_timestamp == "2026-04-06T20:21:15Z" and second.id != first.id
    assert not {region.dataset for region in first.regions} & {r.dataset for r in second.regions}
    built.clear()
    assert build().regions == second.regions and built == []
    assert update(split, DIFFS) is None  # it is as new as its source

    # The regions' stores are those that a build of their extracts makes.
    for region in second.regions:
        folder = store / "datasets" / region.name / region.dataset
        if region.name in ("r001", "roads-r001"):
            order = Order(
                next(r for r in read_split(updated / "fresh").extracts if r.name == region.name),
                str(updated / "other"), [],
            )  # fmt: skip
            fleet_build._upload_sources(
                Objects(str(updated / "other")), updated / "fresh", [order],
                lambda text: None,
            )  # fmt: skip
            anew = fleet_build.build_region(order)
            new = updated / "other" / "datasets" / region.name / anew.dataset
            stores = [open_store(path / "elements") for path in (folder, new)]
            assert find_differences(stores[0], stores[1]) == []
        data = updated / "served" / region.name / "data"
        (data / "datasets").mkdir(parents=True)
        (data / "datasets" / region.dataset).symlink_to(folder)
        Catalog(data).use(region.dataset)
    front, application = make_front(done.split, updated / "served", {"r001"})
    single = make_single(monaco)
    requests = exact_requests(11)
    for _ in range(150):
        path, params, body = next(requests)
        if "elevation" in path:
            continue
        expected, found = ask(single, path, params, body), ask(application, path, params, body)
        assert found.status_code == expected.status_code, (path, params, found.text[:300])
        assert normalize(found.content) == normalize(expected.content), (path, params)
    trip = {"origin": "43.7255,7.4100", "destination": "43.7500,7.4380"}
    expected, found = (ask(app, "/api/v1/route", trip) for app in (single, application))
    assert found.status_code == 200 and normalize(found.content) == normalize(expected.content)
    front.close()


def test_an_update_that_is_broken_off_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    old = make_map(rng)
    new, gone = change_map(rng, old)
    split_regions([write_map(tmp_path / "old.osm", old)], "3", tmp_path / "split")
    diff = write_diff(tmp_path / "day.osc", old, new, gone)
    before = read_split(tmp_path / "split")
    write, calls = fleet_changes._write, 0

    def fail(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        write(*arguments)

    monkeypatch.setattr(fleet_changes, "_write", fail)
    with pytest.raises(KeyboardInterrupt):
        update(tmp_path / "split", diff)
    assert read_split(tmp_path / "split") == before
    assert read(tmp_path / "split" / "r001" / "source.osm.pbf")
    monkeypatch.undo()
    done = update(tmp_path / "split", diff)
    assert done is not None and diff.exists()
    assert read_split(tmp_path / "split") == done.split


def test_what_is_no_diff_is_said(tmp_path: Path) -> None:
    source = write_map(tmp_path / "old.osm", make_map(random.Random(1)))
    split_regions([source], "2", tmp_path / "split")
    (tmp_path / "bad.osc").write_text("<osm>no</osm")
    for sources, told in (
        ((tmp_path / "bad.osc",), "is not a diff"),
        ((tmp_path / "none.osc",), "cannot be read"),
        ((tmp_path / "none",), "neither an address"),
        ((tmp_path,), "state.txt does not exist"),
        ((), "does not name a replication source"),
        (("http://a", "http://b"), "one replication source"),
    ):
        with pytest.raises(MapyardError, match=told):
            update(tmp_path / "split", *sources)
    assert (tmp_path / "bad.osc").exists()
    (tmp_path / "split" / "source.osm.pbf").unlink()
    with pytest.raises(MapyardError, match="split the map again"):
        update(tmp_path / "split", tmp_path / "bad.osc")
    with pytest.raises(MapyardError, match="no folder"):
        update(tmp_path / "nowhere", tmp_path / "bad.osc")
