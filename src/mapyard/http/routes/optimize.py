"""The best order of visiting many positions; large tours are jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.jobs import (
    LeasedJob,
    cancel_job,
    create_job,
    fail_job,
    finish_job,
    get_job,
    report_progress,
)
from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest, MapyardError, NotFound
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.background import Job, JobContext
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.errors import internal_error
from mapyard.http.leases import iter_jobs, keep_lease
from mapyard.library.questions import tours as library
from mapyard.library.ways import get_engine
from mapyard.params.parser import Params, Positions, spelled
from mapyard.routing.tours.order import MAX_STOPS, MIN_STOPS

KIND: Final = "optimize"
#: A job may take longer than a request.
JOB_LIMIT_S: Final = 600.0


class OptimizeParams(library.TourQuestion, kw_only=True):
    """Which stops, and where the tour begins and ends; or a problem in VROOM's form."""

    waypoints: Annotated[
        Positions | None,
        spelled(f"stops, {MIN_STOPS} to {MAX_STOPS}", "locations", max_points=MAX_STOPS),
    ] = None  # type: ignore[assignment]  # or vehicles
    vehicles: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="several vehicles: VROOM's form, as at /api/v1/tours", max_length=200),
    ] = ()
    jobs: Annotated[
        tuple[dict[str, Any], ...], Meta(description="of vehicles", max_length=1_000)
    ] = ()
    shipments: Annotated[
        tuple[dict[str, Any], ...], Meta(description="of vehicles", max_length=1_000)
    ] = ()
    matrices: Annotated[dict[str, Any] | None, Meta(description="of vehicles")] = None
    options: Annotated[dict[str, Any] | None, Meta(description="of vehicles")] = None
    format: Annotated[str, Meta(description="read for compatibility: GeoJSON always")] = "json"


