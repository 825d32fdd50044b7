"""Unmodified Spark works with the Iceberg door, and reads the same rows whether it or the server plans."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.real.iceberg_lake import IcebergLake
from tests.real.spark_client import MARKS, SparkClient

pytestmark = MARKS

Read = Callable[[str], list[Any]]


@pytest.fixture
def same(spark: SparkClient) -> Read:
    return spark.same


@pytest.fixture
def lake(shared_lake: IcebergLake) -> IcebergLake:
    return shared_lake


@pytest.fixture(autouse=True)
def clean(spark: SparkClient) -> Iterator[None]:
    yield
    spark.sql("DROP TABLE IF EXISTS own.s.t")


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("version", [2, 3])
def test_rows_are_written_changed_and_read_both_ways(
    spark: SparkClient, same: Read, version: int, mode: str
) -> None:
    modes = ", ".join(f"'write.{what}.mode'='{mode}'" for what in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE own.s.t (id int, region string, at date) USING iceberg PARTITIONED BY (region) "
        f"TBLPROPERTIES ('format-version'='{version}', {modes})"
    )
    spark.sql(
        "INSERT INTO own.s.t SELECT /*+ COALESCE(1) */ CAST(id AS int), IF(id % 2 = 0, 'EU', 'US'), "
        "DATE_ADD(DATE'2024-01-01', CAST(id AS int)) FROM range(20)"
    )
    assert len(same("SELECT * FROM {t}")) == 20
    assert same("SELECT count(*), min(id), max(id) FROM {t} WHERE region = 'EU'") == [(10, 0, 18)]
    assert same("SELECT id FROM {t} WHERE at = DATE'2024-01-06'") == [(5,)]
    spark.sql("DELETE FROM own.s.t WHERE id IN (3, 4)")
    assert same("SELECT count(*) FROM {t}") == [(18,)]
    spark.sql("UPDATE own.s.t SET region = 'XX' WHERE id = 5")
    assert same("SELECT id FROM {t} WHERE region = 'XX'") == [(5,)]
    spark.sql(
        "MERGE INTO own.s.t t USING (SELECT 7 AS id UNION ALL SELECT 99) n ON t.id = n.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, region, at) VALUES (n.id, 'NEW', NULL)"
    )
    assert same("SELECT id FROM {t} WHERE id IN (7, 99)") == [(99,)]
    assert same("SELECT id FROM {t} WHERE at IS NULL") == [(99,)]
    spark.sql("INSERT OVERWRITE own.s.t SELECT 1, 'EU', DATE'2025-01-01'")
    spark.sql("DELETE FROM own.s.t WHERE region = 'US'")
    assert len(same("SELECT * FROM {t} WHERE region = 'EU'")) >= 1
    if version == 3:
        # The protocol's files have no sequence number, so only a client that plans by itself knows the other one.
        lineage = same("SELECT id, _row_id FROM {t}")
        assert all(row[1] is not None for row in lineage)
    kinds = {row[0] for row in spark.sql("SELECT content FROM own.s.t.all_files").collect()}
    assert (1 in kinds) == (mode == "merge-on-read"), "deletes are of the kind that was asked for"


@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes_hide_rows_both_ways(spark: SparkClient, same: Read, version: int) -> None:
    spark.sql(
        f"CREATE TABLE own.s.t (id int, v string) USING iceberg TBLPROPERTIES ('format-version'='{version}')"
    )
    spark.sql("INSERT INTO own.s.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.delete_by_equality("own.s.t", 2)
    spark.sql("INSERT INTO own.s.t VALUES (2, 'again')")
    assert same("SELECT * FROM {t}") == [(1, "a"), (2, "again"), (3, "c")]


def test_schema_and_partitioning_evolve(spark: SparkClient, same: Read) -> None:
    spark.sql("CREATE TABLE own.s.t (id int, name string, at timestamp) USING iceberg")
    spark.sql("INSERT INTO own.s.t VALUES (1, 'a', TIMESTAMP'2024-01-01 00:00:00')")
    spark.sql("ALTER TABLE own.s.t ADD COLUMN extra struct<x: int>")
    spark.sql("ALTER TABLE own.s.t RENAME COLUMN name TO label")
    spark.sql("ALTER TABLE own.s.t ALTER COLUMN id TYPE bigint")
    spark.sql("ALTER TABLE own.s.t ADD PARTITION FIELD days(at)")
    spark.sql("INSERT INTO own.s.t VALUES (2, 'b', TIMESTAMP'2024-02-01 10:00:00', named_struct('x', 7))")
    spark.sql("ALTER TABLE own.s.t DROP PARTITION FIELD days(at)")
    spark.sql("ALTER TABLE own.s.t ADD PARTITION FIELD bucket(4, id)")
    spark.sql("INSERT INTO own.s.t VALUES (3, 'c', NULL, NULL)")
    assert same("SELECT id, label, extra.x FROM {t}") == [(1, "a", None), (2, "b", 7), (3, "c", None)]
    assert same("SELECT id FROM {t} WHERE at >= TIMESTAMP'2024-02-01 00:00:00'") == [(2,)]
    assert same("SELECT id FROM {t} WHERE label = 'a'") == [(1,)]
    spark.sql("ALTER TABLE own.s.t DROP COLUMN label")
    assert same("SELECT * FROM {t} WHERE id = 3") == [(3, None, None)]


def test_branches_tags_and_time_travel(spark: SparkClient, same: Read) -> None:
    spark.sql("CREATE TABLE own.s.t (id int) USING iceberg")
    spark.sql("INSERT INTO own.s.t VALUES (1)")
    spark.sql("ALTER TABLE own.s.t CREATE TAG first")
    spark.sql("ALTER TABLE own.s.t CREATE BRANCH dev")
    spark.sql("INSERT INTO own.s.t.branch_dev VALUES (2)")
    spark.sql("INSERT INTO own.s.t VALUES (3)")
    snapshot = spark.sql("SELECT snapshot_id FROM own.s.t.history ORDER BY made_current_at").first()[0]
    assert same("SELECT * FROM {t}") == [(1,), (3,)]
    assert same("SELECT * FROM {t} VERSION AS OF 'first'") == [(1,)]
    assert same("SELECT * FROM {t} VERSION AS OF 'dev'") == [(1,), (2,)]
    assert same(f"SELECT * FROM {{t}} VERSION AS OF {snapshot}") == [(1,)]
    spark.sql(f"CALL own.system.rollback_to_snapshot('s.t', {snapshot})")
    assert same("SELECT * FROM {t}") == [(1,)]
    spark.sql("ALTER TABLE own.s.t DROP TAG first")
    spark.sql("ALTER TABLE own.s.t DROP BRANCH dev")


def test_views_are_made_read_replaced_and_dropped(spark: SparkClient, lake: IcebergLake) -> None:
    spark.sql("CREATE TABLE own.s.t (id int, v string) USING iceberg")
    spark.sql("INSERT INTO own.s.t VALUES (1, 'a'), (2, 'b')")
    spark.sql("CREATE VIEW own.s.w AS SELECT id FROM own.s.t WHERE v = 'a'")
    assert [tuple(row) for row in spark.sql("SELECT * FROM own.s.w").collect()] == [(1,)]
    view = lake.server.must(lake.token, "GET", "/api/metalakes/lake/catalogs/cat/schemas/s/views/w")["view"]
    assert view["representations"][0]["dialect"] == "spark"
    spark.sql("CREATE OR REPLACE VIEW own.s.w AS SELECT id FROM own.s.t WHERE v = 'b'")
    assert [tuple(row) for row in spark.sql("SELECT * FROM own.s.w").collect()] == [(2,)]
    assert [row[1] for row in spark.sql("SHOW VIEWS IN own.s").collect()] == ["w"]
    spark.sql("ALTER VIEW own.s.w RENAME TO own.s.x")
    spark.sql("DROP VIEW own.s.x")
    assert spark.sql("SHOW VIEWS IN own.s").collect() == []


def test_large_plans_are_fetched_in_tasks(spark: SparkClient, same: Read, lake: IcebergLake) -> None:
    spark.sql(
        "CREATE TABLE own.s.t (id int, p int) USING iceberg PARTITIONED BY (p) "
        "TBLPROPERTIES ('write.spark.fanout.enabled'='false', 'write.distribution-mode'='range')"
    )
    spark.sql("INSERT INTO own.s.t SELECT CAST(id AS int), CAST(id AS int) FROM range(2100) ORDER BY 2")
    before = lake.plans("t")
    assert same("SELECT count(*), sum(id) FROM {t} WHERE id >= 0") == [(2100, sum(range(2100)))]
    assert lake.plans("t") >= before + 3, "one plan and two tasks"


def test_what_is_missing_is_told_so_by_spark(spark: SparkClient, lake: IcebergLake) -> None:
    spark.sql("CREATE TABLE own.s.t (id int) USING iceberg")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM own.s.missing").collect()
    assert lake.ask("POST", "/namespaces/s/tables/t/plan", {"snapshot-id": 5}).status_code == 400
