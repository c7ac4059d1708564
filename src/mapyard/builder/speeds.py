"""Own speeds of a data folder: imported, carried over to new datasets, switched on and off.

The graph of a dataset stays as it is. What is prepared of it for ways (docs/decisions/039) is made
once more at the speeds of the table, into a set beside the datasets.
"""

from __future__ import annotations

import filecmp
import logging
import os
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mapyard.builder.memory import build_bytes
from mapyard.dataset.catalog import Catalog, sync_file, sync_folder
from mapyard.dataset.own_speeds import (
    clean_sets,
    find_own_speeds,
    make_set,
    switch_off,
    switch_on,
)
from mapyard.errors import MapyardError
from mapyard.routing.contraction.mapping import open_scratch
from mapyard.routing.contraction.profiles import MODE_COSTS
from mapyard.routing.contraction.roads import write_open
from mapyard.routing.contraction.speeds import (
    EdgeKey,
    EdgeSpeeds,
    SpeedRows,
    describe_edges,
    explain_unknown,
    find_way_ids,
    read_speeds,
    rename_edges,
    spread_speeds,
    write_speeds,
)
from mapyard.routing.contraction.tables import (
    TILES_NAME,
    OwnSpeeds,
    get_folder,
    is_outdated,
    is_own_outdated,
    read_checks,
    read_own,
    write_own,
)
from mapyard.routing.contraction.tiles import RoadGraph, read_graph
from mapyard.routing.contraction.writing import write_mode
from mapyard.routing.modes import TABLE_MODES, Mode
from mapyard.settings import get_settings

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

    They take the place of those that were on for the same modes; other modes keep theirs. Raises
    `WrongSpeeds` with lines, and MapyardError; nothing has changed then.
    """
    catalog = Catalog(data)
    with catalog.lock():
        dataset = catalog.get_current()
        on_progress("reading rows")
        rows = read_speeds(file)
        before = find_own_speeds(data, dataset.name)
        kept = None if before is None else _find_kept(before, rows.modes)
        imported = _prepare(
            data, dataset, file.name, rows, kept, skip_unknown=skip_unknown, on_progress=on_progress
        )
        clean_sets(data, keep=before)
    return imported


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a new set takes over from the one before: modes as they are prepared, and their rows."""

    folder: Path
    modes: dict[Mode, OwnSpeeds]
    rows: SpeedRows


def _find_kept(folder: Path, replaced: Collection[Mode]) -> _Kept | None:
    """Return what stays of a set on the same roads when some modes are replaced."""
    try:
        rows = read_speeds(folder / CSV_NAME).without(replaced)
        modes = {} if is_own_outdated(folder) else read_own(folder)
    except (MapyardError, OSError, ValueError) as error:
        log.error("own speeds of other modes are not kept: %s", error)
        return None
    modes = {mode: own for mode, own in modes.items() if mode in rows.modes}
    return _Kept(folder, modes, rows)


def carry_over(data: Path, previous_id: str | None, dataset: Path) -> None:
    """Prepare the own speeds that are on for a dataset for the one that follows it.

    On the same roads they stay as they are. On others, rows of ways and edges that are gone are
    left out: ids of edges are others then, but most edges are known by their way and their ends.
    What fails does not keep the new dataset from being served; it is in the log and in
    `mapyard speeds status`.
    """
    on = find_own_speeds(data, previous_id) if previous_id is not None else None
    if on is None:
        return
    try:
        rows = read_speeds(on / CSV_NAME)
        previous = dataset.with_name(previous_id or "")
        if _have_same_roads(previous, dataset):
            kept = _find_kept(on, ())
            imported = _prepare(
                data, dataset, CSV_NAME, rows.take(np.zeros(len(rows), np.bool_)), kept,
                skip_unknown=True,
            )  # fmt: skip
        else:
            keys = _describe_edges(previous, rows)
            imported = _prepare(
                data, dataset, CSV_NAME, rows, None, skip_unknown=True, edge_keys=keys
            )
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


def _have_same_roads(one: Path, other: Path) -> bool:
    """Return whether two datasets have the same roads, as where an update keeps them."""
    name = f"routing/{TILES_NAME}"
    try:
        return (one / name).samefile(other / name) or filecmp.cmp(
            one / name, other / name, shallow=False
        )
    except OSError:
        return False


