"""Build the datasets of all regions, each as a task of Ray, and publish them as one generation.

What is uploaded is named by what it was made of, so a run that was stopped goes on with the regions
that are not there. A region that came of another one by an update is not built but updated, where
the dataset of that other one is there; what comes of it has the same name either way. The
generation's manifest is written last: before, nobody sees anything.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from mapyard.builder.pipeline import (
    Step,
    StepContext,
    build_dataset,
    describe_dataset,
    estimate_source,
    new_dataset,
    run_steps,
)
from mapyard.builder.pipeline import publish as finish
from mapyard.builder.preflight import Estimate
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.dataset.catalog import GUESTS_NAME, Catalog
from mapyard.dataset.manifest import FORMAT_VERSION, FilePart, read_manifest
from mapyard.errors import MapyardError
from mapyard.fleet.changes import CHANGED_NAME, LEFT_NAME, read_move
from mapyard.fleet.generation import (
    CURRENT_NAME,
    FORMAT,
    SOURCE_NAME,
    Generation,
    Raster,
    Region,
    RegionFile,
    Split,
    read_generation,
    read_split,
)
from mapyard.fleet.heights import choose_rasters, fetch_rasters, list_rasters, upload_rasters
from mapyard.fleet.objects import Objects
from mapyard.fleet.pull import pull_region
from mapyard.fleet.ray import load_ray
from mapyard.fleet.wholes import ROADS
from mapyard.osm.pbf import read_header
from mapyard.settings import get_settings
from mapyard.updates.run import apply_changes, estimate_update

#: For no heights, where the generation before had some.
NO_RASTERS: Final = "none"

type Say = Callable[[str], None]


class Order(msgspec.Struct, frozen=True):
    """What a task builds."""

    region: RegionFile
    url: str
    only: list[str] | None
    #: Folder on the node for the work, "" for the system's temporary one.
    scratch: str = ""
    #: Rasters that its roads get their grades of.
    rasters: list[Raster] = []
    #: The dataset that it is updated from; None: it is built.
    before: Region | None = None

    @property
    def key(self) -> str:
        """Return the name of what it is made of: files, format, parts."""
        return self._name(self.region.files)

    @property
    def key_before(self) -> str:
        """Return the name of the dataset that an update begins with, "" for none."""
        return self._name(self.region.update.before) if self.region.update is not None else ""

    @property
    def files(self) -> dict[str, FilePart]:
        """Return what a node needs for it."""
        if self.before is None or self.region.update is None:
            return self.region.files
        return {GUESTS_NAME: self.region.files[GUESTS_NAME], **self.region.update.files}

    def _name(self, files: Mapping[str, FilePart]) -> str:
        parts = [self.region.name, *(file.checksum for file in files.values())]
        parts += [str(FORMAT_VERSION), *(["all"] if self.only is None else self.only)]
        parts += [f"{raster.name} {raster.file.checksum}" for raster in self.rasters]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()


def build_generation(
    folder: Path,
    url: str,
    *,
    only: Sequence[str] | None,
    ray_address: str,
    scratch: str,
    say: Say,
    elevation: str = "",
) -> Generation:
    """Build all regions of a split that are not built, and publish them.

    `elevation` is a folder of rasters, NO_RASTERS, or "" for those of the newest generation there.
    """
    split = read_split(folder)
    objects = Objects(url)
    rasters = _find_rasters(objects, elevation, say)
    select_steps(list(only) if only else None)  # refuses unknown ones
    parts = {region.name: choose_parts(split, region, only) for region in split.extracts}
    regions = [region for region in split.extracts if parts[region.name] != [] or not region.kind]
    orders = [
        Order(region, objects.url, parts[region.name], scratch,
              _choose_rasters(rasters, region, parts[region.name]))
        for region in regions
    ]  # fmt: skip
    built: dict[str, Region] = {}
    for order in orders:
        record = objects.get(f"builds/{order.key}.json")
        if record is not None:
            built[order.region.name] = msgspec.json.decode(record, type=Region)
    left = [_find_before(objects, order) for order in orders if order.region.name not in built]
    if built:
        say(f"{len(built)} of {len(orders)} regions are built already")
    if left:
        _upload_sources(objects, folder / split.folder, left, say)
        built |= _build_all(left, ray_address, say)
    return publish(objects, split, [built[region.name] for region in regions], rasters)


def _find_rasters(objects: Objects, elevation: str, say: Say) -> list[Raster]:
    if elevation == NO_RASTERS:
        return []
    if elevation:
        rasters = list_rasters(Path(elevation))
        upload_rasters(objects, Path(elevation), rasters, say)
        return rasters
    return read_generation(objects).rasters if objects.get(CURRENT_NAME) is not None else []


def _choose_rasters(
    rasters: Sequence[Raster], region: RegionFile, only: Sequence[str] | None
) -> list[Raster]:
    """Return the rasters that a region's build reads: of its roads."""
    has_roads = only is None or any(part in ROADS.parts for part in only)
    return choose_rasters(rasters, region.grown) if has_roads else []


