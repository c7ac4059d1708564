"""The graph's edges under a path: shared by map matching and by routes with annotations.

Of a route out of the prepared graph they are known; of other lines the engine finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.sphere import haversine_m
from mapyard.routing.contraction.facts import Facts
from mapyard.routing.contraction.table import ModeTable
from mapyard.routing.costing import CostingOptions
from mapyard.routing.engine import Engine
from mapyard.routing.modes import Mode, make_costing
from mapyard.routing.polyline import decode_polyline
from mapyard.routing.trip import Route

#: What is asked of the engine for each edge.
EDGE_ATTRIBUTES = (
    "edge.id", "edge.way_id", "edge.names", "edge.length", "edge.speed", "edge.speed_limit",
    "edge.use",
    "edge.road_class", "edge.surface", "edge.toll", "edge.tunnel", "edge.bridge",
    "edge.begin_shape_index", "edge.end_shape_index", "edge.source_percent_along",
    "edge.target_percent_along", "node.elapsed_time",
    "node.elapsed_cost", "shape",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EdgeInfo:
    """One edge of a path."""

    edge_id: int
    way_id: int
    name: str | None
    road_class: str
    use: str
    surface: str
    speed_kmh: float
    maxspeed_kmh: float | Literal["unlimited"] | None
    toll: bool
    tunnel: bool
    bridge: bool


@dataclass(frozen=True, slots=True)
class EdgePath:
    """Edges in order of travel, with their places in the shape.

    A path may have gaps: `starts_piece[i]` tells that edge i does not continue edge i-1. Distances
    are measured along the shape and durations from the start of each piece.
    """

    positions: NDArray[np.float64]  #: (n, 2), lon and lat
    edges: list[EdgeInfo]
    begins: NDArray[np.int64]  #: per edge, its first position
    ends: NDArray[np.int64]  #: per edge, its last position
    starts_piece: NDArray[np.bool_]
    source: NDArray[np.float64]  #: share of the whole edge at which the path enters it
    target: NDArray[np.float64]
    along_m: NDArray[np.float64]  #: per position, metres from the start of the shape, gaps left out
    elapsed_s: NDArray[np.float64]  #: per edge, seconds from the start of its piece at its end
    elapsed_cost: NDArray[np.float64]  #: the same in the engine's cost, by which it chooses ways

    @property
    def lengths_m(self) -> NDArray[np.float64]:
        """Return the metres travelled on each edge."""
        return self.along_m[self.ends] - self.along_m[self.begins]

    @property
    def durations_s(self) -> NDArray[np.float64]:
        """Return the seconds travelled on each edge, turns onto it included."""
        before = np.where(self.starts_piece, 0.0, np.roll(self.elapsed_s, 1))
        return np.maximum(self.elapsed_s - before, 0.0)


def read_path(answer: dict[str, Any]) -> EdgePath:
    """Return the path of a `trace_attributes` answer."""
    positions = decode_polyline(answer["shape"])
    rows = answer["edges"]
    begins = np.array([row["begin_shape_index"] for row in rows], np.int64)
    ends = np.array([row["end_shape_index"] for row in rows], np.int64)
    starts_piece = np.ones(len(rows), np.bool_)
    starts_piece[1:] = begins[1:] != ends[:-1]
    steps_m = haversine_m(positions[:-1, 0], positions[:-1, 1], positions[1:, 0], positions[1:, 1])
    steps_m[begins[1:][starts_piece[1:]] - 1] = 0.0  # over gaps nothing is travelled
    return EdgePath(
        positions=positions,
        edges=[_read_edge(row) for row in rows],
        begins=begins,
        ends=ends,
        starts_piece=starts_piece,
        source=np.array([row.get("source_percent_along", 0.0) for row in rows]),
        target=np.array([row.get("target_percent_along", 1.0) for row in rows]),
        along_m=np.concatenate(([0.0], np.cumsum(steps_m))),
        elapsed_s=np.array([row.get("end_node", {}).get("elapsed_time", 0.0) for row in rows]),
        elapsed_cost=np.array([row.get("end_node", {}).get("elapsed_cost", 0.0) for row in rows]),
    )


def _read_edge(row: dict[str, Any]) -> EdgeInfo:
    names = row.get("names") or [None]
    return EdgeInfo(
        edge_id=row["id"],
        way_id=row["way_id"],
        name=names[0],
        road_class=row.get("road_class", ""),
        use=row.get("use", ""),
        surface=row.get("surface", ""),
        speed_kmh=row.get("speed", 0.0),
        maxspeed_kmh=row.get("speed_limit") or None,
        toll=row.get("toll", False),
        tunnel=row.get("tunnel", False),
        bridge=row.get("bridge", False),
    )


def find_route_edges(
    engine: Engine, route: Route, mode: Mode, options: CostingOptions | None = None
) -> EdgePath:
    """Return the edges under a route that was found with these options."""
    table = engine.tables.find(route.profile)
    if table is None:
        return find_edges(engine, route.positions, mode, options)
    return _join_ways(table, route)


def _join_ways(table: ModeTable, route: Route) -> EdgePath:
    columns: list[tuple[NDArray[Any], ...]] = []
    before_s = before_cost = 0.0
    for way, leg in zip(route.ways, route.legs, strict=True):
        last = table.roads.find_line(way.edges, way.ends).last
        elapsed_s, elapsed_cost = table.measure_edges(way)
        source, target = np.zeros(len(last)), np.ones(len(last))
        source[0], target[-1] = (place.share for place in way.ends)
        columns.append(
            (
                way.edges, leg.begin + np.append(0, last[:-1]), leg.begin + last,
                source, target, before_s + elapsed_s, before_cost + elapsed_cost,
            )
        )  # fmt: skip
        before_s, before_cost = before_s + elapsed_s[-1], before_cost + elapsed_cost[-1]
    edges, begins, ends, source, target, elapsed_s, elapsed_cost = (
        np.concatenate(parts) for parts in zip(*columns, strict=True)
    )
    # Over a stop within an edge, the edge goes on; of edges that are only touched nothing is told.
    goes_on = np.append((edges[:-1] == edges[1:]) & (target[:-1] == source[1:]), False)
    source[1:][goes_on[:-1]] = source[:-1][goes_on[:-1]]
    begins[1:][goes_on[:-1]] = begins[:-1][goes_on[:-1]]
    kept = np.flatnonzero((begins < ends) & ~goes_on)
    speeds_kmh = table.find_speeds(edges).tolist()
    lon, lat = route.positions.T
    steps_m = haversine_m(lon[:-1], lat[:-1], lon[1:], lat[1:])
    return EdgePath(
        positions=route.positions,
        edges=[
            _describe(table.facts.read(edge), speeds_kmh[index])
            for index, edge in zip(kept.tolist(), edges[kept].tolist(), strict=True)
        ],
        begins=begins[kept],
        ends=ends[kept],
        starts_piece=np.arange(len(kept)) == 0,
        source=source[kept],
        target=target[kept],
        along_m=np.append(0.0, np.cumsum(steps_m)),
        elapsed_s=elapsed_s[kept],
        elapsed_cost=elapsed_cost[kept],
    )


def _describe(facts: Facts, speed_kmh: float) -> EdgeInfo:
    return EdgeInfo(
        edge_id=facts.edge_id,
        way_id=facts.way_id,
        name=facts.names[0] if facts.names else None,
        road_class=facts.road_class,
        use="footway" if facts.use == "sidewalk" else facts.use,  # as the engine has it in paths
        surface=facts.surface,
        speed_kmh=round(speed_kmh),
        maxspeed_kmh=facts.maxspeed_kmh,
        toll=facts.toll,
        tunnel=facts.tunnel,
        bridge=facts.bridge,
    )


def find_edges(
    engine: Engine,
    positions: NDArray[np.float64],
    mode: Mode,
    options: CostingOptions | None = None,
) -> EdgePath:
    """Return the edges under a route's own positions (n, 2)."""
    answer = engine.call(
        "trace_attributes",
        {
            "shape": [{"lon": lon, "lat": lat} for lon, lat in positions.tolist()],
            **make_costing(mode, options=options),
            "shape_match": "walk_or_snap",
            "filters": {"action": "include", "attributes": EDGE_ATTRIBUTES},
        },
    )
    return read_path(answer)
