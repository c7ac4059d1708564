"""The table of tiles is the same to the byte however little memory its build has."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.builder import memory
from mapyard.builder.pipeline import StepContext
from mapyard.builder.progress import Reporter
from mapyard.builder.tiles import STEP
from mapyard.settings import Settings
from mapyard.store import sorting, spill
from mapyard.tiles import build, table


def write_tiles(folder: Path, monaco: Path) -> dict[str, bytes]:
    folder.mkdir()
    for name in ("elements", "source.osm.pbf"):
        (folder / name).symlink_to((monaco / "current" / name).resolve())
    settings = Settings(data=folder)
    STEP.run(StepContext(folder, folder / "source.osm.pbf", folder, settings, Reporter(quiet=True)))
    files = [folder / "tiles.pmtiles", *(folder / "tiles").iterdir()]
    return {path.name: path.read_bytes() for path in files}


def test_monaco_is_the_same_with_almost_no_memory(
    tmp_path: Path, monaco: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = write_tiles(tmp_path / "free", monaco)
    assert len(free) > 10
    for module, name, value in (
        (memory, "_LEAST_SORT_BYTES", 1), (memory, "_BASE_BYTES", 1 << 62),
        (spill, "LARGE_BYTES", 4_096), (sorting, "_LEAST_KEYS", 1_000),
        (sorting, "BLOCK_KEYS", 1_000), (build, "_CHUNK_ROWS", 300),
        (build, "_ROWS_AT_ONCE", 5_000), (table, "_PORTION", 700),
    ):  # fmt: skip
        assert hasattr(module, name)
        monkeypatch.setattr(module, name, value)
    bound = write_tiles(tmp_path / "bound", monaco)
    assert spill.tell_spilled().spilled_bytes > 10_000_000
    assert [name for name in free if free[name] != bound[name]] == []
    assert free.keys() == bound.keys()
