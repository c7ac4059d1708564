"""Import of a large CSV: CPU and memory.

python -m bench.datasets --rows 1000000
"""

from __future__ import annotations

import argparse
import csv
import random
import resource
import tempfile
import time
from pathlib import Path

from mapyard.library.import_process import Task, run_import


def write_rows(path: Path, count: int) -> None:
    """Write rows of ten columns: numbers, texts of many and of few values, codes, truths."""
    rng = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["id", "name", "kind", "lat", "lon", "price", "open", "city", "note", "code"]
        )
        for number in range(count):
            writer.writerow(
                [
                    number, f"Shop {rng.randrange(10**9):09d}", rng.choice(["bar", "cafe", "shop"]),
                    round(47 + rng.random(), 6), round(9 + rng.random(), 6),
                    round(rng.random() * 100, 2), rng.choice(["true", "false"]),
                    f"City {rng.randrange(5_000)}", f"note {rng.getrandbits(60):x}",
                    f"{rng.randrange(10**5):05d}",
                ]
            )  # fmt: skip


def main() -> None:
    """Import a file in a process of its own, as the server does; print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.csv", asked.rows)
        size = (folder / "rows.csv").stat().st_size
        begun_s = time.monotonic()
        done = run_import(
            Task(name, str(folder / "rows.csv"), str(folder / "out"), {}, 10_000_000, 10 << 30)
        )
        wall_s = time.monotonic() - begun_s
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{done.feature_count:,} rows, {size / 1e6:.0f} MB of CSV")
    print(f"CPU {used.ru_utime + used.ru_stime:.1f} s, wall {wall_s:.1f} s")
    print(f"memory at most {used.ru_maxrss / 1024:.0f} MB, mapped files included")
    print(f"on disk {done.storage_bytes / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
