"""Hive Metastore, in both of its versions: Hive tables are described, made and changed, and faults stay with their object."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pymetastore.hive_metastore import ttypes as hive

from headgate.catalogs.interface import TablePlace
from headgate.model import tables as t
from headgate.model.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    IllegalArgument,
    NotEmpty,
    NotFound,
    Unsupported,
)
from headgate.model.objects import ObjectType
from headgate.store import Store, objects
from tests.catalogs import hive_server
from tests.catalogs.hive_server import Thrift, beside
from tests.catalogs.suite import Opened, table

pytestmark = pytest.mark.real

T = TablePlace(("s",), "t")
WIDE = (
    t.TableColumn("a", "integer", "a number"),
    t.TableColumn("s", t.StructDataType((t.StructField("x", "byte"), t.StructField("y", "char(3)")))),
    t.TableColumn("m", t.MapDataType("string", t.ListDataType("decimal(10,2)"))),
    t.TableColumn("day", "date"),
)
BY_DAY = (t.Partitioning("identity", field_name=("day",)),)
MANAGED = table(("a", "integer"), properties={"table-type": "MANAGED_TABLE"})


@pytest.fixture(params=["hive_metastore", "hive_metastore_four"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    found: int = request.getfixturevalue(request.param)
    hive_server.emptied(found)
    yield found
    hive_server.emptied(found)


class Catalogs:
    """Catalogs over one metastore, and a store."""

    def __init__(self, port: int, store: Store, folder: Path) -> None:
        self.port, self.store, self.folder = port, store, folder
        self.made: list[Any] = []

    def open(self, kind: str, **more: str) -> Any:
        declared = {**hive_server.properties(self.port, self.folder), **more}
        found = hive_server.opened_catalog(kind, self.store, declared, self.folder)
        self.made.append(found)
        return found


@pytest.fixture
def catalogs(port: int, store: Store, tmp_path: Path) -> Iterator[Catalogs]:
    found = Catalogs(port, store, tmp_path)
    found.open("hive").create_schema(("s",), "first", {"k": "v"})
    yield found
    for catalog in found.made:
        catalog.close()


def test_a_hive_table_comes_back_as_it_was_made(catalogs: Catalogs, store: Store) -> None:
    hms = catalogs.open("hive")
    definition = t.TableDefinition(
        "t",
        WIDE,
        "a table",
        {"format": "ORC", "k": "v", "serde.parameter.q": "1"},
        BY_DAY,
        (t.SortOrder(t.Expression("field", field_name=("a",)), "desc", "nulls_last"),),
        t.Distribution("hash", 8, (t.Expression("field", field_name=("a",)),)),
    )
    at = Opened(hms, store).create(definition)
    loaded = hms.load_table(at)
    found = loaded.definition
    assert (found.columns, found.comment, found.partitioning) == (WIDE, "a table", definition.partitioning)
    assert (found.sort_orders, found.distribution) == (definition.sort_orders, definition.distribution)
    assert found.properties["format"] == "ORC"
    assert found.properties["k"] == "v"
    assert found.properties["serde.parameter.q"] == "1"
    assert list(loaded.fields) == [column.name for column in WIDE]
    with pytest.raises(Unsupported, match="Hive table"):
        hms.document(at)
    raw = hive_server.raw(catalogs.port, "s", "t")
    assert [key.name for key in raw.partitionKeys] == ["day"]
    assert raw.sd.cols[1].type == "struct<x:tinyint,y:char(3)>"
    with pytest.raises(AlreadyExists):
        hms.create_table(T, definition)
    with pytest.raises(NotFound, match="schema 'r'"):
        hms.create_table(TablePlace(("r",), "t"), definition)


def test_columns_keep_their_ids_through_every_change(catalogs: Catalogs, store: Store) -> None:
    hms = catalogs.open("hive")
    here = Opened(hms, store)
    at = here.create(t.TableDefinition("t", WIDE, None, {}, BY_DAY))
    before = hms.load_table(at).fields
    here.alter(
        at,
        t.RenameColumn(("a",), "b"),
        t.RenameColumn(("m",), "a"),
        t.AddColumn(("z",), "string", "new"),
        t.UpdateColumnType(("b",), "long"),
        t.SetTableProperty("k", "w"),
    )
    after = hms.load_table(at)
    assert [column.name for column in after.definition.columns] == ["b", "s", "a", "z", "day"]
    assert (after.fields["b"], after.fields["a"]) == (before["a"], before["m"])
    assert after.fields["z"] not in before.values()
    for change, error in (
        (t.DeleteColumn(("day",)), IllegalArgument),
        (t.RenameColumn(("none",), "x"), NotFound),
        (t.RenameColumn(("b",), "a"), AlreadyExists),
        (t.SetTableProperty("metadata_location", "s3://x"), IllegalArgument),
        (t.SetTableProperty("Table_Type", "ICEBERG"), IllegalArgument),
        (t.SetTableProperty("EXTERNAL", "FALSE"), IllegalArgument),
        (t.SetTableProperty("location", "s3://x"), IllegalArgument),
        # The files of the first column hold no such values: the metastore itself refuses it.
        (t.UpdateColumnPosition(("s",), "first"), IllegalArgument),
        (t.RenameTable("u"), Unsupported),
    ):
        with pytest.raises(error):
            hms.alter_table(at, (change,))
    assert hms.load_table(at) == after
    staged = hms.alter_table(at, (t.DeleteColumn(("z",)),))
    staged.abandon()
    assert list(hms.load_table(at).fields) == ["b", "s", "a", "z", "day"]


def test_a_change_of_somebody_else_is_not_written_over(catalogs: Catalogs, store: Store) -> None:
    hms = catalogs.open("hive")
    at = Opened(hms, store).create(table(("a", "integer")))
    alter = hms.metastore.alter

    def overtaken(*arguments: Any) -> None:
        with Thrift(catalogs.port) as client:
            other = hive_server.raw(catalogs.port, "s", "t")
            other.parameters["theirs"] = "kept"
            client.alter_table("s", "t", other)
        alter(*arguments)

    hms.metastore.alter = overtaken
    with pytest.raises(Conflict):
        hms.alter_table(at, (t.SetTableProperty("k", "v"),))
    assert hive_server.raw(catalogs.port, "s", "t").parameters["theirs"] == "kept"


def test_each_catalog_shows_its_formats(catalogs: Catalogs, store: Store) -> None:
    hms, iceberg = catalogs.open("hive"), catalogs.open("iceberg")
    Opened(hms, store).create(t.TableDefinition("h", (t.TableColumn("a", "long"),), None, {"format": "ORC"}))
    iceberg.create_table(TablePlace(("s",), "i"), table(("a", "long")))
    beside(catalogs.port, "d", None, parameters={"spark.sql.sources.provider": "delta"})
    beside(catalogs.port, "v", None, tableType="VIRTUAL_VIEW", viewOriginalText="x", viewExpandedText="x")
    assert hms.entries(("s",), ObjectType.TABLE) == ["h"]
    assert iceberg.entries(("s",), ObjectType.TABLE) == ["i"]
    assert hms.entries(("s",), ObjectType.VIEW) == ["v"]
    for catalog, name in ((iceberg, "h"), (hms, "i"), (hms, "d"), (hms, "H"), (hms, "h "), (hms, "v")):
        with pytest.raises(NotFound):
            catalog.load_table(TablePlace(("s",), name))
    for schema in ("S", "s ", "@hive#s", ""):
        assert not hms.schema_exists((schema,)), "it has one name here"
        with pytest.raises(NotFound):
            hms.load_table(TablePlace((schema,), "h"))
        with pytest.raises((IllegalArgument, NotFound)):
            hms.create_schema((schema,), None, {})
    with pytest.raises(NotFound):
        hms.entries(("r",), ObjectType.TABLE)


def test_more_tables_than_one_answer_holds_are_listed(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.catalogs.hive_metastore.pointers._BATCH", 3)
    names = [f"t{number}" for number in range(7)]
    for name in names:
        beside(catalogs.port, name, None)
    assert catalogs.open("hive").entries(("s",), ObjectType.TABLE) == names


def test_what_is_half_there_is_shown_as_broken(catalogs: Catalogs) -> None:
    hms = catalogs.open("hive")
    serde = hive.SerDeInfo(name="x", serializationLib="x", parameters={})
    column = hive.FieldSchema("a", "int")
    place = f"file://{catalogs.folder}/x"
    halves: dict[str, Any] = {
        "no_columns": hive.StorageDescriptor(cols=[], location=f"{place}/a", serdeInfo=serde),
        "no_serde": hive.StorageDescriptor(
            cols=[column], location=f"{place}/b", serdeInfo=hive.SerDeInfo(name="x", parameters={})
        ),
        "twice": hive.StorageDescriptor(cols=[column], location=f"{place}/c", serdeInfo=serde),
    }
    for name, stored in halves.items():
        stored.bucketCols, stored.sortCols, stored.parameters = [], [], {}
        keys = [column] if name == "twice" else []
        beside(catalogs.port, name, None, sd=stored, partitionKeys=keys)
    found = hms.entries(("s",), ObjectType.TABLE)
    assert found == sorted(halves)
    for name in halves:
        described = hms.described(TablePlace(("s",), name, 1))
        assert described.table.definition.properties["headgate.broken"], name
        assert described.columns is None


def test_a_location_outside_the_opened_places_is_shown_and_its_columns_too(
    catalogs: Catalogs, store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    hms = catalogs.open("hive")
    far = tmp_path_factory.mktemp("far") / "t"
    for name in ("t", "twin"):
        beside(catalogs.port, name, f"file://{far}")
    here = Opened(hms, store)
    found = hms.described(TablePlace(("s",), "t", here.schema))
    assert "outside the places" in found.table.definition.properties["headgate.broken"]
    assert found.table.definition.columns[0].type == "integer"
    with pytest.raises(Forbidden, match="something else"):
        hms.described(TablePlace(("s",), "twin", here.metalake))


def test_databases_are_made_and_dropped(catalogs: Catalogs, store: Store) -> None:
    hms = catalogs.open("hive")
    assert "s" in hms.schemas(())
    hms.alter_schema(("s",), {"l": "w"})
    kept = hms.metastore.namespace(("s",))
    assert {key: kept[key] for key in kept if key != "location"} == {"comment": "first", "l": "w"}
    hms.alter_schema(("s",), kept)
    for change in ({"location": f"file://{catalogs.folder}/elsewhere"}, {"location": ""}):
        with pytest.raises(IllegalArgument, match="location"):
            hms.alter_schema(("s",), change)
        with pytest.raises(IllegalArgument, match="location"):
            hms.create_schema(("r",), None, change)
    with pytest.raises(AlreadyExists):
        hms.create_schema(("s",), None, {})
    for wrong in (("S",), ("a", "b")):
        with pytest.raises(IllegalArgument):
            hms.create_schema(wrong, None, {})
    Opened(hms, store).create(table(("a", "long")))
    with pytest.raises(NotEmpty):
        hms.drop_schema(("s",), cascade=False)
    hms.drop_schema(("s",), cascade=True)
    assert "s" not in hms.schemas(())
    with pytest.raises(NotFound):
        hms.drop_schema(("s",), cascade=False)


@pytest.mark.parametrize("hidden", ["iceberg", "function", "odd"])
def test_a_schema_loses_no_table_while_it_holds_what_the_catalog_does_not_show(
    catalogs: Catalogs, store: Store, hidden: str
) -> None:
    hms = catalogs.open("hive")
    Opened(hms, store).create(t.TableDefinition("h", (t.TableColumn("a", "long"),), None, {}))
    if hidden == "iceberg":
        catalogs.open("iceberg").create_table(TablePlace(("s",), "i"), table(("a", "long")))
    elif hidden == "odd":
        beside(catalogs.port, "d", None, parameters={"table_type": "delta"})
    else:
        with Thrift(catalogs.port) as client:
            client.create_function(hive.Function("f", "s", "x.Y", "me", hive.PrincipalType.USER, 0, 1, []))
    with pytest.raises(NotEmpty, match="does not show"):
        hms.drop_schema(("s",), cascade=True)
    assert hms.entries(("s",), ObjectType.TABLE) == ["h"]
    if hidden == "function":
        with Thrift(catalogs.port) as client:
            client.drop_function("s", "f")


def files_of(catalog: Any, at: TablePlace) -> Path:
    """A file in a table's folder."""
    folder = Path(catalog.load_table(at).location.removeprefix("file://"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data").write_text("rows")
    return folder / "data"


def test_purging_a_hive_table_deletes_its_folder_and_dropping_it_does_not(
    catalogs: Catalogs, store: Store
) -> None:
    hms = catalogs.open("hive")
    here = Opened(hms, store)
    at = here.create(MANAGED)
    assert hms.load_table(at).definition.properties["table-type"] == "MANAGED_TABLE"
    kept = here.create(msgspec.structs.replace(MANAGED, name="u"))
    data, rest = files_of(hms, at), files_of(hms, kept)
    hms.drop_table(kept, purge=False)
    assert rest.exists(), "the metastore deletes nothing by itself"
    staged = hms.drop_table(at, purge=True)
    with store.write("test", "drop") as tx:
        staged.commit(tx, at.object)
        objects.drop(tx, at.object)
    staged.finish()
    assert not data.exists()
    assert hms.entries(("s",), ObjectType.TABLE) == []


@pytest.mark.parametrize("where", ["", "/below", "/..", "elsewhere", "of another format"])
def test_a_folder_is_purged_only_once_no_other_table_lies_in_it(
    catalogs: Catalogs, store: Store, where: str
) -> None:
    hms = catalogs.open("hive")
    at = Opened(hms, store).create(MANAGED)
    data, place = files_of(hms, at), hms.load_table(at).location
    if where == "of another format":
        pointer = {"table_type": "ICEBERG", "metadata_location": f"{place}/m.json", "EXTERNAL": "TRUE"}
        beside(catalogs.port, "u", f"file://{catalogs.folder}/u", parameters=pointer)
    elif where == "elsewhere":
        hms.create_schema(("r",), None, {})
        beside(catalogs.port, "t", f"{place}/x", "r")
    else:
        beside(catalogs.port, "u", place.rpartition("/")[0] if where == "/.." else place + where)
    with pytest.raises(IllegalArgument, match="shares its folder"):
        hms.drop_table(at, purge=True)
    assert data.exists()
    assert "t" in hms.entries(("s",), ObjectType.TABLE)
