"""Who ever wrote a table, and the tables that share the tokens of a mask's key"""

import sqlalchemy as sa
from alembic import op

from headgate.store.migrations.first_writers import fill

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "table_writers",
        sa.Column("object", number, autoincrement=False, nullable=False),
        sa.Column("user", sa.String(length=512), nullable=False),
        sa.PrimaryKeyConstraint("object", "user", name=op.f("pk_table_writers")),
        comment="Who ever wrote a table, by name; kept while a dropped table may come back",
    )
    # Owners who had been joined are not turned into tables: what each of them may fill is not known here.
    op.drop_table("mask_key_owners")
    op.create_table(
        "mask_key_tables",
        sa.Column("metalake", number, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("table", number, autoincrement=False, nullable=False),
        sa.Column("pool", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("metalake", "name", "table", name=op.f("pk_mask_key_tables")),
        comment="Tables that share the tokens of a mask's key, and which key they share",
    )
    with op.batch_alter_table("mask_key_tables", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_mask_key_tables_table"), ["table"], unique=False)
    fill(op.get_bind())
