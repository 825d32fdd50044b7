"""What the native catalog promises beyond the shared suite: real files, no lost update, no escape, no shared folder."""

import json
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.table import StaticTable, Table

from headgate.catalogs.iceberg import storage
from headgate.catalogs.iceberg.describing import descriptions
from headgate.catalogs.interface import TablePlace
from headgate.catalogs.locations import checked_warehouse, inside
from headgate.catalogs.native import Native
from headgate.model import tables as t
from headgate.model.errors import Conflict, ConnectionFailed, HeadgateError, IllegalArgument
from headgate.model.objects import ObjectType
from headgate.store import Store, objects, pointers
from tests.catalogs.suite import Opened, table
from tests.openings import opened as allowed


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    return tmp_path / "warehouse"


@pytest.fixture
def opened(store: Store, warehouse: Path) -> Opened:
    return Opened(Native(store, str(warehouse), "lake/cat", {}, allowed(warehouse)), store)


def append(opened: Opened, at: TablePlace, rows: pa.Table) -> None:
    """Write rows with pyiceberg and move the pointer to the result."""
    native = opened.catalog
    assert isinstance(native, Native)
    before = native.load_table(at).metadata_location
    assert before is not None
    metadata = descriptions.parsed(native.storage.read(before))
    transaction = Table(("t",), metadata, before, native.storage.io, NoopCatalog("none")).transaction()
    transaction.append(rows)
    after = transaction.table_metadata
    written = before.replace("/metadata/0", "/metadata/1")
    native.storage.write(written, json.loads(after.model_dump_json()))
    with opened.store.write("test", "append") as tx:
        pointers.swap(tx, at.object, before, written)


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_a_table_is_a_real_iceberg_table(opened: Opened, warehouse: Path) -> None:
    at = opened.create(table(("id", "long"), ("region", "string")))
    append(opened, at, pa.table({"id": [1, 2], "region": ["eu", "us"]}))
    opened.alter(at, t.AddColumn(("extra",), "string"), t.RenameColumn(("id",), "key"))
    location = opened.catalog.load_table(at).metadata_location
    assert location is not None
    read = StaticTable.from_metadata(location).scan().to_arrow().to_pydict()
    assert read == {"key": [1, 2], "region": ["eu", "us"], "extra": [None, None]}
    assert all(path.is_relative_to(warehouse / "lake" / "cat" / "s") for path in files(warehouse))


def test_partitions_are_those_that_hold_data(opened: Opened) -> None:
    steps = (
        t.Partitioning("identity", field_name=("region",)),
        t.Partitioning("identity", field_name=("day",)),
    )
    at = opened.create(table(("region", "string"), ("day", "date"), partitioning=steps))
    assert opened.partitions(at) == []
    days = pa.array([19000, 19000, 19040], pa.int32()).cast(pa.date32())
    append(opened, at, pa.table({"region": ["a/b", None, "a/b"], "day": days}))
    found = opened.partitions(at)
    assert [partition.name for partition in found] == [
        "region=a%2Fb/day=2022-01-08",
        "region=a%2Fb/day=2022-02-17",
        "region=null/day=2022-01-08",
    ]
    assert found[0].field_names == (("region",), ("day",))
    assert [value.value for value in found[0].values] == ["a/b", "2022-01-08"]
    assert [value.data_type for value in found[0].values] == ["string", "date"]
    assert found[2].values[0].data_type == "null"


