"""Roads around a position, areas within reach, distances between many positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.matrix import Matrix
from mapyard.library.results.ways import NearestRoads
from mapyard.library.ways import (
    ModeField,
    SnapRadius,
    WayChoice,
    WayOutput,
    find_way_tags,
    get_engine,
    make_point_feature,
    read_choice,
)
from mapyard.params.parser import Params, Position, Positions, spelled
from mapyard.routing.matrix import Matrix as Cells
from mapyard.routing.matrix import fill_unreachable
from mapyard.routing.matrix import iter_matrix as blocks_of_matrix
from mapyard.routing.nearest import MAX_NUMBER, MAX_RADIUS_M, NearestRoad, find_nearest
from mapyard.routing.snapping import DEFAULT_RADIUS_M

MAX_POINTS = 10_000


class Nearest(Params, kw_only=True):
    """Which position, how far, how many."""

    at: Annotated[Position, spelled("the position", "geometry", "near", "location", pair=True)]
    radius: Annotated[float, Meta(ge=1, le=MAX_RADIUS_M, description="search radius, meters")] = (
        500.0
    )
    mode: ModeField = "auto"
    number: Annotated[
        int,
        Meta(ge=1, le=MAX_NUMBER, description="how many roads; more than 1 gives a collection"),
    ] = 1
    output: WayOutput = WayOutput()


@question("nearest", path="/api/v1/nearest", leading=("at",))
def nearest(call: Call, params: Nearest) -> NearestRoads:
    """Return the places on the nearest roads that the mode may use, nearest first.

    Properties: `distance_m`, `edge_id` (of this dataset only), `edge_length_m`, `highway`, `name`,
    `surface`, `osm_way_id`.
    """
    lon, lat = params.at
    roads = find_nearest(
        get_engine(call), lon, lat, params.mode, radius_m=params.radius, number=params.number
    )
    return NearestRoads([_make_road(call, road, params.output) for road in roads], roads)


def _make_road(call: Call, road: NearestRoad, output: WayOutput) -> dict[str, Any]:
    tags = find_way_tags(call, road.way_id)
    properties = {
        "distance_m": road.distance_m,
        "edge_id": road.edge_id,
        "edge_length_m": road.edge_length_m,
        "highway": tags.get("highway", road.highway),
        "name": tags.get("name", road.name),
        "surface": tags.get("surface"),
        "osm_way_id": road.way_id,
    }
    return make_point_feature(road.lon, road.lat, properties, output)


class MatrixQuestion(WayChoice, kw_only=True):
    """From where, to where."""

    origins: Annotated[Positions, spelled("rows of the matrix", "sources", max_points=MAX_POINTS)]
    destinations: Annotated[
        Positions, spelled("columns of the matrix", "targets", max_points=MAX_POINTS)
    ]
    mode: ModeField = "auto"
    fallback_speed: Annotated[
        float | None,
        Meta(
            gt=0,
            le=1_000,
            description="km/h: unreachable cells are filled as the crow flies at this speed",
        ),
    ] = None
    snap_radius: SnapRadius = DEFAULT_RADIUS_M


@question("matrix", path="/api/v1/matrix", leading=("origins", "destinations"))
def matrix(call: Call, params: MatrixQuestion) -> Matrix:
    """Return meters and seconds from every origin (rows) to every destination (columns).

    A cell is NaN (null in JSON) where no way leads. `details["index"]` of the error `no_road_found`
    counts the origins first, then the destinations.
    """
    return Matrix.join(list(iter_matrix(call, params)))


def iter_matrix(call: Call, params: MatrixQuestion) -> Iterator[Matrix]:
    """Return the matrix in blocks of rows, each worked out when it is asked for.

    Errors about positions come before the first one.
    """
    origins, destinations = params.origins.lonlat, params.destinations.lonlat
    engine = get_engine(call)
    blocks = blocks_of_matrix(
        engine,
        origins,
        destinations,
        params.mode,
        radius_m=params.snap_radius,
        max_pairs=call.settings.matrix_pairs,
        deadline=call.deadline,
        choice=read_choice(params, tuple((origins.tolist() or [[0.0, 0.0]])[0]), engine),
    )
    return _fill(blocks, params, origins, destinations)


def _fill(
    blocks: Iterator[Cells],
    params: MatrixQuestion,
    origins: NDArray[np.float64],
    destinations: NDArray[np.float64],
) -> Iterator[Matrix]:
    first = 0
    for found in blocks:
        filled = None
        if params.fallback_speed is not None:
            some = origins[first : first + len(found.durations_s)]
            filled = np.argwhere(np.isnan(found.durations_s))
            filled[:, 0] += first
            found = fill_unreachable(found, some, destinations, params.fallback_speed)
        yield Matrix(found.distances_m, found.durations_s, params.mode, filled)
        first += len(found.durations_s)
