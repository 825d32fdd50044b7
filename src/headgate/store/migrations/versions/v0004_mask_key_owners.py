"""Owners who share the tokens of a mask's key"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "mask_key_owners",
        sa.Column("metalake", number, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("owner", number, autoincrement=False, nullable=False),
        sa.Column("pool", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("metalake", "name", "owner", name=op.f("pk_mask_key_owners")),
        comment="Owners whose tables share the tokens of a mask's key, and which key they share",
    )