@endpoint(
    "/api/v1/optimize",
    methods=("POST",),
    premium=True,
    heavy=True,
    strict=True,
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
    if params.vehicles or params.jobs or params.shipments:
        if params.waypoints is not None:
            raise InvalidRequest.of("waypoints", "and vehicles, jobs, shipments exclude each other")
        return _plan(
            ctx,
            library.PlanQuestion(
                vehicles=params.vehicles, jobs=params.jobs, shipments=params.shipments,
                matrices=params.matrices, options=params.options, snap_radius=params.snap_radius,
            ),
        )  # fmt: skip
    if params.waypoints is None:
        raise InvalidRequest.of("waypoints", "is required (or vehicles with jobs or shipments)")
    request = library.read_request(params)
    if len(request.stops) > ctx.settings.optimize_inline_stops:
        if len(request.stops) < MIN_STOPS:
            raise InvalidRequest.of("waypoints", f"needs {MIN_STOPS} positions or more")
        queued = _queue(ctx, msgspec.to_builtins(request))
        if queued is not None:
            return queued
    found = library.compute(engine, request, ctx.deadline).to_collection()
    return Answer.geojson(library.as_feature(found) if _wants_feature(ctx) else found)


def _wants_feature(ctx: Context) -> bool:
    """Return whether a client library asks that reads the tour as one feature.

    Among them only those ask for GeoJSON by its type.
    """
    return ctx.is_client_library and GEOJSON.partition(";")[0] in ctx.accept


def _queue(ctx: Context, request: dict[str, Any]) -> Answer | None:
    """Make a job of a request; None where there is no database to keep it."""
    database = ctx.services.database
    if database is None:
        return None
    job_id = create_job(database, ctx.account_id, KIND, request)
    return Answer.json(
        {"job_id": job_id, "status": "processing"},
        status=202,
        headers={"Location": f"/api/v1/optimize/{job_id}", "Retry-After": "2"},
    )


def _plan(ctx: Context, params: library.PlanQuestion) -> Answer:
    request = library.read_problem(params)
    stops = len(params.jobs) + 2 * len(params.shipments)
    if stops > ctx.settings.optimize_inline_stops:
        queued = _queue(ctx, msgspec.to_builtins(request))
        if queued is not None:
            return queued
    return Answer.json(library.plan(get_engine(ctx), request, ctx.deadline))


@endpoint(
    "/api/v1/tours",
    methods=("POST",),
    premium=True,
    heavy=True,
    strict=True,
    summary="Tours of several vehicles",
    tag="Routing",
    schema="TourPlan",
    media_types=("application/json",),
    errors=("no_road_found",),
    examples=[
        Example(
            {
                "vehicles": [
                    {"id": 1, "profile": "auto", "start": [7.4246, 43.7384], "capacity": [2]},
                    {"id": 2, "profile": "bicycle", "start": [7.4197, 43.7314], "capacity": [1]},
                ],
                "jobs": [
                    {"id": 1, "location": [7.4273, 43.7402], "delivery": [1], "service": 120},
                    {"id": 2, "location": [7.4203, 43.7312], "delivery": [1]},
                    {"id": 3, "location": [7.4156, 43.7277], "delivery": [2]},
                ],
            }
        )
    ],
)
def plan_tours(ctx: Context, params: library.PlanQuestion) -> Answer:
    """Return tours of several vehicles over jobs and shipments, in the form of VROOM.

    Problem and answer are VROOM's, with `distance` beside durations and a `reason` for each task in
    `unassigned`. Profiles are modes; without `matrices` ours are used. Members that VROOM does not
    know are refused by name. More tasks than the server plans at once make a job, as at
    `/api/v1/optimize`.
    """
    return _plan(ctx, params)


class OptimizeJobParams(Params):
    """Which job."""

    job_id: Annotated[str, Meta(description="id of the job", max_length=64)]


@endpoint(
    "/api/v1/optimize/{job_id}",
    summary="Result of a large tour",
    tag="Routing",
    schema="Job",
    media_types=("application/json",),
    errors=("validation_failed",),
)
def optimize_job(ctx: Context, params: OptimizeJobParams) -> Answer:
    """Return `{"status": "processing"}`, or `{"status": "completed", "result": …}`.

    `state` is queued or running, with `queued_at`; once it runs, `running_since` and `progress`.
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
    members = {
        "job_id": job.id, "status": "processing", "state": job.state, "queued_at": job.queued_at,
    }  # fmt: skip
    return Answer.json(members | (job.progress or {}), headers={"Retry-After": "2"})


@endpoint(
    "/api/v1/optimize/{job_id}",
    methods=("DELETE",),
    summary="Cancel a large tour",
    tag="Routing",
    media_types=("application/json",),
    schema="JobCancelled",
)
def cancel_optimize_job(ctx: Context, params: OptimizeJobParams) -> Answer:
    """End a job that waits or runs; its work stops within seconds.

    `cancelled` is false where the job was over already.
    """
    database = ctx.services.database
    if database is None:
        raise NotFound(f"there is no job {params.job_id}")
    cancelled = cancel_job(database, ctx.account_id, params.job_id)
    return Answer.json({"job_id": params.job_id, "cancelled": cancelled})


def run_optimize_jobs(ctx: JobContext) -> None:
    """Do the waiting tours, one after the other."""
    database = ctx.services.database
    if database is None:
        return
    for job, owner in iter_jobs(ctx, database, KIND):
        with keep_lease(database, job, owner) as lost:
            _do_job(ctx, database, job, owner, lost)


def _do_job(
    ctx: JobContext, database: Database, job: LeasedJob, owner: str, lost: threading.Event
) -> None:
    """Do one tour, and keep what came of it."""
    since = now_s()

    def report(what: str) -> None:
        report_progress(database, job.id, owner, {"running_since": since, "progress": what})

    try:
        report("begun")
        finish_job(database, job.id, owner, _run_job(ctx, job.request, lost, report))
    except MapyardError as error:
        said = {"code": error.code, "message": error.message, "details": error.details}
        fail_job(database, job.id, owner, said)
    except Exception:
        said = {"code": "internal_error", "message": internal_error(job.id).message}
        fail_job(database, job.id, owner, said)
        raise  # for the log


def _run_job(
    ctx: JobContext, request: dict[str, Any], lost: threading.Event, report: Callable[[str], None]
) -> dict[str, Any]:
    snapshot = ctx.services.snapshots.lease()
    try:
        engine, deadline = snapshot.part("routing"), Deadline(JOB_LIMIT_S)
        if "problem" in request:
            return library.plan(
                engine,
                msgspec.convert(request, library.PlanRequest),
                deadline,
                is_stopped=lambda: lost.is_set() or ctx.stop.is_set(),
                on_progress=report,
            )
        tour = library.compute(
            engine,
            msgspec.convert(request, library.TourRequest),
            deadline,
            is_stopped=lambda: lost.is_set() or ctx.stop.is_set(),
        )
        return tour.to_collection()
    finally:
        snapshot.release()


BACKGROUND_JOBS = (Job("optimize", 1.0, run_optimize_jobs),)
