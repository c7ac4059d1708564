from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import pytest
from sqlalchemy import select, text

from mapyard.accounts import registry
from mapyard.accounts.database import Database, open_database
from mapyard.accounts.errors import AccountsUnavailable
from mapyard.accounts.models import AuditEntry, PlanChange
from mapyard.accounts.open import ensure_owner, open_accounts
from mapyard.accounts.schema import check_version, migrate
from mapyard.errors import InvalidRequest, NotFound


def test_addresses_are_one_account_in_any_case(database: Database) -> None:
    account = registry.create_account(database, " Me@Example.ORG ", "pro-100k")
    assert account.email == "me@example.org"
    assert registry.get_account(database, "ME@example.org").id == account.id
    with pytest.raises(registry.Conflict, match="exists"):
        registry.create_account(database, "me@example.org")


@pytest.mark.parametrize(
    "email", ["", "me", "me@", "@x.org", "a b@x.org", "a@b@c", "x" * 250 + "@a.b"]
)
def test_what_is_no_address_is_refused(database: Database, email: str) -> None:
    with pytest.raises(InvalidRequest):
        registry.create_account(database, email)


def test_an_unknown_account(database: Database) -> None:
    assert registry.find_account(database, "me@example.org") is None
    with pytest.raises(NotFound, match="no account"):
        registry.get_account(database, "me@example.org")


def test_three_keys_live_and_test_together(database: Database) -> None:
    account = registry.create_account(database, "me@example.org")
    keys = [registry.create_key(database, account.id, env)[0] for env in ("live", "test", "live")]
    with pytest.raises(registry.Conflict, match="3 active keys"):
        registry.create_key(database, account.id)
    registry.revoke_key(database, account.id, keys[0].id)
    registry.create_key(database, account.id)
    assert len(registry.list_keys(database, account.id)) == 4


def test_three_keys_under_concurrency(database: Database) -> None:
    account = registry.create_account(database, "me@example.org")

    def create(_: int) -> bool:
        try:
            registry.create_key(database, account.id)
        except registry.Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(16))) == 3


def test_a_key_belongs_to_its_account(database: Database) -> None:
    mine = registry.create_account(database, "me@example.org")
    other = registry.create_account(database, "other@example.org")
    key, secret = registry.create_key(database, mine.id)
    with pytest.raises(NotFound):
        registry.revoke_key(database, other.id, key.id)
    assert registry.find_key(registry.list_keys(database, mine.id), secret[-4:]).id == key.id
    with pytest.raises(NotFound, match="no key"):
        registry.find_key([], "abcd")


def test_changes_are_noted(database: Database) -> None:
    account = registry.create_account(database, "me@example.org")
    registry.change_account(
        database, account.id, action="account.plan", actor="boss@example.org", plan="pro-1m"
    )
    registry.change_account(database, account.id, action="account.password", password_hash="x$y")
    with database.read() as session:
        plans = session.scalars(select(PlanChange.plan).order_by(PlanChange.id)).all()
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert plans == ["free", "pro-1m"]
    assert [entry.action for entry in entries] == [
        "account.create",
        "account.plan",
        "account.password",
    ]
    assert entries[1].actor == "boss@example.org"
    assert entries[2].details == {}
    with pytest.raises(InvalidRequest):
        registry.change_account(database, account.id, action="account.plan", plan="gold")


def test_a_new_server_has_one_owner(database: Database) -> None:
    secret = ensure_owner(database)
    assert secret is not None
    owner = registry.list_accounts(database)[0]
    assert (owner.plan, owner.is_operator) == ("enterprise", True)
    assert ensure_owner(database) is None
    assert len(registry.list_keys(database, owner.id)) == 1


def test_migrations_make_the_tables_of_the_models(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from mapyard.accounts.models import Base

    database = open_accounts(tmp_path)
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    check_version(database)
    database.close()


def test_migrating_at_once_is_safe(tmp_path: Path) -> None:
    databases = [open_database(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, databases))
    check_version(databases[0])
    for database in databases:
        database.close()


def test_opening_waits_while_another_process_writes_the_new_file(tmp_path: Path) -> None:
    database = open_database(tmp_path)
    other = sqlite3.connect(
        tmp_path / "accounts.sqlite", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")  # still with a rollback journal
    release = Timer(0.5, other.execute, ["COMMIT"])
    release.start()
    migrate(database)
    release.join()
    other.close()
    with database.read() as session:
        assert session.scalar(text("PRAGMA journal_mode")) == "wal"
    database.close()


def test_a_worker_refuses_another_version(tmp_path: Path) -> None:
    database = open_accounts(tmp_path)
    database.close()
    with sqlite3.connect(tmp_path / "accounts.sqlite") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '0000'")
    raw.close()
    database = open_database(tmp_path)
    with pytest.raises(AccountsUnavailable, match="mapyard accounts migrate"):
        check_version(database)
    database.close()
