"""Routes between two or more positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
import shapely
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.elevation.profile import find_heights, make_profile
from mapyard.errors import InvalidRequest
from mapyard.library import electric
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.ways import Route
from mapyard.library.way_details import Extra, write_edges, write_extras, write_step
from mapyard.library.ways import (
    CostingField,
    DepartAt,
    ModeField,
    SnapRadius,
    WayOutput,
    get_engine,
    get_rasters,
    make_feature,
    make_line,
)
from mapyard.params.parser import Geometry, Params, Position, Positions, spelled
from mapyard.routing import Engine
from mapyard.routing.costing import check_slopes
from mapyard.routing.edges import find_route_edges
from mapyard.routing.electric import ElectricVehicle
from mapyard.routing.polyline import encode_polyline
from mapyard.routing.route import find_quick_route, find_routes
from mapyard.routing.snapping import DEFAULT_RADIUS_M
from mapyard.routing.steps import Step, Units, choose_language
from mapyard.routing.stops import HEADING_TOLERANCE_DEG, Side, Stop, Unsnappable
from mapyard.routing.tagging.conditions import ASSUMED_TEXT
from mapyard.routing.times import read_travel
from mapyard.routing.trip import Route as FoundRoute

MAX_WAYPOINTS: Final = 25
MAX_AVOID_POINTS: Final = 10_000
MAX_AVOID_PLACES: Final = 200
#: Tolerance of `overview=simplified`, as share of the route's extent.
_SIMPLIFIED: Final = 1 / 500


class RouteQuestion(Params, kw_only=True):
    """Where from, where to, how."""

    origin: Annotated[Position, spelled("where the route begins", "from")]
    destination: Annotated[Position, spelled("where it ends", "to")]
    waypoints: Annotated[
        Positions | None, spelled("positions on the way, in order", max_points=MAX_WAYPOINTS)
    ] = None
    mode: ModeField = "auto"
    alternatives: Annotated[
        int,
        Meta(ge=0, le=3, description="other routes to look for; the answer is a collection then"),
    ] = 0
    steps: Annotated[bool, Meta(description="instructions, in property `steps`")] = False
    lang: Annotated[
        str, spelled("language of the instructions: de, en-GB, …", "language", max_length=16)
    ] = "en-US"
    units: Annotated[
        Units, Meta(description="of distances in the texts of steps; figures are in meters")
    ] = "metric"
    annotations: Annotated[
        bool, Meta(description="figures per road edge, in properties `annotations` and `edges`")
    ] = False
    extra_info: Annotated[
        tuple[Extra, ...],
        Meta(
            description="pieces and sums of the way by surface, smoothness, tracktype, way_type, "
            "road_class, incline, sac_scale, maxspeed, toll, tunnel, bridge, osm_way_id, "
            "steepness, in property `extras`",
            max_length=13,
        ),
    ] = ()
    overview: Annotated[
        Literal["full", "simplified", "false"],
        Meta(description="how fine the geometry is; false leaves it out"),
    ] = "full"
    geometries: Annotated[
        Literal["geojson", "polyline", "polyline6"],
        Meta(
            description="polyline and polyline6 give the line as text in property `polyline`, and "
            "a null geometry"
        ),
    ] = "geojson"
    costing: CostingField = None
    depart_at: DepartAt = None
    arrive_by: Annotated[
        str | None,
        Meta(description="time of the arrival, instead of depart_at", max_length=32),
    ] = None
    exclude: Annotated[
        tuple[str, ...],
        Meta(
            description="toll, motorway, ferry, unpaved (motor vehicles only), tunnel, bridge",
            max_length=20,
        ),
    ] = ()
    avoid_polygons: Annotated[
        Geometry | None,
        spelled("area not to enter: Polygon or MultiPolygon", max_points=MAX_AVOID_POINTS),
    ] = None
    avoid_lines: Annotated[
        Geometry | None,
        spelled("not to cross: LineString or MultiLineString", max_points=MAX_AVOID_POINTS),
    ] = None
    avoid_points: Annotated[
        Positions | None,
        spelled("places whose nearest roads are not taken", max_points=MAX_AVOID_PLACES),
    ] = None
    snap_radius: SnapRadius = DEFAULT_RADIUS_M
    snap_radiuses: Annotated[
        tuple[Annotated[float, Meta(gt=0, le=5_000)] | None, ...],
        Meta(
            description="per position (origin, waypoints, destination), meters; null: snap_radius",
            max_length=MAX_WAYPOINTS + 2,
        ),
    ] = ()
    snap_exclude: Annotated[
        tuple[Unsnappable, ...],
        Meta(description="kinds of roads that no position goes to", max_length=6),
    ] = ()
    headings: Annotated[
        tuple[Annotated[float, Meta(ge=0, lt=360.001)] | None, ...],
        Meta(
            description="per position, direction of travel there, degrees clockwise from north; "
            "null: any",
            max_length=MAX_WAYPOINTS + 2,
        ),
    ] = ()
    heading_tolerance: Annotated[
        float, Meta(ge=0, le=180, description="of headings, degrees to either side")
    ] = HEADING_TOLERANCE_DEG
    sides: Annotated[
        tuple[Side, ...],
        Meta(
            description="per position, on which side of the road it is to lie: any, same (the one "
            "that traffic drives on), opposite",
            max_length=MAX_WAYPOINTS + 2,
        ),
    ] = ()
    through: Annotated[
        tuple[Annotated[int, Meta(ge=0, lt=MAX_WAYPOINTS)], ...],
        Meta(
            description="indexes of waypoints that are passed without stopping: no new leg, and no "
            "turning around there",
            max_length=MAX_WAYPOINTS,
        ),
    ] = ()
    ev: Annotated[
        ElectricVehicle | None,
        Meta(
            description="an electric car (modes auto and taxi): its battery and what it uses; the "
            "route stops at charging stations where it has to"
        ),
    ] = None
    elevation: Annotated[
        bool, Meta(description="heights: a third coordinate, and property `elevation`")
    ] = False


@question("route", path="/api/v1/route", leading=("origin", "destination"))
def route(call: Call, params: RouteQuestion) -> Route:
    """Return the quickest route between positions.

    Properties: `distance` and `distance_m` in meters, `duration` and `duration_s` in seconds (the
    same values under both names), `mode`, `waypoints` (each position on its road, with distance
    and road name), `legs`. A position farther than `snap_radius` from every road is an error with
    the code `no_road_found`; its `details["index"]` counts origin 0, waypoints, destination.
    """
    engine = get_engine(call)
    if params.ev is not None:
        trip = electric.find(call, params, params.ev, _asker(call, params, params.steps))
        feature = _make_feature(call, engine, trip.route, params, electric.describe(trip))
        return Route(feature)
    found = find(call, params, with_steps=params.steps)
    features = [_make_feature(call, engine, one, params) for one in found]
    others = [Route(feature) for feature in features[1:]]
    return Route(features[0], others if params.alternatives else None)


#: What a quick answer has values for; all else is to be as it is by default.
_QUICK: Final = frozenset(
    ("origin", "destination", "mode", "lang", "units", "overview", "geometries", "snap_radius",
     "format")
)  # fmt: skip
_OTHERS: Final = [
    field for field in msgspec.structs.fields(RouteQuestion) if field.name not in _QUICK
]
_read_others: Final = attrgetter(*(field.name for field in _OTHERS))
_PLAIN: Final = tuple(field.default for field in _OTHERS)


def find_quickly(call: Call, params: RouteQuestion) -> Route | None:
    """Return the answer where it takes well under a millisecond, None where it may take longer.

    That is between two positions that are not far apart, by a prepared mode at its defaults.
    """
    if _read_others(params) != _PLAIN:
        return None
    engine = get_engine(call)
    found = find_quick_route(
        engine, params.origin, params.destination, params.mode, params.snap_radius
    )
    return None if found is None else Route(_make_feature(call, engine, found, params))


def find(call: Call, params: RouteQuestion, *, with_steps: bool) -> Sequence[FoundRoute]:
    """Return the route and its alternatives as the engine has them."""
    if params.ev is not None:
        ask = _asker(call, params, with_steps)
        return [electric.find(call, params, params.ev, ask).route]
    positions = read_positions(params)
    stops = _read_stops(params, len(positions))
    found = _asker(call, params, with_steps)(positions, stops)
    call.deadline.check()
    return found


def read_positions(params: RouteQuestion) -> NDArray[np.float64]:
    """Return origin, waypoints, destination."""
    positions = np.array([params.origin, params.destination])
    if params.waypoints is None:
        return positions
    return np.concatenate([positions[:1], params.waypoints.lonlat, positions[1:]])


def _asker(
    call: Call, params: RouteQuestion, with_steps: bool
) -> Callable[[NDArray[np.float64], list[Stop] | None], Sequence[FoundRoute]]:
    """Return what finds the routes through positions as the question asks for them."""
    check_slopes(params.costing, has_slopes=get_engine(call).has_slopes)
    return lambda positions, stops: find_routes(
        get_engine(call),
        positions,
        params.mode,
        alternatives=params.alternatives,
        with_steps=with_steps,
        language=choose_language(params.lang),
        units=params.units,
        exclude=params.exclude,
        avoid=None if params.avoid_polygons is None else params.avoid_polygons.shape,
        avoid_lines=None if params.avoid_lines is None else params.avoid_lines.shape,
        avoid_points=None if params.avoid_points is None else params.avoid_points.lonlat,
        radius_m=params.snap_radius,
        options=params.costing,
        stops=stops,
        travel=read_travel(params.depart_at, params.arrive_by, params.origin, params.destination),
    )


def iter_steps(found: FoundRoute) -> Iterator[tuple[int, Step]]:
    """Yield the steps of a route, each with the index of its leg."""
    for index, leg in enumerate(found.legs):
        for step in leg.steps:
            yield index, step


def _read_stops(params: RouteQuestion, count: int) -> list[Stop] | None:
    """Return what is said of each position, or None where nothing is."""
    lists = {
        "headings": params.headings, "sides": params.sides, "snap_radiuses": params.snap_radiuses,
    }  # fmt: skip
    for name, values in lists.items():
        if values and len(values) != count:
            raise InvalidRequest.of(
                name,
                f"has {len(values)} values for {count} positions: origin, waypoints, destination",
            )
    wrong = [index for index in params.through if index >= count - 2]
    if wrong:
        raise InvalidRequest.of("through", f"{wrong[0]} is not an index of {count - 2} waypoints")
    if not (any(lists.values()) or params.through or params.snap_exclude):
        return None
    return [
        Stop(
            heading_deg=params.headings[index] if params.headings else None,
            heading_tolerance_deg=params.heading_tolerance,
            side=params.sides[index] if params.sides else "any",
            is_through=index - 1 in params.through,
            radius_m=params.snap_radiuses[index] if params.snap_radiuses else None,
            unsnappable=params.snap_exclude,
        )
        for index in range(count)
    ]


def find_line_heights(call: Call, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the heights along a line, meters, NaN where there is no data."""
    return find_heights(get_rasters(call), positions).heights_m