def _find_before(objects: Objects, order: Order) -> Order:
    """Return the order as an update of the dataset before, where that is there."""
    record = objects.get(f"builds/{order.key_before}.json") if order.key_before else None
    if record is None:
        return order
    before = msgspec.json.decode(record, type=Region)
    return msgspec.structs.replace(order, before=before)


def choose_parts(
    split: Split, region: RegionFile, only: Sequence[str] | None = None
) -> list[str] | None:
    """Return the parts to build, None for all; none at all of what is asked for elsewhere."""
    if region.kind:
        return [part for part in region.parts if not only or part in only]
    if not split.roads:
        return list(only) if only else None
    steps = select_steps(list(only) if only else None)[1:]
    return [step.name for step in steps if step.name not in ROADS.parts]


def _upload_sources(objects: Objects, folder: Path, orders: Sequence[Order], say: Say) -> None:
    for order in orders:
        for name, expected in order.files.items():
            target = f"sources/{expected.checksum}/{name}"
            if objects.get(f"{target}.ok") is None:
                say(f"uploading {order.region.name}/{name}")
                objects.put_file(target, folder / order.region.name / name)
                objects.put(f"{target}.ok", b"")


def estimate_region(region: RegionFile, steps: Sequence[Step]) -> Estimate:
    """Return what the build of a region takes: the most memory of its steps, all of their disk."""
    size = region.files[SOURCE_NAME].bytes
    needs = [estimate_source(size), *(step.estimate(size) for step in steps)]
    if region.update is not None:
        needs.append(estimate_update(size))
    return Estimate(
        max(need.memory_bytes for need in needs),
        sum(need.disk_bytes for need in needs),
        sum(need.cpu_s for need in needs),
    )


def _build_all(orders: Sequence[Order], ray_address: str, say: Say) -> dict[str, Region]:
    ray = load_ray(ray_address)
    largest = max((node["Resources"].get("memory", 0.0) for node in ray.nodes() if node["Alive"]),
                  default=0.0)  # fmt: skip
    waiting: dict[Any, Order] = {}
    # The longest first: else one of them would run alone at the end.
    for order in sorted(orders, key=lambda o: -o.region.files[SOURCE_NAME].bytes):
        needs = estimate_region(order.region, select_steps(order.only))
        if needs.memory_bytes > largest:
            raise MapyardError(
                f"region {order.region.name} needs {needs.memory_bytes / 1e9:.1f} GB to build, the "
                f"largest node has {largest / 1e9:.1f} GB; split into more regions, or add a node"
            )
        task = ray.remote(build_region).options(
            num_cpus=1, memory=needs.memory_bytes, max_retries=3, name=order.region.name
        )
        waiting[task.remote(order)] = order
    built = {}
    while waiting:
        done, _ = ray.wait(list(waiting), num_returns=1)
        order = waiting.pop(done[0])
        try:
            region = ray.get(done[0])
        except ray.exceptions.RayTaskError as error:
            for task in waiting:
                ray.cancel(task, force=True)
            raise MapyardError(f"region {order.region.name}: {error.cause}") from None
        built[order.region.name] = region
        word = "built" if order.before is None else "updated"
        say(f"{word} {region.name} ({len(built)} of {len(orders)}): {region.bytes / 1e6:,.0f} MB")
    return built


