"""Whose folder is whose: places of what is there, and of what was dropped as far as journal and audit know it"""

import sqlalchemy as sa
from alembic import op

from headgate.store.migrations.first_places import fill

revision = "0002"
down_revision = "0001"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "places",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("place", _BYTEWISE, nullable=False),
        sa.Column("object", _ID, nullable=False),
        sa.Column("catalog", _ID, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("uuid", sa.String(length=64), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("holder", sa.String(length=512), nullable=False),
        sa.Column("since", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_places")),
        comment="Whose folder is whose: outlives the object; object is 0 for a staged table, which its holder may make",
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("places", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_places_place"), ["place"], unique=False)
        batch_op.create_index(batch_op.f("ix_places_object"), ["object"], unique=False)
        batch_op.create_index(batch_op.f("ix_places_uuid"), ["uuid"], unique=False)

    op.create_table(
        "dropped_objects",
        sa.Column("object", _ID, autoincrement=False, nullable=False),
        sa.Column("metalake", _ID, nullable=False),
        sa.Column("catalog", _ID, nullable=False),
        sa.Column("parent", _ID, nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", _ID, nullable=True),
        sa.Column("labels", sa.LargeBinary(), nullable=False),
        sa.Column("denials", sa.LargeBinary(), nullable=False),
        sa.Column("document", sa.Text(), nullable=True),
        sa.Column("under_policies", sa.Boolean(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("object", name=op.f("pk_dropped_objects")),
        comment="What a dropped object that still has places takes back when it is registered again",
    )
    fill(op.get_bind())
    with op.batch_alter_table("pointers", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_pointers_place"))
        batch_op.drop_column("place")
        batch_op.create_table_comment(
            "Where the current Iceberg metadata of a native table or view lies",
            existing_comment="Where the current Iceberg metadata of a native table lies, and the folder that is the "
            "table's own",
        )
    # Governed copies are made anew, in folders that are named by object.
    for table in ("lens_copies", "lens_snapshots", "lens_documents"):
        op.execute(sa.delete(sa.table(table)))
