"""A store from before catalogs claimed their governed folders: what lies around one is refused, and nothing else is."""

import msgspec
import pytest
import sqlalchemy as sa
from alembic import command

from headgate.model.errors import Forbidden, IllegalArgument
from headgate.model.objects import ObjectType
from headgate.store import Store, migrations, places
from tests.store.test_older_stores_get_their_places import insert, object_row

LAKE, CATALOG, AROUND, BESIDE = range(1, 5)


def placed(connection: sa.Connection, id: int, place: str) -> None:
    object_row(connection, id, CATALOG, ObjectType.FILESET, f"f{id}")
    row = {"object": id, "catalog": CATALOG, "state": places.LIVE, "uuid": None}
    insert(connection, "places", place=place, source="", holder="", since="2026-01-01", **row)


def test_what_lies_around_governed_copies_is_refused_once_the_store_is_upgraded(store_url: str) -> None:
    store = Store(store_url)
    with store.engine.execution_options(headgate_write=True).begin() as connection:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
        object_row(connection, LAKE, 0, ObjectType.METALAKE, "lake")
        body = {"provider": "lakehouse-iceberg", "folder": "lake/cat-1"}
        object_row(connection, CATALOG, LAKE, ObjectType.CATALOG, "cat", **body)
        warehouse = msgspec.json.encode({"warehouse": "s3://bucket/a/"})
        connection.execute(sa.text("UPDATE objects SET properties = :p WHERE id = 2"), {"p": warehouse})
        placed(connection, AROUND, "s3://bucket/a")
        placed(connection, BESIDE, "s3://bucket/a/lake")
    store.prepare()
    places.check_uncontested(store, BESIDE)
    with pytest.raises(Forbidden):
        places.check_uncontested(store, AROUND)
    with store.read() as read:
        assert [row.place for row in places.of(read, CATALOG)] == ["s3://bucket/a/_headgate/lake/cat-1"]
        with pytest.raises(IllegalArgument):
            places.check(read, 0, CATALOG, "s3://bucket")
    store.close()