def _describe_edges(dataset: Path, rows: SpeedRows) -> list[EdgeKey | None]:
    """Return what the edges of rows are known by in another dataset than theirs."""
    tiles = dataset / "routing" / TILES_NAME
    count = int(rows.is_edge.sum())
    if not count or not tiles.is_file():
        return [None] * count
    graph = read_graph(tiles)
    edges = graph.edge_ids.find(rows.road[rows.is_edge])
    return describe_edges(graph, find_way_ids(graph, tiles), edges)


def remove_speeds(data: Path, modes: Collection[Mode] = ()) -> bool:
    """Switch the served dataset's own speeds off, all or those of some modes.

    Returns whether any were on.
    """
    catalog = Catalog(data)
    with catalog.lock():
        dataset = catalog.get_current()
        before = find_own_speeds(data, dataset.name)
        if before is None:
            return False
        kept = _find_kept(before, modes) if modes else None
        if kept is not None and set(kept.rows.modes) == read_own(before).keys():
            return False
        if kept is not None and len(kept.rows):
            nothing = kept.rows.take(np.zeros(len(kept.rows), np.bool_))
            _prepare(data, dataset, CSV_NAME, nothing, kept, skip_unknown=True)
        else:
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
    name: str,
    rows: SpeedRows,
    kept: _Kept | None,
    *,
    skip_unknown: bool,
    edge_keys: Sequence[EdgeKey | None] | None = None,
    on_progress: Callable[[str], None] = lambda what: None,
) -> Imported:
    """Prepare a set of rows and of what is kept, and switch to it.

    Rows of edges have the ids of another dataset where `edge_keys` tells what they are known by.
    """
    started_s = time.process_time()
    routing = dataset / "routing"
    # What is kept by rows only was prepared by another version.
    linked = {} if kept is None else kept.modes
    asked = rows.modes
    if kept is not None:
        rows = rows.join(kept.rows.without(linked))
    _check_prepared(routing, rows.modes)
    written: dict[Mode, OwnSpeeds] = dict(linked)
    skipped = 0
    folder = make_set(data)
    try:
        for mode in linked:
            assert kept is not None
            shutil.copytree(kept.folder / mode, folder / mode, copy_function=_link)
        if len(rows):
            with open_scratch(folder, build_bytes(get_settings())) as scratch:
                on_progress("reading roads")
                graph = read_graph(routing / TILES_NAME, scratch.move)
                way_ids = find_way_ids(graph, routing / TILES_NAME)
                if edge_keys is not None:
                    before = len(rows)
                    rows = rename_edges(rows, edge_keys, graph, way_ids)
                    skipped += before - len(rows)
                spread = {
                    mode: _spread(
                        graph, way_ids, rows, mode, name,
                        skip_unknown=skip_unknown or mode not in asked,
                    )
                    for mode in rows.modes
                }  # fmt: skip
                for mode, speeds in spread.items():
                    on_progress(f"preparing ways by {mode}")
                    connected = write_mode(
                        graph, MODE_COSTS[mode], folder / mode, speeds, scratch=scratch
                    )
                    write_open(get_folder(routing), mode, speeds.closed, connected, folder / mode)
            written |= {mode: _count(rows, mode, speeds) for mode, speeds in spread.items()}
            skipped += sum(len(speeds.unknown) for speeds in spread.values())
        if not written:
            raise MapyardError("no row is of a road that the dataset has")
        write_own(folder, dataset.name, written)
        if kept is not None:
            rows = rows.join(kept.rows.take(np.isin(kept.rows.mode, _number(linked))))
        write_speeds(folder / CSV_NAME, rows)
        _sync(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    switch_on(data, dataset.name, folder)
    return Imported(
        dataset.name,
        {mode: own for mode, own in written.items() if mode not in linked},
        skipped,
        rows.ignored,
        sum(measure_set(folder / mode) for mode in written if mode not in linked),
        time.process_time() - started_s,
    )


def _number(modes: Collection[Mode]) -> list[int]:
    return [TABLE_MODES.index(mode) for mode in modes]


def _link(source: str, target: str) -> None:
    """Give a file a second name, else copy it: nothing writes to it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


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
