"""Areas within reach of one position or several."""

from __future__ import annotations

from typing import Annotated, Any, Final

import numpy as np
import shapely
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.inside import count_inside, count_people
from mapyard.library.question import question
from mapyard.library.results.ways import Areas
from mapyard.library.ways import (
    ModeField,
    SnapRadius,
    WayChoice,
    WayOutput,
    get_engine,
    make_feature,
    read_choice,
)
from mapyard.params.parser import Position, Positions, spelled
from mapyard.routing.config import MAX_CONTOURS
from mapyard.routing.contraction.table import Metric
from mapyard.routing.isochrone import (
    MAX_DISTANCE_M,
    MAX_TIME_S,
    find_isochrones,
    measure_area_m2,
)
from mapyard.routing.isochrone import (
    Isochrone as FoundArea,
)
from mapyard.routing.snapping import DEFAULT_RADIUS_M
from mapyard.routing.tagging.conditions import ASSUMED_TEXT

MAX_POSITIONS: Final = 10


class Isochrone(WayChoice, kw_only=True):
    """From where, how long or how far."""

    at: Annotated[Position, spelled("the position", "geometry", "center", "near", pair=True)]
    time: Annotated[
        tuple[Annotated[float, Meta(ge=1, le=MAX_TIME_S)], ...],
        Meta(description="seconds, 1 to 7200, one or several", max_length=MAX_CONTOURS),
    ] = ()
    contours_minutes: Annotated[
        tuple[Annotated[float, Meta(gt=0, le=MAX_TIME_S / 60)], ...],
        Meta(description="the same in minutes", max_length=MAX_CONTOURS),
    ] = ()
    distance: Annotated[
        tuple[Annotated[float, Meta(ge=1, le=MAX_DISTANCE_M)], ...],
        Meta(description="meters on the road, instead of time", max_length=MAX_CONTOURS),
    ] = ()
    mode: ModeField = "auto"
    others: Annotated[
        Positions | None,
        spelled(
            f"further positions, up to {MAX_POSITIONS - 1}: each has its areas",
            max_points=9,
        ),
    ] = None
    intersections: Annotated[
        bool,
        Meta(description="with others: per value also the area within reach of all positions"),
    ] = False
    count: Annotated[
        tuple[str, ...],
        Meta(
            description="tags whose elements inside are counted, in property `counts`: "
            "amenity=cafe, shop, highway=bus_stop|platform",
            max_length=10,
        ),
    ] = ()
    population: Annotated[
        bool,
        Meta(
            description="people in the cities, towns, villages and hamlets whose center lies "
            "inside, as far as they are tagged with a population"
        ),
    ] = False
    reverse: Annotated[
        bool, Meta(description="from where the position is reached, instead of what is reached")
    ] = False
    denoise: Annotated[
        float,
        Meta(ge=0, le=1, description="leave out parts and holes under this share of the largest"),
    ] = 0.0
    polygons: Annotated[bool, Meta(description="false: the outlines as lines")] = True
    snap_radius: SnapRadius = DEFAULT_RADIUS_M
    output: WayOutput = WayOutput()


@question("isochrone", path="/api/v1/isochrone", leading=("at", "time"))
def isochrone(call: Call, params: Isochrone) -> Areas:
    """Return the area within reach of a position for each time or distance.

    One Polygon or MultiPolygon per value, in the order asked for, times before distances; larger
    areas hold the smaller ones. Properties: `time_seconds` or `distance_meters`, `mode`, `area_m2`.
    With `others`, `position` is the index of the area's position; the common areas of
    `intersections` come last and have `positions`.
    """
    limits = _read_limits(params)
    positions = np.array([params.at])
    if params.others is not None:
        positions = np.concatenate([positions, params.others.lonlat])
    found = [_find_areas(call, params, lon, lat, limits) for lon, lat in positions.tolist()]
    features = []
    for index, areas in enumerate(found):
        which: dict[str, Any] = {"position": index} if len(found) > 1 else {}
        features += [_write_area(call, params, *area, which) for area in areas]
    if params.intersections:
        which = {"positions": list(range(len(found)))}
        for same in zip(*found, strict=True):
            metric, common = _intersect(same, positions)
            features.append(_write_area(call, params, metric, common, which))
    return Areas(features)


type _Area = tuple[Metric, FoundArea]


def _find_areas(
    call: Call, params: Isochrone, lon: float, lat: float, limits: dict[Metric, list[float]]
) -> list[_Area]:
    found: list[_Area] = []
    for metric, values in limits.items():
        call.deadline.check()
        areas = find_isochrones(
            get_engine(call),
            lon,
            lat,
            values,
            params.mode,
            metric=metric,
            radius_m=params.snap_radius,
            toward=params.reverse,
            choice=read_choice(params, (lon, lat), get_engine(call)),
            least_share=params.denoise,
        )
        found += [(metric, area) for area in areas]
    return found


def _intersect(same: tuple[_Area, ...], positions: NDArray[np.float64]) -> _Area:
    """Return what the areas of one value have in common."""
    metric, first = same[0]
    common = shapely.intersection_all([area.geometry for _, area in same])
    parts = [part for part in shapely.get_parts(common) if part.geom_type == "Polygon"]
    shape = parts[0] if len(parts) == 1 else shapely.multipolygons(parts)
    lon, lat = positions[0].tolist()
    return metric, FoundArea(first.limit, shape, measure_area_m2(shape, lon, lat))


def _write_area(
    call: Call, params: Isochrone, metric: Metric, area: FoundArea, which: dict[str, Any]
) -> dict[str, Any]:
    name = "time_seconds" if metric == "time" else "distance_meters"
    limit = int(area.limit) if area.limit == int(area.limit) else area.limit
    properties: dict[str, Any] = {name: limit, "mode": params.mode, "area_m2": area.area_m2}
    properties |= which
    if metric == "time":
        properties["max_cost_s"] = limit
    if params.depart_at is None:
        properties["assumed_time"] = ASSUMED_TEXT
    if params.count:
        properties["counts"] = count_inside(call, area.geometry, params.count)
    if params.population:
        properties["population"] = count_people(call, area.geometry)
    shape = area.geometry if params.polygons else shapely.boundary(area.geometry)
    return make_feature(shape, properties, params.output)


def _read_limits(params: Isochrone) -> dict[Metric, list[float]]:
    if params.time and params.contours_minutes:
        raise InvalidRequest.of("contours_minutes", "time and contours_minutes exclude each other")
    times = [*params.time, *(minutes * 60.0 for minutes in params.contours_minutes)]
    limits: dict[Metric, list[float]] = {"time": times, "distance": list(params.distance)}
    given = {metric: values for metric, values in limits.items() if values}
    if not given:
        raise InvalidRequest.of("time", "is required: seconds, 1 to 7200 (or distance in meters)")
    if params.intersections and params.others is None:
        raise InvalidRequest.of("intersections", "needs others: positions beside the first one")
    return given
