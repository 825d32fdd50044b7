"""AWS Glue: Hive tables are described, Iceberg tables are shared with other writers, and faults stay with their object."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.types import StringType

from headgate.catalogs.hive.types import from_hive, to_hive
from headgate.catalogs.interface import TablePlace
from headgate.model import tables as t
from headgate.model.errors import (
    AlreadyExists,
    Conflict,
    ConnectionFailed,
    Forbidden,
    IllegalArgument,
    NotEmpty,
    NotFound,
    Unsupported,
)
from headgate.model.objects import ObjectType
from headgate.store import Store, objects, places
from tests.catalogs import glue_server
from tests.catalogs.glue_server import Faults
from tests.catalogs.suite import Opened, table

ROWS = pa.table({"a": pa.array([1, 2], pa.int32())})
T = TablePlace(("s",), "t")
WIDE = (
    t.TableColumn("a", "integer", "a number"),
    t.TableColumn("s", t.StructDataType((t.StructField("x", "byte"), t.StructField("y", "char(3)")))),
    t.TableColumn("m", t.MapDataType("string", t.ListDataType("decimal(10,2)"))),
    t.TableColumn("day", "date"),
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with glue_server.glue_server() as url:
        yield url


@pytest.fixture
def url(server: str) -> Iterator[str]:
    glue_server.backend().reset()
    yield server
    Faults.code, Faults.times, Faults.pause = "", 0, 0.0


class Catalogs:
    """Catalogs over one Glue, and a store."""

    def __init__(self, url: str, store: Store, folder: Path) -> None:
        self.url, self.store, self.folder = url, store, folder
        self.made: list[Any] = []

    def open(self, kind: str, **more: str) -> Any:
        declared = {**glue_server.properties(kind, self.url, self.folder), **more}
        found = glue_server.opened_catalog(kind, self.store, declared, self.folder)
        self.made.append(found)
        return found


@pytest.fixture
def catalogs(url: str, store: Store, tmp_path: Path) -> Iterator[Catalogs]:
    found = Catalogs(url, store, tmp_path)
    found.open("hive").create_schema(("s",), "first", {"k": "v"})
    yield found
    for catalog in found.made:
        catalog.close()


def test_a_hive_table_comes_back_as_it_was_made(catalogs: Catalogs, store: Store) -> None:
    hive = catalogs.open("hive")
    definition = t.TableDefinition(
        "t",
        WIDE,
        "a table",
        {"format": "ORC", "k": "v", "serde.parameter.q": "1"},
        (t.Partitioning("identity", field_name=("day",)),),
        (t.SortOrder(t.Expression("field", field_name=("a",)), "desc", "nulls_last"),),
        t.Distribution("hash", 8, (t.Expression("field", field_name=("a",)),)),
    )
    here = Opened(hive, store)
    at = here.create(definition)
    loaded = hive.load_table(at)
    found = loaded.definition
    assert (found.columns, found.comment, found.partitioning) == (WIDE, "a table", definition.partitioning)
    assert (found.sort_orders, found.distribution) == (definition.sort_orders, definition.distribution)
    assert found.properties["format"] == "ORC"
    assert found.properties["k"] == "v"
    assert found.properties["serde.parameter.q"] == "1"
    assert list(loaded.fields) == [column.name for column in WIDE]
    with pytest.raises(Unsupported, match="Hive table"):
        hive.document(at)
    raw = glue_server.backend().get_table("s", "t").as_dict()
    assert [each["Name"] for each in raw["PartitionKeys"]] == ["day"]
    assert raw["StorageDescriptor"]["Columns"][1]["Type"] == "struct<x:tinyint,y:char(3)>"


def test_columns_keep_their_ids_through_every_change(catalogs: Catalogs, store: Store) -> None:
    hive = catalogs.open("hive")
    here = Opened(hive, store)
    at = here.create(
        t.TableDefinition("t", WIDE, None, {}, (t.Partitioning("identity", field_name=("day",)),))
    )
    before = hive.load_table(at).fields
    here.alter(
        at,
        t.RenameColumn(("a",), "b"),
        t.RenameColumn(("m",), "a"),
        t.AddColumn(("z",), "string", "new", "first"),
        t.UpdateColumnType(("b",), "long"),
        t.SetTableProperty("k", "w"),
    )
    after = hive.load_table(at)
    assert [column.name for column in after.definition.columns] == ["z", "b", "s", "a", "day"]
    assert (after.fields["b"], after.fields["a"]) == (before["a"], before["m"])
    assert after.fields["z"] not in before.values()
    for change, error in (
        (t.DeleteColumn(("day",)), IllegalArgument),
        (t.RenameColumn(("none",), "x"), NotFound),
        (t.RenameColumn(("b",), "a"), AlreadyExists),
        (t.SetTableProperty("metadata_location", "s3://x"), IllegalArgument),
        (t.SetTableProperty("Table_Type", "ICEBERG"), IllegalArgument),
        (t.SetTableProperty("location", "s3://x"), IllegalArgument),
        (t.RenameTable("u"), Unsupported),
    ):
        with pytest.raises(error):
            hive.alter_table(at, (change,))
    assert hive.load_table(at) == after
    staged = hive.alter_table(at, (t.DeleteColumn(("z",)),))
    staged.abandon()
    assert list(hive.load_table(at).fields) == ["z", "b", "s", "a", "day"]


def test_pyiceberg_writes_what_was_made_here_and_the_other_way_round(
    catalogs: Catalogs, store: Store, url: str, tmp_path: Path
) -> None:
    iceberg = catalogs.open("iceberg")
    here, theirs = Opened(iceberg, store), glue_server.pyiceberg_catalog(url, tmp_path)
    at = here.create(table(("a", "integer")))
    theirs.load_table("s.t").append(ROWS)
    here.alter(at, t.AddColumn(("b",), "string"))
    assert theirs.load_table("s.t").scan().to_arrow()["a"].to_pylist() == [1, 2]
    stale = theirs.load_table("s.t").transaction()
    stale.update_schema().add_column("z", StringType()).commit()
    here.alter(at, t.AddColumn(("c",), "string"))
    with pytest.raises(CommitFailedException):
        stale.commit_transaction()
    theirs.create_table("s.u", ROWS.schema)
    assert iceberg.entries(("s",), ObjectType.TABLE) == ["t", "u"]
    iceberg.rename(TablePlace(("s",), "u"), TablePlace(("s",), "v"))
    assert theirs.load_table("s.v").schema().fields[0].name == "a"


def test_the_lock_is_the_version_of_the_table(catalogs: Catalogs, store: Store) -> None:
    both = catalogs.open("both", **{"default-table-format": "iceberg"})
    here = Opened(both, store)
    at = here.create(table(("a", "integer")))
    ask, times = both.metastore.client.ask, []

    def overtaken(operation: str, *more: Any, **arguments: Any) -> Any:
        if operation == "update_table" and not times:
            times.append(1)
            known = glue_server.backend().get_table("s", "t")
            known.update(known.get_version(str(known._current_version)))
        return ask(operation, *more, **arguments)

    both.metastore.client.ask = overtaken
    here.alter(at, t.AddColumn(("b",), "string"))
    assert times, "somebody came between"
    assert list(both.load_table(at).fields) == ["a", "b"], "and the commit was made anew"
    hive = here.create(t.TableDefinition("h", (t.TableColumn("a", "long"),), None, {"provider": "hive"}))
    times.clear()
    known = glue_server.backend().get_table("s", "h")

    def changed(operation: str, *more: Any, **arguments: Any) -> Any:
        if operation == "update_table":
            known.update(known.get_version(str(known._current_version)))
        return ask(operation, *more, **arguments)

    both.metastore.client.ask = changed
    with pytest.raises(Conflict):
        both.alter_table(hive, (t.SetTableProperty("k", "v"),))


def test_each_catalog_shows_its_formats(catalogs: Catalogs, store: Store) -> None:
    both = catalogs.open("both")
    here = Opened(both, store)
    for name, more in (("h", {"format": "ORC"}), ("i", {"provider": "iceberg"}), ("p", {})):
        here.create(t.TableDefinition(name, (t.TableColumn("a", "long"),), None, more))
    glue_server.backend().create_table(
        "s", "v", {"Name": "v", "TableType": "VIRTUAL_VIEW", "ViewOriginalText": "select 1"}, None
    )
    kinds = {
        "hive": catalogs.open("hive"),
        "iceberg": catalogs.open("iceberg"),
        "all": both,
        "parquet": catalogs.open("both", **{"table-format-filter": "parquet"}),
    }
    shown = {name: catalog.entries(("s",), ObjectType.TABLE) for name, catalog in kinds.items()}
    assert shown == {"hive": ["h", "p"], "iceberg": ["i"], "all": ["h", "i", "p"], "parquet": ["p"]}
    assert both.entries(("s",), ObjectType.VIEW) == ["v"]
    with pytest.raises(NotFound):
        kinds["iceberg"].load_table(TablePlace(("s",), "h"))
    with pytest.raises(NotFound):
        kinds["hive"].load_table(TablePlace(("s",), "i"))
    with pytest.raises(NotFound):
        both.load_table(TablePlace(("s",), "H"))


def test_what_is_half_there_is_shown_as_broken(catalogs: Catalogs) -> None:
    hive = catalogs.open("hive")
    stored = {"Columns": [{"Name": "a", "Type": "int"}], "SerdeInfo": {"SerializationLibrary": "x"}}
    halves: dict[str, Any] = {
        "no_storage": {},
        "no_columns": {"StorageDescriptor": {**stored, "Columns": [], "Location": "s3://x/a"}},
        "no_location": {"StorageDescriptor": stored},
        "no_serde": {"StorageDescriptor": {"Columns": stored["Columns"], "Location": "s3://x/b"}},
        "odd_location": {"StorageDescriptor": {**stored, "Location": "nowhere/../at all"}},
        "twice": {"StorageDescriptor": {**stored, "Columns": stored["Columns"] * 2, "Location": "s3://x/c"}},
    }
    for name, more in halves.items():
        glue_server.backend().create_table("s", name, {"Name": name, **more}, None)
    assert hive.entries(("s",), ObjectType.TABLE) == sorted(halves)
    for name in halves:
        found = hive.described(TablePlace(("s",), name, 1))
        assert found.table.definition.properties["headgate.broken"], name
        assert found.columns is None


def test_a_location_outside_the_opened_places_is_shown_and_its_columns_too(
    catalogs: Catalogs, store: Store
) -> None:
    hive = catalogs.open("hive")
    far = {
        "Columns": [{"Name": "a", "Type": "int"}, {"Name": "odd", "Type": "geometry<4326>"}],
        "Location": "s3://far/t",
        "SerdeInfo": {"SerializationLibrary": "x"},
    }
    for name in ("t", "twin"):
        glue_server.backend().create_table("s", name, {"Name": name, "StorageDescriptor": far}, None)
    here = Opened(hive, store)
    found = hive.described(TablePlace(("s",), "t", here.schema))
    assert "outside the places" in found.table.definition.properties["headgate.broken"]
    assert found.table.definition.columns[0].type == "integer"
    assert isinstance(found.table.definition.columns[1].type, t.ExternalType)
    with pytest.raises(Forbidden, match="something else"):
        hive.described(TablePlace(("s",), "twin", here.metalake))


def test_databases_are_made_and_dropped(catalogs: Catalogs, store: Store) -> None:
    hive = catalogs.open("hive")
    assert hive.schemas(()) == ["s"]
    hive.alter_schema(("s",), {"l": "w"})
    assert hive.metastore.namespace(("s",)) == {"comment": "first", "l": "w"}
    with pytest.raises(AlreadyExists):
        hive.create_schema(("s",), None, {})
    for wrong in (("S",), ("a", "b")):
        with pytest.raises(IllegalArgument):
            hive.create_schema(wrong, None, {})
    Opened(catalogs.open("both", **{"default-table-format": "iceberg"}), store).create(table(("a", "long")))
    with pytest.raises(Exception, match="not empty"):
        hive.drop_schema(("s",), cascade=True)
    catalogs.open("both").drop_schema(("s",), cascade=True)
    assert hive.schemas(()) == []


MANAGED = table(("a", "integer"), properties={"table-type": "MANAGED_TABLE"})


def files_of(catalog: Any, at: TablePlace) -> Path:
    """A file in a table's folder."""
    folder = Path(catalog.load_table(at).location.removeprefix("file://"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data").write_text("rows")
    return folder / "data"


def beside(name: str, location: str, database: str = "s", **more: Any) -> None:
    """A table that somebody else makes at a place of their choice."""
    stored = {"Columns": [{"Name": "a", "Type": "int"}], "SerdeInfo": {"SerializationLibrary": "x"}}
    given = {"Name": name, "StorageDescriptor": {**stored, "Location": location}, **more}
    glue_server.backend().create_table(database, name, given, None)


def test_purging_a_hive_table_deletes_its_folder(catalogs: Catalogs, store: Store) -> None:
    hive = catalogs.open("hive")
    at = Opened(hive, store).create(MANAGED)
    data = files_of(hive, at)
    staged = hive.drop_table(at, purge=True)
    with store.write("test", "drop") as tx:
        staged.commit(tx, at.object)
        objects.drop(tx, at.object)
    staged.finish()
    assert not data.exists()
    assert hive.entries(("s",), ObjectType.TABLE) == []


@pytest.mark.slow
@pytest.mark.parametrize("where", ["", "/", "/below", "/..", "//odd", "of another format", "elsewhere"])
def test_a_folder_is_purged_only_once_no_other_table_lies_in_it(
    catalogs: Catalogs, store: Store, where: str
) -> None:
    hive = catalogs.open("hive")
    here = Opened(hive, store)
    at = here.create(MANAGED)
    data, place = files_of(hive, at), hive.load_table(at).location
    if where == "of another format":
        beside("u", place, Parameters={"table_type": "ICEBERG", "metadata_location": f"{place}/m.json"})
    elif where == "elsewhere":
        hive.create_schema(("r",), None, {})
        beside("t", f"{place}/x", "r")
    else:
        beside("u", place.rpartition("/")[0] if where == "/.." else place + where)
    with pytest.raises(IllegalArgument, match="shares its folder"):
        hive.drop_table(at, purge=True)
    assert data.exists()
    assert "t" in hive.entries(("s",), ObjectType.TABLE)
    hive.drop_table(at, purge=False)
    assert data.exists()


def test_a_table_that_names_the_folder_of_another_does_not_purge_it(catalogs: Catalogs, store: Store) -> None:
    hive = catalogs.open("hive")
    here = Opened(hive, store)
    at = here.create(MANAGED)
    data, place = files_of(hive, at), hive.load_table(at).location
    for number, inner in enumerate(("", "/x-" + "0" * 32)):
        name = f"twin{number}"
        beside(name, f"{place}{inner}", TableType="MANAGED_TABLE")
        with store.write("test", "create") as tx:
            object = objects.create(tx, here.schema, here.metalake, ObjectType.TABLE, name)
        with pytest.raises((IllegalArgument, Forbidden)):
            hive.drop_table(TablePlace(("s",), name, object), purge=True)
        assert name in hive.entries(("s",), ObjectType.TABLE), "nothing is dropped"
    assert data.exists()


def test_a_folder_in_which_something_of_another_catalog_lies_is_not_purged(
    catalogs: Catalogs, store: Store
) -> None:
    hive = catalogs.open("hive")
    here = Opened(hive, store)
    at = here.create(MANAGED)
    data, place = files_of(hive, at), hive.load_table(at).location
    with store.write("test", "forget") as tx:
        other = objects.create(tx, here.schema, here.metalake, ObjectType.TABLE, "other")
        places.release(tx, at.object, [place])
        places.claim(tx, other, [f"{place}/inner"])
    with pytest.raises((IllegalArgument, Forbidden)):
        hive.drop_table(at, purge=True)
    assert data.exists()
    assert hive.entries(("s",), ObjectType.TABLE) == ["t"]


def test_a_schema_loses_no_table_that_the_catalog_does_not_show(catalogs: Catalogs, store: Store) -> None:
    both = catalogs.open("both")
    here = Opened(both, store)
    here.create(t.TableDefinition("h", (t.TableColumn("a", "long"),), None, {}))
    here.create(t.TableDefinition("i", (t.TableColumn("a", "long"),), None, {"provider": "iceberg"}))
    for catalog in (
        catalogs.open("hive"),
        catalogs.open("iceberg"),
        catalogs.open("both", **{"table-format-filter": "parquet"}),
    ):
        with pytest.raises(NotEmpty, match="does not show") as refused:
            catalog.drop_schema(("s",), cascade=True)
        assert not {"h", "i"} & set(refused.value.message.replace("'", " ").split()), "nor is it named"
        assert both.entries(("s",), ObjectType.TABLE) == ["h", "i"]
    glue_server.backend().create_table("s", "odd*", {"Name": "odd*", "TableType": "EXTERNAL_TABLE"}, None)
    with pytest.raises(NotEmpty):
        both.drop_schema(("s",), cascade=True)
    assert both.entries(("s",), ObjectType.TABLE) == ["h", "i", "odd*"], "a name that cannot be governed here"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "refuses the credentials"),
        ("ExpiredTokenException", "refuses the credentials"),
        ("UnrecognizedClientException", "refuses the credentials"),
        ("InternalServiceException", "failed to answer"),
    ],
)
def test_faults_name_the_catalog_and_repeat_nothing(catalogs: Catalogs, code: str, words: str) -> None:
    hive = catalogs.open("hive")
    Faults.code, Faults.times = code, -1
    with pytest.raises(ConnectionFailed, match=f"AWS Glue of catalog 'aws' {words}") as failed:
        hive.entries(("s",), ObjectType.TABLE)
    assert "hidden" not in str(failed.value)
    Faults.times = 0
    assert hive.entries(("s",), ObjectType.TABLE) == [], "it recovers"


