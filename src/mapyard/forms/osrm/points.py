"""OSRM's services of points: table and nearest."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.forms.osrm.answers import (
    JSON,
    make_error_writer,
    make_waypoint,
)
from mapyard.forms.osrm.params import (
    RADIUS_M,
    BadOptions,
    Common,
    read_coordinates,
    read_indexes,
    read_list,
    read_mode,
    read_radius,
)
from mapyard.forms.osrm.services import MONACO, no_route, refuse_unknown, service
from mapyard.forms.roads import check_pairs, find_road_ends
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.library.questions.roads import MAX_POINTS
from mapyard.library.ways import get_engine
from mapyard.osm.elements import WAY
from mapyard.routing.matrix import Matrix, compute_matrix, fill_unreachable
from mapyard.routing.nearest import MAX_NUMBER, RoadEnd, find_nearest
from mapyard.routing.nearest import MAX_RADIUS_M as NEAREST_RADIUS_M
from mapyard.store.reader import E7

_no_table = make_error_writer("NoTable", "InvalidValue")


class Table(Common, kw_only=True):
    """Durations between coordinates."""

    sources: Annotated[str, Meta(max_length=65_536, description="indexes, or all")] = "all"
    destinations: Annotated[str, Meta(max_length=65_536, description="indexes, or all")] = "all"
    annotations: Annotated[
        str, Meta(max_length=40, description="duration, distance, or both by comma")
    ] = "duration"
    fallback_speed: Annotated[
        float | None, Meta(gt=0, le=1e4, description="m/s as the crow flies, where no way leads")
    ] = None
    fallback_coordinate: Annotated[
        Literal["input", "snapped"], Meta(description="between which the crow flies")
    ] = "input"
    scale_factor: Annotated[float, Meta(gt=0, le=1e6, description="multiplies durations")] = 1.0


class Nearest(Common, kw_only=True):
    """A coordinate."""

    number: Annotated[int, Meta(ge=0, description=f"of roads, at most {MAX_NUMBER}")] = 1


@service(
    "table",
    "Durations between coordinates as of OSRM",
    {**MONACO, "annotations": "duration,distance"},
    write_error=_no_table,
    heavy=True,
    refused={
        "bearings": "not served for tables: cells go from the nearest road, in both directions",
        "approaches": "not served for tables; ask for routes",
        "exclude": "not served for tables; ask for routes",
    },
)
def table(ctx: Context, params: Table) -> Answer:
    """Return durations, in seconds, and distances from sources to destinations."""
    refuse_unknown(ctx)
    lonlat = read_coordinates(params.coordinates, MAX_POINTS)
    mode, engine = read_mode(params), get_engine(ctx)
    asked = params.annotations.split(",")
    if not set(asked) <= {"duration", "distance"}:
        raise InvalidRequest("annotations: are duration, distance, or both by comma")
    rows = read_indexes("sources", params.sources, len(lonlat))
    columns = read_indexes("destinations", params.destinations, len(lonlat))
    most = check_pairs(ctx, len(rows), len(columns))
    radiuses_m = read_list("radiuses", params.radiuses, len(lonlat), read_radius)
    ends = find_road_ends(ctx, lonlat, mode, [radius or RADIUS_M for radius in radiuses_m])
    origins, destinations = lonlat[rows], lonlat[columns]
    found = compute_matrix(
        engine,
        origins,
        destinations,
        mode,
        radius_m=RADIUS_M,
        max_pairs=most,
        deadline=ctx.deadline,
        are_on_roads=True,
    )
    body: dict[str, Any] = {"code": "Ok"}
    if params.fallback_speed is not None:
        found, filled = _fill(found, lonlat, ends, rows, columns, params)
        body["fallback_speed_cells"] = filled
    if "duration" in asked:
        body["durations"] = np.round(found.durations_s * params.scale_factor, 1)
    if "distance" in asked:
        body["distances"] = found.distances_m
    if not params.skip_waypoints:
        points = [
            make_waypoint(
                (end.lon, end.lat), end.distance_m, end.name, with_hint=params.generate_hints
            )
            for end in ends
        ]
        body["sources"] = [points[index] for index in rows]
        body["destinations"] = [points[index] for index in columns]
    return Answer.json(body, JSON)


@service(
    "nearest",
    "Nearest roads as of OSRM",
    {"profile": "driving", "coordinates": "7.4246,43.7384", "number": 2},
    write_error=no_route,
    inline=True,
    refused={
        "bearings": "not served for nearest: roads in all directions are found",
        "approaches": "not served for nearest",
        "exclude": "not served for nearest",
    },
)
def nearest(ctx: Context, params: Nearest) -> Answer:
    """Return the places on the nearest roads, nearest first."""
    refuse_unknown(ctx)
    lonlat = read_coordinates(params.coordinates, 2, least=1)
    if len(lonlat) > 1:
        raise BadOptions("exactly one coordinate is needed")
    ((lon, lat),) = lonlat.tolist()
    (radius_m,) = read_list("radiuses", params.radiuses, 1, read_radius)
    if params.number < 1:
        raise BadOptions("number: is 1 or more")
    if params.number > MAX_NUMBER:
        raise TooLarge(f"number: {params.number}, at most {MAX_NUMBER}")
    roads = find_nearest(
        get_engine(ctx), lon, lat, read_mode(params),
        radius_m=radius_m or NEAREST_RADIUS_M, number=params.number,
    )  # fmt: skip
    points = [
        {
            **make_waypoint(
                (road.lon, road.lat), road.distance_m, road.name, with_hint=params.generate_hints
            ),
            "nodes": _find_nodes(ctx, road.way_id, road.lon, road.lat),
        }
        for road in roads
    ]
    return Answer.json({"code": "Ok", "waypoints": points}, JSON)


def _fill(
    found: Matrix,
    lonlat: NDArray[np.float64],
    ends: list[RoadEnd],
    rows: list[int],
    columns: list[int],
    params: Table,
) -> tuple[Matrix, list[list[int]]]:
    """Return the table with empty cells as the crow flies, and which those are."""
    assert params.fallback_speed is not None
    cells = np.argwhere(np.isnan(found.durations_s)).tolist()
    if params.fallback_coordinate == "snapped":
        lonlat = np.array([(end.lon, end.lat) for end in ends])
    speed_kmh = params.fallback_speed * 3.6
    return fill_unreachable(found, lonlat[rows], lonlat[columns], speed_kmh), cells


def _find_nodes(ctx: Context, way_id: int, lon: float, lat: float) -> list[int]:
    """Return the ids of the two nodes of a way around a place on it; zeros where it is unknown."""
    store = ctx.store
    row = store.find_row(WAY, way_id)
    if row < 0:
        return [0, 0]
    refs = store.way_nodes(np.array([row])).values
    refs = refs[refs < store.node_count]
    if len(refs) < 2:
        return [0, 0]
    # Ways are short: a loop is quicker than a dozen of arrays.
    shrink = math.cos(math.radians(lat))
    xs = ((store.lon[refs] / E7 - lon) * shrink).tolist()
    ys = (store.lat[refs] / E7 - lat).tolist()
    index = min(range(len(xs) - 1), key=lambda i: _distance(xs[i], ys[i], xs[i + 1], ys[i + 1]))
    return [int(node) for node in store.node_ids(refs[index : index + 2])]


def _distance(x0: float, y0: float, x1: float, y1: float) -> float:
    """Return the square of the distance from the origin to a line between two points."""
    dx, dy = x1 - x0, y1 - y0
    length = dx * dx + dy * dy
    share = -(x0 * dx + y0 * dy) / length if length else 0.0
    share = min(1.0, max(0.0, share))
    x, y = x0 + share * dx, y0 + share * dy
    return x * x + y * y