def _make_feature(
    call: Call,
    engine: Engine,
    found: FoundRoute,
    params: RouteQuestion,
    more: dict[str, Any] | None = None,
) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "distance": found.distance_m,
        "distance_m": found.distance_m,
        "duration": round(found.duration_s, 1),
        "duration_s": round(found.duration_s, 1),
        "mode": params.mode,
        "waypoints": [
            {"location": [at.lon, at.lat], "distance_m": at.distance_m, "name": at.name}
            for at in found.waypoints
        ],
        "legs": [
            {"distance_m": leg.distance_m, "duration_s": round(leg.duration_s, 1)}
            for leg in found.legs
        ],
        "toll": found.has_toll,
        "ferry": found.has_ferry,
        "motorway": found.has_motorway,
    }
    properties |= more or {}
    if params.depart_at is None and params.arrive_by is None:
        properties["assumed_time"] = ASSUMED_TEXT
    if params.steps:
        properties["steps"] = [write_step(step, leg) for leg, step in iter_steps(found)]
    line = found.positions
    if params.elevation:
        line, properties["elevation"] = _add_heights(call, line)
    if params.annotations or params.extra_info:
        path = find_route_edges(engine, found, params.mode, params.costing)
        heights_m = None
        if params.elevation or "steepness" in params.extra_info:
            heights_m = find_line_heights(call, path.positions)
        if params.annotations:
            properties |= write_edges(path, call.store, heights_m if params.elevation else None)
        if params.extra_info:
            properties["extras"] = write_extras(params.extra_info, path, call.store, heights_m)
    return _shape(line, properties, params)


