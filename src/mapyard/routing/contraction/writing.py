"""From costs to files: the graph of a mode, contracted and written."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.arrays import (
    CostArrays,
    EdgeArrays,
    VertexArrays,
    write_arrays,
)
from mapyard.routing.contraction.costs import Bools, Floats, ModeCosts
from mapyard.routing.contraction.hierarchy import NO_WAY, Int32s, contract
from mapyard.routing.contraction.mapping import Scratch, make_file
from mapyard.routing.contraction.order import rank_edges
from mapyard.routing.contraction.profiles import MODE_COSTS
from mapyard.routing.contraction.roads import CONNECTED_CROSSINGS, write_roads
from mapyard.routing.contraction.speeds import EdgeSpeeds
from mapyard.routing.contraction.spread import sort_turns
from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.contraction.turns import Turns, find_turns
from mapyard.routing.contraction.vertices import VertexGraph, make_relaxed, make_strict
from mapyard.routing.kernels import address, load_kernels
from mapyard.routing.modes import Mode

_MS: Final = 1000
_CM: Final = 100
#: Turns that are priced together.
_TURNS_AT_ONCE: Final = 1 << 18


def write_shared(
    graph: RoadGraph, tiles_tar: Path, folder: Path, connected: Mapping[Mode, NDArray[np.uint8]]
) -> None:
    """Write what all modes share; `connected` is what `write_mode` found of each."""
    open_to = {mode: MODE_COSTS[mode].find_open(graph) for mode in connected}
    usable = np.zeros(len(graph.start), np.bool_)
    for mode in connected:
        usable |= MODE_COSTS[mode].find_usable(graph)
    write_roads(graph, open_to, usable, connected, tiles_tar, folder)
    junction = graph.junction
    write_arrays(
        EdgeArrays(
            graph.edge_ids.tile_ids.astype(np.int64),
            graph.edge_ids.tile_starts.astype(np.int64),
            graph.tile_places,
            (_CM * graph.edges.length_m).astype(np.int32),
            junction[graph.start].astype(np.int32),
            np.where(graph.end >= 0, junction[graph.end], -1).astype(np.int32),
        ),
        folder,
        "edges",
    )


def write_mode(
    graph: RoadGraph,
    costs: ModeCosts,
    folder: Path,
    own: EdgeSpeeds | None = None,
    *,
    rank: Ints | None = None,
    scratch: Scratch,
) -> NDArray[np.uint8]:
    """Contract the graph for the costs of a mode and write it into a folder of its own.

    `own` speeds take the place of the graph's. `rank` is the order of the mode's edges, where it is
    known. Returns per edge whether it leads on (1), and whether it is led to (2).
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    usable, limited = select_edges(graph, costs)
    if own is not None:
        usable &= ~own.closed
    if rank is None:
        rank = rank_edges(graph, usable)  # before there are turns: all that is per turn is large
    turns = find_turns(graph, usable, costs.access, restricted=costs.obeys_turn_restrictions)
    connected = _find_connected(
        graph, make_relaxed(graph, turns, usable, costs.access), costs.access
    )
    stuck = limited[turns.origin] & limited[turns.destination]
    if stuck.any():
        turns = turns.select(~stuck)
    if costs.find_forbidden is not None:
        turns = turns.select(~costs.find_forbidden(graph, turns))
    turns = turns.move(scratch.move)
    edge_cost_s, edge_time_s = costs.cost_edges(graph)
    if own is not None:
        edge_cost_s, edge_time_s = own.replace(graph.edges.length_m, edge_cost_s, edge_time_s)
    cost_ms, time_ms = _price_turns(graph, costs, turns, edge_cost_s, edge_time_s, scratch)
    edge_cost, edge_time = _count(edge_cost_s, costs.cost_scale), _count(edge_time_s, _MS)
    del edge_cost_s, edge_time_s, stuck
    length_cm = (_CM * graph.edges.length_m).astype(np.int32)

    def write(vertices: VertexGraph, name: str) -> None:
        vertices = vertices.move(scratch.move)
        order = np.argsort(rank[vertices.edge], kind="stable")
        number = np.empty(len(order), np.int32)
        number[order] = np.arange(len(order))
        write_arrays(_number_vertices(vertices, number), folder, name)
        turn = vertices.turn
        cost, time = scratch.move(cost_ms[turn]), scratch.move(time_ms[turn])
        arcs = cost, time, scratch.move(length_cm[turns.origin[turn]])
        tail, head = (scratch.move(number[ends]) for ends in (vertices.tail, vertices.head))
        contract(
            len(order), tail, head, *arcs,
            make=lambda column, shape, kind: make_file(
                folder / f"{name}-{column}.npy", shape, kind
            ),
            make_scratch=scratch.make,
        )  # fmt: skip
        if name == "strict":
            write_arrays(sort_turns(len(order), tail, head, cost, time), folder, name)

    write(
        make_strict(
            graph, turns, usable, costs.access, limited=limited,
            private=None if costs.find_private is None else costs.find_private(graph),
            avoided=costs.find_avoided(graph, turns),
        ),
        "strict",
    )  # fmt: skip
    write(make_relaxed(graph, turns, usable, costs.access, limited), "relaxed")
    write_arrays(CostArrays(edge_cost, edge_time, connected), folder, "edges")
    return connected


