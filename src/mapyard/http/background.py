"""What must run once per machine: a process of its own beside the workers.

Each job has a thread: it runs, sleeps, runs again. A job that fails is logged and tried again; a
crash of the whole process is the supervisor's to repair. Route modules add jobs of their engines
with `BACKGROUND_JOBS = (Job(…),)`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Final, NamedTuple

from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import BLOCK_BYTES, iter_faults
from mapyard.http.services import Services

log = logging.getLogger(__name__)

#: How fast the served dataset is read to check it, and after what time it is again.
CHECK_BYTES_PER_S: Final = 32 << 20
CHECK_EVERY_S: Final = 86_400.0
#: How long running jobs are waited for at the end, seconds.
STOP_S: Final = 20.0


class JobContext(NamedTuple):
    """What a job gets: the services, and the event that tells it to come to an end."""

    services: Services
    stop: threading.Event


class Job(NamedTuple):
    """Something to be done again and again, `every_s` seconds after it ended."""

    name: str
    every_s: float
    run: Callable[[JobContext], None]
    #: Also once more at the end, when the workers are gone.
    at_end: bool = False


def flush_usage(ctx: JobContext) -> None:
    """Enter the workers' usage into the ledger."""
    from mapyard.accounts.gate import flush_usage as enter

    if ctx.services.database is not None:
        enter(ctx.services.database, ctx.services.settings.data)


def prune_jobs(ctx: JobContext) -> None:
    """Forget jobs that were finished long ago."""
    from mapyard.accounts.jobs import prune_jobs as prune

    if ctx.services.database is not None:
        prune(ctx.services.database)


def serve_metrics(ctx: JobContext) -> None:
    """Answer on the metrics' own socket, where a setting opens one, until the end."""
    from mapyard.http.metrics_socket import serve_metrics as serve

    serve(ctx)


def note_minutes(ctx: JobContext) -> None:
    """Gather what the operator's charts show."""
    from mapyard.http.minutes import Minutes

    minutes: Minutes = ctx.services.get("minutes", lambda services: Minutes(services.own_folder))
    minutes.look()


def run_updates(ctx: JobContext) -> None:
    """Look for new data on schedule, until the end."""
    from mapyard.updates.schedule import Schedule

    schedule = Schedule(ctx.services.settings)
    try:
        while not ctx.stop.is_set():
            schedule.tick()
            ctx.stop.wait(5.0)
    finally:
        schedule.stop()


def check_dataset(ctx: JobContext) -> None:
    """Read the served dataset slowly and compare its checksums; a damaged one is withdrawn."""
    catalog = Catalog(ctx.services.settings.data)
    dataset = catalog.find_current()
    checked: dict[str, float] = ctx.services.get("checked datasets", lambda _: {})
    if dataset is None or time.monotonic() - checked.get(dataset, -CHECK_EVERY_S) < CHECK_EVERY_S:
        return
    folder, manifest = catalog.path(dataset), catalog.manifest(dataset)
    for fault in iter_faults(folder, manifest):
        if fault:
            _withdraw(catalog, dataset, fault)
            return
        if ctx.stop.wait(BLOCK_BYTES / CHECK_BYTES_PER_S) or catalog.find_current() != dataset:
            return
    checked.clear()
    checked[dataset] = time.monotonic()


def _withdraw(catalog: Catalog, dataset: str, fault: str) -> None:
    from mapyard.http import metrics

    metrics.DAMAGED.inc()
    other = catalog.withdraw(dataset, fault)
    log.error(
        "dataset %s is damaged and was taken out of service: %s; %s",
        dataset,
        fault,
        f"serving {other} instead" if other else "no other is well: build it again",
    )


COMMON_JOBS: Final = (
    Job("check-dataset", 30.0, check_dataset),
    Job("usage", 2.0, flush_usage, at_end=True),
    Job("updates", 5.0, run_updates),
    Job("prune-jobs", 3_600.0, prune_jobs),
    Job("metrics", 5.0, serve_metrics),
    Job("minutes", 5.0, note_minutes),
)


def collect_jobs(modules: Iterable[ModuleType]) -> list[Job]:
    """Return the common jobs and those of the modules."""
    jobs = list(COMMON_JOBS)
    for module in modules:
        jobs.extend(getattr(module, "BACKGROUND_JOBS", ()))
    return jobs


def run_jobs(jobs: Iterable[Job], services: Services, stop: threading.Event) -> None:
    """Run all jobs until `stop` is set."""
    ctx = JobContext(services, stop)
    jobs = list(jobs)
    threads = [
        threading.Thread(target=_repeat, args=(job, ctx), name=f"job-{job.name}", daemon=True)
        for job in jobs
    ]
    for thread in threads:
        thread.start()
    stop.wait()
    ends_s = time.monotonic() + STOP_S
    for thread in threads:
        thread.join(max(0.0, ends_s - time.monotonic()))
    for job in jobs:
        if job.at_end:
            _run(job, ctx)


def _repeat(job: Job, ctx: JobContext) -> None:
    while not ctx.stop.is_set():
        _run(job, ctx)
        ctx.stop.wait(job.every_s)


def _run(job: Job, ctx: JobContext) -> None:
    try:
        job.run(ctx)
    except Exception:  # one job's failure must not end the others
        log.exception("the background job %s failed; it is tried again", job.name)