def build_region(order: Order) -> Region:
    """Build and upload one region; runs on any node."""
    objects = Objects(order.url)
    if order.scratch:
        Path(order.scratch).mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="mapyard-region-", dir=order.scratch or None))
    try:
        for name, expected in order.files.items():
            objects.get_file(f"sources/{expected.checksum}/{name}", work / name, expected)
        fetch_rasters(objects, order.rasters, work / "data")
        step = Step("region", _copy_guests, lambda size: Estimate(0, 0, 0.0))
        steps = [*select_steps(order.only), step]
        with Reporter(quiet=True) as progress:
            if order.before is not None:
                folder = _update_region(objects, order, order.before, work, steps, progress)
            else:
                folder = build_dataset(
                    [work / SOURCE_NAME], work / "data", steps, progress, names=[order.region.name]
                ).folder
        manifest = read_manifest(folder)
        prefix = f"datasets/{order.region.name}/{manifest.id}"
        names = [name for part in manifest.parts.values() for name in part.files]
        for name in [*names, "report.json", "manifest.json"]:
            objects.put_file(f"{prefix}/{name}", folder / name)
        region = Region(
            order.region.name, order.region.area, order.region.grown, manifest.id,
            manifest.size_bytes, order.region.kind,
        )  # fmt: skip
        objects.put(f"builds/{order.key}.json", msgspec.json.encode(region))
        return region
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _update_region(
    objects: Objects,
    order: Order,
    before: Region,
    work: Path,
    steps: list[Step],
    progress: Reporter,
) -> Path:
    """Update the dataset of before by what has changed in a region; return the new one's folder."""
    data = work / "data"
    current = pull_region(objects, before, data)
    objects.get_file(
        f"datasets/{before.name}/{before.dataset}/report.json", current / "report.json"
    )
    manifest = read_manifest(current)
    changes = read_move(work / CHANGED_NAME, work / LEFT_NAME)
    catalog = Catalog(data)
    with catalog.lock(), new_dataset(catalog, get_settings(), progress) as ctx:
        header = read_header(work / CHANGED_NAME)
        parts = apply_changes(ctx, current, manifest, changes, work / CHANGED_NAME, header)
        run_steps(ctx, steps[1:], parts)
        new = describe_dataset(ctx, parts)
        new.sources = manifest.sources
        if new.counts | order.region.counts != new.counts:
            raise MapyardError(
                f"the update gave {new.counts} elements where {order.region.counts} belong; "
                "split the map again"
            )
        assert ctx.patched is not None
        return finish(catalog, ctx, new, ctx.patched.problems)


def _copy_guests(ctx: StepContext) -> Mapping[str, Any] | None:
    """Put the list of guests beside the dataset's other files: it lies where the source lay."""
    shutil.copyfile(ctx.data.parent / GUESTS_NAME, ctx.folder / GUESTS_NAME)
    return None


def publish(
    objects: Objects, split: Split, regions: list[Region], rasters: Sequence[Raster] = ()
) -> Generation:
    """Write the manifest of a generation, and that it is the newest."""
    names = [f"{region.name} {region.dataset}" for region in regions]
    made_of = "\n".join([*names, *(raster.place for raster in rasters)])
    number = hashlib.blake2b(made_of.encode(), digest_size=4).hexdigest()
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    generation = Generation(
        FORMAT, f"{(split.osm_timestamp or when).replace(':', '')}-{number}", when,
        split.osm_timestamp, split.margin_m, regions, split.roads_margin_m, list(rasters),
    )  # fmt: skip
    text = msgspec.json.format(msgspec.json.encode(generation), indent=1)
    objects.put(f"generations/{generation.id}.json", text)
    objects.put(CURRENT_NAME, msgspec.json.encode({"generation": generation.id}))
    return generation
