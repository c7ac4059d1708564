"""Alembic's entry: run the migrations on the connection that `database.migrate` gives."""

from __future__ import annotations

from alembic import context

from mapyard.accounts.models import Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite's ALTER TABLE knows little
)
context.run_migrations()
