"""Open the accounts database: SQLite in the data directory, or PostgreSQL by URL."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, create_engine, event, make_url, update
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from mapyard.accounts.models import Revision
from mapyard.private import check_data_folder, close, make_private_file

FILE_NAME: Final = "accounts.sqlite"
_BUSY_TIMEOUT_S: Final = 10
_SWITCH_RETRY_S: Final = 0.02
#: How long an answer of the database is waited for.
LIMIT_S: Final = 10.0


class Database:
    """The engine and its two kinds of transactions."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file of this machine."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yield a session that sees one consistent state."""
        with self.engine.connect() as connection, Session(connection) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Yield a session; commit at the end, roll back on an exception.

        On SQLite the write lock is taken at the start, so that what is read inside stays true.
        """
        with (
            self.engine.connect().execution_options(mapyard_write=True) as connection,
            Session(connection, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(data: Path, url: str | None = None, *, limit_s: float = LIMIT_S) -> Database:
    """Open DATA/accounts.sqlite, or the database of `url`; connects at first use.

    A statement of which nothing is heard for `limit_s` fails, and its connection is given up.
    """
    check_data_folder(data)
    # Parameters are addresses and hashes: they do not belong into messages and logs.
    if url:
        parsed = make_url(url)
        if parsed.drivername in ("postgres", "postgresql"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        engine = create_engine(
            parsed, pool_pre_ping=True, pool_size=4, pool_timeout=limit_s, hide_parameters=True
        )
        if engine.dialect.name == "postgresql":
            from mapyard.accounts.postgresql import limit_time

            limit_time(engine, limit_s)
    else:
        data.mkdir(parents=True, exist_ok=True)
        for name in (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"):
            close(data / name)
        make_private_file(data / FILE_NAME)  # its -wal and -shm take over the mode
        engine = create_engine(f"sqlite:///{data / FILE_NAME}", hide_parameters=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return Database(engine)


def bump_revision(session: Session) -> None:
    """Let all workers look again at accounts and keys (within half a second)."""
    session.execute(update(Revision).values(value=Revision.value + 1))


def now_s() -> int:
    """Return the time in Unix seconds."""
    return int(time.time())


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # SQLAlchemy's begin event opens the transactions, not the driver: see _begin_sqlite.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_S * 1000}").close()
    _use_wal(connection)
    for pragma in (
        # The usage journals are deleted after a commit: it must have reached the disk.
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _use_wal(connection: Any) -> None:
    """Switch the file to a write-ahead log; wait for others, as for any other lock.

    SQLite does not: while another connection writes or switches, it refuses at once.
    """
    ends = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends:
                raise
        time.sleep(_SWITCH_RETRY_S)


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("mapyard_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
