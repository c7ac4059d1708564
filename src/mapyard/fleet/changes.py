"""Bring a split up to date: diffs are applied to the whole map, and split by region.

The whole map decides, as when it was split: which regions hold an element, and which owns it, is
worked out anew for the changed map, in arrays. Of each region what it held before and what it holds
now tell what enters and what leaves; with the elements that the diffs name, these are its changes.
So a region is, element by element, what a new split of the changed map gives.

Nothing of before is written to. What is new lies in a folder of its own, which split.json names
when all of it is there.
"""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np

from mapyard.builder.progress import Reporter
from mapyard.dataset.catalog import GUESTS_NAME, Busy
from mapyard.dataset.manifest import FilePart, Replication, describe_file
from mapyard.errors import MapyardError
from mapyard.fleet.areas import EARTH, Area, restore_area
from mapyard.fleet.generation import (
    SOURCE_NAME,
    SPLIT_NAME,
    RegionUpdate,
    Split,
    read_split,
    write_json,
)
from mapyard.fleet.holders import KINDS, Column, Extra, Holders, Ints, Nodes, find_rows
from mapyard.fleet.split import (
    check_sizes,
    describe_region,
    encode_header,
    find_box,
    format_timestamp,
    list_cuts,
)
from mapyard.fleet.wholes import ROADS, WHOLES
from mapyard.geo.bbox import Bbox
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.osm.extract import Blob, list_blobs, write_extract
from mapyard.osm.patch import patch_source
from mapyard.osm.pbf import Header, iter_blocks, read_header
from mapyard.settings import Settings
from mapyard.updates.changes import Changes, read_changes
from mapyard.updates.history import Run, now_iso
from mapyard.updates.run import NoSource, fetch_round, make_header
from mapyard.updates.select import clip, select_newer
from mapyard.updates.source import open_source

#: Of a region: what is new or another one, and the ids (× 4 + type) of what left.
CHANGED_NAME: Final = "changed.osm.pbf"
LEFT_NAME: Final = "left.npy"
_TYPES: Final = (NODE, WAY, RELATION)
_SUFFIXES: Final = (".osc", ".osc.gz", ".osc.bz2")


class Updated(NamedTuple):
    """What an update did; `more`: the source has further diffs."""

    split: Split
    run: Run
    more: bool


def update_regions(
    folder: Path,
    sources: Sequence[str],
    settings: Settings,
    progress: Reporter,
) -> Updated | None:
    """Apply the diffs of one round to a split; None where there are none.

    `sources` are a replication source (URL, or folder with a state.txt) or diffs; none: the source
    that the extract names. Raises NoSource, SourceUnreachable, BadDiff, Busy.
    """
    with _lock(folder):
        split = read_split(folder)
        base = folder / split.folder
        if not (base / SOURCE_NAME).exists():
            raise MapyardError(
                f"{base} has no {SOURCE_NAME}, the whole map, that diffs could be applied to; "
                "split the map again"
            )
        fresh = folder / ".update"
        shutil.rmtree(fresh, ignore_errors=True)
        scratch = fresh / "scratch"
        scratch.mkdir(parents=True)
        try:
            run = Run(now_iso())
            header = read_header(base / SOURCE_NAME)
            found = _find_diffs(folder, scratch, sources, settings, header, split, progress, run)
            if found is None:
                return None
            diffs, state, more = found
            made = _update(split, base, fresh, scratch, diffs, state, settings, progress, run)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        made.folder = f"{made.osm_timestamp or 'updated'}-{time.time_ns():x}".replace(":", "")
        fresh.rename(folder / made.folder)
        write_json(folder / SPLIT_NAME, made)
        _remove(folder, split)
        for diff in diffs:
            diff.unlink(missing_ok=True)
        return Updated(made, run, more)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    if not folder.is_dir():
        raise MapyardError(f"there is no folder {folder}")
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"another update of {folder} is running") from None
        yield


def _remove(folder: Path, split: Split) -> None:
    """Remove the extracts of before."""
    if split.folder:
        shutil.rmtree(folder / split.folder, ignore_errors=True)
        return
    for region in split.extracts:
        shutil.rmtree(folder / region.name, ignore_errors=True)
    (folder / SOURCE_NAME).unlink(missing_ok=True)


# ---- diffs ------------------------------------------------------------------------------------


