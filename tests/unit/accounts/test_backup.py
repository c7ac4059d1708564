"""What is written to a backup comes back, in the same kind of database and in the other."""

from __future__ import annotations

import datetime as dt
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from databases import POSTGRESQL, running_postgresql
from mapyard.accounts import registry, second_factor
from mapyard.accounts.backup import CannotRestore, restore_backup, write_backup
from mapyard.accounts.database import Database, open_database
from mapyard.accounts.links import make_link
from mapyard.accounts.lookup import KeyLookup
from mapyard.accounts.models import Base, Revision, UsageDay
from mapyard.accounts.open import open_accounts
from mapyard.accounts.restrictions import make_restrictions
from mapyard.accounts.schema import migrate
from mapyard.accounts.sessions import start_session
from mapyard.errors import MapyardError

COMMAND = Path(sys.executable).with_name("mapyard")
pytestmark = pytest.mark.xdist_group("postgresql")

Contents = dict[str, list[tuple[object, ...]]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    pytest.importorskip("psycopg")
    if POSTGRESQL is None:
        pytest.skip("needs PostgreSQL")
    with running_postgresql() as url:
        yield url


Opener = Callable[[Path, str], Database]


@pytest.fixture
def open_kind(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Open a new database: "sqlite" in a folder, or an emptied "postgresql"."""
    opened: list[Database] = []

    def make(folder: Path, kind: str) -> Database:
        url = None
        if kind == "postgresql":
            url = str(request.getfixturevalue("cluster"))
            emptied = open_database(folder, url)
            with emptied.engine.begin() as connection:
                Base.metadata.drop_all(connection)
                connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")
            emptied.close()
        database = open_database(folder, url)
        migrate(database)
        opened.append(database)
        return database

    yield make
    for database in opened:
        database.close()


def fill(database: Database) -> str:
    """Put something into every corner; return a key."""
    account = registry.create_account(database, "me@example.org", "pro-1m", operator=True)
    restrictions = make_restrictions(networks=["203.0.113.0/24"])
    _, key = registry.create_key(database, account.id, name="Straße", restrictions=restrictions)
    second_factor.begin_totp(database, account.id)
    start_session(database, account.id, "browser")
    make_link(database, "reset", account.email, actor="test")
    with database.write() as session:
        session.add_all(
            UsageDay(
                account_id=account.id, day=dt.date(2026, 4, 1) + dt.timedelta(i), key_id=1,
                endpoint="/api/v1/route", status=200, premium=True, requests=2**40, units=4,
                overage=0, total_us=1,
            )
            for i in range(2_500)
        )  # fmt: skip
    return key


def read_all(database: Database) -> Contents:
    contents: Contents = {}
    with database.engine.connect() as connection:
        for table in Base.metadata.sorted_tables:
            if table.name != Revision.__tablename__:
                order = list(table.primary_key)
                rows = connection.execute(select(table).order_by(*order)).all()
                contents[table.name] = [tuple(row) for row in rows]
    return contents


@pytest.mark.parametrize("before", ["sqlite", "postgresql"])
@pytest.mark.parametrize("after", ["sqlite", "postgresql"])
def test_everything_comes_back(tmp_path: Path, open_kind: Opener, before: str, after: str) -> None:
    source = open_kind(tmp_path / "old", before)
    key = fill(source)
    written = read_all(source)
    copied = write_backup(source, tmp_path / "backup")
    assert copied.accounts == 1
    assert copied.rows == sum(map(len, written.values())) + 1
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600
    target = open_kind(tmp_path / "new", after)
    assert restore_backup(target, tmp_path / "backup") == copied
    assert read_all(target) == written
    assert KeyLookup(target).find_account_by_key(key).guard is not None
    # Numbers go on after the largest.
    other = registry.create_account(target, "other@example.org")
    assert other.id == 2
    assert {path.name for path in tmp_path.iterdir()} <= {"old", "new", "backup"}


def test_a_backup_is_of_one_moment(tmp_path: Path, open_kind: Opener) -> None:
    source = open_kind(tmp_path / "old", "sqlite")
    fill(source)
    other = open_accounts(tmp_path / "old")
    registry.create_account(other, "meanwhile@example.org")  # an open connection is no hindrance
    assert write_backup(source, tmp_path / "backup").accounts == 2
    other.close()


def test_nothing_is_overwritten(tmp_path: Path, open_kind: Opener) -> None:
    source = open_kind(tmp_path / "old", "sqlite")
    fill(source)
    write_backup(source, tmp_path / "backup")
    with pytest.raises(MapyardError, match="exists already"):
        write_backup(source, tmp_path / "backup")
    with pytest.raises(CannotRestore, match="accounts here already"):
        restore_backup(source, tmp_path / "backup")


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(4_000)])
def test_what_is_no_backup(tmp_path: Path, open_kind: Opener, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    target = open_kind(tmp_path / "new", "sqlite")
    with pytest.raises(CannotRestore, match=r"not a backup|damaged"):
        restore_backup(target, tmp_path / "file")
    with pytest.raises(CannotRestore, match="there is no file"):
        restore_backup(target, tmp_path / "nowhere")


def test_a_damaged_backup_changes_nothing(tmp_path: Path, open_kind: Opener) -> None:
    source = open_kind(tmp_path / "old", "sqlite")
    fill(source)
    write_backup(source, tmp_path / "backup")
    content = bytearray((tmp_path / "backup").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4_096] = bytes(4_096)
    (tmp_path / "backup").write_bytes(content)
    target = open_kind(tmp_path / "new", "sqlite")
    with pytest.raises(CannotRestore):
        restore_backup(target, tmp_path / "backup")
    assert registry.list_accounts(target) == []


def test_an_older_backup_is_brought_up(tmp_path: Path, open_kind: Opener) -> None:
    from alembic import command

    from mapyard.accounts.schema import _config

    source = open_kind(tmp_path / "old", "sqlite")
    account = registry.create_account(source, "me@example.org")
    _, key = registry.create_key(source, account.id)
    with source.engine.connect() as connection, connection.begin():
        config = _config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")
    # What this version adds is not there: written as the older program would have.
    path = tmp_path / "old" / "accounts.sqlite"
    with source.engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
    source.close()
    target = open_kind(tmp_path / "new", "sqlite")
    restore_backup(target, path)
    assert KeyLookup(target).find_account_by_key(key).account_id == account.id


def test_the_commands(tmp_path: Path) -> None:
    old, new, file = tmp_path / "old", tmp_path / "new", tmp_path / "backup.sqlite"
    database = open_accounts(old)
    key = fill(database)
    database.close()

    def run(*arguments: object) -> str:
        done = subprocess.run(
            [COMMAND, "accounts", *map(str, arguments)],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        return done.stdout

    assert "1 accounts" in run("backup", file, "--data", old)
    assert "Restored 1 accounts" in run("restore", file, "--data", new)
    assert "me@example.org" in run("list", "--data", new)
    database = open_accounts(new)
    assert KeyLookup(database).find_account_by_key(key).account_id == 1
    database.close()
