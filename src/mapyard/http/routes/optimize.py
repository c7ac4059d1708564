"""The best order of visiting many positions; large tours are jobs."""

from __future__ import annotations

import os
import socket
import threading
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

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
from mapyard.library.questions import tours as library
from mapyard.library.ways import get_engine
from mapyard.params.parser import Params
from mapyard.routing.optimize import MIN_STOPS

KIND: Final = "optimize"
#: A job may take longer than a request.
JOB_LIMIT_S: Final = 600.0
_RENEW_S: Final = 20.0


class OptimizeParams(library.TourQuestion, kw_only=True):
    """Which stops, and where the tour begins and ends."""

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
    request = library.read_request(params)
    database = ctx.services.database
    if len(request.stops) > ctx.settings.optimize_inline_stops and database is not None:
        if len(request.stops) < MIN_STOPS:
            raise InvalidRequest.of("waypoints", f"needs {MIN_STOPS} positions or more")
        job_id = create_job(database, ctx.account_id, KIND, msgspec.to_builtins(request))
        return Answer.json(
            {"job_id": job_id, "status": "processing"},
            status=202,
            headers={"Location": f"/api/v1/optimize/{job_id}", "Retry-After": "2"},
        )
    return Answer.geojson(library.compute(engine, request, ctx.deadline).to_collection())


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
        tour = library.compute(
            snapshot.part("routing"),
            msgspec.convert(request, library.TourRequest),
            Deadline(JOB_LIMIT_S),
        )
        return tour.to_collection()
    finally:
        snapshot.release()


BACKGROUND_JOBS = (Job("optimize", 1.0, run_optimize_jobs),)
