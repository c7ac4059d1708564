"""All tiles of a real extract: they decode, are valid, and lose nothing."""

from __future__ import annotations

import hashlib
import multiprocessing
from pathlib import Path

import mapbox_vector_tile
import numpy as np
import pytest
from shapely.geometry import shape

from mapyard.store.reader import open_store
from mapyard.tiles import build
from mapyard.tiles.archive import list_tiles, write_archive
from mapyard.tiles.build import feature_ids
from mapyard.tiles.classify import find_layer_rows
from mapyard.tiles.mercator import TileId, project, unproject
from mapyard.tiles.pmtiles import PmtilesReader, PmtilesWriter
from mapyard.tiles.render import render_tile
from mapyard.tiles.schema import LAYERS
from mapyard.tiles.source import LOW_ZOOM_FILE, MAX_LOW_ZOOM, TABLE_FOLDER
from mapyard.tiles.table import Table
from mapyard.tiles.tilejson import vector_layers


@pytest.fixture(scope="module")
def table(monaco: Path) -> Table:
    return Table(monaco / "current" / TABLE_FOLDER)


def test_every_tile_is_valid_and_zoom_14_holds_all(monaco: Path, table: Table) -> None:
    fields = {layer["id"]: set(layer["fields"]) for layer in vector_layers(table.info)}
    minzooms = {layer["id"]: layer["minzoom"] for layer in vector_layers(table.info)}
    seen: dict[str, set[int]] = {layer.name: set() for layer in LAYERS}
    used: dict[str, set[str]] = {layer.name: set() for layer in LAYERS}
    for tile in list_tiles(table, 0, 14):
        data = render_tile(table, tile)
        if not data:
            continue
        for name, layer in mapbox_vector_tile.decode(data).items():
            assert tile.z >= minzooms[name], (tile, name)
            for feature in layer["features"]:
                geometry = shape(feature["geometry"])
                assert geometry.is_valid, (tile, name, feature["id"])
                assert not geometry.is_empty
                used[name] |= feature["properties"].keys()
                if tile.z == 14:
                    seen[name].add(feature["id"])
    store = open_store(monaco / "current" / "elements")
    for layer in LAYERS:
        assert used[layer.name] <= fields[layer.name]
        if layer.rules:
            rows, _ = find_layer_rows(store, layer)
            wanted = set(feature_ids(store, rows).tolist())
            if layer.name == "addresses":
                wanted -= seen["pois"]
            assert wanted - seen[layer.name] == set(), layer.name
    assert len(seen["buildings"]) > 1_000
    assert len(seen["streets"]) > 3_000


def test_the_sea_is_wet_and_the_town_is_dry(table: Table) -> None:
    def is_ocean(lon: float, lat: float) -> bool:
        position = project(np.array([[lon, lat]]))[0]
        x, y = (int(v) >> 12 for v in position)
        tile = mapbox_vector_tile.decode(
            render_tile(table, TileId(14, x, y)), default_options={"y_coord_down": True}
        )
        at = shape({"type": "Point", "coordinates": [position[0] % 4096, position[1] % 4096]})
        features = tile.get("ocean", {"features": []})["features"]
        return any(shape(feature["geometry"]).contains(at) for feature in features)

    assert is_ocean(7.4400, 43.7300)
    assert is_ocean(7.5500, 43.6000)
    assert is_ocean(7.4250, 43.7345)  # Port Hercule
    assert not is_ocean(7.4275, 43.7397)  # Place du Casino
    assert not is_ocean(7.4197, 43.7312)  # the rock
    assert not is_ocean(7.4120, 43.7330)


def test_low_zooms_were_rendered_at_build(monaco: Path, table: Table) -> None:
    reader = PmtilesReader(monaco / "current" / LOW_ZOOM_FILE)
    assert (reader.min_zoom, reader.max_zoom) == (0, MAX_LOW_ZOOM)
    for tile in list_tiles(table, 0, MAX_LOW_ZOOM):
        assert (reader.find(tile) is not None) == bool(render_tile(table, tile)), tile
    reader.close()


def _digest(folder: Path) -> str:
    table = Table(folder)
    tiles = list_tiles(table, 10, 14)[::3]
    return hashlib.sha256(b"".join(render_tile(table, tile) for tile in tiles)).hexdigest()


#: Of the demo extract, on Debian 12 and 13. Whoever changes the tiles changes it too.
DIGEST = "3eda7a2a0b6cd3ab85dacda21ca9b9f0386a96adfdcbb005e12d9c44de68deb7"


def test_bytes_are_equal_in_every_process_and_on_every_machine(monaco: Path) -> None:
    folder = (monaco / "current" / TABLE_FOLDER).resolve()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        digests = pool.map(_digest, [folder, folder])
    assert set(digests) == {_digest(folder)} == {DIGEST}


def test_archives_do_not_depend_on_the_number_of_processes(monaco: Path, tmp_path: Path) -> None:
    folder = (monaco / "current" / TABLE_FOLDER).resolve()
    table = Table(folder)
    tiles = list_tiles(table, 0, 14)
    assert len(tiles) > 256
    for processes in (1, 2):
        writer = PmtilesWriter(tmp_path / f"{processes}.pmtiles")
        count = write_archive(folder, tiles, writer, processes)
        writer.close({"vector_layers": []}, table.info.bounds)
        assert 100 < count < len(tiles)
    assert (tmp_path / "1.pmtiles").read_bytes() == (tmp_path / "2.pmtiles").read_bytes()


def test_a_box_keeps_to_its_tiles(table: Table) -> None:
    west, south, east, north = 7.42, 43.73, 7.43, 43.74
    (x0, y0), (x1, y1) = project(np.array([[west, north], [east, south]])).astype(int).tolist()
    inside = list_tiles(table, 14, 14, (x0, y0, x1, y1))
    assert 1 <= len(inside) <= 4
    for tile in inside:
        lon, lat = unproject(tile.x * 4096 + 2048, tile.y * 4096 + 2048)
        assert abs(lon - 7.425) < 0.03
        assert abs(lat - 43.735) < 0.03


def test_table_is_the_same_however_little_is_held(
    monaco: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(monaco / "current" / "elements")
    bounds = build.find_bounds(store)
    build.build_table(store, tmp_path / "whole", bounds)
    for name, size in (("_ROWS_AT_ONCE", 3_001), ("_NODES_AT_ONCE", 501), ("_SHAPES_BYTES", 4_000)):
        monkeypatch.setattr(build, name, size)
    assert build.find_bounds(store) == bounds
    build.build_table(store, tmp_path / "small", bounds, memory_bytes=1)
    files = {path.name for path in (tmp_path / "whole").iterdir()}
    assert files == {path.name for path in (tmp_path / "small").iterdir()}
    for name in files:
        whole, small = (tmp_path / folder / name for folder in ("whole", "small"))
        assert whole.read_bytes() == small.read_bytes(), name
