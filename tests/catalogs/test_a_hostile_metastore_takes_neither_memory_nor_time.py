"""A server that says it is a Hive Metastore may answer anything: it takes no more memory and time than it may, and fails
nothing here."""

import resource
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore import ttypes as hive

from headgate.catalogs.hive_metastore import wire as wires
from headgate.catalogs.hive_metastore.catalog import hive_catalog
from headgate.catalogs.interface import TablePlace
from headgate.catalogs.outside import pages
from headgate.model.errors import ConnectionFailed, Damaged, HeadgateError, NotFound
from headgate.model.objects import ObjectType
from headgate.store import Store
from tests.catalogs.any_metastore import AnyMetastore, any_metastore, reply, success
from tests.openings import opened

T = TablePlace(("s",), "t", 1)
DATABASE = hive.Database(name="s", parameters={})
LARGEST = 2 * 1024 * 1024
TEXT, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15


@pytest.fixture
def metastore() -> Iterator[AnyMetastore]:
    with any_metastore() as found:
        yield found


@pytest.fixture
def catalog(metastore: AnyMetastore, store: Store, tmp_path: Path) -> Iterator[Any]:
    declared = {"metastore.uris": metastore.url, "warehouse": f"file://{tmp_path}/tables"}
    allowed = opened(tmp_path, largest_document=LARGEST)
    found = hive_catalog("hive", store, "hms", "lake/hms", declared, allowed, None)
    yield found
    found.close()


def names(catalog: Any) -> list[str]:
    found: list[str] = catalog.entries(("s",), ObjectType.TABLE)
    return found


def answers(metastore: AnyMetastore, **bodies: bytes) -> None:
    """Answer these operations with these bodies, and say of a database that it is there."""
    known = {"get_database": success(DATABASE), **bodies}
    metastore.answer = lambda operation, wire: reply(operation, known[operation])


def field(kind: int, number: int) -> bytes:
    return struct.pack("!bh", kind, number)


def size(number: int) -> bytes:
    return struct.pack("!i", number)


HUGE = 2_000_000_000
ANNOUNCED = {
    "a text": field(TEXT, 0) + size(HUGE),
    "a text in a field that nobody knows": field(TEXT, 99) + size(HUGE),
    "a list of texts": field(LIST, 0) + bytes([TEXT]) + size(HUGE),
    "a list in a field that nobody knows": field(LIST, 99) + bytes([2]) + size(HUGE) + b"\x00" * 1_000,
    "a list below nothing": field(LIST, 0) + bytes([TEXT]) + size(-1),
    "a text below nothing": field(LIST, 0) + bytes([TEXT]) + size(1) + size(-7),
    "a map of maps": field(MAP, 99) + bytes([MAP, MAP]) + size(HUGE),
    "a set": field(SET, 99) + bytes([TEXT]) + size(HUGE),
    "a list of one empty text after the other": field(LIST, 0)
    + bytes([TEXT])
    + size(100_000)
    + b"\x00" * 400_000,
}


@pytest.mark.parametrize("announced", list(ANNOUNCED.values()), ids=list(ANNOUNCED))
def test_what_is_announced_is_not_made(catalog: Any, metastore: AnyMetastore, announced: bytes) -> None:
    answers(metastore, get_all_tables=announced)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    with pytest.raises(Damaged, match=r"largest-document|otherwise than|larger than"):
        names(catalog)
    assert time.monotonic() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "in KiB"


def test_structs_that_are_nothing_on_the_wire_are_counted_as_what_they_are_here(
    catalog: Any, metastore: AnyMetastore
) -> None:
    one = hive.GetTablesResult(tables=[])
    many = field(STRUCT, 0) + field(LIST, 1) + bytes([STRUCT]) + size(100_000) + b"\x00" * 100_002
    listed = field(LIST, 0) + bytes([TEXT]) + size(1) + size(1) + b"t" + b"\x00"
    answers(metastore, get_all_tables=listed, get_table_objects_by_name_req=success(one))
    assert names(catalog) == []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answers(metastore, get_all_tables=listed, get_table_objects_by_name_req=many)
    with pytest.raises(Damaged, match="larger than 2 MiB"):
        names(catalog)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "in KiB"


