"""Iceberg catalogs in databases: pyiceberg writes the same tables, a database that goes away keeps nobody waiting."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.types import StringType
from sqlalchemy import create_engine, text

from headgate.catalogs.databases.addresses import address_of
from headgate.catalogs.databases.iceberg_catalog import jdbc_catalog
from headgate.catalogs.interface import TablePlace
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model import tables as t
from headgate.model.errors import (
    AlreadyExists,
    ConnectionFailed,
    Forbidden,
    IllegalArgument,
    NotEmpty,
    NotFound,
    Unsupported,
)
from headgate.model.objects import ObjectType
from headgate.store import Store
from tests.catalogs import jdbc
from tests.catalogs.jdbc import Properties
from tests.catalogs.suite import Opened, table
from tests.openings import opened as allowed
from tests.postgres import stoppable

T = TablePlace(("s",), "t")
ROWS = pa.table({"a": pa.array([1, 2], pa.int32())})


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    jdbc.close_all()


@pytest.fixture(params=["sqlite", "sqlite-v0", "postgresql", "postgresql-v0"])
def properties(request: pytest.FixtureRequest, tmp_path: Path) -> Properties:
    if request.param.startswith("sqlite"):
        found = jdbc.on_sqlite(tmp_path)
    else:
        found = jdbc.on_postgres(tmp_path, request.getfixturevalue("postgres_url"))
    if request.param.endswith("v0"):
        jdbc.old_layout(found)
    return found


@pytest.fixture
def catalog(properties: Properties, store: Store, tmp_path: Path) -> Iterator[PointerCatalog]:
    catalog = jdbc.opened_catalog(store, properties, tmp_path)
    yield catalog
    catalog.close()


def test_pyiceberg_writes_what_was_made_here_and_the_other_way_round(
    catalog: PointerCatalog, properties: Properties, store: Store
) -> None:
    catalog.create_schema(("s",), "first", {"k": "v"})
    here = Opened(catalog, store)
    at = here.create(table(("a", "integer")))
    theirs = jdbc.pyiceberg_catalog(properties)
    assert theirs.load_namespace_properties("s")["comment"] == "first"
    theirs.load_table("s.t").append(ROWS)
    assert catalog.document(at).metadata["current-snapshot-id"] is not None
    here.alter(at, t.AddColumn(("b",), "string"))
    again = theirs.load_table("s.t")
    assert [field.name for field in again.schema().fields] == ["a", "b"]
    assert again.scan().to_arrow()["a"].to_pylist() == [1, 2]

    theirs.create_table("s.u", ROWS.schema).append(ROWS)
    assert catalog.entries(("s",), ObjectType.TABLE) == ["t", "u"]
    assert [c.name for c in catalog.load_table(TablePlace(("s",), "u")).definition.columns] == ["a"]
    theirs.rename_table("s.u", "s.v")
    assert catalog.entries(("s",), ObjectType.TABLE) == ["t", "v"]
    catalog.rename(TablePlace(("s",), "v"), TablePlace(("s",), "w"))
    theirs.drop_table("s.w")
    with pytest.raises(NotFound):
        catalog.load_table(TablePlace(("s",), "w"))


def test_of_two_writers_one_is_told_and_nothing_is_lost(
    catalog: PointerCatalog, properties: Properties, store: Store
) -> None:
    catalog.create_schema(("s",), None, {})
    here = Opened(catalog, store)
    at = here.create(table(("a", "integer")))
    theirs = jdbc.pyiceberg_catalog(properties)
    stale = theirs.load_table("s.t").transaction()
    stale.update_schema().add_column("z", StringType()).commit()
    here.alter(at, t.AddColumn(("b",), "string"))
    with pytest.raises(CommitFailedException):
        stale.commit_transaction()
    # Between what is read here and what is swapped here, somebody else commits.
    load, times = catalog.system.load, []

    def overtaken(place: TablePlace) -> object:
        found = load(place)
        if not times:
            times.append(1)
            theirs.load_table("s.t").transaction().set_properties(mine="kept").commit_transaction()
        return found

    catalog.system.load = overtaken  # type: ignore[method-assign,assignment]
    here.alter(at, t.AddColumn(("c",), "string"))
    loaded = catalog.load_table(at).definition
    assert [column.name for column in loaded.columns] == ["a", "b", "c"]
    assert loaded.properties["mine"] == "kept"


def test_several_tables_change_together_or_not_at_all(catalog: PointerCatalog, store: Store) -> None:
    catalog.create_schema(("s",), None, {})
    here = Opened(catalog, store)
    places = [here.create(t.TableDefinition(n, (t.TableColumn("a", "long"),))) for n in ("t", "u")]
    put = [{"action": "set-properties", "updates": {"k": "v"}}]
    staged = catalog.commit_together([(at, [], put) for at in places])
    for one, at in zip(staged, places, strict=True):
        here.commit(one, at)
    assert {catalog.document(at).metadata["properties"]["k"] for at in places} == {"v"}
    before = [catalog.document(at).location for at in places]
    for one in catalog.commit_together(
        [(at, [], [{"action": "remove-properties", "removals": ["k"]}]) for at in places]
    ):
        one.abandon()
    assert [catalog.document(at).location for at in places] == before
    wrong = {"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}
    with pytest.raises(Exception, match="UUID"):
        catalog.commit_together([(places[0], [], put), (places[1], [wrong], put)])
    assert [catalog.document(at).location for at in places] == before


def test_schemas_nest_and_carry_properties(catalog: PointerCatalog, properties: Properties) -> None:
    catalog.create_schema(("a",), "first", {"k": "v"})
    catalog.create_schema(("a", "b"), None, {})
    catalog.create_schema(("A_",), None, {})
    assert catalog.schemas(()) == ["A_", "a"]
    assert catalog.schemas(("a",)) == ["b"]
    assert catalog.schema_exists(("a", "b"))
    assert not catalog.schema_exists(("a", "c"))
    catalog.alter_schema(("a",), {"l": "w"})
    theirs = jdbc.pyiceberg_catalog(properties)
    assert theirs.load_namespace_properties("a") == {"exists": "true", "l": "w"}
    theirs.create_namespace("n", {"x": "y"})
    assert catalog.schemas(()) == ["A_", "a", "n"]
    with pytest.raises(AlreadyExists):
        catalog.create_schema(("n",), None, {})
    with pytest.raises(NotEmpty):
        catalog.drop_schema(("a",), cascade=False)
    catalog.drop_schema(("a",), cascade=True)
    assert catalog.schemas(()) == ["A_", "n"]
    with pytest.raises(IllegalArgument, match="dot"):
        catalog.create_schema(("x.y",), None, {})


@pytest.mark.parametrize("second", [("a.b",), ("a", "", "b"), ("", "a"), ("a", ""), ("a.b", "c"), ()])
def test_a_schema_in_a_schema_has_no_second_name(
    catalog: PointerCatalog, properties: Properties, store: Store, second: tuple[str, ...]
) -> None:
    for schema in (("a",), ("a", "b"), ("a", "b", "c")):
        catalog.create_schema(schema, None, {})
    theirs = jdbc.pyiceberg_catalog(properties)
    theirs.create_table("a.b.t", ROWS.schema)
    theirs.create_table("a.b.c.t", ROWS.schema)
    at = TablePlace(second, "t")
    assert not catalog.schema_exists(second)
    asked = (
        lambda: catalog.entries(second, ObjectType.TABLE),
        lambda: catalog.document(at),
        lambda: catalog.described(at),
        lambda: catalog.alter_schema(second, {"k": "v"}),
        lambda: catalog.drop_schema(second, cascade=False),
        lambda: catalog.drop_schema(second, cascade=True),
        lambda: catalog.drop_table(at, purge=False),
        lambda: catalog.rename(TablePlace(("a", "b"), "t"), TablePlace(second, "u")),
    )
    for each in asked:
        with pytest.raises(NotFound):
            each()
    with pytest.raises(IllegalArgument):
        catalog.create_schema(second, None, {})
    assert catalog.entries(("a", "b"), ObjectType.TABLE) == ["t"]
    assert catalog.entries(("a", "b", "c"), ObjectType.TABLE) == ["t"]


def test_letters_that_a_database_takes_for_the_same_give_no_second_name(store: Store, tmp_path: Path) -> None:
    properties = jdbc.on_sqlite(tmp_path)
    jdbc.old_layout(properties, "COLLATE NOCASE")
    catalog = jdbc.opened_catalog(store, properties, tmp_path)
    catalog.create_schema(("s",), None, {})
    at = Opened(catalog, store).create(table(("a", "integer")))
    assert not catalog.schema_exists(("S",))
    for other in (TablePlace(("S",), "t"), TablePlace(("s",), "T")):
        with pytest.raises(NotFound):
            catalog.system.load(other)
    assert catalog.document(at).location
    catalog.close()


def test_a_schema_loses_no_table_that_the_catalog_does_not_show(
    catalog: PointerCatalog, properties: Properties, store: Store
) -> None:
    catalog.create_schema(("s",), None, {})
    catalog.create_schema(("s", "in"), None, {})
    here = Opened(catalog, store)
    here.create(table(("a", "integer")))

    def put(namespace: str, name: str, more: str = "", value: str = "") -> None:
        engine = create_engine(jdbc.sqlalchemy_url(properties))
        with engine.begin() as tx:
            tx.execute(text("DELETE FROM iceberg_tables WHERE table_name <> 't'"))
            columns = f"catalog_name, table_namespace, table_name{more}"
            tx.execute(
                text(f"INSERT INTO iceberg_tables ({columns}) VALUES ('jdbc', :n, :t{value})"),
                {"n": namespace, "t": name},
            )
        engine.dispose()

    versioned = catalog.system._version == 1  # type: ignore[attr-defined]
    for namespace, name, *more in (
        ("s..x", "u"),
        ("s.in", "odd*"),
        ("s", "odd*"),
        *((("s", "m", ", iceberg_type", ", 'MODEL'"),) if versioned else ()),
    ):
        put(namespace, name, *more)
        with pytest.raises(NotEmpty, match="does not show"):
            catalog.drop_schema(("s",), cascade=True)
        assert "t" in catalog.entries(("s",), ObjectType.TABLE)
        assert catalog.schema_exists(("s", "in"))
    put("s", "u")
    catalog.drop_schema(("s",), cascade=True)
    assert catalog.schemas(()) == []


def test_purging_deletes_what_the_table_names_and_nothing_else(
    catalog: PointerCatalog, properties: Properties, store: Store, tmp_path: Path
) -> None:
    catalog.create_schema(("s",), None, {})
    here = Opened(catalog, store)
    at = here.create(table(("a", "integer")))
    theirs = jdbc.pyiceberg_catalog(properties).load_table("s.t")
    theirs.append(ROWS)
    folder = Path(catalog.own_folders(catalog.document(at))[0].removeprefix("file://"))
    (folder / "mine.txt").write_text("no part of the table")
    staged = catalog.drop_table(at, purge=True)
    here.commit(staged, at)  # type: ignore[arg-type]
    staged.finish()
    left = [path.name for path in folder.rglob("*") if path.is_file()]
    assert "mine.txt" in left
    assert not [name for name in left if name.endswith((".parquet", ".avro"))]


def test_views_are_kept_where_the_layout_knows_them(catalog: PointerCatalog, properties: Properties) -> None:
    catalog.create_schema(("s",), None, {})
    view = TablePlace(("s",), "v", type=ObjectType.VIEW)
    definition = {
        "schema": {"type": "struct", "fields": [{"id": 1, "name": "a", "type": "int", "required": False}]},
        "view-version": {
            "version-id": 1,
            "timestamp-ms": 1,
            "schema-id": 0,
            "summary": {},
            "default-namespace": ["s"],
            "representations": [{"type": "sql", "sql": "SELECT 1 AS a", "dialect": "spark"}],
        },
    }
    catalog.test()
    if ObjectType.VIEW not in catalog.system.types:
        with pytest.raises(Unsupported):
            catalog.create_document(view, definition)
        assert catalog.entries(("s",), ObjectType.VIEW) == []
        return
    catalog.create_document(view, definition)
    assert catalog.entries(("s",), ObjectType.VIEW) == ["v"]
    assert catalog.entries(("s",), ObjectType.TABLE) == []
    assert jdbc.pyiceberg_catalog(properties).list_tables("s") == []
    with pytest.raises(NotFound):
        catalog.document(TablePlace(("s",), "v"))
    catalog.drop_view(view)
    assert catalog.entries(("s",), ObjectType.VIEW) == []


def test_an_older_layout_is_brought_up_to_date_if_it_is_asked_for(store: Store, tmp_path: Path) -> None:
    properties = jdbc.on_sqlite(tmp_path)
    jdbc.old_layout(properties)
    catalog = jdbc.opened_catalog(store, {**properties, "jdbc.schema-version": "V1"}, tmp_path)
    catalog.create_schema(("s",), None, {})
    assert ObjectType.VIEW in catalog.system.types
    catalog.close()
    shut = jdbc.on_sqlite(tmp_path / "theirs")
    empty = jdbc.opened_catalog(store, {**shut, "jdbc-initialize": "false"}, tmp_path)
    assert empty.schemas(()) == []
    with pytest.raises(IllegalArgument, match="jdbc-initialize"):
        empty.create_schema(("s",), None, {})
    empty.close()


def test_catalogs_of_other_names_in_one_database_are_others(store: Store, tmp_path: Path) -> None:
    properties = jdbc.on_sqlite(tmp_path)
    jdbc.pyiceberg_catalog(properties, "prod").create_namespace("s")
    here = jdbc.opened_catalog(store, properties, tmp_path)
    assert here.schemas(()) == []
    prod = jdbc.opened_catalog(store, {**properties, "catalog-backend-name": "prod"}, tmp_path)
    assert prod.schemas(()) == ["s"]
    here.close(), prod.close()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"jdbc-url": ""}, "jdbc-url"),
        ({"jdbc-url": "jdbc:mysql://127.0.0.1/db"}, "jdbc-url"),
        ({"jdbc-url": "jdbc:postgresql://127.0.0.1,evil/db"}, "jdbc-url"),
        ({"jdbc-url": "jdbc:postgresql:///db"}, "jdbc-url"),
        ({"jdbc-url": "jdbc:postgresql://me:hidden@127.0.0.1/db"}, "jdbc-url"),
        ({"jdbc-url": "jdbc:postgresql://127.0.0.1/db?host=evil", "jdbc-user": "u"}, "host"),
        ({"jdbc-url": "jdbc:postgresql://127.0.0.1/db?password=hidden", "jdbc-user": "u"}, "password"),
        (
            {"jdbc-url": "jdbc:postgresql://127.0.0.1/db?currentSchema=a%20-c%20x", "jdbc-user": "u"},
            "current",
        ),
        ({"jdbc-url": "jdbc:postgresql://127.0.0.1/db"}, "jdbc-user"),
        ({"jdbc-url": "jdbc:postgresql://elsewhere/db", "jdbc-user": "u"}, "elsewhere"),
        ({"jdbc-url": "jdbc:sqlite:/etc/passwd"}, "/etc/passwd"),
        ({"jdbc-url": "jdbc:sqlite::memory:"}, "jdbc-url"),
        *(
            ({"jdbc-url": f"jdbc:sqlite:/lake/a.db{end}"}, "something else")
            for end in ("-journal", "-wal", "-shm")
        ),
        ({"jdbc-user": "u"}, "jdbc-user"),
        ({"jdbc-initialize": "maybe"}, "jdbc-initialize"),
        ({"jdbc.schema-version": "V2"}, "jdbc.schema-version"),
        ({"warehouse": ""}, "warehouse"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(
    store: Store, tmp_path: Path, changes: Properties, named: str
) -> None:
    properties = {**jdbc.on_sqlite(tmp_path), **changes}
    with pytest.raises((IllegalArgument, Forbidden), match=named) as refused:
        jdbc.opened_catalog(store, properties, tmp_path)
    assert "hidden" not in str(refused.value)


def test_a_catalog_is_not_kept_in_what_belongs_to_something_else(store: Store, tmp_path: Path) -> None:
    properties = jdbc.on_sqlite(tmp_path)
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "store.db")
    for file in (tmp_path / "store.db", tmp_path / "store.db-wal", link):
        with pytest.raises(IllegalArgument, match="something else"):
            jdbc.opened_catalog(store, {**properties, "jdbc-url": f"jdbc:sqlite:{file}"}, tmp_path)
    with pytest.raises(IllegalArgument, match="something else"):
        jdbc_catalog(store, "db", "lake/db", properties, allowed(tmp_path), str(tmp_path / "theirs"))


def test_addresses_are_told_apart_without_their_secrets() -> None:
    one = address_of(
        {"jdbc-url": "jdbc:postgresql://DB:1/x?currentSchema=a&sslmode=require", "jdbc-user": "u"}
    )
    assert (str(one), one.ssl, one.schema) == ("db:1/x/a", "require", "a")
    assert "u" not in str(one).split("/")


def test_a_broken_row_breaks_itself_only(
    catalog: PointerCatalog, properties: Properties, store: Store
) -> None:
    catalog.create_schema(("s",), None, {})
    here = Opened(catalog, store)
    at = here.create(table(("a", "integer")))
    engine = create_engine(jdbc.sqlalchemy_url(properties))
    with engine.begin() as tx:
        for name, location in (("gone", f"{catalog.warehouse}/gone/x.json"), ("far", "s3://far/x.json")):
            tx.execute(
                text(
                    "INSERT INTO iceberg_tables(catalog_name, table_namespace, table_name, metadata_location) "
                    "VALUES ('jdbc', 's', :name, :location)"
                ),
                {"name": name, "location": location},
            )
    engine.dispose()
    assert catalog.entries(("s",), ObjectType.TABLE) == ["far", "gone", "t"]
    assert catalog.load_table(at).fields
    for name, why in (("gone", "metadata file"), ("far", "outside the places")):
        found = catalog.described(TablePlace(("s",), name))
        assert found.columns is None
        assert why in found.table.definition.properties["headgate.broken"]


@pytest.mark.slow
def test_a_database_that_goes_away_is_told_soon_and_comes_back(store: Store, tmp_path: Path) -> None:
    with stoppable() as server:
        properties = jdbc.on_postgres(tmp_path, f"postgresql://{server.address}/postgres")
        catalog = jdbc.opened_catalog(store, properties, tmp_path)
        catalog.create_schema(("s",), None, {})
        server.stop()
        started = time.monotonic()
        for _ in range(20):
            with pytest.raises(ConnectionFailed, match="PostgreSQL of catalog 'db' does not answer"):
                catalog.schemas(())
        assert time.monotonic() - started < 10
        server.start()
        time.sleep(1.5)
        assert catalog.schemas(()) == ["s"]
        server.stop()
        server.start()
        assert catalog.schemas(()) == ["s"], "an old connection is replaced before anybody hears of it"
        # One that is there and says nothing.
        pid = int((server._folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        backends = _children(pid)
        for each in (*backends, pid):
            os.kill(each, signal.SIGSTOP)
        try:
            started = time.monotonic()
            with pytest.raises(ConnectionFailed, match="does not answer"):
                catalog.schemas(())
            assert time.monotonic() - started < 25
            started = time.monotonic()
            with pytest.raises(ConnectionFailed, match="a moment ago"):
                catalog.schemas(())
            assert time.monotonic() - started < 1
        finally:
            for each in (*backends, pid):
                os.kill(each, signal.SIGCONT)
        time.sleep(1.5)
        assert catalog.schemas(()) == ["s"]
        catalog.close()


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.parent.name))
    return found
