"""The build step of the part `tiles`: the feature table of all zooms, the low zooms rendered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mapyard.builder.memory import sort_bytes
from mapyard.builder.pipeline import Step, StepContext
from mapyard.builder.preflight import Estimate
from mapyard.dataset.manifest import read_manifest
from mapyard.settings import get_settings
from mapyard.store.reader import open_store
from mapyard.store.spill import spill_arrays
from mapyard.tiles.archive import list_tiles, write_archive
from mapyard.tiles.build import build_table, find_bounds
from mapyard.tiles.patch import Before, patch_table
from mapyard.tiles.pmtiles import PmtilesWriter
from mapyard.tiles.reuse import TilesBefore
from mapyard.tiles.source import LOW_ZOOM_FILE, MAX_LOW_ZOOM, TABLE_FOLDER
from mapyard.tiles.table import Table
from mapyard.tiles.tilejson import describe_archive
from mapyard.version import __version__


def _run(ctx: StepContext) -> Mapping[str, Any]:
    folder = ctx.folder / TABLE_FOLDER
    ctx.progress.stage("tiles: features")
    folder.mkdir(exist_ok=True)
    memory_bytes, languages = sort_bytes(ctx.settings), ctx.settings.tile_languages
    previous = _find_previous(ctx)
    differences = None
    with spill_arrays(folder, memory_bytes):
        bounds = ctx.header.bbox or find_bounds(ctx.store)
        if previous is not None:
            before = _describe_before(ctx, previous)
            differences = patch_table(ctx.store, before, folder, bounds, languages, memory_bytes)
        if differences is None:
            build_table(ctx.store, folder, bounds, languages, memory_bytes=memory_bytes)
    ctx.progress.stage("tiles: low zooms", unit="tiles")
    table, taken = Table(folder), None
    if previous is not None and differences is not None:
        taken = TilesBefore(previous, differences)
    tiles = taken.list_tiles() if taken is not None else list_tiles(table, 0, MAX_LOW_ZOOM)
    writer = PmtilesWriter(ctx.folder / LOW_ZOOM_FILE)
    count = write_archive(folder, tiles, writer, ctx.jobs, ctx.progress.advance, taken)
    writer.close(describe_archive(table.info), table.info.bounds)
    if taken is not None:
        taken.close()
    return {"features": len(table), "low_zoom_tiles": count}


def _find_previous(ctx: StepContext) -> Path | None:
    """Return the dataset that an update starts from, where the same program drew its tiles."""
    folder = ctx.previous
    if folder is None or ctx.patched is None or not (folder / LOW_ZOOM_FILE).is_file():
        return None
    return folder if read_manifest(folder).mapyard == __version__ else None


def _describe_before(ctx: StepContext, previous: Path) -> Before:
    assert ctx.patched is not None
    row_map, touched, removed, *_ = ctx.patched
    old = open_store(previous / "elements")
    return Before(previous / TABLE_FOLDER, old, row_map, touched, removed)


def _estimate(pbf: int) -> Estimate:
    """Measured in docs/sizing.md. Arrays and sorts are bounded, values of tags are held."""
    bounded = 100_000_000 + round(0.2 * pbf) + sort_bytes(get_settings())
    return Estimate(min(150_000_000 + 12 * pbf, bounded), 4 * pbf, 0.1 + 0.27e-6 * pbf)


STEP = Step("tiles", _run, _estimate)
