"""Which catalogs take their tables from which other servers"""

import msgspec
import sqlalchemy as sa
from alembic import op

from headgate.store.metadata.sources import server_of

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    made = op.create_table(
        "catalog_sources",
        sa.Column("catalog", number, autoincrement=False, nullable=False),
        sa.Column("source", sa.String(length=512), nullable=False),
        sa.PrimaryKeyConstraint("catalog", "source", name=op.f("pk_catalog_sources")),
        comment="The other servers that a catalog takes its tables from, for as long as it is there",
    )
    with op.batch_alter_table("catalog_sources", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_catalog_sources_source"), ["source"], unique=False)
    connection = op.get_bind()
    known = sa.MetaData()
    known.reflect(connection, only=["objects"])
    objects = known.tables["objects"]
    for row in connection.execute(sa.select(objects).where(objects.c.type == "catalog")).all():
        properties = msgspec.json.decode(row.properties)
        if properties.get("catalog-backend", "").lower() == "rest" and properties.get("uri"):
            connection.execute(sa.insert(made).values(catalog=row.id, source=server_of(properties["uri"])))