def _price_turns(
    graph: RoadGraph,
    costs: ModeCosts,
    turns: Turns,
    edge_cost_s: Floats,
    edge_time_s: Floats,
    scratch: Scratch,
) -> tuple[Int32s, Int32s]:
    """Return cost and time of each turn with the edge before it.

    Block by block: to price a turn takes many times the room of its price.
    """
    cost, time_ms = (scratch.make(name, (len(turns),), np.int32) for name in ("cost", "time"))
    for start in range(0, len(turns), _TURNS_AT_ONCE):
        some = slice(start, start + _TURNS_AT_ONCE)
        part = turns.select(some)
        turn_cost_s, turn_time_s = costs.cost_turns(graph, part)
        cost[some] = _count(edge_cost_s[part.origin] + turn_cost_s, costs.cost_scale)
        time_ms[some] = _count(edge_time_s[part.origin] + turn_time_s, _MS)
    return cost, time_ms


def select_edges(graph: RoadGraph, costs: ModeCosts) -> tuple[Bools, Bools]:
    """Return the edges that ways go over, and those of them on which they only begin and end.

    These are closed to the vehicle or at this hour: the engine puts positions there all the same.
    """
    usable = costs.find_usable(graph)
    limited = costs.find_open(graph) & ~usable
    return usable | limited, limited


def _find_connected(graph: RoadGraph, vertices: VertexGraph, access: int) -> NDArray[np.uint8]:
    """Return per edge whether it leads on (1), and is led to (2), as the engine counts it.

    It counts edges that are closed to a vehicle or at an hour, too. Where ways turn back at a
    crossing that is closed to the mode, it counts no further.
    """
    count = len(vertices.edge)
    edge = vertices.edge
    passed = (graph.nodes.access[graph.end[edge[vertices.tail]]] & access) > 0
    columns = [
        np.ascontiguousarray(column, np.int32)
        for column in (
            vertices.tail[passed], vertices.head[passed],
            graph.junction[graph.start[edge]], graph.junction[graph.end[edge]],
        )
    ]  # fmt: skip
    connected = np.empty(count, np.uint8)
    if load_kernels().find_connected(
        count, len(columns[0]), *(address(column, np.int32) for column in columns),
        len(graph.junction), CONNECTED_CROSSINGS, address(connected, np.uint8),
    ):  # fmt: skip
        raise MemoryError("no memory is left to walk over the road graph")
    per_edge = np.zeros(len(vertices.begin), np.uint8)
    used = np.flatnonzero(vertices.begin >= 0)
    per_edge[used] = connected[vertices.begin[used]]
    # Both edges of a road are as connected as they are together; beside a crossing that is closed
    # to the mode, as the first of them is.
    is_open = (graph.nodes.access & access) > 0
    back = graph.opposing[used]
    is_both = vertices.begin[back] >= 0
    used, back = used[is_both], back[is_both]
    between = is_open[graph.start[used]] & is_open[graph.end[used]]
    per_edge[used] = np.where(
        between, per_edge[used] | per_edge[back], per_edge[np.minimum(used, back)]
    )
    return per_edge


def _count(values: Floats, scale: int) -> Int32s:
    """Return whole parts; what takes too long, such as a road without a speed, is no way."""
    return np.minimum(np.round(scale * values), NO_WAY).astype(np.int32)


def _number_vertices(vertices: VertexGraph, number: Int32s) -> VertexArrays:
    begin = np.where(vertices.begin >= 0, number[vertices.begin], -1)
    ends = np.flatnonzero(vertices.is_end)
    ends = ends[np.argsort(vertices.edge[ends], kind="stable")]
    edge = np.empty(len(number), np.int32)
    edge[number] = vertices.edge
    is_end = np.empty(len(number), np.uint8)
    is_end[number] = vertices.is_end
    counts = np.bincount(vertices.edge[ends], minlength=len(begin))
    return VertexArrays(
        begin.astype(np.int32),
        np.append(0, np.cumsum(counts)).astype(np.uint32),
        number[ends],
        edge,
        is_end,
    )
