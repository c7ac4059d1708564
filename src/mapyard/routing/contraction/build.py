"""Prepare the matrices of a new graph, and use only those that agree with its routes."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from mapyard.deadline import no_deadline
from mapyard.errors import MapyardError
from mapyard.routing.contraction.places import read_places
from mapyard.routing.contraction.search import is_available
from mapyard.routing.contraction.table import MODE_COSTS, ModeTable, find_edge_order
from mapyard.routing.contraction.tables import TILES_NAME, ModeCheck, write_meta, write_order
from mapyard.routing.contraction.tiles import RoadGraph, UnknownTiles, read_graph
from mapyard.routing.engine import Engine, NoRoute
from mapyard.routing.modes import MODES, Mode, make_costing
from mapyard.routing.snapping import DEFAULT_RADIUS_M, find_roads, make_locations

log = logging.getLogger(__name__)

#: Edges of a mode up to which it is prepared: what every worker holds once it was asked for a
#: matrix grows with them, by 1 to 2 kB each.
MAX_EDGES: Final = 300_000
#: Cells compared with routes, per mode, and the share of them that has to agree.
_SAMPLES: Final = 200
_LEAST_AGREEMENT: Final = 0.99
#: To agree is to be apart by no more than this, or than a share of 1 %.
_AGREED_S, _AGREED_M, _AGREED_SHARE = 1.0, 5.0, 0.01
_SEED: Final = 1


def build_tables(directory: Path) -> dict[Mode, ModeCheck]:
    """Prepare the modes of the graph in `directory`; write beside its tiles what was found.

    Returns the checks. A mode without one has no table: the library is not installed, the graph
    is too large, or its tiles are laid out in an unknown way.
    """
    checks: dict[Mode, ModeCheck] = {}
    graph = _read_graph(directory / TILES_NAME) if is_available() else None
    modes = [] if graph is None else _choose_modes(graph)
    if graph is not None and modes:
        edge_order = find_edge_order(graph)
        write_order(directory, edge_order)
        engine = Engine(directory / TILES_NAME)
        for mode in modes:
            checks[mode] = _check(engine, graph, ModeTable(graph, mode, edge_order), mode)
        engine.close()
    write_meta(directory, checks)
    return checks


def _read_graph(tiles_tar: Path) -> RoadGraph | None:
    try:
        return read_graph(tiles_tar)
    except UnknownTiles as error:
        log.warning("matrices are left to the engine: unknown tiles: %s", error)
        return None


def _choose_modes(graph: RoadGraph) -> list[Mode]:
    """Return the modes that have roads, but not too many."""
    counts = {mode: int(MODE_COSTS[mode].find_usable(graph).sum()) for mode in MODES}
    for mode, count in counts.items():
        if count > MAX_EDGES:
            log.info("matrices for %s are left to the engine: %d edges", mode, count)
    return [mode for mode, count in counts.items() if 0 < count <= MAX_EDGES]


def _check(engine: Engine, graph: RoadGraph, table: ModeTable, mode: Mode) -> ModeCheck:
    """Compare cells between random places with routes."""
    rng = np.random.default_rng(_SEED)
    edge = rng.choice(table.usable, 2 * _SAMPLES)
    along = rng.uniform(0, 1, len(edge))[:, None]
    nodes = np.column_stack([graph.lon, graph.lat])
    positions = nodes[graph.start[edge]] * (1 - along) + nodes[graph.end[edge]] * along
    roads = find_roads(engine, positions, mode, DEFAULT_RADIUS_M, reach=1, verbose=True)
    places = read_places([[road.edge for road in row] for row in roads], table.edge_ids)
    compared = agreed = 0
    for number in range(0, len(positions), 2):
        pair = np.array([number, number + 1])
        cell = table.compute(places.of(pair[:1]), places.of(pair[1:]), no_deadline())
        length_m, time_s = (float(values[0, 0]) for values in cell)
        try:
            request = make_costing(mode) | {"directions_type": "none"}
            summary: dict[str, Any] = engine.call(
                "route", request | {"locations": make_locations(positions[pair])}
            )["trip"]["summary"]
            agreed += _is_near(time_s, summary["time"], _AGREED_S) and _is_near(
                length_m, 1000 * summary["length"], _AGREED_M
            )
        except NoRoute:
            agreed += math.isnan(time_s)
        except MapyardError:  # the position is off the roads, or the engine has a fault
            continue
        compared += 1
    is_used = compared > 0 and agreed >= _LEAST_AGREEMENT * compared
    if not is_used:
        log.warning(
            "matrices for %s are left to the engine: %d of %d cells agree with routes",
            mode, agreed, compared,
        )  # fmt: skip
    return ModeCheck(compared, agreed, is_used)


def _is_near(found: float, expected: float, least: float) -> bool:
    return abs(found - expected) <= max(least, _AGREED_SHARE * expected)
