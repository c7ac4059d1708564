"""The best order of visiting many positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.ways import Tour, TourPlan
from mapyard.library.ways import ModeField, SnapRadius, get_engine
from mapyard.params.parser import Params, Positions, spelled
from mapyard.routing import Engine
from mapyard.routing.modes import Mode
from mapyard.routing.route import find_routes
from mapyard.routing.snapping import DEFAULT_RADIUS_M
from mapyard.routing.tours.order import MAX_STOPS, MIN_STOPS, optimize_order
from mapyard.routing.tours.order import Tour as FoundTour
from mapyard.routing.tours.problem import MAX_STOPS as MAX_PLANNED
from mapyard.routing.tours.problem import MAX_VEHICLES, check_problem
from mapyard.routing.tours.problem import plan_tours as solve_problem

#: Positions of one call for the line of the tour.
_STOPS_PER_ROUTE: Final = 26


class TourQuestion(Params, kw_only=True):
    """Which stops, and where the tour begins and ends."""

    waypoints: Annotated[
        Positions, spelled(f"stops, {MIN_STOPS} to {MAX_STOPS}", "locations", max_points=MAX_STOPS)
    ]
    mode: ModeField = "auto"
    roundtrip: Annotated[bool, Meta(description="end where the tour began")] = True
    source: Annotated[
        str, Meta(description="first: begin at the first waypoint; any; or an index")
    ] = "first"
    destination: Annotated[
        str,
        Meta(description="any; last: end at the last waypoint; or an index (no round trips)"),
    ] = "any"
    snap_radius: SnapRadius = DEFAULT_RADIUS_M


class TourRequest(msgspec.Struct):
    """A tour as plain values, which a job can keep; `first` and `last` are places in `stops`."""

    stops: list[list[float]]
    mode: Mode
    roundtrip: bool
    first: int | None
    last: int | None
    radius_m: float


@question("optimize", path="/api/v1/optimize", leading=("waypoints",))
def optimize(call: Call, params: TourQuestion) -> Tour:
    """Return stops in the best order of visiting, and the route through them.

    Members: `route` (a LineString feature with legs), `waypoint_order`, `distance_m`,
    `duration_s`, `total_cost_s`, `optimization`, `roundtrip`, `status`.
    """
    return compute(get_engine(call), read_request(params), call.deadline)


class PlanQuestion(Params, kw_only=True):
    """A problem in VROOM's form."""

    vehicles: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="id, profile (a mode), start, end, capacity, skills, time_window, breaks, "
            "costs, speed_factor, max_tasks, max_travel_time, max_distance, steps",
            max_length=MAX_VEHICLES,
        ),
    ]
    jobs: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="id, location, service, setup, delivery, pickup, skills, priority, "
            "time_windows",
            max_length=MAX_PLANNED,
        ),
    ] = ()
    shipments: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="pickup and delivery (id, location, service, time_windows), amount, "
            "skills, priority",
            max_length=MAX_PLANNED,
        ),
    ] = ()
    matrices: Annotated[
        dict[str, Any] | None,
        Meta(description="per profile your own durations, distances, costs; else ours"),
    ] = None
    options: Annotated[
        dict[str, Any] | None,
        Meta(description="g: lines of the tours; c: keep the vehicles' steps, and time them"),
    ] = None
    snap_radius: SnapRadius = DEFAULT_RADIUS_M


@question("plan_tours", path="/api/v1/tours", leading=("vehicles", "jobs", "shipments"))
def plan_tours(call: Call, params: PlanQuestion) -> TourPlan:
    """Return tours of several vehicles over jobs and shipments, in the form of VROOM.

    Members: `summary`, `routes` (with `steps`: arrivals, loads, distances), `unassigned` with a
    `reason` each. Members of the problem that VROOM does not know are refused by name.
    """
    return TourPlan(plan(get_engine(call), read_problem(params), call.deadline))


def read_problem(params: PlanQuestion) -> PlanRequest:
    """Return a problem as plain values, checked."""
    problem = {
        name: list(value) if isinstance(value, tuple) else value
        for name in ("vehicles", "jobs", "shipments", "matrices", "options")
        if (value := getattr(params, name))
    }
    check_problem(problem)
    return PlanRequest(problem, params.snap_radius)


class PlanRequest(msgspec.Struct):
    """A problem as plain values, which a job can keep."""

    problem: dict[str, Any]
    radius_m: float