def _add_heights(
    call: Call, line: NDArray[np.float64]
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the line with heights (left out altogether where one is missing), and the figures."""
    profile = make_profile(get_rasters(call), line)
    heights = profile.heights.heights_m
    figures = {
        "min_elevation_m": profile.min_m,
        "max_elevation_m": profile.max_m,
        "total_ascent_m": profile.ascent_m,
        "total_descent_m": profile.descent_m,
        "source": profile.heights.sources,
    }
    if np.isnan(heights).any():
        return line, figures
    return np.column_stack([line, heights]), figures


def _shape(
    line: NDArray[np.float64], properties: dict[str, Any], params: RouteQuestion
) -> dict[str, Any]:
    if params.overview == "false":
        return {"type": "Feature", "geometry": None, "properties": properties}
    if params.overview == "simplified":
        extent = float(np.ptp(line[:, :2], axis=0).max())
        simple = shapely.simplify(make_line(line), extent * _SIMPLIFIED)
        line = shapely.get_coordinates(simple, include_z=line.shape[1] == 3)
    if params.geometries != "geojson":
        digits = 6 if params.geometries == "polyline6" else 5
        properties["polyline"] = encode_polyline(line[:, :2], digits)
        return {"type": "Feature", "geometry": None, "properties": properties}
    if np.ptp(line[:, 0]) > 180.0:  # over the antimeridian; the line is cut there
        return make_feature(make_line(line[:, :2]), properties, WayOutput())
    geometry = {"type": "LineString", "coordinates": np.ascontiguousarray(line)}
    return {"type": "Feature", "geometry": geometry, "properties": properties}
