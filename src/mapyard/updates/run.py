"""One update: fetch diffs, patch source and store, build the other parts anew, switch.

The served dataset is never touched. Diffs already fetched are kept in DATA/updates/diffs until they
are in a served dataset, so a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import time
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapyard.addresses import split_login
from mapyard.builder.memory import array_bytes
from mapyard.builder.pipeline import (
    Step,
    StepContext,
    describe_dataset,
    describe_part,
    new_dataset,
    publish,
    run_steps,
    share_file,
)
from mapyard.builder.preflight import Estimate, check_room
from mapyard.builder.progress import Reporter
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import Manifest, Part, Replication, name_sources
from mapyard.errors import MapyardError
from mapyard.geo.bbox import Bbox
from mapyard.osm.elements import NODE, RELATION, TYPE_NAMES, WAY
from mapyard.osm.pbf import Header
from mapyard.osm.waiting import (
    BASE_NAME,
    list_files,
    read_source_header,
    require_files,
    update_source,
)
from mapyard.settings import Settings
from mapyard.store.distinct import distinct
from mapyard.store.patching.patch import Patched, patch_store
from mapyard.store.reader import Store, open_store
from mapyard.store.spill import spill_arrays
from mapyard.store.tag_history import count_tags, write_history
from mapyard.updates.changes import Changes, read_changes
from mapyard.updates.chosen import find_source, keep_source
from mapyard.updates.history import Run, add_run, log_path, now_iso
from mapyard.updates.parts import choose_kept, keep_part
from mapyard.updates.select import clip, select_newer
from mapyard.updates.source import (
    BadDiff,
    MissingDiff,
    ReplicationSource,
    SourceUnreachable,
    State,
    open_source,
)
from mapyard.updates.tiles import find_tiles, format_tiles

Ints = NDArray[np.int64]
#: At most this many diffs and bytes of diffs become one dataset; after an outage several follow.
MAX_DIFFS = 500
MAX_DIFF_BYTES = 64_000_000
#: Parts that are made of the store alone.
_WITHOUT_SOURCE: Final = ("text", "tiles")


class NoSource(MapyardError):  # noqa: N818
    """Neither the extract nor the settings name a replication source."""

    status = 422


@dataclass(slots=True)
class Round:
    """The diffs of one round and where they lead."""

    diffs: list[Path]
    state: State
    newest: State


def update_dataset(
    data: Path,
    steps: list[Step],
    progress: Reporter,
    settings: Settings,
    source_url: str = "",
) -> list[Run]:
    """Bring the served dataset up to its source; return what the rounds did, at least one.

    `steps` are those of the parts that the dataset has, the store apart. Raises NoSource,
    SourceUnreachable, BadDiff, Busy or NoRoom. Every outcome is noted in DATA/updates/runs.json,
    what happened in DATA/updates/logs.
    """
    catalog = Catalog(data)
    runs: list[Run] = []
    with catalog.lock():
        catalog.clean()
        while True:
            run = Run(now_iso())
            started_s = time.monotonic()
            with progress.log_to(log_path(data, run)):
                try:
                    more = _run_round(catalog, steps, progress, settings, source_url, run)
                except SourceUnreachable as error:
                    run.outcome, run.message = "unreachable", error.message
                    raise
                except MapyardError as error:
                    run.outcome, run.message = "failed", error.message
                    raise
                except BaseException as error:
                    run.outcome, run.message = "failed", f"interrupted ({type(error).__name__})"
                    progress.note(f"interrupted\n{traceback.format_exc()}")
                    raise
                finally:
                    run.seconds = round(time.monotonic() - started_s, 3)
                    progress.note(f"{run.outcome}: {run.dataset} {run.message}".rstrip())
                    add_run(data, run)
            runs.append(run)
            if not more:
                return runs


def _run_round(
    catalog: Catalog,
    steps: list[Step],
    progress: Reporter,
    settings: Settings,
    source_url: str,
    run: Run,
) -> bool:
    """Do one round; return whether the source has more."""
    current = catalog.path("current")
    manifest = catalog.manifest("current")
    url = find_source(catalog.data, settings, manifest, source_url)
    if not url:
        raise NoSource(
            "the extract does not name a replication source; give one with --source URL "
            "or MAPYARD_UPDATE_SOURCE"
        )
    progress.stage("update: looking for changes")
    known = msgspec.structs.replace(manifest.replication, timestamp=manifest.osm_timestamp)
    with open_source(url) as source:
        fetched = fetch_round(source, known, catalog.data / "updates" / "diffs", progress, run)
    if source_url:
        # It answered: from now on it is the one, from whatever folder it was named.
        keep_source(catalog.data, source_url if "://" in source_url else source.url)
    if fetched is None:
        run.outcome, run.dataset = "current", manifest.id
        return False
    kept = choose_kept(steps, current, manifest, fetched.state.timestamp, settings)
    steps = [step for step in steps if step.name not in kept]
    files = require_files(current.resolve(), name_sources(manifest.sources))
    size = (current / files[0]).stat().st_size
    needs = [estimate_update(size), *(s.estimate(size) for s in steps)]
    is_needed = any(step.name not in _WITHOUT_SOURCE for step in steps)
    check_room(catalog.data, needs)
    with new_dataset(catalog, settings, progress) as ctx:
        parts = _patch(ctx, current, manifest, fetched, source.url, run, is_needed)
        parts |= {name: keep_part(ctx, manifest, name) for name in kept}
        run_steps(ctx, steps, parts)
        new_manifest = describe_dataset(ctx, parts)
        new_manifest.sources = manifest.sources
        assert ctx.patched is not None
        publish(catalog, ctx, new_manifest, ctx.patched.problems)
    run.outcome, run.dataset = "updated", new_manifest.id
    for diff in fetched.diffs:
        diff.unlink(missing_ok=True)
    catalog.prune(settings.keep_datasets)
    return fetched.state.sequence < fetched.newest.sequence and not run.message


def estimate_update(size: int) -> Estimate:
    """Return what the update of source and store takes, by the bytes of the source."""
    return Estimate(200_000_000 + 16 * size, 11 * size)


def _known_sequence(source: ReplicationSource, known: Replication) -> int | None:
    """Return up to which of the source's numbers the dataset is, None when only the time can tell.

    Another source than the one before may count otherwise, unless it has the same number for the
    same time, as a mirror has.
    """
    if known.sequence is None or split_login(known.url)[0].rstrip("/") in ("", source.url):
        return known.sequence
    try:
        is_same = source.state(known.sequence).timestamp == known.timestamp
    except BadDiff:
        return None
    return known.sequence if is_same else None


def fetch_round(
    source: ReplicationSource, known: Replication, folder: Path, progress: Reporter, run: Run
) -> Round | None:
    """Fetch the diffs of one round; None when the data, as new as `known`, are as the source's."""
    newest = source.newest()
    sequence = _known_sequence(source, known)
    if sequence is None:
        sequence = _find_sequence(source, newest, known.timestamp)
    run.from_sequence, run.newest_sequence = sequence, newest.sequence
    if newest.sequence < sequence:
        raise BadDiff(
            f"{source.url} is at sequence {newest.sequence}, the dataset at {sequence}: this is "
            "another source than the extract's; nothing was applied"
        )
    if newest.sequence == sequence:
        return None
    folder = folder / hashlib.sha256(source.url.encode()).hexdigest()[:12]
    last = min(newest.sequence, sequence + MAX_DIFFS)
    progress.stage("update: fetching diffs", total=last - sequence, unit="diffs")
    diffs: list[Path] = []
    size = 0
    for number in range(sequence + 1, last + 1):
        try:
            diffs.append(source.fetch_diff(number, folder))
        except MissingDiff as error:
            if not diffs:
                raise
            # What is there brings the data up to its time; the next run meets the gap first.
            run.message = f"stopped before a gap: {error.message}"
            break
        progress.advance(len(diffs))
        size += diffs[-1].stat().st_size
        if size > MAX_DIFF_BYTES:
            break
    state = _last_state(source, sequence, diffs, run)
    run.to_sequence = state.sequence
    progress.note(f"{len(diffs):,} diffs, {size:,} bytes, from {source.url}")
    return Round(diffs, state, newest)


