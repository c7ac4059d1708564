"""The geocoder is the same to the byte however little of it is held at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.builder import memory
from mapyard.builder.pipeline import StepContext
from mapyard.builder.progress import Reporter
from mapyard.builder.text import STEP
from mapyard.geocoding.build import addresses, cells, columns
from mapyard.settings import Settings
from mapyard.store import spill


def write_text(folder: Path, monaco: Path) -> dict[str, bytes]:
    """Write the part `text` of Monaco.

    Returns all but what tantivy writes, by random names, and what an update takes over of chains:
    these are numbered as blocks of points came by.
    """
    folder.mkdir()
    for name in ("elements", "source.osm.pbf"):
        (folder / name).symlink_to((monaco / "current" / name).resolve())
    settings = Settings(data=folder)
    STEP.run(StepContext(folder, folder / "source.osm.pbf", folder, settings, Reporter(quiet=True)))
    files = [path for path in (folder / "text").rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if not {"index", "near"} & set(path.parts) and not path.match("state/chain_*")
    }


def test_arrays_in_files_change_nothing(
    tmp_path: Path, monaco: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write_text(tmp_path / "whole", monaco)
    monkeypatch.setattr(memory, "_LEAST_SORT_BYTES", 1)
    monkeypatch.setattr(spill, "LARGE_BYTES", 4096)
    monkeypatch.setattr(memory, "_BASE_BYTES", 1 << 62)
    files = write_text(tmp_path / "files", monaco)
    assert spill.tell_spilled().spilled_bytes > 10_000_000
    assert [name for name in whole if whole[name] != files[name]] == []
    assert whole.keys() == files.keys()


@pytest.mark.parametrize("seen", [50, 1_000])
def test_blocks_and_portions_change_nothing(
    tmp_path: Path, monaco: Path, monkeypatch: pytest.MonkeyPatch, seen: int
) -> None:
    whole = write_text(tmp_path / "whole", monaco)
    assert any("postings" in name for name in whole)
    for module, name, value in (
        (cells, "_BLOCK_POINTS", seen), (cells, "_BLOCK_DEG", 0.002), (columns, "_PORTION", seen),
        (addresses, "_PAIRS", seen), (addresses, "_PART", seen),
        # Neighbors are found by squares, or by the tree.
        (cells, "_FEW_POINTS", {50: 1_000, 1_000: 0}[seen]),
    ):  # fmt: skip
        assert hasattr(module, name)
        monkeypatch.setattr(module, name, value)
    parts = write_text(tmp_path / "parts", monaco)
    assert [name for name in whole if whole[name] != parts[name]] == []
    assert whole.keys() == parts.keys()
