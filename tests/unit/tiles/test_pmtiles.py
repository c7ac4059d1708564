from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random

import pytest

from mapyard.errors import MapyardError
from mapyard.tiles.mbtiles import MbtilesWriter
from mapyard.tiles.mercator import TileId
from mapyard.tiles.pmtiles import PmtilesReader, PmtilesWriter, tile_number

METADATA = {"name": "test", "vector_layers": [{"id": "a", "fields": {}}]}
BOUNDS = (9.4, 47.0, 9.6, 47.3)


def test_tiles_are_numbered_as_the_specification_does() -> None:
    corners = [TileId(0, 0, 0), TileId(1, 0, 0), TileId(1, 0, 1), TileId(1, 1, 1), TileId(1, 1, 0)]
    assert [tile_number(tile) for tile in corners] == [0, 1, 2, 3, 4]
    assert tile_number(TileId(2, 0, 0)) == 5
    assert tile_number(TileId(12, 3423, 1763)) == 19078479
    whole = {tile_number(TileId(3, x, y)) for x in range(8) for y in range(8)}
    assert whole == set(range(21, 85))


def write(path: Path, tiles: dict[TileId, bytes]) -> PmtilesReader:
    writer = PmtilesWriter(path)
    for tile in sorted(tiles, key=tile_number):
        writer.add(tile, tiles[tile])
    writer.close(METADATA, BOUNDS)
    return PmtilesReader(path)


def test_tiles_come_back_and_equal_ones_are_stored_once(tmp_path: Path) -> None:
    sea = b"sea" * 100
    tiles = {TileId(6, x, y): sea for x in range(40) for y in range(40)}
    tiles |= {TileId(0, 0, 0): b"world", TileId(6, 3, 3): b"island"}
    reader = write(tmp_path / "a.pmtiles", tiles)
    assert all(reader.find(tile) == data for tile, data in tiles.items())
    assert reader.find(TileId(6, 63, 63)) is None
    assert reader.find(TileId(14, 0, 0)) is None
    assert (reader.tile_count, reader.min_zoom, reader.max_zoom) == (1601, 0, 6)
    assert reader.metadata() == METADATA
    assert (tmp_path / "a.pmtiles").stat().st_size < 3_000
    assert [p.name for p in tmp_path.iterdir()] == ["a.pmtiles"]
    reader.close()


def test_many_tiles_take_leaf_directories(tmp_path: Path) -> None:
    random = Random(1)
    tiles = {
        TileId(9, x, y): random.randbytes(random.randrange(5, 60))
        for x in range(0, 512, 3)
        for y in range(200)
    }
    reader = write(tmp_path / "b.pmtiles", tiles)
    header = (tmp_path / "b.pmtiles").read_bytes()[:127]
    assert int.from_bytes(header[16:24], "little") <= 16_384 - 127  # root directory
    assert int.from_bytes(header[48:56], "little") > 0  # leaf directories
    assert all(reader.find(tile) == data for tile, data in tiles.items())
    assert reader.find(TileId(9, 1, 1)) is None
    reader.close()


def test_archives_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    tiles = {TileId(4, x, y): b"%d" % x for x in range(16) for y in range(16)}
    write(tmp_path / "c.pmtiles", tiles).close()
    write(tmp_path / "d.pmtiles", tiles).close()
    assert (tmp_path / "c.pmtiles").read_bytes() == (tmp_path / "d.pmtiles").read_bytes()


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pmtiles"
    path.write_bytes(b"no archive at all" * 20)
    with pytest.raises(MapyardError, match="not a PMTiles archive"):
        PmtilesReader(path)


def test_an_aborted_archive_leaves_nothing(tmp_path: Path) -> None:
    for writer in (PmtilesWriter(tmp_path / "e.pmtiles"), MbtilesWriter(tmp_path / "e.mbtiles")):
        writer.add(TileId(0, 0, 0), b"x")
        writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_mbtiles_count_rows_from_the_south(tmp_path: Path) -> None:
    path = tmp_path / "f.mbtiles"
    writer = MbtilesWriter(path)
    writer.add(TileId(2, 1, 0), b"north")
    writer.close({**METADATA, "attribution": "©"}, BOUNDS)
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT * FROM tiles").fetchall()
        metadata = dict(database.execute("SELECT name, value FROM metadata"))
    database.close()
    assert rows == [(2, 1, 3, b"north")]
    assert metadata["format"] == "pbf"
    assert metadata["bounds"] == "9.4,47.0,9.6,47.3"
    assert "vector_layers" in metadata["json"]