def test_an_answer_without_an_end_is_not_read_to_its_end(catalog: Any, metastore: AnyMetastore) -> None:
    sent = []

    def endless(operation: str, wire: socket.socket) -> None:
        wire.sendall(reply(operation, field(LIST, 0) + bytes([TEXT]) + size(90_000)))
        with suppress(OSError):
            while True:
                wire.sendall((size(1_000) + b"x" * 1_000) * 100)
                sent.append(1)

    answers(metastore)
    known = metastore.answer
    metastore.answer = lambda operation, wire: (
        known(operation, wire) if operation == "get_database" else endless(operation, wire)
    )
    with pytest.raises(Damaged, match="larger than 2 MiB"):
        names(catalog)
    assert len(sent) < 200


@pytest.mark.parametrize("drips", [True, False])
def test_an_answer_that_does_not_come_is_given_up(
    catalog: Any, metastore: AnyMetastore, monkeypatch: pytest.MonkeyPatch, drips: bool
) -> None:
    monkeypatch.setattr("headgate.catalogs.hive_metastore.connections.LONGEST", 1.0)
    monkeypatch.setattr(wires, "READING", 0.5)

    def drip(operation: str, wire: socket.socket) -> None:
        with suppress(OSError):
            wire.sendall(reply(operation, field(LIST, 0) + bytes([TEXT]) + size(1_000)) if drips else b"")
            for _ in range(100):
                time.sleep(0.1)
                wire.sendall(b"\x00" if drips else b"")

    metastore.answer = drip
    started = time.monotonic()
    with pytest.raises(ConnectionFailed, match="Hive Metastore of catalog 'hms' does not answer"):
        catalog.schemas(())
    assert time.monotonic() - started < 5


NONSENSE = {
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "nothing that is known": b"\xff" * 64,
    "a message of an older protocol that is long": size(9_000_000) + b"get_all_databases",
    "an answer to another question": reply(
        "get_all_tables", field(LIST, 0) + bytes([TEXT]) + size(1) + size(1) + b"s" + b"\x00"
    ),
    "no result": reply("get_all_databases", b"\x00"),
    "half a character": reply(
        "get_all_databases", field(LIST, 0) + bytes([TEXT]) + size(1) + size(1) + b"\xff\x00"
    ),
    "a type that is none": reply("get_all_databases", bytes([77, 0, 0]) + b"\x00" * 9),
    "a struct for a list": reply("get_all_databases", field(STRUCT, 0) + b"\x00\x00"),
    "one name twice": reply(
        "get_all_databases", field(LIST, 0) + bytes([TEXT]) + size(2) + (size(1) + b"s") * 2 + b"\x00"
    ),
    "no name": reply("get_all_databases", field(LIST, 0) + bytes([TEXT]) + size(1) + size(0) + b"\x00"),
    "lists in lists": reply("get_all_databases", field(LIST, 9) + (bytes([LIST]) + size(1)) * 5_000),
}


@pytest.mark.parametrize("answer", list(NONSENSE.values()), ids=list(NONSENSE))
def test_nonsense_is_an_error_of_the_house_and_the_next_question_is_answered(
    catalog: Any, metastore: AnyMetastore, answer: bytes
) -> None:
    metastore.answer = lambda operation, wire: answer
    started = time.monotonic()
    with pytest.raises((Damaged, ConnectionFailed), match="Hive Metastore of catalog 'hms'"):
        catalog.schemas(())
    assert time.monotonic() - started < 5, "nothing more is waited for"
    listed = field(LIST, 0) + bytes([TEXT]) + size(1) + size(1) + b"s" + b"\x00"
    answers(metastore, get_all_databases=listed)
    assert catalog.schemas(()) == ["s"], "nothing of the former answer is left on the wire"


