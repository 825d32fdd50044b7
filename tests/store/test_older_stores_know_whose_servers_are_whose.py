"""A store from before catalogs claimed the servers behind them: each that is there has its own."""

import msgspec
import sqlalchemy as sa
from alembic import command

from headgate.model.objects import ObjectType
from headgate.store import Store, migrations
from headgate.store.metadata import sources
from tests.store.test_older_stores_get_their_places import object_row

LAKE, FIRST, SECOND, NATIVE, FILES = range(1, 6)


def test_what_is_there_keeps_its_server_and_nobody_else_takes_it(store_url: str) -> None:
    store = Store(store_url)
    with store.engine.execution_options(headgate_write=True).begin() as connection:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0009")
        object_row(connection, LAKE, 0, ObjectType.METALAKE, "lake")
        for id, properties in (
            (FIRST, {"catalog-backend": "rest", "uri": "https://Catalog.example./iceberg"}),
            (SECOND, {"catalog-backend": "REST", "uri": "http://catalog.example/", "warehouse": "other"}),
            (NATIVE, {"catalog-backend": "native", "uri": "x"}),
            (FILES, {}),
        ):
            object_row(connection, id, LAKE, ObjectType.CATALOG, f"c{id}")
            text = sa.text("UPDATE objects SET properties = :p WHERE id = :id")
            connection.execute(text, {"p": msgspec.json.encode(properties), "id": id})
    store.prepare()
    with store.read() as read:
        assert sources.holders(read, ["catalog.example"]) == [FIRST, SECOND]
        assert sources.holders(read, ["x"]) == []
    with store.write("ann", "test") as tx:
        assert sources.claim(tx, SECOND, ["catalog.example"]) == [], "what it had is not asked for again"
        assert sources.claim(tx, NATIVE, ["catalog.example"]) == [FIRST, SECOND]
        assert sources.claim(tx, FIRST, ["other.example"]) == []
        assert sources.holders(tx, ["catalog.example"]) == [SECOND, NATIVE]
    store.close()