def _last_state(source: ReplicationSource, sequence: int, diffs: list[Path], run: Run) -> State:
    """Return the state after the diffs; drops those at the end whose states are missing."""
    while True:
        try:
            return source.state(sequence + len(diffs))
        except MissingDiff as error:
            if len(diffs) == 1:
                raise
            run.message = f"stopped before a gap: {error.message}"
            diffs.pop()


def _find_sequence(source: ReplicationSource, newest: State, timestamp: str) -> int:
    """Return the last sequence that is surely in data of a time, by bisection.

    Raises BadDiff when the source does not reach back that far: changes would be lost unseen.
    """
    if not timestamp:
        raise NoSource(
            "neither a sequence number nor a time is known of the extract: it cannot be updated"
        )
    low, high = 0, newest.sequence
    while low < high:
        middle = (low + high + 1) // 2
        try:
            known = source.state(middle).timestamp <= timestamp
        except BadDiff:
            known = True  # too old to be kept by the source
        if known:
            low = middle
        else:
            high = middle - 1
    try:
        reaches_back = source.state(low).timestamp <= timestamp
    except BadDiff:
        reaches_back = False
    if not reaches_back:
        raise BadDiff(
            f"{source.url} does not reach back to the data's time, {timestamp}; nothing was "
            "applied: build the dataset anew from a newer extract"
        )
    return low


