from __future__ import annotations

import pytest

from mapyard.accounts import jobs
from mapyard.accounts.database import Database
from mapyard.errors import NotFound


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [1_000]
    monkeypatch.setattr(jobs, "now_s", lambda: now[0])
    return now


def test_from_queue_to_result(database: Database) -> None:
    job_id = jobs.create_job(database, 1, "optimize", {"waypoints": [[7.4, 43.7]]})
    assert jobs.get_job(database, 1, job_id).state == "queued"
    leased = jobs.lease_job(database, "optimize", "worker 1")
    assert leased is not None
    assert leased.request == {"waypoints": [[7.4, 43.7]]}
    assert jobs.lease_job(database, "optimize", "worker 2") is None
    assert jobs.get_job(database, 1, job_id).state == "running"
    assert jobs.finish_job(database, job_id, "worker 1", {"order": [0]})
    done = jobs.get_job(database, 1, job_id)
    assert (done.state, done.result, done.error) == ("completed", {"order": [0]}, None)


def test_another_account_sees_nothing(database: Database) -> None:
    job_id = jobs.create_job(database, 1, "optimize", {})
    with pytest.raises(NotFound):
        jobs.get_job(database, 2, job_id)


def test_oldest_first_and_by_kind(database: Database, clock: list[int]) -> None:
    ids = []
    for _ in range(3):
        ids.append(jobs.create_job(database, 1, "optimize", {}))
        clock[0] += 1
    assert jobs.lease_job(database, "other", "w") is None
    assert [jobs.lease_job(database, "optimize", "w").id for _ in ids] == ids  # type: ignore[union-attr]


def test_a_dead_workers_job_goes_to_the_next(database: Database, clock: list[int]) -> None:
    job_id = jobs.create_job(database, 1, "optimize", {})
    jobs.lease_job(database, "optimize", "dead")
    clock[0] += jobs.LEASE_S // 2
    assert jobs.renew_lease(database, job_id, "dead")
    clock[0] += jobs.LEASE_S + 1
    leased = jobs.lease_job(database, "optimize", "alive")
    assert leased is not None
    # The first one comes back to life: its result is not wanted any more.
    assert not jobs.renew_lease(database, job_id, "dead")
    assert not jobs.finish_job(database, job_id, "dead", 1)
    assert jobs.finish_job(database, job_id, "alive", 2)
    assert jobs.get_job(database, 1, job_id).result == 2


def test_a_job_that_kills_its_workers_is_given_up(database: Database, clock: list[int]) -> None:
    job_id = jobs.create_job(database, 1, "optimize", {})
    for _ in range(jobs.MAX_ATTEMPTS):
        assert jobs.lease_job(database, "optimize", "w") is not None
        clock[0] += jobs.LEASE_S + 1
    assert jobs.lease_job(database, "optimize", "w") is None
    status = jobs.get_job(database, 1, job_id)
    assert status.state == "failed"
    assert "given up" in status.error["message"]


def test_failures_and_pruning(database: Database, clock: list[int]) -> None:
    job_id = jobs.create_job(database, 1, "optimize", {})
    jobs.lease_job(database, "optimize", "w")
    assert jobs.fail_job(database, job_id, "w", {"code": "no_route_found", "message": "no way"})
    jobs.prune_jobs(database)
    assert jobs.get_job(database, 1, job_id).error["code"] == "no_route_found"
    clock[0] += jobs.KEPT_S + 1
    jobs.prune_jobs(database)
    with pytest.raises(NotFound):
        jobs.get_job(database, 1, job_id)
