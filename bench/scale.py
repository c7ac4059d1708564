"""What a dataset of many copies takes: bytes by column, CPU, wall time and memory by stage.

    python -m bench.scale EXTRACT [--copies 1 20] [--distinct] [--parts store,text,tiles]
                          [--jobs 1] [--replicate PROGRAM] [--keep FOLDER]

The copies lie side by side, each with ids of its own. Plain copies share all tags, which hides how
dictionaries grow: --distinct gives every copy names, addresses, users and changesets of its own.
PROGRAM, called as `PROGRAM in.osm.pbf out.osm.pbf -k COPIES`, makes large plain files faster.

Memory is what the processes of the build hold themselves (RssAnon, sampled 20 times a second), not
the pages of mapped files, nor what the road engine's own tile builder holds. Queries are those of
bench.features; times are CPU of this process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import osmium
import osmium.osm.mutable

from bench.features import answer_all, choose_questions
from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Lane, Reporter
from mapyard.builder.steps import select_steps
from mapyard.routing.kernels import load_kernels
from mapyard.store.reader import open_store

ID_STEP = 100_000_000_000
GAP_DEG = 0.02
#: Begin of the name of the road engine's tile builder, as the system knows it.
ENGINE = "valhalla_build"
METADATA = ("version", "timestamp", "changeset", "user")
#: Tags whose values differ from place to place.
OWN = ("name", "addr:street", "addr:housenumber", "addr:city", "addr:place", "ref", "website")


def write_copies(extract: Path, target: Path, copies: int, *, distinct: bool) -> None:
    """Write an extract several times, each copy east of the one before."""
    width = copy_width(extract)
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    kinds = (osmium.osm.NODE, osmium.osm.WAY, osmium.osm.RELATION)
    with osmium.SimpleWriter(str(target), header=header, overwrite=True) as writer:
        for kind in kinds:
            for copy in range(copies):
                shift = copy * ID_STEP
                draw = random.Random(copy)
                users = [f"mapper {copy} {number}" for number in range(500)]
                for item in osmium.FileProcessor(str(extract), kind):
                    changes: dict[str, Any] = {"id": item.id + shift}
                    if distinct:
                        changes |= own_values(item, copy, users, draw)
                    if item.is_node():
                        lon = item.location.lon + copy * width
                        changes["location"] = ((lon + 180) % 360 - 180, item.location.lat)
                        made: Any = osmium.osm.mutable.Node(item, **changes)
                    elif item.is_way():
                        changes["nodes"] = [node.ref + shift for node in item.nodes]
                        made = osmium.osm.mutable.Way(item, **changes)
                    else:
                        changes["members"] = [(m.type, m.ref + shift, m.role) for m in item.members]
                        made = osmium.osm.mutable.Relation(item, **changes)
                    writer.add(made)


def copy_width(extract: Path) -> float:
    """Return how many degrees a copy lies east of the one before."""
    box = osmium.io.Reader(str(extract)).header().box()
    if box.valid():
        return float(box.top_right.lon - box.bottom_left.lon) + GAP_DEG
    lons = [node.lon for node in osmium.FileProcessor(str(extract), osmium.osm.NODE)]
    return max(lons) - min(lons) + GAP_DEG


def own_values(item: Any, copy: int, users: list[str], draw: random.Random) -> dict[str, Any]:
    """Return tags, user and changeset of a copy; a changeset is of one user and one hour."""
    number = min(int(draw.paretovariate(1.0)), len(users)) - 1
    hour = int(item.timestamp.timestamp()) // 3600
    changes: dict[str, Any] = {
        "uid": copy * len(users) + number + 1,
        "user": users[number],
        "changeset": hour * 7 + copy * 13 + number,
    }
    if copy and any(key in item.tags for key in OWN):
        changes["tags"] = {tag.k: f"{tag.v} {copy}" if tag.k in OWN else tag.v for tag in item.tags}
    return changes


class Stage(NamedTuple):
    """One stage of a build."""

    name: str
    wall_s: float
    cpu_s: float
    peak_bytes: int


class StageReporter(Reporter):
    """Sends the name of each stage, and the CPU time at its begin."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(quiet=True)
        self._pipe = pipe

    def begin_stage(self, lane: Lane, name: str, total: int | None, unit: str) -> None:
        """Begin a stage, and send it."""
        super().begin_stage(lane, name, total, unit)
        times = os.times()
        cpu_s = times.user + times.system + times.children_user + times.children_system
        self._pipe.send((name, time.monotonic(), cpu_s))


def run_build(pipe: Connection, extract: Path, data: Path, parts: list[str], jobs: int) -> None:
    """Build in a process of its own."""
    reporter = StageReporter(pipe)
    with reporter:
        build_dataset([extract], data, select_steps(parts), reporter, jobs=jobs)
    reporter.stage("")


