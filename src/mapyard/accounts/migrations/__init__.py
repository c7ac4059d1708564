"""Alembic migrations of the accounts database; run by `database.migrate`, never by a worker."""
