"""Applying daily diffs to store, text index and tiles, against building them anew.

    python -m bench.updates EXTRACT DIFF.osc.gz [DIFF...] [--copies 20] [--searches 400]

EXTRACT is what the diffs apply to. With --copies it is put side by side so many times, and each
diff is applied to the first copy and then, over again, to all of them. The diffs are applied one
after the other. CPU time of this process and its children; its peak memory, of its own and with the
pages of mapped files, which the system may take back. Roads are not measured here. At the end,
searches in the index as the updates left it against one written anew.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np

from bench.scale import ID_STEP, copy_width, write_copies
from mapyard.builder.pipeline import STORE_STEP, StepContext, cpu_seconds
from mapyard.builder.progress import Reporter
from mapyard.builder.text import STEP as TEXT_STEP
from mapyard.builder.tiles import STEP as TILES_STEP
from mapyard.dataset.manifest import Manifest, write_manifest
from mapyard.features.search import search_names
from mapyard.geocoding.geocoder import Geocoder, open_geocoder
from mapyard.osm.pbf import Header
from mapyard.osm.waiting import WHOLE_NAME, update_source
from mapyard.settings import Settings
from mapyard.store.patching.patch import patch_store
from mapyard.store.reader import open_store
from mapyard.text.index import TextIndex
from mapyard.updates.changes import Changes, read_changes
from mapyard.updates.select import select_newer
from mapyard.version import __version__

Problems = dict[str, list[tuple[str, str]]]
#: Of store, text and tiles.
Seconds = tuple[float, float, float]


class Memory:
    """Watches the memory of this process until closed; peaks in bytes."""

    def __init__(self) -> None:
        self._own = self._all = 0
        self._is_over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._is_over.wait(0.02):
            lines = Path("/proc/self/status").read_text().splitlines()
            values = dict(line.split(":", 1) for line in lines)
            self._own = max(self._own, int(values["RssAnon"].split()[0]) * 1024)
            self._all = max(self._all, int(values["VmRSS"].split()[0]) * 1024)

    def close(self) -> str:
        """Stop watching and say what was seen."""
        self._is_over.set()
        return (
            f"peak {self._own / 1e6:,.0f} MB of its own, {self._all / 1e6:,.0f} with mapped pages"
        )


def measure[T](work: Callable[[], T]) -> tuple[T, float]:
    """Return what a call gives, and its seconds of CPU."""
    started_s = cpu_seconds()
    return work(), cpu_seconds() - started_s


def open_context(folder: Path) -> StepContext:
    """Return the context of a new dataset folder."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(data=folder)
    return StepContext(folder, folder / "source.osm.pbf", folder, settings, Reporter(quiet=True))


def build(folder: Path, extract: Path) -> tuple[Seconds, str, Problems]:
    """Build store, text and tiles; return seconds of each, memory, problems. Once when kept."""
    figures = folder / "figures.json"
    if not figures.exists():
        memory = Memory()
        ctx = open_context(folder)
        ctx.source = extract
        info, store_s = measure(lambda: STORE_STEP.run(ctx) or {})
        _, text_s = measure(lambda: TEXT_STEP.run(ctx))
        _, tiles_s = measure(lambda: TILES_STEP.run(ctx))
        write_manifest(folder, Manifest("bench", "", mapyard=__version__))
        found = ((store_s, text_s, tiles_s), memory.close(), info["problem_ids"])
        figures.write_bytes(msgspec.json.encode(found))
    return msgspec.json.decode(figures.read_bytes(), type=tuple[Seconds, str, Problems])


def apply_store(ctx: StepContext, before: Path, diff: Path, problems: Problems) -> Changes:
    """Write the store with a diff."""
    old = open_store(before / "elements")
    changes = select_newer(old, read_changes([diff], ctx.folder / "changed.osm.pbf"))
    ctx.previous = before
    ctx.patched = patch_store(
        before / "elements", ctx.folder / "elements", changes.blocks, changes.deleted, problems
    )
    return changes


def apply(ctx: StepContext, before: Path, diff: Path, extract: Path, problems: Problems) -> Any:
    """Apply a diff to all parts and the source; return changes, figures, and seconds of each.

    The source's are those of one written whole, and of one whose changes wait beside it.
    """
    changes, store_s = measure(lambda: apply_store(ctx, before, diff, problems))
    figures, text_s = measure(lambda: TEXT_STEP.run(ctx) or {})
    _, tiles_s = measure(lambda: TILES_STEP.run(ctx))
    write_manifest(ctx.folder, Manifest("bench", "", mapyard=__version__))
    ids, gone = changes.changed, changes.deleted
    changed = ctx.folder / "changed.osm.pbf"
    sources_s = []
    for is_needed in (True, False):
        old, new = (ctx.folder / f"{name}-{is_needed}" for name in ("old", "new"))
        old.mkdir()
        new.mkdir()
        (old / WHOLE_NAME).symlink_to(extract.absolute())
        arguments = (old, new, changed, ids, gone, Header())
        _, seconds = measure(partial(update_source, *arguments, is_needed=is_needed))
        sources_s.append(seconds)
        shutil.rmtree(new)
    return sum(changes.counts), figures, (store_s, text_s, tiles_s), sources_s


# ---- copies -----------------------------------------------------------------------------------


