"""The background's part in datasets: uploads become versions, old versions are swept."""

from __future__ import annotations

import logging
import shutil
import threading
import uuid
from typing import Final

from mapyard.accounts.database import Database
from mapyard.accounts.datasets import (
    IMPORT_KIND,
    fail_forgotten,
    fail_import,
    find_dataset,
    find_in_use,
    finish_import,
    limits_of,
)
from mapyard.accounts.jobs import LeasedJob, fail_job, finish_job
from mapyard.errors import MapyardError, NotFound
from mapyard.http.background import Job, JobContext
from mapyard.http.errors import internal_error
from mapyard.http.leases import iter_jobs, keep_lease
from mapyard.library.import_process import Task, run_import
from mapyard.userdata.folders import incoming_folder, sweep, version_folder

log = logging.getLogger(__name__)

_SWEEP_S: Final = 600.0


def import_uploads(ctx: JobContext) -> None:
    """Read the uploads that wait, one after the other."""
    database = ctx.services.database
    if database is None:
        return
    for job, owner in iter_jobs(ctx, database, IMPORT_KIND):
        with keep_lease(database, job, owner) as lost:
            try:
                _import(ctx, database, job, lost)
            except Exception:
                said = {"code": "internal_error", "message": internal_error(job.id).message}
                fail_job(database, job.id, owner, said)
                raise  # for the log
        if ctx.stop.is_set():
            return  # begun anew after the lease, by whoever serves then
        if lost.is_set():
            continue  # somebody else reads it
        finish_job(database, job.id, owner, {})


def _import(ctx: JobContext, database: Database, job: LeasedJob, lost: threading.Event) -> None:
    """Read one upload; what goes wrong is said of the dataset."""
    dataset_id, upload = job.request["dataset"], job.request["upload"]
    data = ctx.services.settings.data
    source = incoming_folder(data) / upload

    def is_stopped() -> bool:
        if ctx.stop.is_set() or lost.is_set():
            return True
        try:
            return find_dataset(database, job.account_id, dataset_id).upload != upload
        except NotFound:
            return True

    if is_stopped():
        if not ctx.stop.is_set() and not lost.is_set():
            source.unlink(missing_ok=True)  # deleted, or filled by a later file
        return
    version = str(uuid.uuid4())
    folder = version_folder(data, dataset_id, version)
    limits = limits_of(database, job.account_id)
    try:
        if not source.is_file():
            raise MapyardError(
                "the file is not on this machine: servers of several machines need one folder "
                "DATA/userdata; send the file again"
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        task = Task(
            str(data), str(source), str(folder), job.request["options"], limits.features,
            limits.storage_bytes,
        )  # fmt: skip
        done = run_import(task, is_stopped=is_stopped)
    except MapyardError as error:
        if ctx.stop.is_set() or lost.is_set():
            return  # the file is left to who reads it then
        fail_import(database, dataset_id, upload, error.message)
    except Exception:
        fail_import(database, dataset_id, upload, "the server failed on this file")
        raise
    else:
        if not finish_import(database, dataset_id, upload, version, done.values()):
            shutil.rmtree(folder, ignore_errors=True)
    source.unlink(missing_ok=True)


def sweep_versions(ctx: JobContext) -> None:
    """Delete what of datasets nobody serves any more, and end imports whose process is gone."""
    database = ctx.services.database
    if database is not None:
        fail_forgotten(database)
        swept = sweep(ctx.services.settings.data, *find_in_use(database))
        if swept:
            log.info("datasets: %d old versions and uploads deleted", swept)


IMPORT_JOBS: Final = (
    Job("import-datasets", 1.0, import_uploads),
    Job("sweep-datasets", _SWEEP_S, sweep_versions),
)
