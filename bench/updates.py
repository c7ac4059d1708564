"""Applying diffs to source and store, against building the store anew from the patched source.

    python -m bench.updates EXTRACT DIFF.osc.gz [DIFF...]

EXTRACT is what the diffs apply to (for a bigger one: copies with the first keeping its ids). CPU
time of this process; the parts text, routing and tiles are measured by the update itself
(`mapyard update`).
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path

from mapyard.osm.patch import patch_source
from mapyard.osm.pbf import Header
from mapyard.store.patch import patch_store
from mapyard.store.reader import open_store
from mapyard.store.writer import write_store
from mapyard.updates.changes import read_changes
from mapyard.updates.select import select_newer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extract", type=Path)
    parser.add_argument("diffs", type=Path, nargs="+")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print("command:", " ".join(sys.argv[:3]), "…")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started_s = time.process_time()
        info = write_store(folder / "old", arguments.extract)
        build_s = time.process_time() - started_s
        build_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(f"full build of the store: {build_s:.2f} s, peak {build_peak / 1e6:,.0f} MB")
        for number, diff in enumerate(arguments.diffs):
            started_s = time.process_time()
            changed = folder / f"{number}.osm.pbf"
            changes = read_changes([diff], changed)
            changes = select_newer(open_store(folder / "old"), changes)
            patch_store(
                folder / "old",
                folder / f"new{number}",
                changes.blocks,
                changes.deleted,
                info["problem_ids"],
            )
            store_s = time.process_time() - started_s
            started_s = time.process_time()
            patch_source(
                arguments.extract,
                folder / "patched.osm.pbf",
                changed,
                changes.changed_keys,
                changes.deleted_keys,
                Header(),
            )
            source_s = time.process_time() - started_s
            count = len(changes.changed_keys) + len(changes.deleted_keys)
            print(
                f"{diff.name}: {count:,} changes; store {store_s:.2f} s = "
                f"{store_s / build_s:.1%} of the build; source {source_s:.2f} s"
            )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(f"peak memory with the updates: {peak / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
