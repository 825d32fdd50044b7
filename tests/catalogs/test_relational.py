"""Tables of databases: hostile names and texts, what only a database knows, a database that goes away, one that lies."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text as sql

from headgate.catalogs.databases.relational import mysql
from headgate.catalogs.databases.relational.catalog import RelationalCatalog
from headgate.catalogs.interface import TablePlace
from headgate.model import tables as t
from headgate.model.errors import (
    AlreadyExists,
    ConnectionFailed,
    HeadgateError,
    IllegalArgument,
    NotEmpty,
    NotFound,
    OutcomeUnknown,
    Unsupported,
)
from headgate.store import Store
from tests.catalogs import abilities, relational
from tests.catalogs.hostile_postgres import hostile_postgres
from tests.catalogs.suite import Opened, table
from tests.openings import opened as allowed
from tests.postgres import stoppable

pytestmark = pytest.mark.real

HOSTILE = (
    'a"b',
    "a`b",
    "a'b",
    "a;b--",
    "a%sb",
    "100%",
    "a%(x)sb",
    "a\\b",
    "a:b",
    "Ünïcode",
    'x"; DROP TABLE "t"; --',
    "select",
    "a/*b",
)
TEXTS = (
    *HOSTILE,
    "current_timestamp",
    "NULL",
    "true",
    "7",
    "b'1'",
    "O'Reilly\\",
    "new\nline",
    "{x}",
    "$$",
    "\\'; DROP TABLE t; -- ",
)
KINDS = ("postgresql", "mariadb", "mysql")


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Iterator[Opened]:
    if request.param == "postgresql":
        properties = relational.on_postgres(request.getfixturevalue("postgres_url"))
    else:
        server = request.getfixturevalue(f"{request.param}_server")
        properties = relational.on_mysql(relational.emptied(server))
    provider = "jdbc-postgresql" if request.param == "postgresql" else "jdbc-mysql"
    catalog = relational.opened_catalog(provider, store, properties, tmp_path)
    catalog.create_schema(("s",), None, {})
    can = abilities.POSTGRES if request.param == "postgresql" else abilities.MYSQL
    yield Opened(catalog, store, can)
    catalog.close()


def database(opened: Opened) -> RelationalCatalog:
    assert isinstance(opened.catalog, RelationalCatalog)
    return opened.catalog


def run(opened: Opened, statement: str) -> None:
    """Past the catalog."""
    connections = database(opened).system.connections  # type: ignore[attr-defined]
    with connections.transaction(writes=True) as tx:
        tx.exec_driver_sql(statement)


def test_no_name_and_no_text_is_more_than_that(opened: Opened) -> None:
    catalog = opened.catalog
    at = opened.create(table(("a", "integer")))
    for name in HOSTILE:
        if ":" not in name:
            catalog.create_schema((name,), name, {})
        made = t.TableDefinition(
            name,
            (
                t.TableColumn(
                    name, "varchar(100)", name, default_value=t.Expression("literal", "string", value=name)
                ),
                t.TableColumn("k", "integer", nullable=False),
            ),
            name,
            indexes=(t.Index("unique_key", (("k",),), f"{name}k"),),
        )
        catalog.create_table(TablePlace(("s",), name), made)
        loaded = database(opened)._definition(database(opened).system.load("s", name))
        assert [column.name for column in loaded.columns] == [name, "k"]
        default = loaded.columns[0].default_value
        assert (loaded.comment, loaded.columns[0].comment, default.value if default else None) == (name,) * 3
        assert [index.name for index in loaded.indexes] == [f"{name}k"]
    assert set(catalog.tables(("s",))) == {"t", *HOSTILE}
    assert {"s", *(name for name in HOSTILE if ":" not in name)} <= set(catalog.schemas(()))
    assert list(catalog.load_table(at).fields) == ["a"]


def test_every_text_comes_back_as_it_was(opened: Opened) -> None:
    at = opened.create(table(("a", "varchar(100)")))
    for text in TEXTS:
        value = t.Expression("literal", "varchar(100)", value=text)
        opened.alter(
            at,
            t.UpdateTableComment(text),
            t.UpdateColumnComment(("a",), text),
            t.UpdateColumnDefaultValue(("a",), value),
        )
        loaded = opened.catalog.load_table(at).definition
        column = loaded.columns[0]
        assert (loaded.comment, column.comment) == (text, text)
        assert column.default_value is not None
        if "\n" not in text and "\\" not in text:
            assert column.default_value.value == text


def test_defaults_keys_and_counters_come_back(opened: Opened) -> None:
    now = t.Expression("function", function_name="current_timestamp", func_args=())
    columns = (
        t.TableColumn("id", "long", nullable=False, auto_increment=True),
        t.TableColumn("n", "integer", default_value=t.Expression("literal", "integer", value="-7")),
        t.TableColumn(
            "d", "decimal(10,2)", default_value=t.Expression("literal", "decimal(10,2)", value="1.50")
        ),
        t.TableColumn("at", "timestamp", default_value=now),
        t.TableColumn("b", "boolean", default_value=t.Expression("literal", "boolean", value="true")),
        t.TableColumn("x", "varchar(5)", nullable=False),
    )
    keys = (t.Index("primary_key", (("id",),), "PRIMARY"), t.Index("unique_key", (("x",), ("n",)), "by_x"))
    at = opened.create(t.TableDefinition("t", columns, indexes=keys))
    loaded = opened.catalog.load_table(at).definition
    assert loaded.columns == columns
    assert loaded.indexes == keys
    opened.alter(
        at,
        t.UpdateColumnDefaultValue(("n",), None),
        t.UpdateColumnNullability(("x",), True),
        t.DeleteTableIndex("by_x"),
        t.AddIndex(t.Index("unique_key", (("d",),), "by_d")),
        t.RenameColumn(("d",), "e"),
    )
    loaded = opened.catalog.load_table(at).definition
    assert loaded.columns[1].default_value is None
    assert loaded.columns[5].nullable
    assert [(index.name, index.field_names) for index in loaded.indexes] == [
        ("PRIMARY", (("id",),)),
        ("by_d", (("e",),)),
    ]


@pytest.mark.parametrize(
    "value",
    [
        t.Expression("unparsed", unparsed_expression="1); DROP TABLE t; --"),
        t.Expression("function", function_name="pg_sleep", func_args=()),
        t.Expression("literal", "integer", value="1; DROP TABLE t"),
        t.Expression("literal", "integer", value="(SELECT 1)"),
    ],
)
def test_no_expression_becomes_sql(opened: Opened, value: t.Expression) -> None:
    at = opened.create(table(("a", "integer")))
    with pytest.raises(IllegalArgument):
        opened.catalog.alter_table(at, (t.UpdateColumnDefaultValue(("a",), value),))
    for type in (t.ExternalType("int); DROP TABLE t; --"), t.ExternalType("mood"), t.UnparsedType("integer")):
        with pytest.raises(IllegalArgument):
            opened.catalog.alter_table(at, (t.AddColumn(("b",), type),))
    assert list(opened.catalog.load_table(at).fields) == ["a"]


def test_what_only_the_database_knows_is_shown_and_kept(opened: Opened) -> None:
    at = opened.create(table(("a", "integer")))
    if opened.abilities is abilities.POSTGRES:
        run(opened, "CREATE TYPE s.mood AS ENUM ('ok', 'sad')")
        run(
            opened,
            "ALTER TABLE s.t ADD m s.mood DEFAULT 'ok', ADD g integer GENERATED ALWAYS AS (a * 2) STORED",
        )
    else:
        run(opened, "ALTER TABLE s.t ADD m ENUM('ok', 'it''s') DEFAULT 'ok', ADD g integer AS (a * 2) STORED")
    loaded = opened.catalog.load_table(at).definition
    assert isinstance(loaded.columns[1].type, t.ExternalType)
    assert loaded.columns[2].default_value is None
    opened.alter(at, t.RenameColumn(("m",), "mood"), t.RenameColumn(("g",), "twice"))
    again = opened.catalog.load_table(at).definition
    assert [column.name for column in again.columns] == ["a", "mood", "twice"]
    assert again.columns[1].type == loaded.columns[1].type
    if opened.abilities is abilities.MYSQL:
        with pytest.raises(IllegalArgument, match="computed"):
            opened.catalog.alter_table(at, (t.UpdateColumnComment(("twice",), "x"),))


def test_a_change_that_fails_in_the_middle_is_none(opened: Opened) -> None:
    at = opened.create(table(("a", "varchar(10)")))
    run(opened, "INSERT INTO s.t (a) VALUES ('x'), ('x'), (NULL)")
    before = opened.catalog.load_table(at)
    for last in (
        t.AddIndex(t.Index("unique_key", (("a",),), "k")),
        t.UpdateColumnNullability(("a",), False),
    ):
        changes = (t.AddColumn(("b",), "integer"), t.UpdateTableComment("new"), last)
        with pytest.raises(IllegalArgument):
            opened.catalog.alter_table(at, changes)
        assert opened.catalog.load_table(at) == before
    # What its rows do not survive is not called undone.
    changes = (t.AddColumn(("b",), "integer"), t.DeleteColumn(("a",)))
    staged = opened.catalog.alter_table(at, changes)
    with pytest.raises(OutcomeUnknown):
        staged.abandon()


def test_names_are_taken_and_missing_as_they_should_be(opened: Opened) -> None:
    catalog = database(opened)
    opened.create(table(("a", "integer")))
    with pytest.raises(AlreadyExists):
        catalog.create_table(TablePlace(("s",), "t"), table(("a", "integer")))
    with pytest.raises(AlreadyExists):
        catalog.create_schema(("s",), None, {})
    for missing in (
        lambda: catalog.load_table(TablePlace(("s",), "x")),
        lambda: catalog.load_table(TablePlace(("x",), "t")),
        lambda: catalog.load_table(TablePlace(("s",), "T")),
        lambda: catalog.drop_table(TablePlace(("s",), "x"), purge=False),
        lambda: catalog.create_table(TablePlace(("x",), "t"), table(("a", "integer"))),
        lambda: catalog.tables(("x",)),
        lambda: catalog.drop_schema(("x",), cascade=True),
        lambda: catalog.drop_schema(("information_schema",), cascade=True),
        lambda: catalog.tables(("s", "s")),
    ):
        with pytest.raises(NotFound):
            missing()
    with pytest.raises(NotEmpty):
        catalog.drop_schema(("s",), cascade=False)
    for refused in (
        lambda: catalog.create_schema(("s", "in"), None, {}),
        lambda: catalog.create_schema(("p",), None, {"k": "v"}),
        lambda: catalog.create_table(TablePlace(("s",), "n" * 65), table(("a", "integer"))),
    ):
        with pytest.raises(IllegalArgument):
            refused()
    with pytest.raises(Unsupported):
        catalog.drop_table(TablePlace(("s",), "t"), purge=True)
    catalog.drop_schema(("s",), cascade=True)
    assert "s" not in catalog.schemas(())


def test_a_server_that_takes_small_letters_for_capital_ones_gives_no_table_a_second_name(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    if opened.abilities is not abilities.MYSQL:
        return
    at = opened.create(table(("a", "integer")))
    folding = str(mysql._TABLE).replace(":schema", "LOWER(:schema)").replace(":name", "LOWER(:name)")
    monkeypatch.setattr(mysql, "_TABLE", sql(folding))
    columns = str(mysql._COLUMNS).replace(":schema", "LOWER(:schema)").replace(":name", "LOWER(:name)")
    monkeypatch.setattr(mysql, "_COLUMNS", sql(columns))
    assert list(opened.catalog.load_table(at).fields) == ["a"]
    for schema, name in (("s", "T"), ("S", "t")):
        with pytest.raises(NotFound):
            opened.catalog.load_table(TablePlace((schema,), name, at.object))
    monkeypatch.setattr(mysql, "_asked", lambda tx: (True, True))
    for refused in (
        lambda: opened.catalog.create_table(TablePlace(("s",), "Big"), table(("a", "integer"))),
        lambda: opened.catalog.create_schema(("Big",), None, {}),
        lambda: opened.catalog.alter_table(at, (t.RenameTable("Big"),)),
    ):
        with pytest.raises(IllegalArgument, match="capital"):
            refused()


def test_a_database_that_goes_away_keeps_nobody_waiting_and_comes_back(store: Store, tmp_path: Path) -> None:
    with stoppable() as server:
        properties = relational.on_postgres(f"postgresql://{server.address}/postgres")
        catalog = relational.opened_catalog("jdbc-postgresql", store, properties, tmp_path)
        assert "public" in catalog.schemas(())
        server.stop()
        started = time.monotonic()
        with pytest.raises(ConnectionFailed, match="catalog 'db'"):
            catalog.schemas(())
        with pytest.raises(ConnectionFailed, match="catalog 'db'"):
            catalog.tables(("public",))
        assert time.monotonic() - started < 20
        server.start()
        deadline = time.monotonic() + 20
        while True:
            with suppress(ConnectionFailed):
                assert "public" in catalog.schemas(())
                break
            assert time.monotonic() < deadline
            time.sleep(0.2)
        catalog.close()


def test_a_lock_of_somebody_else_is_not_waited_for_without_end(opened: Opened, postgres_server: str) -> None:
    if opened.abilities is not abilities.POSTGRES:
        return
    opened.create(table(("a", "integer")))
    url = database(opened).system.connections.engine.url  # type: ignore[attr-defined]
    with psycopg.connect(f"postgresql://{postgres_server}/{url.database}") as other:
        other.execute("LOCK TABLE s.t IN ACCESS EXCLUSIVE MODE")
        started = time.monotonic()
        with pytest.raises(HeadgateError):
            opened.catalog.drop_table(TablePlace(("s",), "t"), purge=False)
        assert time.monotonic() - started < 20
    assert opened.catalog.tables(("s",)) == ["t"]


def test_a_server_that_lies_fails_nothing_here(store: Store, tmp_path: Path) -> None:
    with hostile_postgres() as server:
        properties = relational.on_postgres(f"postgresql://u@127.0.0.1:{server.port}/db")
        catalog = relational.relational_catalog(
            "jdbc-postgresql", store, "db", properties, allowed(tmp_path, largest_document=32 * 1024 * 1024)
        )
        for asked in (
            lambda: catalog.schemas(()),
            lambda: catalog.load_table(TablePlace(("s",), "t")),
            lambda: catalog.drop_schema(("s",), cascade=True),
        ):
            with pytest.raises((ConnectionFailed, NotFound)):
                asked()
        assert server.sent < 1_500
        catalog.close()


@pytest.mark.parametrize("said", [b"", b"\xff" * 1_000, b"\x10\x00\x00\x00\x0a5.7\x00" + bytes(60)])
def test_a_server_that_says_it_is_mysql_takes_neither_time_nor_memory(
    store: Store, tmp_path: Path, said: bytes
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def talk() -> None:
            with suppress(OSError):
                while True:
                    wire, _ = listening.accept()
                    with wire, suppress(OSError):
                        while said:
                            wire.sendall(said * 1_000)
                        time.sleep(20)

        threading.Thread(target=talk, daemon=True).start()
        properties = {
            "jdbc-url": f"jdbc:mysql://127.0.0.1:{listening.getsockname()[1]}",
            "jdbc-user": "u",
            "jdbc-password": "p",
        }
        catalog = relational.opened_catalog("jdbc-mysql", store, properties, tmp_path)
        started = time.monotonic()
        with pytest.raises(ConnectionFailed, match="catalog 'db'"):
            catalog.schemas(())
        assert time.monotonic() - started < 20
        catalog.close()
