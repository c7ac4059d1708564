"""Prepare the matrices of a new graph, and use only those that agree with its routes."""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import no_deadline
from mapyard.errors import MapyardError
from mapyard.geo.sphere import haversine_m
from mapyard.routing.contraction.mapping import MEMORY_BYTES, Scratch, open_scratch, share_memory
from mapyard.routing.contraction.order import rank_edges
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.profiles import MODE_COSTS, find_costs
from mapyard.routing.contraction.table import ModeTable, SharedTable
from mapyard.routing.contraction.tables import TILES_NAME, ModeCheck, get_folder, write_meta
from mapyard.routing.contraction.tiles import RoadGraph, UnknownTiles, read_graph
from mapyard.routing.contraction.times import find_closed
from mapyard.routing.contraction.writing import select_edges, write_mode, write_shared
from mapyard.routing.costing import CostingOptions
from mapyard.routing.edges import find_edges
from mapyard.routing.engine import Engine, NoRoute
from mapyard.routing.hours import Hours
from mapyard.routing.kernels import has_kernels
from mapyard.routing.modes import ASSUMED_TIME, TABLE_MODES, Mode, make_costing
from mapyard.routing.polyline import decode_polyline
from mapyard.routing.profiles import PROFILES, Profile
from mapyard.routing.snapping import DEFAULT_RADIUS_M, make_locations
from mapyard.store.distinct import distinct
from mapyard.store.spill import find_handler

log = logging.getLogger(__name__)

#: Cells compared with routes, per mode: half of them anywhere, half of them from near to far.
_SAMPLES: Final = 200
#: And where fewer than enough of these agree, but more than such a share.
_MANY_SAMPLES, _DOUBT = 1000, 0.95
#: Places among which destinations at a certain distance are looked for, and the least distance.
_POOL: Final = 20_000
_NEAREST_M: Final = 500.0
#: Of the samples up to the reach so many have to agree, and of the farthest ones all but one.
_LEAST_AGREEMENT: Final = 0.99
_LEAST_SAMPLES: Final = 50
_FARTHEST: Final = 20
#: To agree is to be apart by no more than this, or than a share of 1 %.
_AGREED_S, _AGREED_M, _AGREED_SHARE = 1.0, 5.0, 0.01
#: So many times the cost of our way a route may have that missed it.
_TIE: Final = 1.03
#: Ways whose costs are apart by no more than this cost the same.
_TIE_S: Final = 1.0
_SEED: Final = 1
#: What preparing a mode holds for each road edge of a graph, about; and where arrays go to files.
_EDGE_BYTES, _SPILLED_EDGE_BYTES = 150, 8
#: Modes whose routes look at large roads only far from both ends.
_HIERARCHICAL: Final = ("auto", "truck")


def build_tables(
    directory: Path,
    chosen: Collection[str] = (),
    memory_bytes: int = MEMORY_BYTES,
    jobs: int = 1,
) -> dict[str, ModeCheck]:
    """Prepare the modes of the graph in `directory`, and the chosen ones of `PROFILES`.

    Up to `jobs` modes at a time, as many as the memory suffices for. Writes beside its tiles what
    was found, and returns the checks. A profile without one has no table: the C of routing is
    missing, no road is for it, or the tiles are laid out in an unknown way.
    """
    checks: dict[str, ModeCheck] = {}
    write_meta(directory, checks, chosen)  # routes are compared as they are without tables
    folder = get_folder(directory)
    shutil.rmtree(folder, ignore_errors=True)
    with open_scratch(directory, memory_bytes) as scratch, share_memory():
        return _build_tables(directory, chosen, checks, folder, scratch, jobs, memory_bytes)


def _build_tables(
    directory: Path,
    chosen: Collection[str],
    checks: dict[str, ModeCheck],
    folder: Path,
    scratch: Scratch,
    jobs: int,
    memory_bytes: int,
) -> dict[str, ModeCheck]:
    graph = _read_graph(directory / TILES_NAME, scratch)
    if graph is not None:
        _find_hours(graph).write(directory)
    if graph is None or not has_kernels():
        return checks
    profiles = {
        name: profile for name, profile in PROFILES.items() if name in (*TABLE_MODES, *chosen)
    }

    modes = list(dict.fromkeys(profile.mode for profile in profiles.values()))
    usable = {mode: select_edges(graph, MODE_COSTS[mode])[0] for mode in modes}

    def write(mode: Mode) -> NDArray[np.uint8] | None:
        """Write the profiles of a mode; return what is connected, None where no road is for it."""
        found = None
        rank = rank_edges(graph, usable[mode]) if usable[mode].any() else None
        for name in [name for name, profile in profiles.items() if profile.mode == mode]:
            if rank is not None:
                costs, target = find_costs(PROFILES[name]), get_folder(directory, name)
                found = write_mode(graph, costs, target, rank=rank, scratch=scratch)
        return found

    edge_bytes = _EDGE_BYTES if find_handler() is None else _SPILLED_EDGE_BYTES
    suffices_for = memory_bytes / (edge_bytes * max(1, len(graph.start)))
    threads = min(jobs, max(1, int(suffices_for)))
    # What takes longest begins first.
    modes.sort(key=lambda mode: int(np.count_nonzero(usable[mode])), reverse=True)
    connected = {
        mode: found
        for mode, found in zip(modes, _map_in_threads(write, modes, threads), strict=True)
        if found is not None
    }
    profiles = {name: one for name, one in profiles.items() if one.mode in connected}
    write_shared(graph, directory / TILES_NAME, folder, connected)
    shared = SharedTable(folder, directory / TILES_NAME)
    for name, profile in profiles.items():
        table = ModeTable(shared, get_folder(directory, name), profile)
        checks[name] = _check(directory, graph, table, profile)
        _report(name, checks[name])
        if not checks[name].is_used:
            shutil.rmtree(get_folder(directory, name))
    write_meta(directory, checks, chosen)
    return checks