def test_throttling_is_waited_for(catalogs: Catalogs) -> None:
    Faults.code, Faults.times = "ThrottlingException", 2
    assert catalogs.open("hive").entries(("s",), ObjectType.TABLE) == []


def test_a_glue_that_takes_its_time_keeps_few_waiting(catalogs: Catalogs) -> None:
    gone = catalogs.open("hive", **{"aws-glue-endpoint": "http://127.0.0.1:1"})
    answers: list[str] = []

    def ask() -> None:
        try:
            gone.schemas(())
        except ConnectionFailed as failed:
            answers.append(failed.message)

    started = time.monotonic()
    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == ["the AWS Glue of catalog 'aws' does not answer"] * 40
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("kind", "changes", "named"),
    [
        ("hive", {"s3-region": ""}, "s3-region"),
        ("both", {"aws-region": ""}, "aws-region"),
        ("hive", {"s3-region": "../evil"}, "s3-region"),
        ("hive", {"s3-secret-access-key": ""}, "s3-secret-access-key"),
        ("both", {"aws-access-key-id": ""}, "aws-access-key-id"),
        ("hive", {"s3-external-id": "x"}, "s3-external-id"),
        ("hive", {"s3-role-arn": "x"}, "s3-role-arn"),
        ("hive", {"aws-glue-catalog-id": "x"}, "aws-glue-catalog-id"),
        ("hive", {"aws-glue-endpoint": "http://169.254.169.254/"}, "aws-glue-endpoint"),
        ("hive", {"aws-glue-endpoint": ""}, "glue.us-east-1.amazonaws.com"),
        ("both", {"table-format-filter": "csv"}, "table-format-filter"),
        ("both", {"default-table-format": "delta"}, "default-table-format"),
        ("both", {"default-table-format": "hive", "table-format-filter": "iceberg"}, "default-table-format"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(
    catalogs: Catalogs, kind: str, changes: dict[str, str], named: str
) -> None:
    with pytest.raises((IllegalArgument, Forbidden), match=named) as refused:
        catalogs.open(kind, **changes)
    assert "hidden" not in str(refused.value)


TYPES = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "decimal(10,2)",
    "varchar(20)",
    "char(3)",
    "array<int>",
    "map<string,array<bigint>>",
    "struct<a:int,b:struct<c:decimal(3,1)>>",
    "uniontype<int,string>",
    "interval_year_month",
    "interval_day_time",
]


@pytest.mark.parametrize("text", [*TYPES, "timestamp with local time zone"])
def test_every_type_of_hive_comes_back_as_it_went_in(text: str) -> None:
    assert to_hive(from_hive(text)) == text


@pytest.mark.parametrize("text", ["geometry", "struct<>", "array<", "struct<a>", "decimal(99,1)", "<>", ""])
def test_what_is_no_type_of_hive_keeps_its_text(text: str) -> None:
    assert from_hive(text) == t.ExternalType(text)
    assert isinstance(from_hive("array<" * 50 + "int" + ">" * 50), t.ListDataType)
