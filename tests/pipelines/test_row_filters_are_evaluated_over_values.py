"""Promise: a row filter keeps the rows that the language says, whatever a table is partitioned by and wherever NULL is."""

import uuid
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, UUIDType

from tests.pipelines.lake import STORAGE, Lake, expected, view

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

COLUMNS = "id bigint, region string, l int"
ROWS = [
    {"id": 10 * i + j, "region": region, "l": number}
    for i, region in enumerate(("a", "ab", "b", "", None))
    for j, number in enumerate((0, 1, -1, None))
]
FILTERS = (
    "region LIKE 'a%' OR l = 0",
    "region NOT LIKE 'a%' OR l = 0",
    "NOT (region LIKE 'a%' AND l = 0)",
    "region LIKE 'a%'",
    "starts_with(region, 'a') OR l > 0",
    "l < 0 OR region = 'b'",
    "NOT (l >= 0) OR region = 'b'",
    "l <= 0 OR region < 'ab'",
    "l IN (0, 1) OR region IN ('b')",
    "l NOT IN (0, 1) OR region LIKE 'b%'",
    "l IS NULL OR region LIKE '%b'",
    "coalesce(l, 7) = 7 OR region <> 'a'",
)


@pytest.mark.parametrize("partitioned", ["region", "region, l", "truncate(1, region), bucket(2, l)"])
def test_filters_over_nullable_partition_columns(lake: Lake, partitioned: str) -> None:
    table = lake.create(COLUMNS, partitioned=partitioned)
    lake.spark.createDataFrame(ROWS, COLUMNS).coalesce(1).writeTo(table).append()
    document = lake.document(table)
    for number, rows in enumerate(FILTERS):
        # With and without a mask: files are copied one by one, and merged.
        seen = view(document, rows=rows, mask={} if number % 2 else {"region": "sha256(region)"})
        assert lake.through(table, seen).in_pyiceberg() == expected(seen, ROWS), rows


IDS = [str(uuid.UUID(int=n * 0x1111_1111_1111_1111_1111_1111_1111_1111)) for n in range(16)]


def uuids(lake: Lake, partitioned: str) -> tuple[str, list[dict[str, Any]]]:
    """Spark writes uuids, but cannot make a column of them."""
    table = lake.create("id bigint")
    java, types = lake.java(table), lake.spark._jvm.org.apache.iceberg.types.Types
    java.updateSchema().addColumn("u", types.UUIDType.get()).commit()
    spec = java.updateSpec()
    if partitioned == "identity":
        spec.addField("u").commit()
    elif partitioned:
        expressions = lake.spark._jvm.org.apache.iceberg.expressions.Expressions
        spec.addField(expressions.bucket("u", 4)).commit()
    lake.spark.sql(f"REFRESH TABLE {table}")
    rows = [{"id": n, "u": None if n == 3 else IDS[n]} for n in range(16)]
    for part in (rows[:8], rows[8:]):
        lake.spark.createDataFrame(part, "id bigint, u string").coalesce(1).writeTo(table).append()
    return table, [{**row, "u": None if row["u"] is None else uuid.UUID(row["u"])} for row in rows]


@pytest.mark.parametrize("partitioned", ["", "identity", "bucket"])
def test_filters_over_uuids(lake: Lake, partitioned: str) -> None:
    table, rows = uuids(lake, partitioned)
    document = lake.document(table)
    for text in (
        f"u = UUID '{IDS[5]}'",
        f"u = UUID '{IDS[15].upper()}'",
        f"u IN (UUID '{IDS[1]}', UUID '{IDS[9]}', UUID '{IDS[14]}')",
        f"u <> UUID '{IDS[5]}'",
        f"u NOT IN (UUID '{IDS[1]}', UUID '{IDS[9]}')",
        f"u = UUID '{IDS[2]}' OR id = 12",
        f"NOT (u = UUID '{IDS[2]}') OR id = 3",
        f"CAST(u AS VARCHAR) LIKE '{IDS[10][:8]}%'",
    ):
        seen = view(document, rows=text)
        assert [row[1] for row in lake.through(table, seen).in_pyiceberg()] == [
            row[1] for row in expected(seen, rows)
        ], text


class Foreign(Lake):
    """A lake whose tables another writer made: they are named by where their documents lie."""

    def document(self, table: str) -> dict[str, Any]:
        return STORAGE.read(table)


def test_filters_over_uuids_of_another_writer(lake: Lake) -> None:
    """Other writers keep other statistics and dictionaries, which Iceberg for Java does not compare with uuids."""
    folder = lake.folder / "foreign"
    folder.mkdir()
    catalog = SqlCatalog("foreign", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalog.create_namespace("s")
    fields = NestedField(1, "id", LongType()), NestedField(2, "u", UUIDType())
    table = catalog.create_table("s.t", Schema(*fields))
    cells = pa.array([uuid.UUID(text).bytes for text in IDS], pa.binary(16)).cast(pa.uuid())
    table.append(pa.table([pa.array(range(16), pa.int64()), cells], schema=table.schema().as_arrow()))
    foreign = Foreign(lake.spark, lake.folder)
    for text, ids in (
        (f"u = UUID '{IDS[5]}'", [5]),
        (f"u IN (UUID '{IDS[1]}', UUID '{IDS[14]}')", [1, 14]),
        (f"NOT (u = UUID '{IDS[5]}') AND id < 7", [0, 1, 2, 3, 4, 6]),
    ):
        seen = view(foreign.document(table.metadata_location), rows=text)
        governed = foreign.through(table.metadata_location, seen)
        assert sorted(row[1] for row in governed.in_spark()) == ids, text