def _patch(
    ctx: StepContext, current: Path, manifest: Manifest, fetched: Round, url: str, run: Run,
    is_needed: bool,
) -> dict[str, Part]:  # fmt: skip
    """Write source and store of the new dataset; return their parts."""
    ctx.progress.stage("update: reading changes")
    changed = ctx.folder / "changed.osm.pbf"
    changes = read_changes(fetched.diffs, changed)
    old = open_store(current / "elements")
    if ctx.settings.update_clip and manifest.bbox:
        changes = clip(old, changes, Bbox(*manifest.bbox))
    changes = select_newer(old, changes)
    run.changed, run.deleted = changes.counts
    ctx.progress.note(f"{run.changed:,} elements changed, {run.deleted:,} deleted")
    header = make_header(fetched.state, url)
    parts = apply_changes(ctx, current, manifest, changes, changed, header, is_needed=is_needed)
    assert ctx.patched is not None
    run.touched = len(ctx.patched.touched)
    return parts


def make_header(state: State, url: str) -> Header:
    """Return the header of data that are as new as a state of a source."""
    return Header(
        replication_timestamp=int(datetime.fromisoformat(state.timestamp).timestamp()),
        replication_sequence=state.sequence,
        replication_url=url,
    )


def apply_changes(
    ctx: StepContext,
    current: Path,
    manifest: Manifest,
    changes: Changes,
    changed: Path,
    header: Header,
    *,
    is_needed: bool = True,
) -> dict[str, Part]:
    """Write source and store of a new dataset out of the one in `current`; return their parts.

    The changes apply as they are; `changed` is the file of the elements that are there, and is
    removed. The source is written whole where it `is_needed`, else its changes may wait.
    """
    old = open_store(current / "elements")
    started_s = time.monotonic()
    ctx.progress.stage("update: source")
    ctx.previous = current
    waits = update_source(
        current, ctx.folder, changed, changes.changed, changes.deleted, header,
        is_needed=is_needed,
    )  # fmt: skip
    changed.unlink()
    shared = {}
    if waits:
        base = list_files(current)[0]
        share_file(ctx, BASE_NAME, base)
        shared[BASE_NAME] = manifest.parts["source"].files[base]
        ctx.progress.note("the source is shared with the dataset before; its changes lie beside it")
    ctx.header = read_source_header(ctx.folder)
    source = describe_part(ctx.folder, set(shared), time.monotonic() - started_s, {})
    source.files |= shared
    parts = {"source": source}
    started_s = time.monotonic()
    ctx.progress.stage("update: store")
    report = msgspec.json.decode((current / "report.json").read_bytes())
    problems = {k: [(n, r) for n, r in items] for k, items in report["problems"].items()}
    with spill_arrays(ctx.folder, array_bytes(ctx.settings)):
        ctx.patched = patch_store(
            current / "elements", ctx.folder / "elements", changes.blocks, changes.deleted, problems
        )
    _check_counts(old, ctx.store, changes)
    write_history(
        ctx.folder,
        current,
        (manifest.osm_timestamp, _format(header.replication_timestamp)),
        count_tags(old, _rows_of(old, changes)),
        count_tags(ctx.store, _rows_of(ctx.store, changes)),
    )
    tiles = find_tiles(ctx.store, ctx.patched.touched) | find_tiles(
        old, distinct(ctx.patched.removed, _before(ctx.patched))
    )
    (ctx.folder / "changed_tiles.txt").write_text(format_tiles(tiles))
    known = set(parts["source"].files)
    parts["store"] = describe_part(ctx.folder, known, time.monotonic() - started_s, ctx.store.info)
    return parts


def _format(unix_s: int) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _before(patched: Patched) -> Ints:
    """Return the old rows of touched elements."""
    before = patched.row_map.invert(patched.touched)
    return before[before >= 0]


def _rows_of(store: Store, changes: Changes) -> Ints:
    """Return the rows of all changed and deleted elements that a store has."""
    rows = [store.find_rows(block.type, block.ids) for block in changes.blocks]
    rows += [store.find_rows(kind, changes.deleted[kind]) for kind in (NODE, WAY, RELATION)]
    found = distinct(*rows)
    return found[found >= 0]


def _check_counts(old: Store, new: Store, changes: Changes) -> None:
    """Raise when the new store does not hold exactly what old one and changes give."""
    for kind in (NODE, WAY, RELATION):
        start, stop = old.type_range(kind)
        ids = [block.ids for block in changes.blocks if block.type == kind]
        changed = np.concatenate([np.empty(0, np.int64), *ids])
        created = int((old.find_rows(kind, changed) < 0).sum())
        gone = np.setdiff1d(changes.deleted[kind], changed)
        expected = stop - start + created - int((old.find_rows(kind, gone) >= 0).sum())
        start, stop = new.type_range(kind)
        if stop - start != expected:
            raise MapyardError(
                f"the update gave {stop - start:,} elements of type {TYPE_NAMES[kind]} where "
                f"{expected:,} belong; nothing was switched"
            )