def repeat_diff(diff: Path, target: Path, extract: Path, copies: int) -> None:
    """Write a diff for all copies of an extract, as `bench.scale.write_copies` makes them."""
    width = copy_width(extract)
    with gzip.open(diff) as file:
        root = ElementTree.parse(file).getroot()
    actions = list(root)
    for copy in range(1, copies):
        for action in deepcopy(actions):
            for item in action.iter():
                for name in item.attrib.keys() & {"id", "ref"}:
                    item.set(name, str(int(item.attrib[name]) + copy * ID_STEP))
                if "lon" in item.attrib:
                    item.set("lon", f"{float(item.attrib['lon']) + copy * width:.7f}")
            root.append(action)
    with gzip.open(target, "wb") as file:
        ElementTree.ElementTree(root).write(file, "UTF-8", xml_declaration=True)


# ---- searches -----------------------------------------------------------------------------------


def compare_searches(updated: Path, count: int) -> None:
    """Print how long searches take in an index after updates, and in one written anew."""
    anew = open_context(updated / "anew")
    (anew.folder / "elements").symlink_to((updated / "elements").absolute())
    TEXT_STEP.run(anew)
    texts = list_texts(open_geocoder(updated / "text", anew.store), count)
    runs: dict[str, list[Mapping[str, Any]]] = {"updated": [], "anew": []}
    for _ in range(5):
        for name, folder in (("updated", updated), ("anew", anew.folder)):
            geocoder = open_geocoder(folder / "text", anew.store)
            index = TextIndex(folder / "text" / "index")
            runs[name].append(time_searches(geocoder, index, texts))
    for kind in runs["anew"][0]:
        parts = []
        for name, found in runs.items():
            # The best of the rounds for each search: what other processes take is left out.
            times_ms = np.min([np.array(run[kind]) for run in found], axis=0) * 1e3
            p50, p95 = np.percentile(times_ms, (50, 95))
            parts.append(f"{name} p50 {p50:.2f} p95 {p95:.2f} mean {times_ms.mean():.2f} ms")
        print(f"{kind}: {'; '.join(parts)}")


def list_texts(geocoder: Geocoder, count: int) -> list[str]:
    """Return names of random documents."""
    g = geocoder.gazetteer
    documents = np.random.default_rng(1).integers(0, len(g.kind), 4 * count).tolist()
    names = [g.tags(d).get("name") or g.label(d) for d in documents]
    return list(dict.fromkeys(name for name in names if name))[:count]


def time_searches(geocoder: Geocoder, index: TextIndex, texts: list[str]) -> Mapping[str, Any]:
    """Return the seconds of each search by kind."""
    kinds: dict[str, Callable[[str], Any]] = {
        "forward": lambda text: geocoder.forward(f"{text} 7", 5),
        "autocomplete": lambda text: geocoder.autocomplete(text[:3], 5),
        "one letter": lambda text: geocoder.autocomplete(text[:1], 5),
        "search": lambda text: search_names(index, text, 20),
    }
    found: dict[str, list[float]] = {}
    for kind, ask in kinds.items():
        for text in texts:
            started_s = time.perf_counter()
            ask(text)
            found.setdefault(kind, []).append(time.perf_counter() - started_s)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extract", type=Path)
    parser.add_argument("diffs", type=Path, nargs="+")
    parser.add_argument("--copies", type=int, default=1, help="copies of the extract, side by side")
    parser.add_argument("--keep", type=Path, help="folder of the full build, made when not there")
    parser.add_argument("--searches", type=int, default=0, help="searches to time at the end")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print("command: python -m bench.updates", *(Path(a).name for a in sys.argv[1:]))
    with tempfile.TemporaryDirectory() as name:
        extract, diffs = arguments.extract, arguments.diffs
        if arguments.copies > 1:
            extract = Path(name) / "copies.osm.pbf"
            write_copies(arguments.extract, extract, arguments.copies, distinct=False)
            diffs = []
            for diff in arguments.diffs:
                everywhere = Path(name) / f"all-{diff.name}"
                repeat_diff(diff, everywhere, arguments.extract, arguments.copies)
                diffs += [diff, everywhere]
        before = arguments.keep or Path(name) / "built"
        built, peak, problems = build(before, extract)
        print(f"full build: {describe(built)}; {peak}")
        for number, diff in enumerate(diffs):
            memory = Memory()
            ctx = open_context(Path(name) / str(number))
            changes, figures, seconds, sources_s = apply(ctx, before, diff, extract, problems)
            shares = [f"{a / b:.1%}" for a, b in zip(seconds, built, strict=True)]
            print(
                f"{diff.name}: {changes:,} changes; {describe(seconds)}: {', '.join(shares)} of "
                f"the build, store and text {sum(seconds[:2]) / sum(built[:2]):.1%}, all "
                f"{sum(seconds) / sum(built):.1%}; {figures['written_documents']:,} of "
                f"{figures['index_documents']:,} documents; source {sources_s[0]:.2f} s whole, "
                f"{sources_s[1]:.2f} s where changes wait; "
                f"{memory.close()}",
                flush=True,
            )
            assert ctx.patched is not None
            problems, before = ctx.patched.problems, ctx.folder
        if arguments.searches:
            compare_searches(before, arguments.searches)


def describe(seconds: Seconds) -> str:
    """Return the seconds of all parts."""
    store_s, text_s, tiles_s = seconds
    return f"store {store_s:.2f} s, text {text_s:.2f} s, tiles {tiles_s:.2f} s"


if __name__ == "__main__":
    main()
