"""Second factors, passkeys, restricted keys, sessions of the map page, deleted accounts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and tables."""
    for name, kind in (
        ("totp_secret", sa.String(length=64)),
        ("totp_confirmed_at", sa.BigInteger()),
        ("totp_last_step", sa.BigInteger()),
        ("deleted_at", sa.BigInteger()),
    ):
        op.add_column("accounts", sa.Column(name, kind, nullable=True))
    op.add_column("keys", sa.Column("expires_at", sa.BigInteger(), nullable=True))
    op.add_column("keys", sa.Column("restrictions", sa.JSON(none_as_null=True), nullable=True))
    op.add_column(
        "sessions",
        sa.Column("kind", sa.String(length=8), server_default=sa.text("'full'"), nullable=False),
    )
    op.add_column(
        "sessions",
        sa.Column("address", sa.String(length=64), server_default=sa.text("''"), nullable=False),
    )
    op.add_column("tokens", sa.Column("account_id", sa.Integer(), nullable=True))
    op.create_table(
        "recovery_codes",
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.PrimaryKeyConstraint("account_id", "sha256"),
    )
    op.create_table(
        "passkeys",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("credential_id", sa.LargeBinary(length=1023), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("credential_id"),
    )
    op.create_index(op.f("ix_passkeys_account_id"), "passkeys", ["account_id"], unique=False)


def downgrade() -> None:
    """Drop them; keys with restrictions are revoked, for without them they could do more."""
    op.execute(
        "UPDATE keys SET revoked_at = created_at "
        "WHERE restrictions IS NOT NULL OR expires_at IS NOT NULL"
    )
    op.drop_index(op.f("ix_passkeys_account_id"), table_name="passkeys")
    op.drop_table("passkeys")
    op.drop_table("recovery_codes")
    op.drop_column("tokens", "account_id")
    op.execute("DELETE FROM sessions WHERE kind <> 'full'")
    op.drop_column("sessions", "address")
    op.drop_column("sessions", "kind")
    op.drop_column("keys", "restrictions")
    op.drop_column("keys", "expires_at")
    for name in ("deleted_at", "totp_last_step", "totp_confirmed_at", "totp_secret"):
        op.drop_column("accounts", name)