def _find_diffs(
    folder: Path, scratch: Path, sources: Sequence[str], settings: Settings, header: Header,
    split: Split, progress: Reporter, run: Run,
) -> tuple[list[Path], Header | None, bool] | None:  # fmt: skip
    """Return diffs, the header of the data after them (None: unknown), whether there are more."""
    files = [Path(text) for text in sources if text.endswith(_SUFFIXES)]
    if files:
        if len(files) < len(sources):
            raise MapyardError("give either diffs, or one replication source")
        return [_copy(path, scratch, number) for number, path in enumerate(files)], None, False
    if len(sources) > 1:
        raise MapyardError(
            f"one replication source, or diffs ({', '.join(_SUFFIXES)}); got {', '.join(sources)}"
        )
    url = sources[0] if sources else settings.update_source or header.replication_url
    if not url:
        raise NoSource(
            "the extract does not name a replication source; name one, a folder of one, or diffs"
        )
    progress.stage("update: looking for changes")
    known = Replication(header.replication_url, header.replication_sequence, split.osm_timestamp)
    with open_source(url) as source:
        fetched = fetch_round(source, known, folder / "diffs", progress, run)
        url = source.url
    if fetched is None:
        return None
    more = fetched.state.sequence < fetched.newest.sequence and not run.message
    return fetched.diffs, make_header(fetched.state, url), more


def _copy(path: Path, scratch: Path, number: int) -> Path:
    """Copy a diff: whoever finds that it is none removes it."""
    target = scratch / f"{number:06d}-{path.name}"
    try:
        shutil.copyfile(path, target)
    except OSError as error:
        raise MapyardError(f"{path} cannot be read: {error.strerror}") from None
    return target


class _Before:
    """As much of the whole map as changes are about: which elements it has, in which version."""

    def __init__(self, source: Path, changes: Changes) -> None:
        self._ids: list[Ints] = []
        for kind in _TYPES:
            ids = [changes.deleted[kind]]
            for block in changes.blocks:
                ids += [block.ids] if block.type == kind else []
                if block.refs is None:
                    continue
                if block.member_types is not None:
                    ids.append(block.refs[block.member_types == kind])
                elif kind == NODE:
                    ids.append(block.refs)
            self._ids.append(np.unique(np.concatenate(ids)))
        self._starts = np.cumsum([0, *map(len, self._ids)])
        self._known = np.zeros(self._starts[-1], np.bool_)
        self._versions = np.zeros(self._starts[-1], np.int64)
        for block in iter_blocks(source):
            rows = find_rows(self._ids[block.type], block.ids)
            found = rows >= 0
            rows = rows[found] + self._starts[block.type]
            self._known[rows] = True
            if block.version is not None:
                self._versions[rows] = block.version[found]

    def find_rows(self, element_type: int, ids: Ints) -> Ints:
        """Return the row of each element, -1 for those that are not there."""
        rows = find_rows(self._ids[element_type], ids)
        rows = np.where(rows >= 0, rows + self._starts[element_type], -1)
        return np.where((rows >= 0) & self._known[rows], rows, -1)

    def meta(self, rows: Ints) -> Any:
        """Return the versions of rows."""
        return SimpleNamespace(version=self._versions[rows])


# ---- regions ----------------------------------------------------------------------------------


