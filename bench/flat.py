"""What the same questions cost in datasets of more and more copies: CPU in process, and ratios.

    python -m bench.flat DATA DATA... --box WEST,SOUTH,EAST,NORTH [--count 40]

The datasets are of copies side by side (bench.scale, --keep), the first one being compared with.
Questions are about places in the box, which all of them hold with the same around it, so that each
finds as much in all: the numbers that it found are printed beside. Elsewhere a box of 20 km has
other elements: in the north of a large grid it is wider in degrees. Rounds are interleaved; the
best one counts. A text that is asked without a box is met in every copy.
"""

from __future__ import annotations

import argparse
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mapyard
from bench.features import CASES, Case, answer_case
from mapyard.geo.sphere import DEGREE_M
from mapyard.results.features import write_feature
from mapyard.server.memory import keep_freed
from mapyard.store.reader import E7, Store, open_store

ROUNDS = 5


class Place(NamedTuple):
    """A place that is asked about: an element with an address."""

    lon: float
    lat: float
    kind: int
    id: int
    street: str
    address: str


class Asked(NamedTuple):
    """A dataset, and where it is asked."""

    map: Any
    store: Store
    places: list[Place]


def around(place: Place, side_m: float) -> dict[str, float]:
    dy = side_m / 2 / DEGREE_M
    dx = dy / math.cos(math.radians(place.lat))
    return {
        "south": place.lat - dy, "west": place.lon - dx,
        "north": place.lat + dy, "east": place.lon + dx,
    }  # fmt: skip


def box_text(place: Place, side_m: float) -> str:
    return ",".join(f"{value:.7f}" for value in around(place, side_m).values())


def tile_of(place: Place, zoom: int) -> tuple[int, int, int]:
    lat = math.radians(place.lat)
    x = (place.lon + 180) / 360 * 2**zoom
    y = (1 - math.asinh(math.tan(lat)) / math.pi) / 2 * 2**zoom
    return zoom, int(x), int(y)


def overpass_of(place: Place) -> str:
    return f'[bbox:{box_text(place, 2_000)}];nwr["amenity"];out center;'


Ask = Callable[[Asked, Place], Any]
KINDS: dict[str, Ask] = {
    "by id": lambda one, p: write_feature(one.store, one.store.find_row(p.kind, p.id)),
    "full name in a 20 km box": lambda one, p: one.map.search(p.street, bbox=box_text(p, 20_000)),
    "full name": lambda one, p: one.map.search(p.street, limit=10),
    "prefix in a 2 km box": lambda one, p: one.map.search(p.street[:4], bbox=box_text(p, 2_000)),
    "full address": lambda one, p: one.map.geocode(p.address, limit=1),
    "full address in a box": lambda one, p: one.map.geocode(
        p.address, limit=1, bbox=box_text(p, 20_000), bounded=True
    ),
    "autocomplete with a focus": lambda one, p: one.map.autocomplete(
        p.street[:6], focus=(p.lon, p.lat)
    ),
    "reverse": lambda one, p: one.map.reverse((p.lon, p.lat)),
    "overpass in a box": lambda one, p: one.map.overpass(overpass_of(p)),
    "z14 tile": lambda one, p: one.map.tile(*tile_of(p, 14)),
    "nearest": lambda one, p: one.map.nearest((p.lon, p.lat)),
}


def choose_places(store: Store, box: list[float], count: int) -> list[Place]:
    """Return random addresses of the box, by their places: copies of any number have the same."""
    x0, y0, x1, y1 = (round(value * E7) for value in box)
    rows = store.rows_with_key("addr:housenumber")
    boxes = store.boxes(rows)
    x, y = boxes[:, 0], boxes[:, 1]
    inside = np.flatnonzero((x >= x0) & (x <= x1) & (y >= y0) & (y <= y1))
    order = inside[np.lexsort((boxes[inside, 3], boxes[inside, 2], y[inside], x[inside]))]
    places: list[Place] = []
    for at in order[np.random.default_rng(1).permutation(len(order))].tolist():
        row = int(rows[at])
        tags = store.tags(row)
        if {"addr:street", "addr:city"} <= tags.keys() and len(places) < count:
            street = tags["addr:street"]
            places.append(
                Place(
                    float(x[at]) / E7,
                    float(y[at]) / E7,
                    int(store.types(rows[at : at + 1])[0]),
                    int(store.ids[row : row + 1][0]),
                    street,
                    f"{street} {tags['addr:housenumber']}, {tags['addr:city']}",
                )
            )
    return places


def count_found(answer: Any) -> int:
    if isinstance(answer, bytes):
        return answer.count(b'"Feature"') or len(answer)
    return len(answer) if hasattr(answer, "__len__") else 1


def ask_all(asked: Asked, kind: str, case: Case | None) -> list[Any]:
    """Ask at all places: elements by box and shape as bench.features does, up to the bytes."""
    if case is None:
        return [(place, KINDS[kind](asked, place)) for place in asked.places]
    return [
        (place, answer_case(asked.store, case, case.find(place.lon, place.lat)))
        for place in asked.places
    ]


def measure(asked: list[Asked], kind: str, case: Case | None) -> tuple[list[float], list[float]]:
    """Return CPU ms per question in each dataset, and how much is found on average."""
    found = [
        float(np.mean([count_found(answer) for _, answer in ask_all(one, kind, case)]))
        for one in asked
    ]
    best_ms = [math.inf] * len(asked)
    for _ in range(ROUNDS):
        for at, one in enumerate(asked):
            begun_s = time.process_time()
            # Library answers are made when they are looked at.
            for _, answer in ask_all(one, kind, case):
                count_found(answer)
            took_ms = (time.process_time() - begun_s) * 1000 / len(one.places)
            best_ms[at] = min(best_ms[at], took_ms)
    return best_ms, found


def show_opening(data: Path) -> None:
    """Print what importing, opening and a first question of each kind take, in a new process."""
    program = (
        "import time, sys, mapyard; a = time.process_time(); m = mapyard.open(sys.argv[1]); "
        "m.dataset; b = time.process_time(); print(f'{a:.2f} s to import, {b - a:.3f} s to open')"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(data)], capture_output=True, text=True, check=True
    )
    print(f"{data.name}: {said.stdout.strip()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--box", required=True, help="west,south,east,north of the places")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--kinds", default="", help="only those that begin with one, by comma")
    arguments = parser.parse_args()
    keep_freed()  # as the server's processes do
    print(f"{platform.machine()}, Python {platform.python_version()}; {arguments.count} places")
    box = [float(value) for value in arguments.box.split(",")]
    asked = []
    for data in arguments.data:
        show_opening(data)
        store = open_store(data / "current" / "elements")
        places = choose_places(store, box, arguments.count)
        asked.append(Asked(mapyard.open(str(data)), store, places))
    names = "".join(f"{data.name[-12:]:>14}" for data in arguments.data)
    print(f"{'CPU ms per question':40}{names}   ratios; found")
    for kind in [*(case.name for case in CASES), *KINDS]:
        if kind.startswith(tuple(arguments.kinds.split(","))):
            case = next((case for case in CASES if case.name == kind), None)
            times_ms, found = measure(asked, kind, case)
            ratios = " ".join(f"{one / times_ms[0]:.2f}" for one in times_ms[1:])
            shown = "".join(f"{one:14.3f}" for one in times_ms)
            print(f"{kind:40}{shown}   {ratios}; {' '.join(f'{one:.1f}' for one in found)}")


if __name__ == "__main__":
    main()
