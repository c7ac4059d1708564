"""The version of the accounts database: migrate it, or make sure that it is the right one."""

from __future__ import annotations

from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import OperationalError

from mapyard.accounts.database import Database
from mapyard.accounts.errors import AccountsUnavailable

_MIGRATION_LOCK: Final = 4_726_100_571  # any number, the same for all: PostgreSQL's advisory lock


def migrate(database: Database) -> None:
    """Bring the tables to this version's state; safe when several processes do it at once."""
    try:
        writing = database.engine.connect().execution_options(mapyard_write=True)
        with writing as connection, connection.begin():
            if not database.is_sqlite:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except OperationalError as error:
        raise AccountsUnavailable(
            f"the accounts database cannot be opened: {error.orig}"
        ) from error


def check_version(database: Database) -> None:
    """Raise AccountsUnavailable unless the tables are those of this version."""
    found = read_version(database)
    wanted = ScriptDirectory.from_config(_config()).get_current_head()
    if found != wanted:
        raise AccountsUnavailable(
            f"the accounts database has version {found}, this program needs {wanted}; "
            "run: mapyard accounts migrate"
        )


def read_version(database: Database) -> str | None:
    """Return the version of the tables, None where there are none."""
    try:
        with database.engine.connect() as connection:
            return MigrationContext.configure(connection).get_current_revision()
    except OperationalError as error:
        raise AccountsUnavailable(
            f"the accounts database cannot be opened: {error.orig}"
        ) from error


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "mapyard.accounts:migrations")
    config.set_main_option("path_separator", "os")
    return config
