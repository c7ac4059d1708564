"""Applying daily diffs to store and text index, against building both anew.

    python -m bench.updates EXTRACT DIFF.osc.gz [DIFF...]

EXTRACT is what the diffs apply to (for a bigger one: copies with the first keeping its ids). The
diffs are applied one after the other. CPU time of this process, and its peak memory: of its own, and
with the pages of mapped files that the system may take back. Routing and tiles are not measured here.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from mapyard.build.pipeline import STORE_STEP, Step, StepContext
from mapyard.build.progress import Reporter
from mapyard.build.text import STEP as TEXT_STEP
from mapyard.osm.patch import patch_source
from mapyard.osm.pbf import Header
from mapyard.settings import Settings
from mapyard.store.patch import patch_store
from mapyard.store.reader import open_store
from mapyard.updates.changes import read_changes
from mapyard.updates.select import select_newer


class Memory:
    """Watches the memory of this process; peaks in bytes."""

    def __init__(self) -> None:
        self.own = self.all = 0
        self._is_over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._is_over.wait(0.02):
            self._look()

    def _look(self) -> None:
        lines = Path("/proc/self/status").read_text().splitlines()
        kilobytes = {
            name: int(rest.split()[0])
            for name, _, rest in (line.partition(":") for line in lines)
            if name in ("RssAnon", "VmRSS")
        }
        self.own = max(self.own, kilobytes["RssAnon"] * 1024)
        self.all = max(self.all, kilobytes["VmRSS"] * 1024)

    def close(self) -> str:
        """Stop watching and say what was seen."""
        self._is_over.set()
        return (
            f"peak {self.own / 1e6:,.0f} MB of its own, {self.all / 1e6:,.0f} MB with mapped pages"
        )


def _measure[T](work: Callable[[], T]) -> tuple[T, float]:
    started_s = time.process_time()
    return work(), time.process_time() - started_s


def _open(folder: Path, source: Path) -> StepContext:
    return StepContext(folder, source, folder, Settings(data=folder), Reporter(quiet=True))


def _build(ctx: StepContext, steps: list[Step]) -> list[float]:
    return [_measure(lambda step=step: step.run(ctx))[1] for step in steps]  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extract", type=Path)
    parser.add_argument("diffs", type=Path, nargs="+")
    parser.add_argument("--keep", type=Path, help="folder of the full build, made when not there")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print("command: python -m bench.updates", *(Path(a).name for a in sys.argv[1:4]), "…")
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name) / "built"
        figures = folder / "figures.json"
        if not figures.exists():
            folder.mkdir(parents=True)
            memory = Memory()
            ctx = _open(folder, arguments.extract)
            info, store_s = _measure(lambda: STORE_STEP.run(ctx))
            _, text_s = _measure(lambda: TEXT_STEP.run(ctx))
            figures.write_bytes(
                msgspec.json.encode([store_s, text_s, memory.close(), info["problem_ids"]])
            )
        store_s, text_s, peak, problems = msgspec.json.decode(figures.read_bytes())
        build_s = store_s + text_s
        print(
            f"full build: store {store_s:.2f} s, text {text_s:.2f} s, both {build_s:.2f} s; {peak}"
        )
        previous = folder
        for number, diff in enumerate(arguments.diffs):
            memory = Memory()
            new = Path(name) / str(number)
            new.mkdir()
            changed = new / "changed.osm.pbf"
            source_s = 0.0

            def apply_store(ctx: StepContext, diff: Path = diff) -> int:
                old = open_store(previous / "elements")
                changes = select_newer(old, read_changes([diff], changed))
                ctx.previous = previous
                ctx.patched = patch_store(
                    previous / "elements",
                    new / "elements",
                    changes.blocks,
                    changes.deleted,
                    problems,
                )
                _, nonlocal_s = _measure(
                    lambda: patch_source(
                        arguments.extract, new / "source.osm.pbf", changed,
                        changes.changed_keys, changes.deleted_keys, Header(),
                    )
                )  # fmt: skip
                source.append(nonlocal_s)
                return len(changes.changed_keys) + len(changes.deleted_keys)

            source: list[float] = []
            ctx = _open(new, new / "source.osm.pbf")
            count, both_s = _measure(lambda ctx=ctx: apply_store(ctx))
            source_s = source[0]
            patch_s = both_s - source_s
            result, index_s = _measure(lambda ctx=ctx: TEXT_STEP.run(ctx))
            total_s = patch_s + index_s
            print(
                f"{diff.name}: {count:,} changes; store {patch_s:.2f} s, text {index_s:.2f} s, both "
                f"{total_s:.2f} s = {total_s / build_s:.1%} of the build; source {source_s:.2f} s; "
                f"{result['written_documents']:,} of {result['index_documents']:,} documents "
                f"written; {memory.close()}"
            )
            problems = ctx.patched.problems
            previous = new


if __name__ == "__main__":
    main()
