"""Own speeds of a data folder: imported, carried over to new datasets, switched on and off.

The graph of a dataset stays as it is. What is prepared of it for ways (docs/decisions/039) is made
once more at the speeds of the table, into a set beside the datasets.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mapyard.dataset.catalog import Catalog, sync_file, sync_folder
from mapyard.dataset.own_speeds import (
    clean_sets,
    find_own_speeds,
    make_set,
    switch_off,
    switch_on,
)
from mapyard.errors import MapyardError
from mapyard.routing.contraction.profiles import MODE_COSTS
from mapyard.routing.contraction.roads import write_open
from mapyard.routing.contraction.speeds import (
    EdgeSpeeds,
    SpeedRows,
    explain_unknown,
    find_way_ids,
    read_speeds,
    spread_speeds,
)
from mapyard.routing.contraction.table import write_mode
from mapyard.routing.contraction.tables import (
    TILES_NAME,
    OwnSpeeds,
    get_folder,
    is_outdated,
    read_checks,
    read_own,
    write_own,
)
from mapyard.routing.contraction.tiles import RoadGraph, read_graph
from mapyard.routing.modes import Mode

log = logging.getLogger(__name__)

CSV_NAME: Final = "speeds.csv"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    dataset_id: str
    modes: dict[Mode, OwnSpeeds]
    skipped: int  #: rows of roads that the dataset has not
    ignored: tuple[str, ...]  #: columns
    size_bytes: int
    cpu_s: float


def import_speeds(
    data: Path,
    file: Path,
    *,
    skip_unknown: bool = False,
    on_progress: Callable[[str], None] = lambda what: None,
) -> Imported:
    """Prepare the served dataset's ways at the speeds of a CSV file, and switch to them.

    They take the place of those that were on. Raises `WrongSpeeds` with lines, and MapyardError;
    nothing has changed then.
    """
    catalog = Catalog(data)
    with catalog.lock():
        dataset = catalog.get_current()
        on_progress("reading rows")
        rows = read_speeds(file)
        before = find_own_speeds(data, dataset.name)
        imported = _prepare(
            data, dataset, file, file.name, rows, skip_unknown=skip_unknown, on_progress=on_progress
        )
        clean_sets(data, keep=before)
    return imported


def carry_over(data: Path, previous_id: str | None, dataset: Path) -> None:
    """Prepare the own speeds that are on for a dataset for the one that follows it.

    Rows of ways that are gone are left out, and so are rows of edges, whose ids are others now. It
    does not keep the new dataset from being served: what fails is in the log and in
    `mapyard speeds status`.
    """
    on = find_own_speeds(data, previous_id) if previous_id is not None else None
    if on is None:
        return
    try:
        rows = read_speeds(on / CSV_NAME)
        of_edges = int(rows.is_edge.sum())
        kept = rows.take(~rows.is_edge)
        if of_edges:
            log.warning(
                "own speeds: %d rows name edges of %s, whose ids are others in %s; import them "
                "anew: mapyard speeds import FILE.csv", of_edges, previous_id, dataset.name,
            )  # fmt: skip
        if not len(kept):
            log.warning("own speeds are off for %s: no row names a way", dataset.name)
            return
        imported = _prepare(data, dataset, on / CSV_NAME, CSV_NAME, kept, skip_unknown=True)
        log.info(
            "own speeds are on for %s, too; %d rows of roads that are gone are left out",
            dataset.name, imported.skipped,
        )  # fmt: skip
    except (MapyardError, OSError, MemoryError) as error:
        log.error(
            "own speeds are off for %s: %s; import them anew: mapyard speeds import FILE.csv",
            dataset.name, error,
        )  # fmt: skip
    clean_sets(data, keep=on)


def remove_speeds(data: Path) -> bool:
    """Switch the served dataset's own speeds off; return whether any were on."""
    catalog = Catalog(data)
    with catalog.lock():
        dataset = catalog.get_current()
        before = find_own_speeds(data, dataset.name)
        if before is None:
            return False
        switch_off(data, dataset.name)
        clean_sets(data, keep=before)
    return True


