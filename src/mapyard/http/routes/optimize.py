"""The best order of visiting many positions; large tours are jobs."""

from __future__ import annotations

import os
import socket
import threading
from typing import Annotated, Any, Final

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.accounts.jobs import (
    create_job,
    fail_job,
    finish_job,
    get_job,
    lease_job,
    renew_lease,
)
from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest, MapyardError, NotFound
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.background import Job, JobContext
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.errors import internal_error
from mapyard.http.ways import ModeField, SnapRadius, get_engine, make_collection
from mapyard.params.parser import Params, Positions, spelled
from mapyard.routing import Engine
from mapyard.routing.modes import Mode
from mapyard.routing.optimize import MAX_STOPS, MIN_STOPS, Tour, optimize_order
from mapyard.routing.route import find_routes
from mapyard.routing.snapping import DEFAULT_RADIUS_M

KIND: Final = "optimize"
#: A job may take longer than a request.
JOB_LIMIT_S: Final = 600.0
_RENEW_S: Final = 20.0
#: Positions of one call for the line of the tour.
_STOPS_PER_ROUTE: Final = 26


class OptimizeParams(Params):
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
    format: Annotated[str, Meta(description="read for compatibility: GeoJSON always")] = "json"


@endpoint(
    "/api/v1/optimize",
    methods=("POST",),
    premium=True,
    heavy=True,
    summary="Best order of visiting many stops",
    tag="Routing",
    schema="OptimizeResult",
    errors=("no_route_found", "no_road_found"),
    examples=[
        Example(
            {
                "waypoints": {
                    "type": "MultiPoint",
                    "coordinates": [[7.4246, 43.7384], [7.4197, 43.7314], [7.4273, 43.7402]],
                },
                "mode": "foot",
            }
        )
    ],
)
def optimize(ctx: Context, params: OptimizeParams) -> Answer:
    """Return the stops in visiting order, and the route through them.

    Members: `route` (a LineString feature with legs), `waypoint_order`, `distance_m`,
    `duration_s`, `total_cost_s`, `optimization`, `roundtrip`, `status`. Tours with more stops than
    the server computes at once are answered by `{"job_id", "status": "processing"}`: poll
    `/api/v1/optimize/{job_id}`.
    """
    engine = get_engine(ctx)
    stops = params.waypoints.lonlat
    first, last = _read_ends(params, len(stops))
    request = {
        "stops": stops.tolist(),
        "mode": params.mode,
        "roundtrip": params.roundtrip,
        "first": first,
        "last": last,
        "radius_m": params.snap_radius,
    }
    database = ctx.services.database
    if len(stops) > ctx.settings.optimize_inline_stops and database is not None:
        if len(stops) < MIN_STOPS:
            raise InvalidRequest.of("waypoints", f"needs {MIN_STOPS} positions or more")
        job_id = create_job(database, ctx.account_id, KIND, request)
        return Answer.json(
            {"job_id": job_id, "status": "processing"},
            status=202,
            headers={"Location": f"/api/v1/optimize/{job_id}", "Retry-After": "2"},
        )
    return Answer.geojson(_compute(engine, request, ctx.deadline))


class OptimizeJobParams(Params):
    """Which job."""

    job_id: Annotated[str, Meta(description="id of the job", max_length=64)]


@endpoint(
    "/api/v1/optimize/{job_id}",
    summary="Result of a large tour",
    tag="Routing",
    schema="OptimizeResult",
    media_types=("application/json", GEOJSON),
    errors=("validation_failed",),
)
def optimize_job(ctx: Context, params: OptimizeJobParams) -> Answer:
    """Return `{"status": "processing"}`, or `{"status": "completed", "result": …}`.

    `result` is what the request itself answers for few stops. A failed job answers 422 with the
    reason. Jobs are kept for seven days. Polling counts as a standard request.
    """
    database = ctx.services.database
    if database is None:
        raise NotFound(f"there is no job {params.job_id}")
    job = get_job(database, ctx.account_id, params.job_id)
    if job.state == "completed":
        return Answer.json({"job_id": job.id, "status": "completed", "result": job.result})
    if job.state == "failed":
        error = job.error or {}
        raise MapyardError(
            str(error.get("message", "the job failed")),
            status=422,
            code=str(error.get("code", "validation_failed")),
            details=error.get("details"),
        )
    return Answer.json({"job_id": job.id, "status": "processing"}, headers={"Retry-After": "2"})


def _read_ends(params: OptimizeParams, count: int) -> tuple[int | None, int | None]:
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


def _compute(engine: Engine, request: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    stops = np.array(request["stops"], np.float64)
    mode: Mode = request["mode"]
    tour = optimize_order(
        engine,
        stops,
        mode,
        roundtrip=request["roundtrip"],
        first=request["first"],
        last=request["last"],
        radius_m=request["radius_m"],
        deadline=deadline,
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
        "roundtrip": request["roundtrip"],
    }
    return make_collection(features, members)


def _make_route(
    engine: Engine,
    stops: NDArray[np.float64],
    tour: Tour,
    mode: Mode,
    request: dict[str, Any],
    deadline: Deadline,
) -> dict[str, Any]:
    """Return the line through the stops in their order, with a leg between each two."""
    order = tour.order.tolist()
    if request["roundtrip"]:
        order.append(order[0])
    lines: list[NDArray[np.float64]] = []
    legs = []
    for start in range(0, len(order) - 1, _STOPS_PER_ROUTE - 1):
        deadline.check()
        part = stops[order[start : start + _STOPS_PER_ROUTE]]
        found = find_routes(engine, part, mode, radius_m=request["radius_m"])[0]
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


def run_optimize_jobs(ctx: JobContext) -> None:
    """Do the waiting tours, one after the other."""
    database = ctx.services.database
    if database is None:
        return
    owner = f"{socket.gethostname()}-{os.getpid()}"
    while not ctx.stop.is_set():
        job = lease_job(database, KIND, owner)
        if job is None:
            return
        done = threading.Event()

        def renew(job_id: str = job.id, done: threading.Event = done) -> None:
            while not done.wait(_RENEW_S):
                renew_lease(database, job_id, owner)

        renewer = threading.Thread(target=renew, daemon=True)
        renewer.start()
        try:
            finish_job(database, job.id, owner, _run_job(ctx, job.request))
        except MapyardError as error:
            fail_job(
                database,
                job.id,
                owner,
                {"code": error.code, "message": error.message, "details": error.details},
            )
        except Exception:
            fail_job(
                database,
                job.id,
                owner,
                {"code": "internal_error", "message": internal_error(job.id).message},
            )
            raise  # for the log
        finally:
            done.set()
            renewer.join()


def _run_job(ctx: JobContext, request: dict[str, Any]) -> dict[str, Any]:
    snapshot = ctx.services.snapshots.lease()
    try:
        return _compute(snapshot.part("routing"), request, Deadline(JOB_LIMIT_S))
    finally:
        snapshot.release()


BACKGROUND_JOBS = (Job("optimize", 1.0, run_optimize_jobs),)
