"""The build: steps write the parts of a new dataset, which is then checked, synced and switched.

The served dataset is never touched: a new one grows in a hidden folder and is renamed when whole.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mapyard.builder.memory import build_bytes, sort_bytes
from mapyard.builder.preflight import Estimate, check_room, format_bytes
from mapyard.builder.progress import Reporter
from mapyard.dataset.catalog import Catalog, new_dataset_id, sync_file, sync_folder
from mapyard.dataset.manifest import (
    FilePart,
    Manifest,
    Part,
    Replication,
    describe_file,
    read_manifest,
    verify_files,
    write_manifest,
)
from mapyard.dataset.own_speeds import SPEEDS_FOLDER
from mapyard.errors import MapyardError
from mapyard.osm.pbf import Header, NeedsRewrite
from mapyard.osm.source import (
    Problems,
    check_input,
    prepare_source,
    sort_memory_bytes,
    sort_source,
)
from mapyard.osm.waiting import WHOLE_NAME
from mapyard.settings import Settings, get_settings
from mapyard.store.patching.patch import Patched
from mapyard.store.reader import Store, open_store
from mapyard.store.tag_history import keep_history
from mapyard.store.writer import NotSorted, write_store
from mapyard.version import __version__

if TYPE_CHECKING:
    from mapyard.builder.step_process import StepProcess

#: Parts are built side by side when they are expected to take so long together, seconds.
_WORTH_S: Final = 10.0
#: Errors of file systems that cannot give one file two names.
_NO_LINKS: Final = (errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS)
_LAST_STAGE: Final = "checking and syncing"
#: Of the folders of parts that are built side by side, until they are whole.
APART: Final = ".part-"
#: PBF bytes → what the step needs.
EstimateFunction = Callable[[int], Estimate]


@dataclass(slots=True, frozen=True)
class Step:
    """One part of a dataset: its name, what writes it, and what that needs.

    `run` writes into the context's folder and may return figures for the report. `prepare` does
    what needs the source only: it may run before, in another process, beside the store.
    """

    name: str
    run: Callable[[StepContext], Mapping[str, Any] | None]
    estimate: EstimateFunction
    prepare: Callable[[StepContext], None] | None = None


@dataclass
class StepContext:
    """What a step gets: the new dataset's folder, its source and store, settings, progress.

    In an update whose steps do not read the source it is not there (osm/waiting.py).
    """

    folder: Path
    source: Path
    data: Path
    settings: Settings
    progress: Reporter
    header: Header = field(default_factory=Header)
    #: How many processes it may use; updates, which share the machine with the server, one.
    jobs: int = 1
    #: In how many threads other programs may work, None for one per core.
    threads: int | None = None
    #: How many stages had ended before: those of an update's earlier rounds.
    stages_before: int = 0
    #: In an update: the dataset that it starts from, and what changed.
    previous: Path | None = None
    patched: Patched | None = None
    #: Files that are shared with that dataset, by name: nothing writes, syncs or reads them again.
    shared: set[str] = field(default_factory=set)

    @cached_property
    def store(self) -> Store:
        """The store of the new dataset, open."""
        store = open_store(self.folder / "elements")
        store.keep_no_shapes()
        return store


def _run_store(ctx: StepContext) -> Mapping[str, Any]:
    written = 0

    def stage(name: str) -> None:
        ctx.progress.stage(f"store: {name}", unit="elements")

    def advance(count: int) -> None:
        nonlocal written
        written = count
        ctx.progress.advance(count)

    memory_bytes = sort_bytes(ctx.settings)
    return write_store(ctx.folder / "elements", ctx.source, advance, stage, memory_bytes, ctx.jobs)


def estimate_source(pbf: int, sorting_bytes: int = 0) -> Estimate:
    """Return what looking through the inputs and keeping them takes."""
    cpu_s = 0.02 + 0.01e-6 * pbf + 0.025e-6 * sorting_bytes
    return Estimate(60_000_000 + sorting_bytes, pbf, cpu_s)


def _estimate_store(pbf: int) -> Estimate:
    """Measured in docs/decisions/008-bounded-memory.md; a third of the disk is needed meanwhile."""
    memory = min(150_000_000 + 4 * pbf, build_bytes(get_settings()))
    return Estimate(memory, 10 * pbf, 0.4 + 0.27e-6 * pbf)


STORE_STEP = Step("store", _run_store, _estimate_store)


@dataclass(slots=True)
class BuildReport:
    """What a build made."""

    dataset_id: str
    folder: Path
    manifest: Manifest
    seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    problems: dict[str, list[tuple[str, str]]]
    cleaned: list[str]


def build_dataset(
    inputs: list[Path],
    data: Path,
    steps: list[Step],
    progress: Reporter,
    *,
    names: list[str] | None = None,
    settings: Settings | None = None,
    sources: list[dict[str, Any]] | None = None,
    jobs: int | None = None,
    same_data: Path | None = None,
) -> BuildReport:
    """Build a dataset from extract files and switch to it.

    `names` are the sources as the manifest shows them (file names by default), `sources` what it
    shows when the inputs are something else. Parts are built side by side in up to `jobs`
    processes, one per core if none are given and it pays; what is built is the same. `same_data` is
    a dataset of the same data, whose history of tags goes on. Raises MapyardError with one clear
    line for bad input, too little room, a data folder in use or a full disk.
    """
    from mapyard.builder.side_by_side import begin_ahead, can_run_apart, run_side_by_side

    started_s, started_cpu_s = time.monotonic(), cpu_seconds()
    for path in inputs:
        check_input(path)
    catalog = Catalog(data)
    settings = settings or get_settings()
    with catalog.lock():
        cleaned = catalog.clean()
        size = sum(path.stat().st_size for path in inputs)
        sorting_bytes = min(sort_memory_bytes(inputs), build_bytes(settings))
        needs = [estimate_source(size, sorting_bytes if len(inputs) > 1 else 0)]
        needs += [step.estimate(size) for step in steps]
        check_room(data, needs)
        threads = jobs
        if jobs is None:
            takes_long = sum(need.cpu_s for need in needs) > _WORTH_S
            jobs = (os.cpu_count() or 1) if takes_long else 1
        progress.plan(plan_parts(size, needs, steps), jobs)
        with new_dataset(catalog, settings, progress, sum(n.disk_bytes for n in needs)) as ctx:
            progress.stage("source: reading")
            ctx.jobs, ctx.threads = jobs, threads
            found: Problems = {}
            apart = [step for step in steps[1:] if jobs > 1 and can_run_apart(step)]
            parts: dict[str, Part] = {}

            def take(prepare: Callable[[], Header]) -> list[StepProcess]:
                ctx.header = prepare()
                if same_data is not None:
                    keep_history(ctx.folder, same_data)
                parts["source"] = describe_part(ctx.folder, set(), 0.0, {})
                with begin_ahead(ctx, apart) as ahead:
                    run_steps(ctx, steps[:1], parts)
                return ahead

            def say(name: str) -> None:
                progress.stage(f"source: {name}")

            limit = sort_bytes(settings)
            try:
                ahead = take(
                    lambda: prepare_source(
                        inputs, ctx.source, say, found, trust=True, memory_bytes=limit
                    )
                )
            except (NotSorted, NeedsRewrite):
                shutil.rmtree(ctx.folder / "elements", ignore_errors=True)
                ahead = take(lambda: sort_source(inputs, ctx.source, say, found, limit))
            if len(apart) > 1 or ahead:
                parts |= run_side_by_side(ctx, apart, jobs, size, ahead)
            run_steps(ctx, [step for step in steps[1:] if step.name not in parts], parts)
            manifest = describe_dataset(ctx, parts)
            manifest.sources = sources or [
                {"name": name, "bytes": path.stat().st_size}
                for name, path in zip(names or [p.name for p in inputs], inputs, strict=True)
            ]
            problems = {**found, **manifest.parts["store"].report.pop("problem_ids", {})}
            target = publish(catalog, ctx, manifest, problems)
    peaks = [
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    peak = max(peaks) * 1024
    return BuildReport(
        manifest.id,
        target,
        manifest,
        time.monotonic() - started_s,
        cpu_seconds() - started_cpu_s,
        peak,
        problems,
        cleaned,
    )


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def plan_parts(
    pbf: int, needs: Iterable[Estimate], steps: Iterable[Step]
) -> list[tuple[str, float]]:
    """Return the parts of a build with the seconds that are expected of each."""
    names = ["source", *(step.name for step in steps)]
    parts = [(name, need.cpu_s) for name, need in zip(names, needs, strict=True)]
    return [*parts, (_LAST_STAGE, 0.1 + 0.01e-6 * pbf * len(parts))]


@contextlib.contextmanager
def new_dataset(
    catalog: Catalog, settings: Settings, progress: Reporter, disk_bytes: int = 0
) -> Iterator[StepContext]:
    """Give a context with a hidden folder for a new dataset; remove the folder on any failure.

    `disk_bytes` are what it is expected to take, for the error of a full disk.
    """
    folder = catalog.new_folder()
    try:
        ctx = StepContext(folder, folder / WHOLE_NAME, catalog.data, settings, progress)
        ctx.stages_before = len(progress.stages)
        yield ctx
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        if reason := find_full_disk(error):
            raise MapyardError(
                f"the disk of {catalog.data} is full ({reason}); the served dataset is "
                "untouched, and what this run had written is removed"
                + (f"; the build takes about {format_bytes(disk_bytes)}" if disk_bytes else "")
            ) from error
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def find_full_disk(error: Exception) -> str:
    """Return what an error says of a full disk, "" for others; libraries have their own errors."""
    if isinstance(error, OSError):
        return str(error.strerror) if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    words = (os.strerror(errno.ENOSPC), "database or disk is full")  # SQLite has its own
    lines = [line.strip() for line in str(error).splitlines() if any(w in line for w in words)]
    return lines[-1] if lines else ""


def publish(
    catalog: Catalog,
    ctx: StepContext,
    manifest: Manifest,
    problems: Mapping[str, list[tuple[str, str]]],
) -> Path:
    """Write report and manifest, sync and check every file, and switch to the new dataset."""
    stages = [
        {"name": name, "seconds": round(s, 3)}
        for name, s in ctx.progress.stages[ctx.stages_before :]
    ]
    report = {"problems": problems, "stages": stages}
    (ctx.folder / "report.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(report), indent=1)
    )
    write_manifest(ctx.folder, manifest)
    ctx.progress.stage(_LAST_STAGE)
    _sync(ctx.folder, ctx.shared)
    faults = verify_files(ctx.folder, manifest, ctx.shared)
    if faults:
        raise MapyardError(f"the new dataset does not read back: {faults[0]}")
    target = catalog.publish(ctx.folder, manifest.id)
    _carry_over_speeds(catalog, target)
    catalog.use(manifest.id)
    return target


def _carry_over_speeds(catalog: Catalog, target: Path) -> None:
    if not (catalog.data / SPEEDS_FOLDER).is_dir():
        return
    from mapyard.builder.speeds import carry_over  # few have any

    carry_over(catalog.data, catalog.find_current(), target)


def run_steps(ctx: StepContext, steps: list[Step], parts: dict[str, Part]) -> None:
    """Run steps one after the other; their files become parts of their names."""
    known = {name for part in parts.values() for name in part.files}
    for step in steps:
        started_s = time.monotonic()
        ctx.progress.stage(step.name)
        figures = dict(step.run(ctx) or {})
        seconds = time.monotonic() - started_s
        part = describe_part(ctx.folder, known, seconds, figures, ctx.previous)
        known |= set(part.files)
        parts[step.name] = part


def describe_dataset(ctx: StepContext, parts: dict[str, Part]) -> Manifest:
    """Return the manifest of a filled folder, with a new id."""
    info = ctx.store.info
    header = ctx.header
    timestamp = header.replication_timestamp or info["newest_timestamp"]
    osm_timestamp = _iso(timestamp) if timestamp else ""
    return Manifest(
        id=new_dataset_id(osm_timestamp),
        created=_iso(time.time()),
        mapyard=__version__,
        osm_timestamp=osm_timestamp,
        replication=Replication(header.replication_url, header.replication_sequence, osm_timestamp),
        bbox=list(header.bbox) if header.bbox else info["bbox"],
        counts={name: info[name] for name in ("nodes", "ways", "relations", "listed")},
        parts=parts,
    )


def _iso(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def describe_part(
    folder: Path,
    known: set[str],
    seconds: float,
    figures: dict[str, Any],
    before: Path | None = None,
) -> Part:
    """Return the part that all files not yet known make up.

    Of files that are the same on disk as in the dataset `before` the checksums are taken over.
    """
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    mine = [name for name in names if name not in known and not name.startswith(APART)]
    shared = _find_shared(folder, mine, before) if before is not None else {}
    files = {name: shared.get(name) or describe_file(folder / name) for name in mine}
    return Part(files, round(seconds, 3), figures)


def _find_shared(folder: Path, names: list[str], before: Path) -> dict[str, FilePart]:
    parts = read_manifest(before).parts.values()
    known = {name: file for part in parts for name, file in part.files.items()}
    return {
        name: known[name]
        for name in names
        if name in known and (before / name).is_file() and (folder / name).samefile(before / name)
    }


def share_file(ctx: StepContext, name: str, old_name: str = "") -> None:
    """Take a file over from the dataset before: the same on disk, else a copy of it."""
    assert ctx.previous is not None
    old, new = ctx.previous / (old_name or name), ctx.folder / name
    new.parent.mkdir(parents=True, exist_ok=True)
    try:
        new.hardlink_to(old)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(old, new)
    else:
        ctx.shared.add(name)


def _sync(folder: Path, but: Set[str]) -> None:
    for root, _, files in os.walk(folder):
        for name in files:
            path = Path(root) / name
            if str(path.relative_to(folder)) not in but:
                sync_file(path)
        sync_folder(Path(root))
