"""Jobs that outlive their request: kept in the database, so that any worker can answer.

A worker leases a job for a while and renews the lease as it works. A job whose worker died is
leased again when the lease ran out, and given up after three attempts.
"""

from __future__ import annotations

import uuid
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import and_, delete, or_, select, update
from sqlalchemy.orm import Session

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.models import Job
from mapyard.errors import NotFound

State = Literal["queued", "running", "completed", "failed"]

LEASE_S: Final = 60
MAX_ATTEMPTS: Final = 3
KEPT_S: Final = 7 * 86_400


class JobStatus(msgspec.Struct, frozen=True):
    """A job as its owner sees it; `result` and `error` are JSON values."""

    id: str
    kind: str
    state: State
    result: Any = None
    error: Any = None
    #: When it was asked for, seconds since 1970.
    queued_at: int = 0
    #: What it is at, as the one who does it tells; None before and after.
    progress: Any = None


class LeasedJob(msgspec.Struct, frozen=True):
    """A job to do: its request as JSON value."""

    id: str
    account_id: int
    kind: str
    request: Any


def create_job(database: Database, account_id: int, kind: str, request: Any) -> str:
    """Queue a job and return its id, a UUID."""
    with database.write() as session:
        return add_job(session, account_id, kind, request)


def add_job(session: Session, account_id: int, kind: str, request: Any) -> str:
    """Queue a job together with what else a transaction changes; return its id."""
    job_id = str(uuid.uuid4())
    session.add(
        Job(
            id=job_id,
            account_id=account_id,
            kind=kind,
            state="queued",
            request=msgspec.json.encode(request),
            attempts=0,
            created_at=now_s(),
        )
    )
    return job_id


def get_job(database: Database, account_id: int, job_id: str) -> JobStatus:
    """Return a job of this account; raise NotFound for all others."""
    with database.read() as session:
        job = session.get(Job, job_id)
        if job is None or job.account_id != account_id:
            raise NotFound(f"there is no job {job_id[:36]}; jobs are kept for seven days")
        result = msgspec.json.decode(job.result) if job.result else None
        is_running = job.state == "running"  # what it has by then is its progress
        return JobStatus(
            job.id,
            job.kind,
            msgspec.convert(job.state, State),
            None if is_running else result,
            msgspec.json.decode(job.error) if job.error else None,
            job.created_at,
            result if is_running else None,
        )


def cancel_job(database: Database, account_id: int, job_id: str) -> bool:
    """End a job of this account that waits or runs; False where it was over already.

    Who does it learns of it when it renews its lease. Raises NotFound for jobs of others.
    """
    get_job(database, account_id, job_id)
    error = {"code": "cancelled", "message": "the job was cancelled"}
    open_ = (Job.id == job_id, Job.state.in_(("queued", "running")))
    values = {
        "state": "failed", "error": msgspec.json.encode(error), "result": None,
        "finished_at": now_s(),
    }  # fmt: skip
    with database.write() as session:
        changed = session.execute(update(Job).where(*open_).values(**values).returning(Job.id))
        return changed.first() is not None


def report_progress(database: Database, job_id: str, owner: str, progress: Any) -> bool:
    """Tell what a job is at; False when it is this worker's no more: stop."""
    return _if_owned(database, job_id, owner, result=msgspec.json.encode(progress))


def lease_job(database: Database, kind: str, owner: str) -> LeasedJob | None:
    """Take the oldest job that waits, or whose worker fell silent; None when there is none."""
    now = now_s()
    waiting = or_(Job.state == "queued", and_(Job.state == "running", Job.leased_until < now))
    with database.write() as session:
        while True:
            job = session.scalar(
                select(Job)
                .where(Job.kind == kind, waiting)
                .order_by(Job.created_at, Job.id)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            if job is None:
                return None
            if job.attempts < MAX_ATTEMPTS:
                break
            job.state, job.finished_at = "failed", now
            job.error = msgspec.json.encode(
                {
                    "code": "internal_error",
                    "message": f"the job was given up after {MAX_ATTEMPTS} attempts",
                }
            )
            session.flush()
        job.state, job.lease_owner, job.leased_until = "running", owner, now + LEASE_S
        job.attempts += 1
        return LeasedJob(job.id, job.account_id, job.kind, msgspec.json.decode(job.request))


def renew_lease(database: Database, job_id: str, owner: str) -> bool:
    """Keep a job for another minute; False when it is this worker's no more: stop."""
    return _if_owned(database, job_id, owner, leased_until=now_s() + LEASE_S)


def finish_job(database: Database, job_id: str, owner: str, result: Any) -> bool:
    """Store the result; False when another worker took the job over."""
    return _if_owned(
        database,
        job_id,
        owner,
        state="completed",
        result=msgspec.json.encode(result),
        finished_at=now_s(),
    )


def fail_job(database: Database, job_id: str, owner: str, error: Any) -> bool:
    """Store why the job failed, as an error object with code and message."""
    return _if_owned(
        database,
        job_id,
        owner,
        state="failed",
        error=msgspec.json.encode(error),
        finished_at=now_s(),
    )


def prune_jobs(database: Database) -> None:
    """Delete what was finished a week ago; the supervisor calls this now and then."""
    with database.write() as session:
        session.execute(delete(Job).where(Job.finished_at < now_s() - KEPT_S))


def _if_owned(database: Database, job_id: str, owner: str, **values: Any) -> bool:
    mine = (Job.id == job_id, Job.lease_owner == owner, Job.state == "running")
    with database.write() as session:
        changed = session.execute(update(Job).where(*mine).values(**values).returning(Job.id))
        return changed.first() is not None
