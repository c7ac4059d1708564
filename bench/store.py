"""Building the store, against a bare pyosmium pass with locations over the same file.

    python -m bench.store EXTRACT [BIG]

BIG is the same map several times over (such as 20 copies side by side): is the build linear in it?
CPU time of this process and its threads; every build in a process of its own, so that the peak
memory is its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path

import osmium

from mapyard.store.writer import write_store


def pass_over(extract: Path) -> float:
    """Return the CPU seconds of one pyosmium pass with locations."""
    started_s = time.process_time()
    for _ in osmium.FileProcessor(str(extract)).with_locations():
        pass
    return time.process_time() - started_s


def build(extract: Path, folder: Path) -> tuple[float, int, int, int]:
    """Return CPU seconds, peak memory, bytes on disk and elements of one build."""
    started_s = time.process_time()
    info = write_store(folder, extract)
    cpu_s = time.process_time() - started_s
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = sum(path.stat().st_size for path in folder.iterdir())
    return cpu_s, peak, size, info["nodes"] + info["ways"] + info["relations"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extract", type=Path)
    parser.add_argument("big", type=Path, nargs="?")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print("command:", " ".join(sys.argv))
    context = multiprocessing.get_context("spawn")
    rates = []
    for extract in [arguments.extract, *([arguments.big] if arguments.big else [])]:
        with tempfile.TemporaryDirectory() as folder, context.Pool(1, maxtasksperchild=1) as pool:
            passed_s = pool.apply(pass_over, (extract,))
            cpu_s, peak, size, count = pool.apply(build, (extract, Path(folder) / "elements"))
        rates.append(cpu_s / count)
        print(
            f"{extract.name}: {count:,} elements; pyosmium pass {passed_s:.2f} s, "
            f"build {cpu_s:.2f} s = {cpu_s / passed_s:.2f} ×; peak {peak / 1e6:,.0f} MB; "
            f"{size / 1e6:,.1f} MB = {size / extract.stat().st_size:.1f} × the extract"
        )
    if len(rates) == 2:
        print(f"CPU per element, big to small: {rates[1] / rates[0]:.2f}")


if __name__ == "__main__":
    main()
