from __future__ import annotations

import os
from pathlib import Path

from mapyard.tiles.cache import TileCache
from mapyard.tiles.mercator import TileId

TILE = TileId(14, 8625, 5753)


def test_tiles_are_found_in_memory_and_by_other_workers(tmp_path: Path) -> None:
    first = TileCache(tmp_path, "one", 1_000_000, 1_000_000)
    second = TileCache(tmp_path, "one", 1_000_000, 1_000_000)
    assert first.find(TILE) is None
    first.put(TILE, b"data")
    assert first.find(TILE) == b"data"
    assert second.find(TILE) == b"data"
    assert TileCache(tmp_path, "two", 1_000_000, 1_000_000).find(TILE) is None


def test_empty_tiles_are_remembered_as_empty(tmp_path: Path) -> None:
    cache = TileCache(tmp_path, "one", 1_000_000, 1_000_000)
    cache.put(TILE, b"")
    assert cache.find(TILE) == b""
    assert TileCache(tmp_path, "one", 1_000_000, 1_000_000).find(TILE) == b""


def test_memory_is_bounded(tmp_path: Path) -> None:
    cache = TileCache(tmp_path, "one", 0, 10_000)
    for x in range(100):
        cache.put(TileId(14, x, 0), b"x" * 1000)
    held = [x for x in range(100) if cache.find(TileId(14, x, 0)) is not None]
    assert held == list(range(90, 100))
    assert list(tmp_path.iterdir()) == []


def test_the_disk_is_bounded_and_the_oldest_go(tmp_path: Path) -> None:
    cache = TileCache(tmp_path, "one", 100_000, 1)
    for x in range(60):
        cache.put(TileId(14, x, 0), b"x")
        os.utime(tmp_path / "one" / "14" / str(x) / "0", (x, x))
    assert cache.prune() <= 100_000
    left = {int(path.parent.name) for path in tmp_path.rglob("0")}
    assert 59 in left
    assert 0 not in left
    assert len(left) * 4096 <= 100_000


def test_datasets_that_are_gone_go(tmp_path: Path) -> None:
    for name in ("2024-a", "2025-a", "2026-a", "2026-b"):
        TileCache(tmp_path, name, 1_000_000, 1).put(TILE, b"x")
    TileCache(tmp_path, "2026-b", 1_000_000, 1).prune()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2026-a", "2026-b"]


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = TileCache(tmp_path / "file", "one", 1_000_000, 1_000)
    cache.put(TILE, b"data")
    assert cache.find(TILE) == b"data"