def wrong_tables() -> Iterator[Any]:
    stored = hive.StorageDescriptor(
        cols=[hive.FieldSchema("a", "int")], location="file:///x", serdeInfo=hive.SerDeInfo()
    )
    yield hive.Table()
    yield hive.Table(tableName="t", dbName="s")
    yield hive.Table(tableName="t", dbName="other", sd=stored)
    yield hive.Table(tableName="u", dbName="s", sd=stored)
    yield hive.Table(tableName="t", dbName="s", sd=hive.StorageDescriptor())
    yield hive.Table(tableName="t", dbName="s", sd=stored, parameters={"table_type": "ICEBERG"})
    yield hive.Table(tableName="t", dbName="s", sd=stored, createTime=-(2**31), parameters={"": ""})
    stored.cols = [hive.FieldSchema()]
    stored.sortCols, stored.numBuckets = [hive.Order()], -5
    yield hive.Table(tableName="t", dbName="s", sd=stored)


@pytest.mark.parametrize("wrong", list(wrong_tables()))
def test_half_a_table_fails_nothing(catalog: Any, metastore: AnyMetastore, wrong: Any) -> None:
    result = hive.GetTableResult(table=wrong)
    listed = field(LIST, 0) + bytes([TEXT]) + size(1) + size(1) + b"t" + b"\x00"
    answers(
        metastore,
        get_all_tables=listed,
        get_table_req=success(result),
        get_table_objects_by_name_req=success(hive.GetTablesResult(tables=[wrong])),
    )
    for ask in (lambda: names(catalog), lambda: catalog.described(T), lambda: catalog.document(T)):
        with suppress(HeadgateError):
            ask()


def test_a_table_under_another_name_is_not_taken_for_the_one_that_was_asked_for(
    catalog: Any, metastore: AnyMetastore
) -> None:
    stored = hive.StorageDescriptor(cols=[hive.FieldSchema("a", "int")], location="file:///x")
    for other in (("s", "u"), ("r", "t")):
        found = hive.Table(dbName=other[0], tableName=other[1], sd=stored)
        answers(metastore, get_table_req=success(hive.GetTableResult(table=found)))
        with pytest.raises(NotFound):
            catalog.described(T)


def test_a_list_takes_no_longer_than_it_may(
    catalog: Any, metastore: AnyMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_LONGEST", 0.5)
    monkeypatch.setattr("headgate.catalogs.hive_metastore.pointers._BATCH", 1)
    many = b"".join(size(3) + b"t%02d" % number for number in range(100))
    listed = field(LIST, 0) + bytes([TEXT]) + size(100) + many + b"\x00"
    answers(metastore, get_all_tables=listed)
    known, numbers = metastore.answer, iter(range(100))

    def slow(operation: str, wire: socket.socket) -> bytes | None:
        if operation != "get_table_objects_by_name_req":
            return known(operation, wire)
        time.sleep(0.1)
        table = hive.Table(tableName=f"t{next(numbers):02d}", dbName="s")
        return reply(operation, success(hive.GetTablesResult(tables=[table])))

    metastore.answer = slow
    with pytest.raises(Damaged, match="has no end"):
        names(catalog)
    assert len(metastore.asked) < 20


def test_a_metastore_that_takes_its_time_keeps_few_waiting(
    catalog: Any, metastore: AnyMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "READING", 0.5)
    found: list[str] = []

    def ask() -> None:
        try:
            catalog.schemas(())
        except ConnectionFailed as failed:
            found.append(failed.message)

    started = time.monotonic()
    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == ["the Hive Metastore of catalog 'hms' does not answer"] * 40
    assert time.monotonic() - started < 15
    assert len(metastore.asked) <= 40, "nor is it asked again"