def test_two_writers_at_once_never_lose_an_update(opened: Opened) -> None:
    at = opened.create(table(("a", "integer")))
    meet = threading.Barrier(2)
    refused: list[str] = []

    def writer(name: str) -> None:
        staged = opened.catalog.alter_table(at, (t.AddColumn((name,), "string"),))
        meet.wait()
        try:
            opened.commit(staged, at)
        except Conflict:
            staged.abandon()
            refused.append(name)

    threads = [threading.Thread(target=writer, args=(name,)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    kept = {"x", "y"} - set(refused)
    assert set(opened.catalog.load_table(at).fields) == {"a"} | kept


def test_what_is_staged_and_never_committed_changes_nothing(opened: Opened, warehouse: Path) -> None:
    at = opened.create(table(("a", "integer")))
    before = opened.catalog.load_table(at)
    pointed = files(warehouse)
    staged = opened.catalog.alter_table(at, (t.AddColumn(("b",), "string"),))
    # The process dies here: a fresh one finds the table as it was, and one file that nothing points to.
    fresh = Native(opened.store, str(warehouse), "lake/cat", {}, allowed(warehouse))
    assert fresh.load_table(at) == before
    assert len(files(warehouse) - pointed) == 1
    staged.abandon()
    assert files(warehouse) == pointed


def test_a_drop_keeps_the_files_and_a_purge_deletes_them(opened: Opened, warehouse: Path) -> None:
    kept = opened.create(table(("a", "long")))
    append(opened, kept, pa.table({"a": [1]}))
    staged = opened.catalog.drop_table(kept, purge=False)
    with opened.store.write("test", "drop") as tx:
        staged.commit(tx, kept.object)
        objects.drop(tx, kept.object)
    staged.finish()
    left = files(warehouse)
    assert any(path.suffix == ".parquet" for path in left)
    purged = opened.create(table(("a", "long")))
    append(opened, purged, pa.table({"a": [1]}))
    assert files(warehouse) > left
    staged = opened.catalog.drop_table(purged, purge=True)
    with opened.store.write("test", "drop") as tx:
        staged.commit(tx, purged.object)
        objects.drop(tx, purged.object)
    staged.finish()
    assert files(warehouse) == left


def test_a_table_made_again_shares_no_folder_with_the_former(opened: Opened) -> None:
    locations = set()
    for _ in range(2):
        at = opened.create(table(("a", "integer")))
        locations.add(opened.catalog.load_table(at).location)
        with opened.store.write("test", "drop") as tx:
            objects.drop(tx, at.object)
    first, second = sorted(locations)
    assert not inside(first, second)
    assert not inside(second, first)


def test_no_name_escapes_the_catalogs_folder(store: Store, warehouse: Path) -> None:
    native = Native(store, str(warehouse), "lake/cat", {}, allowed(warehouse))
    for name in ("a/b", "a=b", "x y", "a:b@c+d", "日本", "a" * 128, "..", "../../etc"):
        staged = native.create_table(TablePlace(("s", name), name), table(("a", "integer")))
        assert inside(staged.result.location, f"file://{warehouse}/lake/cat")
        assert len(staged.result.location.removeprefix(f"file://{warehouse}/").split("/")) == 5


def test_purge_refuses_a_folder_that_is_not_the_tables_own(opened: Opened, warehouse: Path) -> None:
    at = opened.create(table(("a", "integer")))
    native = opened.catalog
    assert isinstance(native, Native)
    before = native.load_table(at).metadata_location
    assert before is not None
    metadata = native.storage.read(before)
    own = metadata["table-uuid"].replace("-", "")
    for number, wrong in enumerate((f"file://{warehouse}", "file:///", f"file://{warehouse}x/t-{own}")):
        written = before.replace(".metadata.json", f"-{number}.metadata.json")
        native.storage.write(written, {**metadata, "location": wrong})
        with opened.store.write("test", "move") as tx:
            pointers.swap(tx, at.object, before, written)
        with pytest.raises(IllegalArgument, match="folder of its own"):
            native.drop_table(at, purge=True)
        with opened.store.write("test", "back") as tx:
            pointers.swap(tx, at.object, written, before)


def test_containment_goes_by_segments() -> None:
    assert inside("s3://b/t1/data/x", "s3://b/t1")
    assert inside("s3://b/t1", "s3://b/t1/")
    for outside in (
        "s3://b/t10",
        "s3://b/t1/../t2",
        "s3://b/t1//x",
        "s3://bb/t1",
        "file://b/t1",
        "s3://b",
        "s3://b/t1/./x",
    ):
        assert not inside(outside, "s3://b/t1"), outside


def test_only_plain_absolute_places_can_be_warehouses() -> None:
    assert checked_warehouse("/data/w/") == "file:///data/w"
    assert checked_warehouse("file:/data/w") == "file:///data/w"
    assert checked_warehouse("s3://bucket/path/") == "s3://bucket/path"
    for wrong in (
        "",
        "/",
        "data",
        "file://host",
        "s3://",
        "s3://b/../c",
        "/a/./b",
        "/a//b",
        "/a?b",
        "/a*",
        "/a%2Fb",
        "ftp://x",
    ):
        with pytest.raises(IllegalArgument):
            checked_warehouse(wrong)


def test_a_warehouse_that_cannot_be_written_fails_its_test(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConnectionFailed):
        Native(store, str(tmp_path / "file"), "lake/cat", {}, allowed(tmp_path)).test()


def test_metadata_that_is_gone_is_said_so(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_kept", storage._RecentDocuments(0))
    at = opened.create(table(("a", "integer")))
    location = opened.catalog.load_table(at).metadata_location
    assert location is not None
    Path(location.removeprefix("file://")).unlink()
    with pytest.raises(HeadgateError, match="missing"):
        opened.catalog.load_table(at)
    with opened.store.write("test", "odd") as tx:
        odd = objects.create(tx, opened.schema, opened.metalake, ObjectType.TABLE, "odd")
    with pytest.raises(HeadgateError, match="no metadata"):
        opened.catalog.load_table(TablePlace(("s",), "odd", odd))


def test_no_property_of_a_catalog_makes_the_server_load_code(store: Store, warehouse: Path) -> None:
    native = Native(
        store,
        str(warehouse),
        "lake/cat",
        {"py-io-impl": "antigravity.Nothing", "s3-region": "eu"},
        allowed(warehouse),
    )
    assert native.storage.io.properties == {
        "client.region": "eu",
        "s3.region": "eu",
        "s3.path-style-access": "false",
        "s3.force-virtual-addressing": "true",
        "headgate.places": f"file://{warehouse}",
    }