def anonymous_bytes(process: int) -> int:
    """Return what a process and its children hold themselves, but the engine's tile builder."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return 0
    own = next((int(line.split()[1]) for line in text.splitlines() if "RssAnon" in line), 0) * 1024
    if ENGINE in text.partition("\n")[0]:
        own = 0
    return own + sum(anonymous_bytes(int(child)) for child in children)


def watch_build(extract: Path, data: Path, parts: list[str], jobs: int) -> list[Stage]:
    """Build, and return what each stage took."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=run_build, args=(sending, extract, data, parts, jobs))
    process.start()
    sending.close()
    begun: list[tuple[str, float, float]] = []
    peaks: dict[int, int] = {}
    is_over = threading.Event()

    def sample() -> None:
        while not is_over.wait(0.05):
            assert process.pid is not None
            peaks[len(begun)] = max(peaks.get(len(begun), 0), anonymous_bytes(process.pid))

    sampler = threading.Thread(target=sample)
    sampler.start()
    while True:
        try:
            begun.append(receiving.recv())
        except EOFError:
            break
    is_over.set()
    sampler.join()
    process.join()
    if process.exitcode:
        sys.exit("the build failed")
    return [
        Stage(name, after[1] - wall, after[2] - cpu, peaks.get(number, 0))
        for number, ((name, wall, cpu), after) in enumerate(pairwise(begun), 1)
    ]


def show_columns(folder: Path, pbf_bytes: int) -> None:
    """Print the bytes of each column, and of all with and without metadata."""
    sizes: dict[str, int] = {}
    for path in folder.iterdir():
        name = path.stem
        for ending in ("_base", "_place", "_offset", "_bytes"):
            name = name.removesuffix(ending)
        sizes[name] = sizes.get(name, 0) + path.stat().st_size
    print(f"\n{'column':24} {'MB':>9}  ÷ PBF")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if size * 200 > pbf_bytes:
            print(f"{name:24} {size / 1e6:9.2f} {size / pbf_bytes:6.2f}")
    total = sum(sizes.values())
    bare = total - sum(sizes.get(name, 0) for name in METADATA)
    print(f"{'all':24} {total / 1e6:9.2f} {total / pbf_bytes:6.2f}")
    print(f"{'all but metadata':24} {bare / 1e6:9.2f} {bare / pbf_bytes:6.2f}")


class Result(NamedTuple):
    """What one build took."""

    pbf_bytes: int
    wall_s: float
    cpu_s: float
    peak_bytes: int
    elements_bytes: int


def show_results(results: dict[int, Result]) -> None:
    """Print what builds of several numbers of copies took, and how the CPU time grows."""
    first = next(iter(results.values()))
    by_byte = first.cpu_s / first.pbf_bytes
    print(
        f"\n{'copies':>6} {'PBF MB':>8} {'CPU s':>9} {'CPU of linear':>13} {'wall ÷ CPU':>10} "
        f"{'own MB':>8} {'elements ÷ PBF':>14}"
    )
    for copies, one in results.items():
        print(
            f"{copies:6} {one.pbf_bytes / 1e6:8.1f} {one.cpu_s:9.1f} "
            f"{one.cpu_s / (by_byte * one.pbf_bytes):13.2f} {one.wall_s / one.cpu_s:10.2f} "
            f"{one.peak_bytes / 1e6:8,.0f} {one.elements_bytes / one.pbf_bytes:14.2f}"
        )


def measure(extract: Path, data: Path, parts: list[str], jobs: int) -> Result:
    stages = watch_build(extract, data, parts, jobs)
    pbf_bytes = extract.stat().st_size
    print(f"\n{extract.name}: {pbf_bytes / 1e6:,.1f} MB")
    print(f"{'stage':44} {'wall s':>8} {'CPU s':>8} {'own MB':>8}")
    for stage in stages:
        if stage.wall_s >= 0.05:
            peak = stage.peak_bytes / 1e6
            print(f"{stage.name:44} {stage.wall_s:8.2f} {stage.cpu_s:8.2f} {peak:8,.0f}")
    peak = max(stage.peak_bytes for stage in stages) / 1e6
    wall_s, cpu_s = sum(s.wall_s for s in stages), sum(s.cpu_s for s in stages)
    print(f"{'all':44} {wall_s:8.2f} {cpu_s:8.2f} {peak:8,.0f}")
    elements = data / "current" / "elements"
    show_columns(elements, pbf_bytes)
    store = open_store(elements)
    _, times = answer_all(store, choose_questions(store, 60))
    print(f"\n{'query':40} CPU ms")
    for name, cpu_ms in times.items():
        print(f"{name:40} {cpu_ms:.4f}")
    size = sum(path.stat().st_size for path in elements.iterdir())
    return Result(pbf_bytes, wall_s, cpu_s, max(stage.peak_bytes for stage in stages), size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extract", type=Path)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--distinct", action="store_true")
    parser.add_argument("--parts", default="store")
    parser.add_argument("--jobs", type=int, default=1, help="parts that are built at a time")
    parser.add_argument("--replicate", type=Path)
    parser.add_argument("--keep", type=Path, help="where copies and datasets are left")
    arguments = parser.parse_args()
    if "routing" in arguments.parts:
        load_kernels()  # a build without them leaves ways unprepared
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print("command:", " ".join(sys.argv))
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results: dict[int, Result] = {}
        for copies in arguments.copies:
            name = f"{arguments.extract.name.split('.')[0]}-{copies}"
            target = folder / f"{name}{'-distinct' if arguments.distinct else ''}.osm.pbf"
            if not target.exists():
                if arguments.replicate and not arguments.distinct:
                    program = [sys.executable, arguments.replicate, arguments.extract, target]
                    subprocess.run([*map(str, program), "-k", str(copies)], check=True)
                else:
                    write_copies(arguments.extract, target, copies, distinct=arguments.distinct)
            data = folder / target.name.split(".")[0]
            parts = arguments.parts.split(",")
            results[copies] = measure(target, data, parts, arguments.jobs)
        show_results(results)


if __name__ == "__main__":
    main()
