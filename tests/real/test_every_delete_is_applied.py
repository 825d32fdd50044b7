"""Rows that any kind of delete removed are gone for every client, whoever plans; a client that cannot apply one says so."""

from pathlib import Path

import pytest
from pyiceberg.catalog.rest import RestCatalog

from tests.real.iceberg_clients import duckdb, pyiceberg
from tests.real.iceberg_lake import IcebergLake
from tests.real.spark_client import MARKS, SparkClient

pytestmark = MARKS

POSITIONS, EQUALITY = 1, 2
KINDS = [
    pytest.param("position2", 2, (POSITIONS, "PARQUET"), id="v2 position deletes"),
    pytest.param("equality2", 2, (EQUALITY, "PARQUET"), id="v2 equality deletes"),
    pytest.param("vectors3", 3, (POSITIONS, "PUFFIN"), id="v3 deletion vectors"),
    pytest.param("equality3", 3, (EQUALITY, "PARQUET"), id="v3 equality deletes"),
    pytest.param("upgraded3", 3, (POSITIONS, "PARQUET"), id="v3 position deletes from before the upgrade"),
]


@pytest.fixture(scope="module")
def catalogs(shared_lake: IcebergLake) -> list[RestCatalog]:
    """pyiceberg planning by itself, and letting the server plan."""
    return [pyiceberg(shared_lake), pyiceberg(shared_lake, **{"scan-planning-mode": "server"})]


def make(spark: SparkClient, name: str, version: int, kind: tuple[int, str]) -> int:
    """Rows 0 to 7 in two files, of which 3 and 4 are deleted and 4 comes again; the snapshot before the deletes."""
    first = 2 if name.startswith("upgraded") else version
    # An equality delete without a partition applies to every file; one of the sort that streams write.
    layout = "" if kind[0] == EQUALITY else "PARTITIONED BY (region)"
    spark.sql(
        f"CREATE TABLE own.s.{name} (id int, region string) USING iceberg {layout} "
        f"TBLPROPERTIES ('format-version'='{first}', 'write.delete.mode'='merge-on-read')"
    )
    halves = (("EU", "id % 2 = 0"), ("US", "id % 2 = 1"))
    for region, half in halves:
        spark.sql(
            f"INSERT INTO own.s.{name} SELECT /*+ COALESCE(1) */ CAST(id AS int), '{region}' "
            f"FROM range(8) WHERE {half}"
        )
    before = int(spark.rows(f"SELECT snapshot_id FROM own.s.{name}.refs")[0][0])
    if kind[0] == EQUALITY:
        for id in (3, 4):
            spark.delete_by_equality(f"own.s.{name}", id)
    else:
        spark.sql(f"DELETE FROM own.s.{name} WHERE id IN (3, 4)")
    if first != version:
        spark.sql(f"ALTER TABLE own.s.{name} SET TBLPROPERTIES ('format-version'='{version}')")
    spark.sql(f"INSERT INTO own.s.{name} VALUES (4, 'EU')")
    return before


@pytest.mark.parametrize(("name", "version", "kind"), KINDS)
def test_every_client_sees_the_same_rows(
    spark: SparkClient,
    shared_lake: IcebergLake,
    catalogs: list[RestCatalog],
    duckdb_python: Path,
    name: str,
    version: int,
    kind: tuple[int, str],
) -> None:
    before = make(spark, name, version, kind)
    told = spark.rows(f"SELECT DISTINCT content, file_format FROM own.s.{name}.delete_files")
    assert told == [kind], "the deletes are of the kind that is to be shown"
    expected = [0, 1, 2, 4, 5, 6, 7]
    assert spark.same("SELECT id FROM {t}", name) == [(id,) for id in expected]
    assert spark.same("SELECT count(*), min(id), max(id) FROM {t} WHERE region = 'US'", name) == [(3, 1, 7)]
    assert spark.same(f"SELECT count(*) FROM {{t}} VERSION AS OF {before}", name) == [(8,)]
    sql = f"SELECT id FROM l.s.{name} ORDER BY id; SELECT count(*) FROM l.s.{name} AT (VERSION => {before})"
    assert duckdb(duckdb_python, shared_lake, sql) == [str([(id,) for id in expected]), "[(8,)]"]
    for catalog in catalogs:
        scan = catalog.load_table(f"s.{name}").scan()
        if kind[0] == EQUALITY:
            with pytest.raises((ValueError, NotImplementedError), match="does not yet support equality"):
                scan.to_arrow()
        else:
            assert sorted(scan.to_arrow()["id"].to_pylist()) == expected
        earlier = catalog.load_table(f"s.{name}").scan(snapshot_id=before).to_arrow()
        assert sorted(earlier["id"].to_pylist()) == list(range(8))


def test_rows_keep_their_ids_when_others_change(spark: SparkClient) -> None:
    modes = ", ".join(f"'write.{what}.mode'='merge-on-read'" for what in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE own.s.lineage (id int, v string) USING iceberg TBLPROPERTIES ('format-version'='3', {modes})"
    )
    spark.sql("INSERT INTO own.s.lineage SELECT /*+ COALESCE(1) */ CAST(id AS int), 'a' FROM range(4)")
    given = dict(spark.same("SELECT id, _row_id FROM {t}", "lineage"))
    assert sorted(given.values()) == [0, 1, 2, 3]
    spark.sql("UPDATE own.s.lineage SET v = 'b' WHERE id = 1")
    spark.sql("DELETE FROM own.s.lineage WHERE id = 2")
    spark.sql("INSERT INTO own.s.lineage VALUES (9, 'c')")
    now = dict(spark.same("SELECT id, _row_id FROM {t}", "lineage"))
    assert {id: row for id, row in now.items() if id != 9} == {id: given[id] for id in (0, 1, 3)}
    assert now[9] not in given.values(), "a new row has an id that no row had"
