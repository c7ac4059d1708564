"""Backup and restore: the whole accounts database as one SQLite file, whichever it is kept in.

A backup is read in one transaction, so it shows one moment, while the server goes on. It is a plain
SQLite file with the same tables: a backup of PostgreSQL can be restored into SQLite and the other
way round, and one of an older version is brought up to this one before it is read.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    String,
    Table,
    create_engine,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from mapyard.accounts.database import Database
from mapyard.accounts.errors import AccountsUnavailable
from mapyard.accounts.models import Account, Base, Revision
from mapyard.accounts.schema import migrate, read_version
from mapyard.errors import MapyardError
from mapyard.private import make_private_file

_BATCH: Final = 2_000
#: Alembic's own table, which says of which version the others are.
_VERSION: Final = Table("alembic_version", MetaData(), Column("version_num", String(32)))


class CannotRestore(MapyardError):  # noqa: N818 - reported on the command line
    """The backup cannot be read, or there is something that it would overwrite."""


class Copied(NamedTuple):
    """What was copied."""

    accounts: int
    rows: int


def write_backup(database: Database, path: Path) -> Copied:
    """Write a backup to a new file, which appears when it is whole; raise MapyardError."""
    if path.exists():
        raise MapyardError(f"{path} exists already; name a new file")
    version = read_version(database)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        make_private_file(draft)
        target = _open_file(draft)
        try:
            with target.begin() as writing, database.engine.connect() as reading:
                if not database.is_sqlite:  # one moment for all tables
                    reading = reading.execution_options(isolation_level="REPEATABLE READ")
                Base.metadata.create_all(writing)
                _VERSION.create(writing)
                writing.execute(insert(_VERSION), {"version_num": version})
                copied = _copy(reading, writing)
        finally:
            target.dispose()
        _sync(draft)
        draft.rename(path)
        _sync(path.parent)
    except OSError as error:
        raise MapyardError(f"the backup cannot be written: {error}") from error
    except SQLAlchemyError as error:
        raise AccountsUnavailable(f"the backup failed: {type(error).__name__}") from error
    finally:
        draft.unlink(missing_ok=True)
    return copied


def restore_backup(database: Database, path: Path) -> Copied:
    """Fill an empty, migrated accounts database from a backup; raise CannotRestore."""
    if not path.is_file():
        raise CannotRestore(f"there is no file {path}")
    with database.read() as session:
        if session.scalar(select(func.count()).select_from(Account)):
            raise CannotRestore(
                "there are accounts here already; restore into a new data folder (--data), or an "
                "empty database"
            )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        make_private_file(draft)  # the backup itself is not changed
        shutil.copyfile(path, draft)
        source = Database(_open_file(draft))
        try:
            _check(source, path)
            migrate(source)
            with source.engine.connect() as reading, database.write() as session:
                writing = session.connection()
                for table in reversed(Base.metadata.sorted_tables):
                    writing.execute(table.delete())
                copied = _copy(reading, writing)
                if not database.is_sqlite:
                    _reset_sequences(writing)
                # Workers that run look again.
                writing.execute(update(Revision).values(value=Revision.value + 1_000_000))
        finally:
            source.close()
    except OSError as error:
        raise CannotRestore(f"the backup cannot be read: {error}") from error
    finally:
        for name in (draft.name, f"{draft.name}-wal", f"{draft.name}-shm"):
            draft.with_name(name).unlink(missing_ok=True)
    return copied


def _check(source: Database, path: Path) -> None:
    try:
        with source.engine.connect() as connection:
            state = connection.execute(text("PRAGMA integrity_check")).scalar()
        version = read_version(source)
    except DatabaseError:
        state, version = "", None
    if state != "ok" or version is None:
        raise CannotRestore(f"{path} is not a backup of accounts, or it is damaged")


def _copy(reading: Connection, writing: Connection) -> Copied:
    rows = accounts = 0
    for table in Base.metadata.sorted_tables:
        for batch in _batches(reading, table):
            writing.execute(insert(table), batch)
            rows += len(batch)
            accounts += len(batch) if table.name == Account.__tablename__ else 0
    return Copied(accounts, rows)


def _batches(reading: Connection, table: Table) -> Iterator[list[dict[str, object]]]:
    result = reading.execution_options(stream_results=True, yield_per=_BATCH).execute(select(table))
    for part in result.mappings().partitions(_BATCH):
        yield [dict(row) for row in part]


def _reset_sequences(writing: Connection) -> None:
    """Let PostgreSQL count on from the largest number of each table."""
    for table in Base.metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None:
            continue
        found = writing.execute(
            text("SELECT pg_get_serial_sequence(:table, :column)"),
            {"table": table.name, "column": column.name},
        ).scalar()
        if found:
            most = writing.execute(select(func.coalesce(func.max(column), 0))).scalar_one()
            writing.execute(
                text("SELECT setval(:sequence, :value, :used)"),
                {"sequence": found, "value": max(1, most), "used": most > 0},
            )


def _open_file(path: Path) -> Engine:
    return create_engine(f"sqlite:///{path}", poolclass=NullPool, hide_parameters=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
