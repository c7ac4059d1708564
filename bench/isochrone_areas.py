"""Areas within reach: ours and the engine's, held against a matrix of sampled places.

    python -m bench.isochrone_areas EXTRACT.osm.pbf|DATASET … [--positions 20] [--places 2000]

Around random positions on roads, areas of several limits are made in both ways, from and toward the
position. Then places are sampled: the points of a grid of some 50 m that have a road of the mode
within 50 m, in both areas and 300 m around them. A matrix tells which of them are within the limit;
a place is wrong where it lies in an area and is not, or is and does not. Places, positions and the
grid's offset are random with a fixed seed and the same for both. CPU of both is measured in turns.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from bench.routing_checks import SEED
from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.errors import MapyardError
from mapyard.geo.sphere import DEGREE_M
from mapyard.routing import Engine, compute_matrix, find_isochrones, open_routing
from mapyard.routing.contraction.table import Metric, ModeTable
from mapyard.routing.modes import TABLE_MODES, Mode

type Floats = NDArray[np.float64]

GRID_DEG = 0.0005
ROAD_M = 50.0
AROUND_M = 300.0
LIMITS: tuple[tuple[Metric, float], ...] = (
    ("time", 300.0), ("time", 900.0), ("time", 1_800.0), ("distance", 2_000.0),
)  # fmt: skip
PARTS = ("tiles.tar", "hours.npz", "routing.json")


class Tally:
    """What came of both ways: wrong places inside and outside, CPU."""

    def __init__(self) -> None:
        self.places = 0
        self.wrong = {"ours": np.zeros(2, int), "engine": np.zeros(2, int)}
        self.cpu_ms: dict[str, list[float]] = {"ours": [], "engine": []}
        self.differences: list[float] = []

    def add(self, other: Tally) -> None:
        """Count another one in."""
        self.places += other.places
        for name, wrong in other.wrong.items():
            self.wrong[name] += wrong
            self.cpu_ms[name] += other.cpu_ms[name]
        self.differences += other.differences

    def __str__(self) -> str:
        shares = {name: wrong.sum() / max(1, self.places) for name, wrong in self.wrong.items()}
        cpu = {name: float(np.median(taken)) for name, taken in self.cpu_ms.items()}
        inside, outside = self.wrong["ours"]
        return (
            f"{self.places} places, wrong by ours {shares['ours']:.2%} ({inside} in, {outside} "
            f"out), by the engine's {shares['engine']:.2%}, ratio "
            f"{shares['ours'] / max(1e-9, shares['engine']):.2f}; "
            f"areas differ by {np.median(self.differences):.1%}; CPU {cpu['ours']:.2f} ms, "
            f"{cpu['ours'] / cpu['engine']:.2f} of the engine's"
        )


@contextlib.contextmanager
def open_both(source: Path) -> Iterator[tuple[Engine, Engine]]:
    """Open an extract, or a built dataset, with prepared ways and without."""
    with tempfile.TemporaryDirectory() as name:
        data = source
        if source.is_file():
            data = Path(name) / "data"
            build_dataset([source], data, select_steps(["routing"]), Reporter(quiet=True))
        routing = (data / "current" / "routing").resolve()
        plain = Path(name) / "plain"
        plain.mkdir()
        for part in PARTS:
            (plain / part).symlink_to(routing / part)
        yield open_routing(routing), open_routing(plain)


def pick_positions(table: ModeTable, rng: np.random.Generator, count: int) -> Floats:
    """Return places on random edges of the mode, moved by some 20 m."""
    edges = rng.permutation(table.usable)
    found = []
    for edge in edges.tolist():
        with contextlib.suppress(ValueError):
            line = table.roads.find_line(
                np.array([edge], np.int32), ((0.0, np.zeros(2)), (1.0, np.zeros(2)))
            ).positions
            found.append(line[len(line) // 2])
        if len(found) == count:
            break
    return np.array(found) + rng.uniform(-2e-4, 2e-4, (len(found), 2))


def sample_places(
    table: ModeTable, areas: list[shapely.Geometry], rng: np.random.Generator, most: int
) -> Floats:
    """Return points of a grid near roads, in the areas and around them."""
    around = shapely.buffer(shapely.union_all(areas), AROUND_M / DEGREE_M, quad_segs=2)
    west, south, east, north = around.bounds
    shift = rng.uniform(0, GRID_DEG, 2)
    grid = np.stack(
        np.meshgrid(
            np.arange(west + shift[0], east, GRID_DEG), np.arange(south + shift[1], north, GRID_DEG)
        ),
        axis=-1,
    ).reshape(-1, 2)
    grid = grid[shapely.contains_xy(around, grid)]
    grid = rng.permutation(grid)[: 8 * most]
    return grid[np.unique(table.find_places(grid, ROAD_M).position)][:most]


def hold_against(
    engines: tuple[Engine, Engine],
    position: Floats,
    mode: Mode,
    limit: tuple[Metric, float],
    *,
    toward: bool,
    places: int,
    rng: np.random.Generator,
) -> Tally:
    """Make the areas of one position and tell how many sampled places are on the wrong side."""
    tally, areas = Tally(), {}
    metric, most = limit
    lon, lat = position.tolist()
    for name, engine in zip(("ours", "engine"), engines, strict=True):
        started_s = time.thread_time()
        found = find_isochrones(engine, lon, lat, [most], mode, metric=metric, toward=toward)
        tally.cpu_ms[name].append((time.thread_time() - started_s) * 1_000)
        areas[name] = found[0].geometry
    difference = shapely.symmetric_difference(areas["ours"], areas["engine"])
    tally.differences.append(difference.area / areas["engine"].area)
    table = engines[0].tables.find(mode)
    assert table is not None
    sampled = sample_places(table, list(areas.values()), rng, places)
    if not len(sampled):
        return tally
    ends = (sampled, position[None]) if toward else (position[None], sampled)
    matrix = compute_matrix(engines[0], *ends, mode, max_pairs=1_000_000)
    figures = matrix.durations_s if metric == "time" else matrix.distances_m
    is_reached = figures.ravel() <= most
    tally.places = len(sampled)
    for name, area in areas.items():
        is_inside = shapely.contains_xy(area, sampled)
        tally.wrong[name] += (is_inside & ~is_reached).sum(), (~is_inside & is_reached).sum()
    return tally


def check(source: Path, positions: int, places: int) -> Tally:
    """Print what came of each mode and limit of an extract; return all of it."""
    print(f"\n## {source.name}\n", flush=True)
    whole = Tally()
    with open_both(source) as engines:
        for mode in TABLE_MODES:
            table = engines[0].tables.find(mode)
            if table is None:
                print(f"{mode}: left to the engine")
                continue
            rng = np.random.default_rng(SEED)
            asked = pick_positions(table, rng, positions)
            for limit in LIMITS:
                tally = Tally()
                for number, position in enumerate(asked):
                    with contextlib.suppress(MapyardError):
                        tally.add(
                            hold_against(
                                engines, position, mode, limit, toward=number % 2 == 1,
                                places=places, rng=rng,
                            )
                        )  # fmt: skip
                whole.add(tally)
                print(f"{mode} {limit[1]:g} {'s' if limit[0] == 'time' else 'm'}: {tally}")
    print(f"all: {whole}", flush=True)
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--positions", type=int, default=20)
    parser.add_argument("--places", type=int, default=2_000)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    whole = Tally()
    for source in options.sources:
        whole.add(check(source, options.positions, options.places))
    print(f"\nall extracts: {whole}")


if __name__ == "__main__":
    main()
