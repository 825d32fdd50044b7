"""What is known of the columns of tables that other servers keep"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "outside_tables",
        sa.Column("object", id, autoincrement=False, nullable=False),
        sa.Column("uuid", sa.String(length=64), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("columns", sa.LargeBinary(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("object", name=op.f("pk_outside_tables")),
        comment="Every column that a table of another server was seen to have, under every name, and which table it is",
    )
    op.create_table(
        "replaced_columns",
        sa.Column("id", id, autoincrement=True, nullable=False),
        sa.Column("object", id, nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("present", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replaced_columns")),
        comment="Columns of tables that another server made again; what is said of one stands on the field of minus its id",
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("replaced_columns", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_replaced_columns_object"), ["object"], unique=False)
