"""Removed users, and the revision that a token was made at"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "removed_users",
        sa.Column("metalake", id, nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("revision", id, nullable=False),
        sa.ForeignKeyConstraint(["metalake"], ["objects.id"], name=op.f("fk_removed_users_metalake")),
        sa.PrimaryKeyConstraint("metalake", "name", name=op.f("pk_removed_users")),
        comment="The revision at which the last user of a name was removed: older tokens speak for no later one",
    )
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.add_column(sa.Column("revision", id, nullable=False, server_default="0"))