def list_speeds(data: Path) -> dict[str, tuple[Path, dict[Mode, OwnSpeeds]]]:
    """Return per dataset with own speeds their set, and what it holds."""
    found = {}
    for dataset_id in Catalog(data).ids():
        folder = find_own_speeds(data, dataset_id)
        if folder is not None:
            found[dataset_id] = folder, read_own(folder)
    return found


def measure_set(folder: Path) -> int:
    """Return the size of a set, bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _prepare(
    data: Path,
    dataset: Path,
    file: Path,
    name: str,
    rows: SpeedRows,
    *,
    skip_unknown: bool,
    on_progress: Callable[[str], None] = lambda what: None,
) -> Imported:
    started_s = time.process_time()
    routing = dataset / "routing"
    _check_prepared(routing, rows.modes)
    on_progress("reading roads")
    graph = read_graph(routing / TILES_NAME)
    way_ids = find_way_ids(graph, routing / TILES_NAME)
    spread = {
        mode: _spread(graph, way_ids, rows, mode, name, skip_unknown=skip_unknown)
        for mode in rows.modes
    }
    folder = make_set(data)
    try:
        for mode, speeds in spread.items():
            on_progress(f"preparing ways by {mode}")
            connected = write_mode(graph, MODE_COSTS[mode], folder / mode, speeds)
            write_open(get_folder(routing), mode, speeds.closed, connected, folder / mode)
        written = {mode: _count(rows, mode, speeds) for mode, speeds in spread.items()}
        write_own(folder, dataset.name, written)
        shutil.copyfile(file, folder / CSV_NAME)
        _sync(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    switch_on(data, dataset.name, folder)
    return Imported(
        dataset.name,
        written,
        sum(len(speeds.unknown) for speeds in spread.values()),
        rows.ignored,
        measure_set(folder),
        time.process_time() - started_s,
    )


def _check_prepared(routing: Path, modes: list[Mode]) -> None:
    if not (routing / TILES_NAME).is_file():
        raise MapyardError(
            "the dataset was built without roads; build it again with the part routing", status=404
        )
    checks = read_checks(routing)
    missing = [mode for mode in modes if not (mode in checks and checks[mode].is_used)]
    if missing:
        why = (
            "they were prepared by another version; run: mapyard datasets upgrade"
            if is_outdated(routing)
            else "ways in this mode are left to the engine, which has no own speeds"
        )
        raise MapyardError(f"no own speeds for {', '.join(missing)}: {why}")


def _spread(
    graph: RoadGraph,
    way_ids: np.ndarray[tuple[int], np.dtype[np.int64]],
    rows: SpeedRows,
    mode: Mode,
    name: str,
    *,
    skip_unknown: bool,
) -> EdgeSpeeds:
    own, usable = rows.of(mode), MODE_COSTS[mode].find_usable(graph)
    speeds = spread_speeds(graph, way_ids, usable, own, name)
    if not (usable & ~speeds.closed).any():
        raise MapyardError(f"{name}: all roads of mode {mode} would be closed")
    if len(speeds.unknown) and not skip_unknown:
        raise explain_unknown(name, speeds.unknown, mode)
    if len(speeds.unknown) == len(own):
        raise MapyardError(f"{name}: no row is of a road that mode {mode} has in this dataset")
    return speeds


def _count(rows: SpeedRows, mode: Mode, speeds: EdgeSpeeds) -> OwnSpeeds:
    return OwnSpeeds(
        len(rows.of(mode)) - len(speeds.unknown),
        int((~np.isnan(speeds.kmh)).sum()),
        int(speeds.closed.sum()),
    )


def _sync(folder: Path) -> None:
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync_file(Path(root) / name)
        sync_folder(Path(root))
    sync_folder(folder.parent)
