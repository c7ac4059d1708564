"""Jobs of the accounts database as the background does them: leased, and kept while they run."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from mapyard.accounts.database import Database
from mapyard.accounts.jobs import LeasedJob, lease_job, renew_lease
from mapyard.errors import MapyardError
from mapyard.http.background import JobContext

_RENEW_S: Final = 2.0


def iter_jobs(ctx: JobContext, database: Database, kind: str) -> Iterator[tuple[LeasedJob, str]]:
    """Yield the jobs of a kind that wait, the oldest first, and the name they are leased by."""
    owner = f"{socket.gethostname()}-{os.getpid()}"
    while not ctx.stop.is_set():
        job = lease_job(database, kind, owner)
        if job is None:
            return
        yield job, owner


@contextmanager
def keep_lease(database: Database, job: LeasedJob, owner: str) -> Iterator[threading.Event]:
    """Renew a lease while the block runs.

    The event that it gives is set when the job is cancelled, or somebody else's: stop then.
    """
    done, lost = threading.Event(), threading.Event()

    def renew() -> None:
        while not done.wait(_RENEW_S):
            with suppress(MapyardError):  # the database is away: the lease outlives some pauses
                if not renew_lease(database, job.id, owner):
                    lost.set()
                    return

    renewer = threading.Thread(target=renew, daemon=True)
    renewer.start()
    try:
        yield lost
    finally:
        done.set()
        renewer.join()
