"""CPU of maps as pictures, in the process that draws, on a server that runs on this machine.

    python -m bench.images http://127.0.0.1:4000 KEY --center 43.7384,7.4246

Each picture shows another place near the center at zoom 15; the first one is not counted.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

import httpx
import psutil

SIZES = ("800x500.png", "800x500@2x.png", "800x500.jpg", "1600x1200.png")
_NEAR_DEG = 0.005


def drawing() -> list[psutil.Process]:
    """Return the processes that draw."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if "mapyard.images.child" in (process.info["cmdline"] or []):
            found.append(process)
    return found


def cpu_s(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("key")
    parser.add_argument("--center", default="43.7384,7.4246")
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    lat, lon = map(float, asked.center.split(","))
    chance = random.Random(1)
    with httpx.Client(
        base_url=f"{asked.address}/api/v1/static", headers={"X-API-Key": asked.key}, timeout=120
    ) as client:
        for size in SIZES:
            took_s: list[float] = []
            before_s = 0.0
            for number in range(asked.rounds + 1):
                near_lat, near_lon = (
                    value + chance.uniform(-1, 1) * _NEAR_DEG for value in (lat, lon)
                )
                place = f"{near_lat:.6f},{near_lon:.6f}"
                began_s = time.perf_counter()
                answer = client.get(f"/{size}", params={"center": place, "zoom": 15})
                answer.raise_for_status()
                if number:
                    took_s.append(time.perf_counter() - began_s)
                else:
                    before_s = cpu_s(drawing())
            each_s = (cpu_s(drawing()) - before_s) / asked.rounds
            memory = max(process.memory_info().rss for process in drawing()) / 1e6
            print(
                f"{size:16} {each_s:.2f} s CPU, {statistics.median(took_s):.2f} s, "
                f"{len(answer.content) / 1e3:,.0f} kB, process {memory:,.0f} MB"
            )


if __name__ == "__main__":
    main()
