"""A store from before catalogs had folders: each that is there has its own, and none shuts out those that lie in it."""

import msgspec
import sqlalchemy as sa
from alembic import command

from headgate.model.objects import ObjectType
from headgate.store import Store, migrations
from headgate.store.metadata import catalog_folders
from tests.store.test_older_stores_get_their_places import object_row

LAKE, WIDE, OWN, NARROW = range(1, 5)
COPIES = "file:///srv/warehouse/_headgate/lake/own"


def test_what_was_named_is_kept_but_for_what_lies_around_others(store_url: str) -> None:
    """`WIDE` names a folder around the server's warehouse, in which the tables of `OWN` lie; `NARROW` one of its own."""
    store = Store(store_url)
    with store.engine.execution_options(headgate_write=True).begin() as connection:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0011")
        object_row(connection, LAKE, 0, ObjectType.METALAKE, "lake")
        for id, allowed in ((WIDE, "/srv"), (OWN, ""), (NARROW, "s3://bucket/narrow")):
            object_row(connection, id, LAKE, ObjectType.CATALOG, f"c{id}")
            properties = {"allowed-locations": allowed} if allowed else {}
            body = {"type": "relational", "provider": "lakehouse-iceberg", "folder": f"lake/c{id}"}
            connection.execute(
                sa.text("UPDATE objects SET properties = :p, body = :b WHERE id = :id"),
                {"p": msgspec.json.encode(properties), "b": msgspec.json.encode(body), "id": id},
            )
        row = {
            "place": COPIES,
            "object": OWN,
            "catalog": OWN,
            "state": "live",
            "source": "",
            "holder": "",
            "since": "",
        }
        columns = ", ".join(row)
        connection.execute(
            sa.text(f"INSERT INTO places ({columns}) VALUES ({', '.join(f':{key}' for key in row)})"), row
        )
    store.prepare()
    with store.read() as read:
        assert catalog_folders.holders(read, ["s3://bucket/narrow/t"]) == [NARROW]
        assert not catalog_folders.is_anothers(read, OWN, "file:///srv/warehouse/lake/own/t"), (
            "it was its place before"
        )
        assert not catalog_folders.is_anothers(read, NARROW, "s3://bucket/narrow/t")
        assert catalog_folders.is_anothers(read, WIDE, "s3://bucket/narrow/t")
    store.close()
