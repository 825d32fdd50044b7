"""Unmodified clients of someone with a restricted view: no question of theirs, in any mode, is answered with what it hides.

Where a client cannot be served it fails; what it says then holds nothing either. Ann sees the rows of one region, bob
also no numbers and masked mails.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real.iceberg_clients import pyiceberg, run_duckdb
from tests.real.iceberg_lake import IcebergLake
from tests.real.spark_client import MARKS, SparkClient

pytestmark = MARKS

ABROAD = ("US-9c1d77", "7700001", "7700002", "SSN-us-1", "SSN-us-2", "us.one@q7.io", "us.two@q7.io")
NUMBERS = ("SSN-eu-1", "SSN-eu-2", "SSN-eu-3")
MAILS = ("eu.one@q7.io", "eu.two@q7.io", "eu.three@q7.io")
HIDDEN = {"ann": ABROAD, "bob": (*ABROAD, *NUMBERS, *MAILS)}
POLICIES = """\
policy: guarded-rows
on: lake.cat.s.guarded
to: [user:ann, user:bob]
rows: region = 'EU'
---
policy: guarded-numbers
on: lake.cat.s.guarded
to: [user:bob]
hide: [ssn]
---
policy: guarded-mails
on: lake.cat.s.guarded
to: [user:bob]
mask: {mail: show_last_4(mail)}
"""


@dataclass(frozen=True)
class Guarded:
    """The table and who looks at it."""

    spark: SparkClient
    lake: IcebergLake
    tokens: dict[str, str]
    snapshots: list[int]

    def count(self) -> int:
        """How many rows there really are."""
        return int(self.spark.rows("SELECT count(*) FROM own.s.guarded")[0][0])


@pytest.fixture(scope="module")
def guarded(spark: SparkClient, shared_lake: IcebergLake) -> Guarded:
    spark.sql(
        "CREATE TABLE own.s.guarded (id int, region string, ssn string, mail string) USING iceberg "
        "PARTITIONED BY (region) TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
    )
    spark.sql(
        f"INSERT INTO own.s.guarded VALUES (1, 'EU', '{NUMBERS[0]}', '{MAILS[0]}'), "
        f"(2, 'EU', '{NUMBERS[1]}', '{MAILS[1]}'), (7700001, '{ABROAD[0]}', '{ABROAD[3]}', '{ABROAD[5]}')"
    )
    spark.sql(
        f"INSERT INTO own.s.guarded VALUES (3, 'EU', '{NUMBERS[2]}', '{MAILS[2]}'), "
        f"(7700002, '{ABROAD[0]}', '{ABROAD[4]}', '{ABROAD[6]}')"
    )
    must, api = shared_lake.server.must, "/api/metalakes/lake"
    privileges = ("use_catalog", "use_schema", "select_table", "modify_table")
    allowed = [{"name": name, "condition": "allow"} for name in privileges]
    role = {
        "name": "guarded",
        "securableObjects": [{"fullName": "cat", "type": "catalog", "privileges": allowed}],
    }
    must(shared_lake.token, "POST", f"{api}/roles", role)
    tokens = {}
    for user in HIDDEN:
        must(shared_lake.token, "POST", f"{api}/users", {"name": user})
        must(shared_lake.token, "PUT", f"{api}/permissions/users/{user}/grant", {"roleNames": ["guarded"]})
        tokens[user] = shared_lake.token_of(user)
        spark.attach(user, tokens[user], None)
    files = [{"file": "guarded.yaml", "text": POLICIES}]
    must(
        shared_lake.token,
        "POST",
        "/api/headgate/policies/apply?metalake=lake",
        {"files": files, "whole": False},
    )
    history = spark.sql("SELECT snapshot_id FROM own.s.guarded.history ORDER BY made_current_at").collect()
    return Guarded(spark, shared_lake, tokens, [int(row[0]) for row in history])


def outcome(ask: Callable[[], Any]) -> str:
    """What a client says, be it an answer or an error."""
    try:
        return str(ask())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def leaks(said: str, *hidden: str) -> list[str]:
    return [value for value in hidden if value in said]


def test_rows_counts_and_bounds_are_those_that_one_sees(guarded: Guarded) -> None:
    rows = guarded.spark.rows
    assert [row[0] for row in rows("SELECT id FROM ann.s.guarded")] == [1, 2, 3]
    query = "SELECT count(*), count(ssn), min(id), max(id), min(region), max(ssn) FROM ann.s.guarded"
    assert rows(query) == [(3, 3, 1, 3, "EU", "SSN-eu-3")]
    assert rows("SELECT region, count(*) FROM ann.s.guarded GROUP BY region") == [("EU", 3)]
    assert rows("SELECT * FROM ann.s.guarded WHERE region <> 'EU' OR id > 1000") == []
    assert rows("SELECT max(id), min(ssn) FROM own.s.guarded WHERE id > 1000") == [(7700002, "SSN-us-1")], (
        "they are there"
    )


@pytest.mark.parametrize("user", HIDDEN)
def test_what_is_not_seen_is_in_no_answer_to_spark(guarded: Guarded, user: str) -> None:
    table = f"{user}.s.guarded"
    queries = [
        f"SELECT * FROM {table}",
        f"SELECT count(*), min(id), max(id), min(mail), max(mail), min(region), max(region) FROM {table}",
        f"SELECT region, count(*) FROM {table} GROUP BY region",
        f"SELECT mail, _file, _pos, _partition FROM {table}",
        f"DESCRIBE TABLE EXTENDED {table}",
        f"SHOW CREATE TABLE {table}",
        f"SHOW PARTITIONS {table}",
        *(f"SELECT * FROM {table} VERSION AS OF {snapshot}" for snapshot in guarded.snapshots),
    ]
    for query in queries:
        said = outcome(lambda query=query: guarded.spark.rows(query))  # type: ignore[misc]
        assert leaks(said, *HIDDEN[user]) == [], query


@pytest.mark.parametrize("user", HIDDEN)
def test_metadata_tables_tell_nothing_of_what_is_not_seen(guarded: Guarded, user: str) -> None:
    """They are planned by the client, from manifests: those that it can reach hold nothing else."""
    for name in (
        "files",
        "all_data_files",
        "entries",
        "partitions",
        "manifests",
        "all_manifests",
        "position_deletes",
        "snapshots",
        "history",
        "metadata_log_entries",
        "refs",
    ):
        query = f"SELECT * FROM {user}.s.guarded.{name}"
        said = outcome(lambda query=query: guarded.spark.rows(query))  # type: ignore[misc]
        real = str(guarded.spark.rows(f"SELECT * FROM own.s.guarded.{name}"))
        whole = [path for path in _paths(guarded) if path in real]
        assert leaks(said, *HIDDEN[user], *whole) == [], name
    real, kept = (
        dict(guarded.spark.rows(f"SELECT snapshot_id, summary FROM {who}.s.guarded.snapshots"))
        for who in ("own", user)
    )
    assert real.keys() == kept.keys()
    for id, rows in zip(guarded.snapshots, (2, 3), strict=True):
        summary = kept[id]
        assert real[id]["total-records"] != str(rows)
        assert summary.get("total-records", str(rows)) == str(rows), "of what one sees, if it is told at all"
        assert summary.keys() & {"added-files-size", "changed-partition-count", "added-records"} == set()


def _paths(guarded: Guarded) -> set[str]:
    """Manifest lists, manifests, and files of rows that are not seen: what the real table is made of."""
    spark = guarded.spark
    files = spark.rows("SELECT file_path FROM own.s.guarded.files WHERE file_path LIKE '%US-%'")
    manifests = spark.rows("SELECT path FROM own.s.guarded.all_manifests")
    lists = spark.rows("SELECT manifest_list FROM own.s.guarded.snapshots")
    return {row[0] for row in (*files, *manifests, *lists)}


@pytest.mark.parametrize("user", HIDDEN)
def test_incremental_reads_bring_nothing_that_is_not_seen(guarded: Guarded, user: str) -> None:
    first, last = guarded.snapshots

    def between(catalog: str) -> Any:
        reader = guarded.spark.session.read.format("iceberg")
        reader = reader.option("start-snapshot-id", first).option("end-snapshot-id", last)
        return reader.load(f"{catalog}.s.guarded").collect()

    assert leaks(str(between("own")), *ABROAD) != [], "the owner gets them"
    assert leaks(outcome(lambda: between(user)), *HIDDEN[user]) == []


def test_a_predicate_on_a_masked_column_never_finds_the_original(guarded: Guarded) -> None:
    for predicate in (f"mail = '{MAILS[0]}'", "mail LIKE 'eu.one%'", f"mail IN ('{MAILS[0]}', '{MAILS[1]}')"):
        query = "SELECT count(*) FROM {}.s.guarded WHERE " + predicate
        assert guarded.spark.rows(query.format("own"))[0][0] > 0
        said = outcome(lambda query=query: guarded.spark.rows(query.format("bob")))  # type: ignore[misc]
        assert said == "[(0,)]" or not said.startswith("["), said


@pytest.mark.parametrize("user", HIDDEN)
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {t} WHERE id > 0",
        "DELETE FROM {t}",
        "UPDATE {t} SET region = 'EU'",
        "INSERT INTO {t} VALUES (9, 'EU', 'x', 'y')",
        "INSERT OVERWRITE {t} VALUES (9, 'EU', 'x', 'y')",
        "MERGE INTO {t} t USING (SELECT 1 AS id) n ON t.id = n.id WHEN MATCHED THEN DELETE",
        "ALTER TABLE {t} DROP PARTITION FIELD region",
        "ALTER TABLE {t} CREATE BRANCH mine",
    ],
)
def test_writing_through_a_restricted_view_is_refused_and_changes_nothing(
    guarded: Guarded, user: str, statement: str
) -> None:
    before = guarded.lake.ask("GET", "/namespaces/s/tables/guarded").json()
    with pytest.raises(Exception, match=r"."):
        guarded.spark.sql(statement.format(t=f"{user}.s.guarded")).collect()
    assert guarded.lake.ask("GET", "/namespaces/s/tables/guarded").json() == before
    assert guarded.count() == 5


@pytest.mark.parametrize("user", HIDDEN)
def test_pyiceberg_gets_nothing_else_whoever_plans(guarded: Guarded, user: str) -> None:
    for mode in ({}, {"scan-planning-mode": "server"}):
        table = pyiceberg(guarded.lake, guarded.tokens[user], **mode).load_table("s.guarded")
        asks: list[Callable[[], Any]] = [
            lambda table=table: table.scan().to_arrow().to_pylist(),  # type: ignore[misc]
            lambda table=table: list(table.scan(row_filter="id > 1000").plan_files()),  # type: ignore[misc]
            lambda table=table: table.scan().count(),  # type: ignore[misc]
            lambda table=table: table.inspect.files().to_pylist(),  # type: ignore[misc]
            lambda table=table: table.inspect.partitions().to_pylist(),  # type: ignore[misc]
            lambda table=table: table.inspect.snapshots().to_pylist(),  # type: ignore[misc]
            lambda table=table: table.inspect.manifests().to_pylist(),  # type: ignore[misc]
        ]
        for number, ask in enumerate(asks):
            said = outcome(ask)
            assert leaks(said, *HIDDEN[user]) == [], (mode, number)
            assert said != "5", "not even how many rows there are"


@pytest.mark.parametrize("user", HIDDEN)
def test_duckdb_gets_nothing_else(guarded: Guarded, duckdb_python: Path, user: str) -> None:
    for sql in (
        "SELECT * FROM l.s.guarded",
        "SELECT count(*), min(id), max(id), max(region) FROM l.s.guarded",
        "SELECT * FROM iceberg_metadata(l.s.guarded)",
        "SELECT * FROM iceberg_snapshots(l.s.guarded)",
    ):
        ran = run_duckdb(duckdb_python, guarded.lake, guarded.tokens[user], sql)
        assert leaks(ran.stdout + ran.stderr, *HIDDEN[user]) == [], sql
        assert "(5," not in ran.stdout, "not even how many rows there are"