def _map_in_threads[Task, Result](
    work: Callable[[Task], Result], tasks: Sequence[Task], threads: int
) -> list[Result]:
    """Return the result of each task; loops in C and over large arrays run side by side.

    Each runs in a copy of the context, where numpy is told where to put large arrays.
    """
    if threads == 1:
        return [work(task) for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(copy_context().run, work, task) for task in tasks]
        return [one.result() for one in running]


def _find_hours(graph: RoadGraph) -> Hours:
    def locate(nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        return np.column_stack([graph.lon[nodes], graph.lat[nodes]])

    closed = find_closed(graph.limits)
    ends = np.concatenate([graph.start[closed], graph.end[closed]])
    return Hours(
        turns=locate(graph.timed_turns),
        roads=locate(distinct(ends[ends >= 0])),
        longest_m=float(graph.edges.length_m[closed].max(initial=0)),
    )


def _read_graph(tiles_tar: Path, scratch: Scratch) -> RoadGraph | None:
    try:
        return read_graph(tiles_tar, scratch.move)
    except UnknownTiles as error:
        log.warning("matrices are left to the engine: unknown tiles: %s", error)
        return None


def _report(name: str, check: ModeCheck) -> None:
    if not check.is_used:
        log.warning(
            "matrices for %s are left to the engine: %d of %d cells agree with routes",
            name, check.agreed, check.compared,
        )  # fmt: skip
    elif check.reach_m is not None:
        log.info("matrices for %s are prepared up to %.0f km", name, check.reach_m / 1000)


def _check(directory: Path, graph: RoadGraph, table: ModeTable, profile: Profile) -> ModeCheck:
    """Compare cells with routes.

    Far from both ends, the engine's routes by car and truck look at large roads only, which spares
    time and misses ways. Where that shows, as on all but small extracts, they look at all roads
    from now on.
    """
    check = _compare(Engine(directory / TILES_NAME), graph, table, profile)
    if profile.mode in _HIERARCHICAL and not _is_whole(check):
        wide = _compare(Engine(directory / TILES_NAME, all_roads=True), graph, table, profile)
        if _is_whole(wide):
            return replace(wide, all_roads=True)
    if not _is_whole(check) and check.agreed > _DOUBT * check.compared:
        # So few say little about a share near the least one.
        return _compare(Engine(directory / TILES_NAME), graph, table, profile, _MANY_SAMPLES)
    return check


def _is_whole(check: ModeCheck) -> bool:
    return check.is_used and check.reach_m is None


def _compare(
    engine: Engine, graph: RoadGraph, table: ModeTable, profile: Profile, count: int | None = None
) -> ModeCheck:
    """Compare cells with routes, and find the distance up to which they agree."""
    pairs = _pick_pairs(graph, table, count or _SAMPLES)
    places = table.find_places(pairs.reshape(-1, 2), DEFAULT_RADIUS_M)
    found = [
        _agrees(
            engine, table, profile, pair, places.of(np.array([at])), places.of(np.array([at + 1]))
        )
        for pair, at in zip(pairs, range(0, 2 * len(pairs), 2), strict=True)
    ]
    engine.close()
    compared = np.array([agrees is not None for agrees in found])
    agreed = np.array([bool(agrees) for agrees in found])[compared]
    lon, lat = pairs[compared][..., 0], pairs[compared][..., 1]
    return _judge(haversine_m(lon[:, 0], lat[:, 0], lon[:, 1], lat[:, 1]), agreed)


def _pick_pairs(graph: RoadGraph, table: ModeTable, count: int) -> NDArray[np.float64]:
    """Return positions of origins and destinations, (pairs, 2, 2)."""
    rng = np.random.default_rng(_SEED)
    edge = rng.choice(table.usable, _POOL)
    along = rng.uniform(0, 1, _POOL)[:, None]
    nodes = np.column_stack([graph.lon, graph.lat])
    pool = nodes[graph.start[edge]] * (1 - along) + nodes[graph.end[edge]] * along
    pairs = pool[: 2 * count].reshape(count, 2, 2)
    for pair in pairs[::2]:
        away_m = haversine_m(pair[0, 0], pair[0, 1], pool[:, 0], pool[:, 1])
        farthest_m = max(float(away_m.max()), 2 * _NEAREST_M)
        wanted_m = np.exp(rng.uniform(np.log(_NEAREST_M), np.log(farthest_m)))
        pair[1] = pool[np.abs(away_m - wanted_m).argmin()]
    return pairs


def _agrees(
    engine: Engine,
    table: ModeTable,
    profile: Profile,
    pair: NDArray[np.float64],
    origin: Places,
    destination: Places,
) -> bool | None:
    """Return whether a cell is the route, None where there is nothing to compare it with."""
    cell = table.compute(origin, destination, no_deadline())
    length_m, time_s = (float(values[0, 0]) for values in cell)
    request = profile.write() | ASSUMED_TIME
    request |= {"directions_type": "none", "locations": make_locations(pair)}
    try:
        trip: dict[str, Any] = engine.call("route", request)["trip"]
    except NoRoute:
        return math.isnan(time_s)
    except MapyardError:  # the position is off the roads, or the engine has a fault
        return None
    summary = trip["summary"]
    is_near = _is_near(time_s, summary["time"], _AGREED_S) and _is_near(
        length_m, 1000 * summary["length"], _AGREED_M
    )
    return is_near or _is_as_cheap(engine, table, profile, origin, destination, trip)


def _is_as_cheap(
    engine: Engine,
    table: ModeTable,
    profile: Profile,
    origin: Places,
    destination: Places,
    trip: dict[str, Any],
) -> bool:
    """Return whether the engine prices our way as its own route, or a little cheaper.

    Of ways that cost the same it may take the other one, and its searches from both ends stop soon
    after they meet, and miss ways that are 1 % cheaper. A way that is cheaper by far is one that it
    forbids; but for trucks, see `_is_allowed`.
    """
    way = table.find_way(origin, destination)
    if way is None:
        return False
    # What it is to the roads, the engine counts apart.
    cost_s = way.cost_s - origin.away_m.max() - destination.away_m.max()
    route_cost_s = float(trip["summary"]["cost"])
    if cost_s > route_cost_s + _TIE_S:
        return False
    line = table.roads.find_line(way.edges, way.ends).positions
    if route_cost_s > _TIE * cost_s + _TIE_S and not (
        profile.mode == "truck" and _is_allowed(engine, line)
    ):
        return False
    try:
        path = find_edges(engine, line, profile.mode, profile.options)
        priced_s = float(path.elapsed_cost[-1])
        ids = np.array([edge.edge_id for edge in path.edges], np.int64)
        if np.array_equal(table.edge_ids.find(ids), way.edges):
            return bool(abs(priced_s - cost_s) <= _TIE_S)
        # Of edges along the same points it walks over others than ours; so it does on its route.
        shape = decode_polyline(trip["legs"][0]["shape"])
        route = find_edges(engine, shape, profile.mode, profile.options)
    except MapyardError:
        return False
    return priced_s <= float(route.elapsed_cost[-1]) + _TIE_S


def _is_allowed(engine: Engine, line: NDArray[np.float64]) -> bool:
    """Return whether a truck may go along a line.

    A search from a truck's destination counts 600 s for entering a road that is for the
    destinations of all vehicles, the one from its origin and the price of a walk do not: where
    both meet such a road, the route is no longer the cheapest. Without that cost the engine has
    to find one that costs no more than a walk along the line.
    """
    spared = CostingOptions(destination_only_penalty_s=0)
    try:
        priced_s = float(find_edges(engine, line, "truck", spared).elapsed_cost[-1])
        request = make_costing("truck", options=spared) | ASSUMED_TIME
        request |= {"directions_type": "none", "locations": make_locations(line[[0, -1]])}
        cost_s = float(engine.call("route", request)["trip"]["summary"]["cost"])
    except MapyardError:
        return False
    return cost_s <= _TIE * priced_s + _TIE_S


def _is_near(found: float, expected: float, least: float) -> bool:
    return abs(found - expected) <= max(least, _AGREED_SHARE * expected)


def _judge(distances_m: NDArray[np.float64], agreed: NDArray[np.bool_]) -> ModeCheck:
    """Find the distance up to which a mode agrees; routes by car are coarser beyond some 20 km."""
    order = np.argsort(distances_m)
    wrong = np.append(0, np.cumsum(~agreed[order]))
    for count in range(len(order), min(_LEAST_SAMPLES, len(order)) - 1, -1):
        is_good = wrong[count] <= (1 - _LEAST_AGREEMENT) * count
        if is_good and wrong[count] - wrong[max(0, count - _FARTHEST)] <= 1:
            reach_m = None if count == len(order) else float(distances_m[order[count - 1]])
            return ModeCheck(len(agreed), int(agreed.sum()), count > 0, reach_m)
    return ModeCheck(len(agreed), int(agreed.sum()), False, None)