def plan(
    engine: Engine,
    request: PlanRequest,
    deadline: Deadline,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
    on_progress: Callable[[str], None] = lambda what: None,
) -> dict[str, Any]:
    """Return VROOM's solution; `is_stopped` is asked while it is worked out."""
    return solve_problem(
        engine,
        request.problem,
        radius_m=request.radius_m,
        deadline=deadline,
        is_stopped=is_stopped,
        on_progress=on_progress,
    )


def read_request(params: TourQuestion) -> TourRequest:
    """Return a tour as plain values; raise InvalidRequest where its ends are wrong."""
    stops = params.waypoints.lonlat
    first, last = _read_ends(params, len(stops))
    return TourRequest(
        stops.tolist(), params.mode, params.roundtrip, first, last, params.snap_radius
    )


def _read_ends(params: TourQuestion, count: int) -> tuple[int | None, int | None]:
    first = _read_end("source", params.source, count)
    last = _read_end("destination", params.destination, count)
    if params.roundtrip and last is not None and last != (first or 0):
        raise InvalidRequest.of(
            "destination", "a round trip ends where it began; send roundtrip=false"
        )
    return first, last


def _read_end(name: str, value: str, count: int) -> int | None:
    match value:
        case "any":
            return None
        case "first":
            return 0
        case "last":
            return count - 1
    if not value.isascii() or not value.isdigit() or int(value) >= count:
        raise InvalidRequest.of(name, f"must be any, first, last or an index below {count}")
    return int(value)


def compute(
    engine: Engine,
    request: TourRequest,
    deadline: Deadline,
    *,
    is_stopped: Callable[[], bool] | None = None,
) -> Tour:
    """Return the tour; `deadline` and `is_stopped` are asked between its steps."""
    stops = np.array(request.stops, np.float64)
    mode = request.mode
    tour = optimize_order(
        engine,
        stops,
        mode,
        roundtrip=request.roundtrip,
        first=request.first,
        last=request.last,
        radius_m=request.radius_m,
        deadline=deadline,
        is_stopped=is_stopped,
    )
    deadline.check()
    route = _make_route(engine, stops, tour, mode, request, deadline)
    arrival_s = np.cumsum(tour.durations_s)
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": stops[index].tolist()},
            "properties": {
                "waypoint_index": int(index),
                "cost_s": float(cost_s),
                "cumulative_cost_s": float(total_s),
            },
        }
        for index, cost_s, total_s in zip(tour.order, tour.durations_s, arrival_s, strict=True)
    ]
    members = {
        "status": "completed",
        "route": route,
        "waypoint_order": tour.order.tolist(),
        "distance_m": round(tour.distance_m, 1),
        "duration_s": round(tour.duration_s, 1),
        "total_cost_s": round(tour.duration_s, 1),
        "optimization": "vroom",
        "roundtrip": request.roundtrip,
    }
    return Tour(features, members)


def _make_route(
    engine: Engine,
    stops: NDArray[np.float64],
    tour: FoundTour,
    mode: Mode,
    request: TourRequest,
    deadline: Deadline,
) -> dict[str, Any]:
    """Return the line through the stops in their order, with a leg between each two."""
    order = tour.order.tolist()
    if request.roundtrip:
        order.append(order[0])
    lines: list[NDArray[np.float64]] = []
    legs = []
    for start in range(0, len(order) - 1, _STOPS_PER_ROUTE - 1):
        deadline.check()
        part = stops[order[start : start + _STOPS_PER_ROUTE]]
        found = find_routes(engine, part, mode, radius_m=request.radius_m)[0]
        lines.append(found.positions if not lines else found.positions[1:])
        legs += [
            {"distance_m": leg.distance_m, "duration_s": round(leg.duration_s, 1)}
            for leg in found.legs
        ]
    return {
        "type": "Feature",
        "geometry": {"type": "LineString", "coordinates": np.concatenate(lines).tolist()},
        "properties": {
            "distance_m": round(sum(leg["distance_m"] for leg in legs), 1),
            "duration_s": round(sum(leg["duration_s"] for leg in legs), 1),
            "mode": mode,
            "legs": legs,
        },
    }


def as_feature(tour: dict[str, Any]) -> dict[str, Any]:
    """Return a tour as its route, with the order of the stops."""
    kept = ("waypoint_order", "distance_m", "duration_s", "total_cost_s", "optimization",
            "roundtrip")  # fmt: skip
    properties = {name: tour[name] for name in kept if name in tour}
    properties |= {"distance": tour["distance_m"], "duration": tour["duration_s"]}
    return {
        "type": "Feature",
        "status": tour["status"],
        "geometry": tour["route"]["geometry"],
        "properties": properties,
    }
