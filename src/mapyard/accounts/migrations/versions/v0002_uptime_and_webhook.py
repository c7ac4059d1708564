"""Uptime by day, and deliveries of the monthly webhook."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "uptime_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("minutes", sa.Integer(), nullable=False),
        sa.Column("last_minute", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("day"),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("account_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("month", sa.String(length=7), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.BigInteger(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.Column("last_error", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "month"),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("webhook_deliveries")
    op.drop_table("uptime_days")
