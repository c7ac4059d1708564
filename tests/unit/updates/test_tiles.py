"""Prepared tiles that an update takes over: never others than a build from the start would draw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import mutations
from mapyard.builder.pipeline import StepContext, build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.builder.tiles import STEP
from mapyard.settings import Settings
from mapyard.store import rtree
from mapyard.store.patching.patch import patch_store
from mapyard.tiles import archive
from mapyard.tiles import build as tables
from mapyard.tiles import patch as patches
from mapyard.tiles.archive import list_tiles
from mapyard.tiles.mercator import TileId
from mapyard.tiles.pmtiles import PmtilesWriter
from mapyard.tiles.render import compress_tile, render_tile, replace_layers
from mapyard.tiles.reuse import Differences, TilesBefore, find_differences
from mapyard.tiles.schema import LAYER_INDEX, LAYERS
from mapyard.tiles.shapes import LINE, POINT, POLYGON
from mapyard.tiles.source import LOW_ZOOM_FILE, MAX_LOW_ZOOM, TABLE_FOLDER
from mapyard.tiles.table import Table
from mapyard.tiles.tilejson import describe_archive
from mapyard.updates import run as updates
from mapyard.updates.changes import read_changes
from mapyard.updates.run import update_dataset
from mutations import Map as ChangingMap
from osm_files import EXAMPLES, TEST_DATA, write_osm

Serve = Callable[[Path], str]
Map = tuple[dict[int, Any], dict[int, Any]]


def build(data: Path, source: Path) -> Path:
    build_dataset([source], data, select_steps(["tiles"]), Reporter(quiet=True))
    return data / "current"


def read_tiles(folder: Path) -> dict[str, bytes]:
    files = [folder / LOW_ZOOM_FILE, *(folder / TABLE_FOLDER).iterdir()]
    return {file.name: file.read_bytes() for file in files}


def test_real_diffs_lead_to_the_bytes_of_a_build(
    tmp_path: Path, serve_folder: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[TileId] = []

    def replace(table: Table, tile: TileId, before: bytes, changed: set[int]) -> bytes:
        drawn.append(tile)
        return replace_layers(table, tile, before, changed)

    build(tmp_path / "data", TEST_DATA / "monaco-2025-11-08.osm.pbf")
    monkeypatch.setattr(archive, "replace_layers", replace)
    monkeypatch.setattr(updates, "MAX_DIFFS", 1)
    url, settings = serve_folder(TEST_DATA / "monaco-updates"), Settings(data=tmp_path / "data")
    rounds = update_dataset(tmp_path / "data", [STEP], Reporter(quiet=True), settings, url)
    table = Table(tmp_path / "data" / "current" / TABLE_FOLDER)
    all_tiles = len(rounds) * len(list_tiles(table, 0, MAX_LOW_ZOOM))
    assert len(rounds) < len(drawn) < all_tiles / 2
    fresh = read_tiles(build(tmp_path / "fresh", EXAMPLES / "monaco.osm.pbf"))
    updated = read_tiles(tmp_path / "data" / "current")
    assert [name for name in fresh if fresh[name] != updated[name]] == []
    assert fresh.keys() == updated.keys()


def update(before: Path, folder: Path, diff: Path, languages: str = "", anew: int = 0) -> Path:
    """Apply a diff to the store and tiles of a folder, into a new one.

    `anew` is how often the table is to be built from the start.
    """
    folder.mkdir()
    settings = Settings(data=folder, tile_languages=languages.split())
    ctx = StepContext(folder, folder / "none", folder, settings, Reporter(quiet=True))
    changes = read_changes([diff], folder / "changed.osm.pbf")
    ctx.previous = before
    elements = before / "elements", folder / "elements"
    ctx.patched = patch_store(*elements, changes.blocks, changes.deleted, {})
    with patch(f"{STEP.run.__module__}.build_table", wraps=tables.build_table) as whole:
        STEP.run(ctx)
    assert whole.call_count == anew
    (folder / "manifest.json").write_bytes((before / "manifest.json").read_bytes())
    return folder


def make_everything(rng: np.random.Generator) -> tuple[dict[int, Any], ...]:
    """Elements of all layers at random, rings and lines, some of them over the antimeridian."""
    nodes: dict[int, Any] = {}
    ways: dict[int, Any] = {}
    relations: dict[int, Any] = {}
    west = float(rng.choice([7.0, 179.95]))
    for number in range(1, 201):
        lon, lat = west + rng.uniform(0, 0.1), rng.uniform(43.0, 43.1)
        nodes[number] = (lon - 360 * (lon > 180), lat)
        if number % 2:
            nodes[number] = (*nodes[number], make_tags(rng, POINT))
    for number in range(1, 81):
        first, count = int(rng.integers(1, 190)), int(rng.integers(2, 7))
        refs, kind = list(range(first, first + count)), LINE
        if count > 2 and number % 2:
            refs, kind = [*refs, first], POLYGON
        ways[number] = (refs, make_tags(rng, kind))
    for number in range(1, 13):
        members = [("way", int(way), "outer") for way in rng.choice(range(1, 81), 3, replace=False)]
        tags = {"type": "multipolygon", **make_tags(rng, POLYGON)}
        if number % 2:
            members += [("node", int(rng.integers(1, 200)), "label")]
            border = str(rng.choice(["administrative", "administrative", "disputed"]))
            tags = {"type": "boundary", "boundary": border, "name": f"B{number}"}
            tags["admin_level"] = str(rng.choice([2, 4, 6]))
        relations[number] = (members, tags)
    return nodes, ways, relations


def make_tags(rng: np.random.Generator, kind: int) -> dict[str, str]:
    """Tags of a random rule of a random layer, and some of those that attributes are made of."""
    layers = [layer for layer in LAYERS if layer.rules and kind in (layer.kind, POLYGON)]
    layer = layers[int(rng.integers(len(layers)))]
    rule = layer.rules[int(rng.integers(len(layer.rules)))]
    tags = {key: str(rng.choice(values or ("yes",))) for key, values in rule.tags.items()}
    more = [
        ("name", "ABCD"), ("name:de", "AB"), ("ref", "1234"), ("layer", ["-1", "1", "x"]),
        ("bridge", ["yes"]), ("tunnel", ["yes"]), ("population", ["12", "900", "5"]),
        ("addr:housenumber", "123"), ("building:levels", "12"), ("oneway", ["yes", "-1"]),
        ("maritime", ["yes"]), ("disputed", ["yes"]), ("natural", ["coastline", "water"]),
        ("access", ["private", "yes"]), ("cuisine", "XY"), ("surface", ["asphalt", "gravel"]),
    ]  # fmt: skip
    for key, choices in more:
        if rng.random() < 0.25:
            tags.setdefault(key, str(rng.choice(list(choices))))
    return tags


@pytest.mark.parametrize("seed", range(12))
def test_all_layers_are_patched_to_the_bytes_of_a_build(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    pairs = [pair for kind in (POINT, LINE, POLYGON) for pair in make_tags(rng, kind).items()]
    monkeypatch.setattr(mutations, "TAGS", pairs * 2 + [("admin_level", "2"), ("admin_level", "4")])
    if seed % 3 == 0:  # more than one portion of everything
        for module, name in ((patches, "_AT_ONCE"), (rtree, "_ITEMS_AT_ONCE")):
            monkeypatch.setattr(module, name, 16)
    after = build(tmp_path / "0", write_osm(tmp_path / "0.osm", *make_everything(rng)))
    changing = ChangingMap(tmp_path / "0.osm", seed)
    for number in range(1, 5):
        diff, now = tmp_path / f"{number}.osc", tmp_path / f"{number}.osm"
        changing.change(diff, int(rng.integers(1, 12)))
        changing.write(now)
        after = update(after, tmp_path / f"updated{number}", diff)
        fresh, updated = read_tiles(build(tmp_path / str(number), now)), read_tiles(after)
        assert [name for name in fresh if fresh[name] != updated[name]] == [], f"round {number}"
        assert fresh.keys() == updated.keys()


@pytest.mark.parametrize("extract", ["vaduz-cut", "leeds-cut", "filaidhoo-cut"])
def test_random_changes_lead_to_the_bytes_of_a_build(
    tmp_path: Path, extract: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    snap = tables._snap_in_portions

    def count(store: Any, rows: Any, kind: int) -> Any:
        made.append(len(rows))
        return snap(store, rows, kind)

    changing = ChangingMap(TEST_DATA / f"{extract}.osm.pbf", 5)
    changing.write(tmp_path / "0.osm")
    after = build(tmp_path / "0", tmp_path / "0.osm")
    monkeypatch.setattr(tables, "_snap_in_portions", count)
    for number in range(1, 4):
        diff, now = tmp_path / f"{number}.osc", tmp_path / f"{number}.osm"
        changing.change(diff, 15)
        changing.write(now)
        made.clear()
        after = update(after, tmp_path / f"updated{number}", diff)
        taken = len(Table(after / TABLE_FOLDER)) - sum(made)
        assert taken > len(Table(after / TABLE_FOLDER)) / 2
        fresh, updated = read_tiles(build(tmp_path / str(number), now)), read_tiles(after)
        assert [name for name in fresh if fresh[name] != updated[name]] == [], f"round {number}"
        assert fresh.keys() == updated.keys()


def change_one(path: Path, osm_id: int) -> Path:
    node = f'<node id="{osm_id}" version="2" lon="7.05" lat="43.05"/>'
    path.write_text(f'<osmChange version="0.6"><modify>{node}</modify></osmChange>')
    return path


def test_a_table_that_does_not_tell_its_elements_is_built_anew(tmp_path: Path) -> None:
    shop, hill = {"shop": "books"}, {"natural": "water", "name": "H"}
    nodes: dict[int, Any] = {-1: (7.0, 43.0, shop), 2: (7.1, 43.1, shop)}
    corners: dict[int, Any] = {3: (7.01, 43.01), 4: (7.02, 43.01), 5: (7.02, 43.02)}
    ways = {1: ([3, 4, 5, 3], hill)}
    first = write_osm(tmp_path / "first.osm", nodes | corners, ways)
    second = write_osm(tmp_path / "second.osm", nodes | corners | {2: (7.05, 43.05)}, ways)
    diff = change_one(tmp_path / "one.osc", 2)
    updated = update(build(tmp_path / "a", first), tmp_path / "b", diff, anew=1)
    assert read_tiles(updated) == read_tiles(build(tmp_path / "c", second))


def test_other_languages_take_a_new_table(tmp_path: Path) -> None:
    corners: dict[int, Any] = {2: (7.1, 43.1, {"shop": "books", "name:fr": "Livres"})}
    first = write_osm(tmp_path / "first.osm", corners | {3: (7.01, 43.01, {"shop": "shoes"})})
    diff = change_one(tmp_path / "one.osc", 3)
    before = build(tmp_path / "a", first)
    updated = update(before, tmp_path / "b", diff, "fr", anew=1)
    names = Table(updated / TABLE_FOLDER).attribute_names
    assert "name_fr" in names
    again = update(updated, tmp_path / "c", change_one(tmp_path / "two.osc", 3), "fr")
    assert read_tiles(again) == read_tiles(updated)


def make_map(rng: np.random.Generator) -> Map:
    """Towns, roads that meet end to end, and lakes, over some tiles of the low zooms."""
    nodes: dict[int, Any] = {}
    ways: dict[int, Any] = {}
    for number in range(1, 121):
        lon, lat = rng.uniform((7.0, 43.0), (8.5, 44.0))
        nodes[number] = (lon, lat)
        if number % 6 == 0:
            town = {"place": "town", "name": f"T{number}", "population": str(number * 1_000)}
            nodes[number] = (lon, lat, town)
    for number in range(1, 60):
        road = {"highway": str(rng.choice(["motorway", "primary"])), "ref": f"R{number % 7}"}
        ways[number] = ([number, number + 1, number + 3], road)
    for number in range(61, 90, 3):
        ring = [number, number + 1, number + 2, number]
        ways[number] = (ring, {"natural": "water", "name": f"L{number}"})
    return nodes, ways


def change_map(rng: np.random.Generator, before: Map, kind: int) -> Map:
    nodes, ways = dict(before[0]), dict(before[1])
    number = int(rng.choice(list(ways)))
    refs, tags = ways[number]
    if kind == 0:  # a value that comes first in the dictionary gives all others new numbers
        ways[number] = refs, {**tags, "name": "A"}
    elif kind == 1:
        lon, lat, *more = nodes[refs[0]]
        nodes[refs[0]] = (lon + float(rng.normal(0, 0.2)), lat, *more)
    elif kind == 2:
        del ways[number]
    elif kind == 3:  # nothing that a tile shows
        ways[number] = refs, {**tags, "note": "x"}
    elif kind == 4:
        ways[200] = ([*rng.choice(120, 3, replace=False) + 1], {"highway": "motorway", "ref": "R1"})
        ways[200] = ([int(ref) for ref in ways[200][0]], ways[200][1])
    elif kind == 5:  # two that change their values
        lake, other = ways[61], ways[64]
        ways[61], ways[64] = (lake[0], other[1]), (other[0], lake[1])
        road, other = ways[1], ways[2]
        ways[1], ways[2] = (road[0], other[1]), (other[0], road[1])
    else:
        nodes[6] = (*nodes[6][:2], {**nodes[6][2], "population": "9000000"})
    return nodes, ways


def compare(before: Table, table: Table) -> Differences:
    digests = [one.digest(np.arange(len(one))) for one in (before, table)]
    here, there = find_differences(*digests)
    boxes = np.concatenate([before.boxes(here), table.boxes(there)])
    layers = np.concatenate([before.layers_of(here), table.layers_of(there)])
    return Differences(boxes, np.concatenate([before.minzoom[here], table.minzoom[there]]), layers)


@pytest.mark.parametrize("kind", range(7))
def test_what_is_taken_over_is_what_would_be_drawn(tmp_path: Path, kind: int) -> None:
    rng = np.random.default_rng(kind)
    first = make_map(rng)
    second = change_map(rng, first, kind)
    folders = [
        build(tmp_path / str(i), write_osm(tmp_path / f"{i}.osm", *one))
        for i, one in enumerate((first, second))
    ]
    table = Table(folders[1] / TABLE_FOLDER)
    before = TilesBefore(folders[0], compare(Table(folders[0] / TABLE_FOLDER), table))
    tiles = list_tiles(table, 0, MAX_LOW_ZOOM)
    taken = 0
    for tile in tiles:
        found, drawn = before.find(tile), render_tile(table, tile)
        assert found is not None
        if changed := before.changed_layers(tile):
            assert replace_layers(table, tile, found[1], changed) == drawn
        else:
            taken += 1
            assert found == ((compress_tile(drawn), drawn) if drawn else (b"", b"")), tile
    assert taken > len(tiles) / 5


def test_a_damaged_tile_is_drawn_again(tmp_path: Path) -> None:
    folder = build(tmp_path / "data", EXAMPLES / "monaco.osm.pbf")
    table, tile = Table(folder / TABLE_FOLDER), TileId(8, 133, 93)
    boxes = table.boxes(np.array([len(table) - 1]))
    for layers in ([], [LAYER_INDEX["streets"]]):
        count = len(layers)
        changed = Differences(boxes[:count], np.zeros(count, np.uint8), np.array(layers, np.int64))
        before = TilesBefore(folder, changed)
        assert before.changed_layers(tile) == set(layers)
        found = before.find(tile)
        assert found is not None and found[1] == render_tile(table, tile)
        file = folder / LOW_ZOOM_FILE
        whole = file.read_bytes()
        at = whole.index(found[0]) + len(found[0]) // 2
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        before = TilesBefore(folder, changed)
        assert before.find(tile) is None
        assert archive._compressed(table, tile, before) == found[0]
        file.write_bytes(whole)


def test_prepared_tiles_are_the_same_from_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(9)
    first = make_map(rng)
    folder = build(tmp_path / "0", write_osm(tmp_path / "0.osm", *first))
    table = Table(folder / TABLE_FOLDER)
    some = np.arange(0, len(table), 9)
    changed = Differences(table.boxes(some), table.minzoom[some], table.layers_of(some))
    monkeypatch.setattr(archive, "_MIN_PARALLEL_TILES", 4)
    monkeypatch.setattr(archive, "_CHUNK_TILES", 2)
    written = []
    for processes in (1, 2):
        before = TilesBefore(folder, changed)
        writer = PmtilesWriter(tmp_path / f"{processes}.pmtiles")
        count = archive.write_archive(
            folder / TABLE_FOLDER, before.list_tiles(), writer, processes, taken=before
        )
        assert count > 20
        writer.close(describe_archive(table.info), table.info.bounds)
        written.append((tmp_path / f"{processes}.pmtiles").read_bytes())
    assert written == [(folder / LOW_ZOOM_FILE).read_bytes()] * 2


@pytest.mark.parametrize("seed", range(40))
def test_what_differs_is_all_that_keeps_two_lists_from_being_equal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ones = rng.integers(0, rng.choice([20, 10**6]), 200).astype(np.uint64)
    others = ones.copy()
    others = np.delete(others, rng.choice(200, 3, replace=False))
    others = np.insert(others, rng.choice(190, 3), rng.integers(0, 10**6, 3).astype(np.uint64))
    if seed % 2:  # one that moves, such as a street that gets another layer
        at, to = rng.choice(150, 2, replace=False)
        others = np.insert(np.delete(others, at), to, others[at])
    differing, other = find_differences(ones, others)
    assert np.delete(ones, differing).tolist() == np.delete(others, other).tolist()
    if seed % 2 == 0 and ones.max() > 1_000:
        assert (len(differing), len(other)) == (3, 3)


def test_equal_lists_differ_nowhere() -> None:
    ones = np.array([5, 3, 3, 9], np.uint64)
    assert [len(part) for part in find_differences(ones, ones.copy())] == [0, 0]
    nothing = np.empty(0, np.uint64)
    assert [part.tolist() for part in find_differences(nothing, ones)] == [[], [0, 1, 2, 3]]
