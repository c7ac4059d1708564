"""Datasets of accounts' own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "user_datasets",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("attribution", sa.String(length=500), nullable=True),
        sa.Column("license", sa.String(length=200), nullable=True),
        sa.Column("source_url", sa.String(length=2000), nullable=True),
        sa.Column("strict_mode", sa.Boolean(), nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("error_message", sa.String(length=1000), nullable=True),
        sa.Column("upload", sa.String(length=36), nullable=True),
        sa.Column("version", sa.String(length=36), nullable=True),
        sa.Column("source_format", sa.String(length=16), nullable=True),
        sa.Column("feature_count", sa.BigInteger(), nullable=True),
        sa.Column("storage_bytes", sa.BigInteger(), nullable=True),
        sa.Column("problem_count", sa.BigInteger(), nullable=True),
        sa.Column("described", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("inserted_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account_id", "slug", name="uq_user_datasets_slug"),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("user_datasets")
