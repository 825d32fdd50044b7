"""Iceberg tables in a Hive Metastore are shared with other writers, and no commit is lost among them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.types import StringType
from pymetastore.hive_metastore import ttypes as hive

from headgate.catalogs.hive_metastore import locks, pointers, wire
from headgate.catalogs.hive_metastore.client import MetastoreClient
from headgate.catalogs.interface import TablePlace
from headgate.catalogs.outside.line import NoAnswer
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model import tables as t
from headgate.model.errors import (
    AlreadyExists,
    Conflict,
    ConnectionFailed,
    HeadgateError,
    NotFound,
    OutcomeUnknown,
    Unsupported,
)
from headgate.model.objects import ObjectType
from headgate.store import Store
from tests.catalogs import hive_server
from tests.catalogs.hive_server import Thrift, beside
from tests.catalogs.suite import Opened, table

pytestmark = pytest.mark.real

ROWS = pa.table({"a": pa.array([1, 2], pa.int32())})


@pytest.fixture(params=["hive_metastore", "hive_metastore_four"])
def port(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    # What answers are lost is said here; a machine that is busy is to lose none.
    monkeypatch.setattr(wire, "READING", 25.0)
    found: int = request.getfixturevalue(request.param)
    hive_server.emptied(found)
    yield found
    hive_server.emptied(found)


@pytest.fixture
def here(port: int, store: Store, tmp_path: Path) -> Iterator[Opened]:
    catalog = opened_catalog(port, store, tmp_path)
    catalog.create_schema(("s",), None, {})
    yield Opened(catalog, store)
    catalog.close()


def opened_catalog(port: int, store: Store, folder: Path) -> PointerCatalog:
    found = hive_server.opened_catalog("iceberg", store, hive_server.properties(port, folder), folder)
    assert isinstance(found, PointerCatalog)
    return found


def locked_now(port: int) -> list[Any]:
    with Thrift(port) as client:
        found: list[Any] = client.show_locks(hive.ShowLocksRequest(dbname="s", tablename="t")).locks
        return found


def lock(port: int) -> int:
    """A lock that somebody else takes."""
    part = hive.LockComponent(hive.LockType.EXCLUSIVE, hive.LockLevel.TABLE, "s", "t")
    with Thrift(port) as client:
        answer = client.lock(hive.LockRequest([part], user="them", hostname="there"))
    assert answer.state == hive.LockState.ACQUIRED
    number: int = answer.lockid
    return number


def unlock(port: int, number: int) -> None:
    with Thrift(port) as client:
        client.unlock(hive.UnlockRequest(number))


def columns(here: Opened, at: TablePlace) -> list[str]:
    return list(here.catalog.load_table(at).fields)


def test_an_entry_is_kept_as_icebergs_own_catalogs_keep_it(here: Opened, port: int) -> None:
    at = here.create(table(("a", "integer"), ("at", "timestamp_tz"), ("u", "uuid")))
    before = hive_server.raw(port, "s", "t")
    parameters = before.parameters
    assert (before.tableType, parameters["EXTERNAL"], parameters["table_type"]) == (
        "EXTERNAL_TABLE",
        "TRUE",
        "ICEBERG",
    )
    assert "previous_metadata_location" not in parameters
    types = [(column.name, column.type) for column in before.sd.cols]
    assert types == [("a", "int"), ("at", "timestamp with local time zone"), ("u", "string")]
    assert before.sd.inputFormat == "org.apache.hadoop.mapred.FileInputFormat"
    assert before.sd.outputFormat == "org.apache.hadoop.mapred.FileOutputFormat"
    assert before.sd.serdeInfo.serializationLib == "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    here.alter(at, t.AddColumn(("b",), "string"))
    after = hive_server.raw(port, "s", "t").parameters
    assert after["previous_metadata_location"] == parameters["metadata_location"]
    assert after["metadata_location"] != parameters["metadata_location"]


def test_what_others_keep_of_an_entry_stays_but_for_what_would_be_wrong(here: Opened, port: int) -> None:
    at = here.create(table(("a", "integer")))
    with Thrift(port) as client:
        entry = hive_server.raw(port, "s", "t")
        entry.parameters |= {"theirs": "kept", "current-snapshot-id": "7", "numRows": "9"}
        entry.sd.serdeInfo.serializationLib = "org.apache.iceberg.mr.hive.HiveIcebergSerDe"
        client.alter_table("s", "t", entry)
    here.alter(at, t.AddColumn(("b",), "string"))
    found = hive_server.raw(port, "s", "t")
    assert found.parameters["theirs"] == "kept"
    assert not {"current-snapshot-id", "numRows"} & set(found.parameters)
    assert found.sd.serdeInfo.serializationLib == "org.apache.iceberg.mr.hive.HiveIcebergSerDe"


def test_pyiceberg_writes_what_was_made_here_and_the_other_way_round(
    store: Store, hive_metastore: int, tmp_path: Path
) -> None:
    hive_server.emptied(hive_metastore)
    iceberg = opened_catalog(hive_metastore, store, tmp_path)
    iceberg.create_schema(("s",), None, {})
    here = Opened(iceberg, store)
    place = {"uri": f"thrift://127.0.0.1:{hive_metastore}", "warehouse": f"file://{tmp_path}/tables"}
    theirs = HiveCatalog("theirs", **place)
    at = here.create(table(("a", "integer")))
    theirs.load_table("s.t").append(ROWS)
    here.alter(at, t.AddColumn(("b",), "string"))
    assert theirs.load_table("s.t").scan().to_arrow()["a"].to_pylist() == [1, 2]
    stale = theirs.load_table("s.t").transaction()
    stale.update_schema().add_column("z", StringType()).commit()
    here.alter(at, t.AddColumn(("c",), "string"))
    with pytest.raises(CommitFailedException):
        stale.commit_transaction()
    theirs.create_table("s.u", ROWS.schema, location=f"file://{tmp_path}/tables/u")
    assert iceberg.entries(("s",), ObjectType.TABLE) == ["t", "u"]
    iceberg.rename(TablePlace(("s",), "u"), TablePlace(("s",), "v"))
    assert theirs.load_table("s.v").schema().fields[0].name == "a"
    iceberg.close()
    hive_server.emptied(hive_metastore)


def test_two_writers_lose_no_commit(here: Opened, port: int, store: Store, tmp_path: Path) -> None:
    at = here.create(table(("a", "integer")))
    others = [opened_catalog(port, store, tmp_path) for _ in range(2)]
    done, lost = [], []

    def write(number: int) -> None:
        for each in range(4):
            name = f"w{number}_{each}"
            while True:
                try:
                    others[number].alter_table(at, (t.AddColumn((name,), "string"),))
                except Conflict:
                    continue
                except HeadgateError as error:
                    lost.append(error)
                    return
                done.append(name)
                break

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not lost
    assert sorted(columns(here, at)) == sorted(["a", *done])
    assert len(done) == 8
    assert locked_now(port) == []
    for other in others:
        other.close()


@contextmanager
def no_lock(client: Any, at: Any) -> Iterator[Any]:
    yield lambda: None


def moved_by_others(here: Opened, port: int, at: TablePlace) -> None:
    """Another writer, who asks for no lock, makes its commit."""
    with Thrift(port) as client:
        entry = hive_server.raw(port, "s", "t")
        document = here.catalog.document(at)  # type: ignore[union-attr]
        place = document.location.rpartition("/")[0] + "/theirs.metadata.json"
        here.catalog.storage.write(place, {**document.metadata, "properties": {"theirs": "x"}})
        entry.parameters["metadata_location"] = place
        client.alter_table("s", "t", entry)


def test_who_comes_before_the_lock_is_seen(here: Opened, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    at, times = here.create(table(("a", "integer"))), []
    real = locks.locked

    def late(client: Any, place: Any) -> Any:
        if not times:
            times.append(1)
            moved_by_others(here, port, at)
        return real(client, place)

    monkeypatch.setattr(pointers, "locked", late)
    here.alter(at, t.AddColumn(("b",), "string"))
    assert columns(here, at) == ["a", "b"]
    assert here.catalog.load_table(at).definition.properties["theirs"] == "x", "made anew from what was there"


def test_a_metastore_that_compares_the_pointer_itself_needs_no_lock(
    store: Store, hive_metastore_four: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = hive_metastore_four
    hive_server.emptied(port)
    catalog = opened_catalog(port, store, tmp_path)
    catalog.create_schema(("s",), None, {})
    here = Opened(catalog, store)
    at, times = here.create(table(("a", "integer"))), []
    ask = MetastoreClient.ask

    def overtaken(self: MetastoreClient, operation: str, *more: Any) -> Any:
        if operation.startswith("alter_table") and not times:
            times.append(1)
            moved_by_others(here, port, at)
        return ask(self, operation, *more)

    monkeypatch.setattr(pointers, "locked", no_lock)
    monkeypatch.setattr(MetastoreClient, "ask", overtaken)
    here.alter(at, t.AddColumn(("b",), "string"))
    assert times
    assert here.catalog.load_table(at).definition.properties["theirs"] == "x"
    catalog.close()
    hive_server.emptied(port)


def test_a_lock_of_somebody_else_is_waited_for_and_then_given_up(
    here: Opened, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = here.create(table(("a", "integer")))
    theirs = lock(port)
    threading.Timer(0.5, unlock, (port, theirs)).start()
    here.alter(at, t.AddColumn(("b",), "string"))
    assert columns(here, at) == ["a", "b"]
    monkeypatch.setattr(locks, "_PATIENCE", 0.2)
    theirs = lock(port)
    with pytest.raises(Conflict, match="locked by somebody else"):
        here.alter(at, t.AddColumn(("c",), "string"))
    assert [each.lockid for each in locked_now(port)] == [theirs], "what was asked for is given back"
    unlock(port, theirs)
    assert columns(here, at) == ["a", "b"]


def failing(monkeypatch: pytest.MonkeyPatch, operation: str, *, after: bool, times: int = 1) -> None:
    """Makes an operation fail, after it was done or before it."""
    ask, left = MetastoreClient.ask, [times]

    def fail(self: MetastoreClient, asked: str, *more: Any) -> Any:
        if asked != operation or not left[0]:
            return ask(self, asked, *more)
        left[0] -= 1
        if after:
            ask(self, asked, *more)
        raise NoAnswer("the metastore does not answer")

    monkeypatch.setattr(MetastoreClient, "ask", fail)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.metadata.json")}


ALTER = "alter_table_with_environment_context"


@pytest.mark.parametrize(
    ("operation", "after", "error"),
    [
        ("lock", False, ConnectionFailed),
        ("lock", True, ConnectionFailed),
        ("heartbeat", True, ConnectionFailed),
        (ALTER, False, OutcomeUnknown),
        (ALTER, True, None),
        ("unlock", True, None),
        ("unlock", False, None),
    ],
)
def test_whatever_answer_is_lost_no_lock_stays_and_the_outcome_is_known_or_said_not_to_be(
    here: Opened,
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
    after: bool,
    error: type[HeadgateError] | None,
) -> None:
    at = here.create(table(("a", "integer")))
    before = files(tmp_path)
    failing(monkeypatch, operation, after=after)
    if error is None:
        here.alter(at, t.AddColumn(("b",), "string"))
        assert columns(here, at) == ["a", "b"]
    else:
        with pytest.raises(error) as failed:
            here.alter(at, t.AddColumn(("b",), "string"))
        unknown = isinstance(failed.value, OutcomeUnknown)
        assert unknown is (error is OutcomeUnknown), "what was never asked for is known not to have happened"
        assert (files(tmp_path) == before) is not unknown, "a document that may be pointed to is kept"
        assert columns(here, at) == ["a"]
    deadline = time.monotonic() + 5
    while locked_now(port) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert locked_now(port) == []


def test_a_name_is_given_and_taken(here: Opened, port: int) -> None:
    at = here.create(table(("a", "integer")))
    iceberg = here.catalog
    assert isinstance(iceberg, PointerCatalog)
    iceberg.create_schema(("r",), None, {})
    iceberg.create_table(TablePlace(("s",), "u"), table(("a", "long")))
    beside(port, "h", None)
    for to, error in (
        (TablePlace(("s",), "u"), AlreadyExists),
        (TablePlace(("s",), "h"), AlreadyExists),
        (TablePlace(("q",), "t"), NotFound),
    ):
        with pytest.raises(error):
            iceberg.rename(at, to)
    iceberg.rename(at, TablePlace(("r",), "w"))
    assert iceberg.entries(("r",), ObjectType.TABLE) == ["w"]
    assert iceberg.entries(("s",), ObjectType.TABLE) == ["u"]
    with Thrift(port) as client:
        entry = hive_server.raw(port, "s", "u")
        entry.tableType, entry.parameters["EXTERNAL"] = "MANAGED_TABLE", "FALSE"
        client.alter_table("s", "u", entry)
    with pytest.raises(Unsupported, match="moved"):
        iceberg.rename(TablePlace(("s",), "u"), TablePlace(("s",), "x"))
    assert locked_now(port) == []


def test_purging_deletes_the_files_and_dropping_does_not(here: Opened, tmp_path: Path) -> None:
    at = here.create(table(("a", "integer")))
    written = files(tmp_path)
    here.catalog.drop_table(at, purge=False).abandon()
    assert files(tmp_path) == written
    staged = here.catalog.drop_table(at, purge=True)
    here.commit(staged, at)
    staged.finish()
    assert files(tmp_path) == set()
