"""A store that kept nobody's writing: who may have written a table, as far as the audit trail tells, has written it."""

import msgspec
import pytest
import sqlalchemy as sa
from alembic import command

from headgate.model.changes import TableWritten
from headgate.model.objects import ObjectType
from headgate.store import Store, migrations, snapshot
from headgate.store.metadata import writers
from tests.store.test_older_stores_get_their_places import insert, object_row

LAKE, CAT, SCHEMA, ONE, TWO, OTHER, ITS_SCHEMA, THREE, DROPPED = range(1, 10)
T = ObjectType


def wrote(connection: sa.Connection, user: str, action: str, name: str, **more: object) -> None:
    row = {
        "metalake": "lake",
        "type": "table",
        "allowed": more.pop("allowed", True),
        "revision": 1,
        "at": more.pop("at", "2026-02-02"),
    }
    insert(
        connection,
        "audit",
        user=user,
        action=action,
        object=name,
        details=msgspec.json.encode(more),
        **row,
    )


@pytest.fixture
def upgraded(store_url: str) -> Store:
    store = Store(store_url)
    with store.engine.execution_options(headgate_write=True).begin() as connection:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0006")
        object_row(connection, LAKE, 0, T.METALAKE, "lake")
        for id, parent, type, name in (
            (CAT, LAKE, T.CATALOG, "cat"),
            (SCHEMA, CAT, T.SCHEMA, "s"),
            (ONE, SCHEMA, T.TABLE, "one"),
            (TWO, SCHEMA, T.TABLE, "two"),
            (OTHER, LAKE, T.CATALOG, "other"),
            (ITS_SCHEMA, OTHER, T.SCHEMA, "s"),
            (THREE, ITS_SCHEMA, T.TABLE, "three"),
        ):
            object_row(connection, id, parent, type, name)
        insert(
            connection,
            "dropped_objects",
            object=DROPPED,
            metalake=LAKE,
            catalog=CAT,
            parent=SCHEMA,
            type="table",
            name="cat.s.gone",
            labels=b"[]",
            denials=b"[]",
            under_policies=False,
            at="2026-01-02",
        )
        insert(connection, "mask_key_owners", metalake=LAKE, name="people", owner=1, pool="x")
        wrote(connection, "ann", "alter_table", "cat.s.renamed-since")
        wrote(connection, "bob", "load_table", "other.s.three", writes=True)
        wrote(connection, "cyd", "load_table", "cat.s.one", vended=["s3://b/x"])
        wrote(connection, "dan", "alter_table", "cat.s.one", allowed=False)
        wrote(connection, "eve", "create_table", "renamed-catalog.s")
        wrote(connection, "fay", "alter_table", "cat.s.one", at="2025-01-01")
    store.prepare()
    return store


def test_who_wrote_in_a_catalog_counts_for_its_tables_and_of_an_unknown_one_for_all(upgraded: Store) -> None:
    everywhere = {"eve", "fay"}
    with upgraded.read() as read:
        assert writers.of(read, ONE) == {"x", "ann", *everywhere}
        assert writers.of(read, TWO) == {"x", "ann", *everywhere}
        assert writers.of(read, THREE) == {"x", "bob", *everywhere}
        assert writers.of(read, DROPPED) == {"ann", *everywhere}, "it may come back"
    upgraded.close()


def test_the_decision_point_knows_them_and_no_join_of_owners(upgraded: Store) -> None:
    _, changes = snapshot.everything(upgraded)
    known = {change.table for change in changes if isinstance(change, TableWritten)}
    assert known == {ONE, TWO, THREE}
    with upgraded.engine.connect() as connection:
        assert not sa.inspect(connection).has_table("mask_key_owners")
    upgraded.close()
