"""A SQLite file that somebody else made is data: nothing in it runs, and no question to it takes long."""

import resource
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from headgate.catalogs.databases import connections, iceberg_tables, sqlite_files
from headgate.catalogs.databases.iceberg_tables import JdbcPointers
from headgate.catalogs.interface import TablePlace
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model.errors import ConnectionFailed, Damaged, HeadgateError
from headgate.model.objects import ObjectType
from headgate.store import Store
from tests.catalogs import jdbc

ENDLESS = "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c)"
ROW = "'jdbc' AS catalog_name, 's' AS table_namespace, 't' AS table_name, 'x' AS metadata_location"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(jdbc.on_sqlite(tmp_path)["jdbc-url"].removeprefix("jdbc:sqlite:"))


@pytest.fixture
def catalog(file: Path, store: Store, tmp_path: Path) -> Iterator[PointerCatalog]:
    found = jdbc.opened_catalog(store, jdbc.on_sqlite(tmp_path), tmp_path)
    found.create_schema(("s",), None, {})
    yield found
    found.close()


def run(file: Path, *statements: str) -> None:
    """What the owner of the file does to it."""
    with closing(sqlite3.connect(file)) as theirs, theirs:
        for statement in statements:
            theirs.execute(statement)


def pointers(catalog: PointerCatalog) -> JdbcPointers:
    assert isinstance(catalog.system, JdbcPointers)
    return catalog.system


@pytest.mark.parametrize(
    "select",
    [
        f"SELECT {ROW}, '' AS previous_metadata_location, 'TABLE' AS iceberg_type",
        f"SELECT {ROW}, '' AS previous_metadata_location, 'TABLE' AS iceberg_type FROM {ENDLESS}",
    ],
)
def test_a_view_in_the_place_of_a_table_is_not_looked_at(
    catalog: PointerCatalog, file: Path, select: str
) -> None:
    run(file, "DROP TABLE iceberg_tables", f"CREATE VIEW iceberg_tables AS {select}")
    started = time.monotonic()
    with pytest.raises(ConnectionFailed, match="refuses"):
        catalog.entries(("s",), ObjectType.TABLE)
    with pytest.raises(ConnectionFailed):
        catalog.document(TablePlace(("s",), "t"))
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "does",
    [
        "DELETE FROM iceberg_namespace_properties",
        f"SELECT count(*) FROM {ENDLESS}",
        "INSERT INTO iceberg_tables VALUES ('jdbc', 's', 'mine', 'file:///etc/passwd', '', 'TABLE')",
    ],
)
def test_no_trigger_of_the_file_runs(catalog: PointerCatalog, file: Path, does: str) -> None:
    run(file, f"CREATE TRIGGER x AFTER INSERT ON iceberg_namespace_properties BEGIN {does}; END")
    started = time.monotonic()
    with pytest.raises(HeadgateError):
        catalog.create_schema(("u",), None, {})
    assert time.monotonic() - started < 3
    assert catalog.schemas(()) == ["s"]
    assert catalog.entries(("s",), ObjectType.TABLE) == []


def test_what_the_schema_of_the_file_calls_is_not_trusted(catalog: PointerCatalog) -> None:
    with pointers(catalog).connections.transaction() as tx:
        assert tx.execute(text("PRAGMA trusted_schema")).scalar() == 0
    with pytest.raises(ConnectionFailed), pointers(catalog).connections.transaction() as tx:
        tx.execute(text("ATTACH '/tmp/other.db' AS other"))


def test_no_question_takes_longer_than_it_may(
    catalog: PointerCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_CUT", 0.5)
    started = time.monotonic()
    with pytest.raises(ConnectionFailed), pointers(catalog).connections.transaction() as tx:
        tx.execute(text(f"SELECT count(*) FROM {ENDLESS}")).scalar()
    assert time.monotonic() - started < 5
    time.sleep(1.1)
    assert catalog.schemas(()) == ["s"], "it recovers"


def test_names_take_no_more_memory_than_they_may(
    catalog: PointerCatalog, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_tables, "_MOST_LETTERS", 4_000_000)
    numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000)"
    long = "hex(zeroblob(100000)) || x"
    run(file, f"{numbers} INSERT INTO iceberg_tables SELECT 'jdbc', 's', {long}, '', '', 'TABLE' FROM c")
    run(
        file,
        f"{numbers} INSERT INTO iceberg_namespace_properties SELECT 'jdbc', 's', {long}, 'v' FROM c",
        f"{numbers} INSERT INTO iceberg_namespace_properties SELECT 'jdbc', {long}, 'k', 'v' FROM c",
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for asked in (
        lambda: catalog.entries(("s",), ObjectType.TABLE),
        lambda: catalog.schemas(()),
        lambda: catalog.system.namespace(("s",)),
    ):
        with pytest.raises(Damaged):
            asked()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000, "in KiB"
    run(file, "UPDATE iceberg_tables SET table_name = zeroblob(10000000) WHERE rowid = 1")
    with pytest.raises(HeadgateError):
        catalog.entries(("s",), ObjectType.TABLE)


def test_a_journal_that_would_be_played_back_for_long_is_refused(
    catalog: PointerCatalog, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_files, "_LARGEST_JOURNAL", 1000)
    Path(f"{file}-wal").write_bytes(b"x" * 2000)
    with pytest.raises(Damaged, match="journal"):
        catalog.schemas(())
