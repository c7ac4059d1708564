"""Rows per second of `mapyard bulk geocode` by one process and by two, in the same minutes.

Run: `python -m bench.bulk --data DATA [--rows 200000] [--rounds 2]`. The rows are addresses of the
dataset itself, house numbers now and then wrong. Runs alternate; the ratio is of the best ones.
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
import time
from pathlib import Path

import numpy as np

from mapyard.bulk.run import ProcessPool, find_current, plan_bulk, run_plan
from mapyard.bulk.tasks import Wishes
from mapyard.dataset.catalog import Catalog
from mapyard.store.reader import open_store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "addresses.csv"
        write_addresses(chosen.data, source, chosen.rows)
        best = {1: float("inf"), 2: float("inf")}
        outputs = {}
        for _ in range(chosen.rounds):
            for workers in best:
                target = Path(folder) / f"{workers}.csv"
                seconds = measure(chosen.data.resolve(), source, target, workers)
                best[workers] = min(best[workers], seconds)
                outputs[workers] = target.read_bytes()
                print(f"{workers} process(es): {chosen.rows / seconds:8,.0f} rows/s", flush=True)
        assert outputs[1] == outputs[2], "two processes answered otherwise than one"
        print(f"{chosen.rows:,} rows: two processes are {best[1] / best[2]:.2f} × one")


def write_addresses(data: Path, target: Path, count: int) -> None:
    """Write addresses that the dataset has, in random order."""
    store = open_store(Catalog(data).get_current() / "elements")
    rows = store.rows_with_key("addr:street")
    generator = random.Random(18)
    some = [store.tags(int(row)) for row in np.asarray(rows)[:5_000]]
    with target.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "street", "housenumber", "city"])
        for number in range(count):
            tags = generator.choice(some)
            house = tags.get("addr:housenumber", "")
            if generator.random() < 0.1:
                house = str(generator.randint(1, 400))
            writer.writerow([number, tags["addr:street"], house, tags.get("addr:city", "")])


def measure(data: Path, source: Path, target: Path, workers: int) -> float:
    """Return the seconds of a run, processes' start included."""
    begun_s = time.perf_counter()
    plan = plan_bulk("geocode", source, target, Wishes(), find_current(data))
    pool = ProcessPool(plan.job, workers)
    try:
        run_plan(plan, pool)
    finally:
        pool.close()
    return time.perf_counter() - begun_s


if __name__ == "__main__":
    main()
