"""Where the tables of catalogs lie"""

import msgspec
import sqlalchemy as sa
from alembic import op

from headgate.model.errors import IllegalArgument
from headgate.model.places import within
from headgate.store.metadata.places import canonical

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    bytewise = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    made = op.create_table(
        "catalog_folders",
        sa.Column("catalog", number, autoincrement=False, nullable=False),
        sa.Column("folder", bytewise, nullable=False),
        sa.PrimaryKeyConstraint("catalog", "folder", name=op.f("pk_catalog_folders")),
        comment="Where the tables of a catalog lie, for as long as it is there",
    )
    with op.batch_alter_table("catalog_folders", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_catalog_folders_folder"), ["folder"], unique=False)
    connection = op.get_bind()
    known = sa.MetaData()
    known.reflect(connection, only=["objects", "places"])
    objects, places = known.tables["objects"], known.tables["places"]
    copies = connection.execute(
        sa.select(places.c.catalog, places.c.place).where(places.c.place.contains("/_headgate/"))
    ).all()
    for row in connection.execute(sa.select(objects).where(objects.c.type == "catalog")).all():
        body = msgspec.json.decode(row.body)
        for folder in _folders(body, msgspec.json.decode(row.properties)):
            # Around the copies of other catalogs lies the server's own warehouse, or one of theirs: nobody is shut out of it now.
            if any(each.catalog != row.id and within(each.place, folder) for each in copies):
                continue
            connection.execute(sa.insert(made).values(catalog=row.id, folder=folder))


def _folders(body: dict[str, str], properties: dict[str, str]) -> set[str]:
    """What was declared: where tables may lie, and a catalog's own folder; of filesets, the folders that hold them."""
    if body.get("provider") == "lakehouse-iceberg":
        named = [folder.strip() for folder in properties.get("allowed-locations", "").split(",")]
        # In the server's own warehouse nothing else may lie as it is.
        if properties.get("catalog-backend", "").lower() != "rest" and properties.get("warehouse"):
            named.append(f"{properties['warehouse'].rstrip('/')}/{body.get('folder')}")
    elif body.get("type") == "fileset":
        declared = [
            value for key, value in properties.items() if key == "location" or key.startswith("location-")
        ]
        fixed = [place.split("{{")[0].rpartition("/")[0] if "{{" in place else place for place in declared]
        named = [place for place in fixed if place.startswith(("/", "file:", "s3:", "s3a:", "s3n:"))]
    else:
        named = []
    found = set()
    for folder in filter(None, named):
        try:
            found.add(canonical(folder))
        except IllegalArgument:
            # No table of the catalog can lie there.
            continue
    return found
