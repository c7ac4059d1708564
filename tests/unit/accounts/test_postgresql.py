"""The same accounts on PostgreSQL: a private cluster, where the server is installed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import func, select

from databases import POSTGRESQL, running_postgresql
from mapyard.accounts import jobs, registry
from mapyard.accounts.database import Database, open_database
from mapyard.accounts.gate import AccountsGate, flush_usage
from mapyard.accounts.lookup import KeyRefused
from mapyard.accounts.models import Base, UsageDay
from mapyard.accounts.open import ensure_owner
from mapyard.accounts.schema import check_version, migrate
from mapyard.accounts.uptime import mark_minute

pytest.importorskip("psycopg")

pytestmark = [
    pytest.mark.skipif(POSTGRESQL is None, reason="needs PostgreSQL"),
    pytest.mark.xdist_group("postgresql"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with running_postgresql() as url:
        yield url


@pytest.fixture
def database(cluster: str, tmp_path: Path) -> Iterator[Database]:
    database = open_database(tmp_path, cluster)
    migrate(database)
    yield database
    with database.engine.begin() as connection:
        Base.metadata.drop_all(connection)
        connection.exec_driver_sql("DROP TABLE alembic_version")
    database.close()


def test_migrations_and_models_agree(database: Database) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    check_version(database)


def test_migrating_at_once(cluster: str, tmp_path: Path, database: Database) -> None:
    with database.engine.begin() as connection:
        Base.metadata.drop_all(connection)
        connection.exec_driver_sql("DROP TABLE alembic_version")
    others = [open_database(tmp_path, cluster) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(migrate, others))
    for other in others:
        check_version(other)
        other.close()


def test_keys_limits_and_usage(database: Database, tmp_path: Path) -> None:
    secret = ensure_owner(database)
    assert ensure_owner(database) is None
    gate = AccountsGate(database, tmp_path)
    identity = gate.authenticate(secret)
    for _ in range(3):
        gate.settle(gate.admit(identity, premium=True), 200, "/api/v1/route", 2.0)
    assert flush_usage(database, tmp_path) == 3
    gate.settle(gate.admit(identity, premium=True), 500, "/api/v1/route", 2.0)
    assert flush_usage(database, tmp_path) == 1
    with database.read() as session:
        sums = session.execute(select(func.sum(UsageDay.requests), func.sum(UsageDay.units))).one()
    assert tuple(sums) == (4, 12)
    registry.revoke_key(database, identity.account_id, identity.key_id)
    time.sleep(0.6)
    with pytest.raises(KeyRefused, match="revoked"):
        gate.authenticate(secret)
    gate.close()


def test_three_keys_under_concurrency(database: Database) -> None:
    account = registry.create_account(database, "me@example.org")

    def create(_: int) -> bool:
        try:
            registry.create_key(database, account.id)
        except registry.Conflict:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(create, range(12))) == 3


def test_a_job_is_leased_once(database: Database) -> None:
    for _ in range(4):
        jobs.create_job(database, 1, "optimize", {})
    with ThreadPoolExecutor(4) as pool:
        leased = list(pool.map(lambda i: jobs.lease_job(database, "optimize", f"w{i}"), range(8)))
    ids = [job.id for job in leased if job is not None]
    assert len(ids) == len(set(ids)) == 4
    mark_minute(database)
