"""Prepared tiles that an update takes over: never others than a build from the start would draw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapyard.builder.pipeline import StepContext, build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.builder.tiles import STEP
from mapyard.settings import Settings
from mapyard.store.patch import patch_store
from mapyard.tiles import archive
from mapyard.tiles import build as tables
from mapyard.tiles.archive import list_tiles
from mapyard.tiles.mercator import TileId
from mapyard.tiles.render import compress_tile, render_tile
from mapyard.tiles.reuse import TilesBefore, find_differences
from mapyard.tiles.source import LOW_ZOOM_FILE, MAX_LOW_ZOOM, TABLE_FOLDER
from mapyard.tiles.table import Table
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

    def draw(table: Table, tile: TileId) -> bytes:
        drawn.append(tile)
        return render_tile(table, tile)

    build(tmp_path / "data", TEST_DATA / "monaco-2025-11-08.osm.pbf")
    monkeypatch.setattr(archive, "render_tile", draw)
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


def update(before: Path, folder: Path, diff: Path) -> Path:
    """Apply a diff to the store and tiles of a folder, into a new one."""
    folder.mkdir()
    settings = Settings(data=folder)
    ctx = StepContext(folder, folder / "none", folder, settings, Reporter(quiet=True))
    changes = read_changes([diff], folder / "changed.osm.pbf")
    ctx.previous = before
    elements = before / "elements", folder / "elements"
    ctx.patched = patch_store(*elements, changes.blocks, changes.deleted, {})
    STEP.run(ctx)
    (folder / "manifest.json").write_bytes((before / "manifest.json").read_bytes())
    return folder


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
    before = TilesBefore(folders[0], table)
    tiles = list_tiles(table, 0, MAX_LOW_ZOOM)
    taken = 0
    for tile in tiles:
        found = before.find(tile)
        if found is not None:
            taken += 1
            drawn = render_tile(table, tile)
            assert found == (compress_tile(drawn) if drawn else b""), tile
    assert taken > len(tiles) / 5


def test_a_damaged_tile_is_drawn_again(tmp_path: Path) -> None:
    folder = build(tmp_path / "data", EXAMPLES / "monaco.osm.pbf")
    table, tile = Table(folder / TABLE_FOLDER), TileId(0, 0, 0)
    whole = TilesBefore(folder, table).find(tile)
    assert whole
    file = folder / LOW_ZOOM_FILE
    data = file.read_bytes()
    at = data.index(whole) + len(whole) // 2
    file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    assert TilesBefore(folder, table).find(tile) is None


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