def _update(
    split: Split, base: Path, fresh: Path, scratch: Path, diffs: list[Path], state: Header | None,
    settings: Settings, progress: Reporter, run: Run,
) -> Split:  # fmt: skip
    """Write the whole map and all extracts as they are after the diffs; return their split."""
    progress.stage("update: reading changes")
    changed = scratch / CHANGED_NAME
    changes = read_changes(diffs, changed)
    before = _Before(base / SOURCE_NAME, changes)
    old_header = read_header(base / SOURCE_NAME)
    if settings.update_clip and old_header.bbox:
        changes = clip(before, changes, Bbox(*old_header.bbox))
    changes = select_newer(before, changes)
    run.changed, run.deleted = changes.counts
    progress.note(f"{run.changed:,} elements changed, {run.deleted:,} deleted")
    progress.stage("update: the whole map")
    header = state or Header(replication_url=old_header.replication_url)
    source = fresh / SOURCE_NAME
    patch_source(base / SOURCE_NAME, source, changed, changes.changed, changes.deleted, header)
    areas = [restore_area(region.name, region.area, region.box) for region in split.regions]
    extras = [Extra(whole, Area(whole.name, EARTH)) for whole in WHOLES]
    for region in split.roads:
        area = restore_area(region.name, region.area, region.box)
        extras.append(Extra(ROADS, area, area.grow(split.roads_margin_m)))
    nodes = Nodes(source, scratch)
    holders = Holders(source, scratch, nodes, areas, split.margin_m, extras, progress.stage)
    header.replication_timestamp = header.replication_timestamp or holders.newest_s
    made = Split(
        split.format, format_timestamp(header), split.margin_m, split.sources, [],
        left_out=holders.left_out, roads_margin_m=split.roads_margin_m,
    )  # fmt: skip
    bounds = EARTH if old_header.bbox else nodes.bounds
    cuts = list_cuts(areas, split.margin_m, extras, bounds)
    if [cut.area.name for cut in cuts] != [region.name for region in split.extracts]:
        raise MapyardError("this Mapyard splits maps otherwise; split the map again")
    check_sizes(holders, cuts)
    moves = []
    for number, cut in enumerate(cuts):
        progress.stage(f"update: comparing {cut.area.name}")
        own = scratch / str(number)
        own.mkdir()
        moves.append(_compare(base / cut.area.name / SOURCE_NAME, own, holders, number, changes))
    progress.stage("update: gathering what regions get")
    moving = scratch / "moving.osm.pbf"
    comes = [_join(move.comes[kind] for move in moves) for kind in _TYPES]
    _extract(source, list_blobs(source), moving, comes, header)
    blobs = list_blobs(moving)
    for number, (cut, old) in enumerate(zip(cuts, split.extracts, strict=True)):
        progress.stage(f"update: writing {cut.area.name}")
        target = fresh / cut.area.name
        target.mkdir()
        region = describe_region(holders, number, cut, target)
        own_header = replace(header, bbox=find_box(old_header, cut))
        _write(base / cut.area.name, target, moving, blobs, moves[number], own_header)
        region.files = _describe(target, SOURCE_NAME, GUESTS_NAME)
        region.update = RegionUpdate(old.files, _describe(target, CHANGED_NAME, LEFT_NAME))
        made.list_of(cut.kind).append(region)
    return made


def _describe(folder: Path, *names: str) -> dict[str, FilePart]:
    return {name: describe_file(folder / name) for name in names}


class _Move(NamedTuple):
    """Ids by type, sorted: what a region gets, new to it or another one than before; what left."""

    comes: list[Ints]
    left: list[Ints]


def _compare(before: Path, scratch: Path, holders: Holders, number: int, changes: Changes) -> _Move:
    """Return what moves, by the region's extract before and what it holds now."""
    columns = [Column(scratch, name, np.int64) for name in KINDS]
    for block in iter_blocks(before):
        columns[block.type].add(block.ids)
    move = _Move([], [])
    for kind in _TYPES:
        old = columns[kind].map()
        changed = _join(block.ids for block in changes.blocks if block.type == kind)
        stays = np.zeros(len(old), np.bool_)
        comes = []
        for ids, _ in holders.iter_held(kind, number):
            rows = find_rows(old, ids)
            stays[rows[rows >= 0]] = True
            comes.append(ids[(rows < 0) | (find_rows(changed, ids) >= 0)])
        move.comes.append(_join(comes))
        move.left.append(np.asarray(old[~stays]))
    return move


def _join(parts: Iterable[Ints]) -> Ints:
    """Return all ids, sorted, each once."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *parts]))


def _extract(
    source: Path, blobs: Sequence[Blob], target: Path, ids: Sequence[Ints], header: Header
) -> None:
    """Write the elements of some ids."""
    write_extract(source, blobs, target, encode_header(header), [[of_type] for of_type in ids])


def _write(
    before: Path, folder: Path, moving: Path, blobs: Sequence[Blob], move: _Move, header: Header
) -> None:
    """Write an extract out of the one before, and what has changed in it."""
    _extract(moving, blobs, folder / CHANGED_NAME, move.comes, header)
    eids = [move.left[kind] * 4 + kind for kind in _TYPES]
    np.save(folder / LEFT_NAME, np.sort(np.concatenate(eids)))
    source = folder / SOURCE_NAME
    changed = folder / CHANGED_NAME
    patch_source(before / SOURCE_NAME, source, changed, None, move.left, header)


def read_move(changed: Path, left: Path) -> Changes:
    """Return the changes of a region, as an update of a dataset takes them."""
    blocks = [block for block in iter_blocks(changed) if len(block.ids)]
    eids = np.load(left)
    gone = [eids[eids % 4 == kind] // 4 for kind in _TYPES]
    return Changes(blocks, gone, [np.zeros(len(ids), np.int64) for ids in gone])
