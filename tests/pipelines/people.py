"""A table of people with something of everything, and the Python rows that are in it."""

import datetime as dt
import decimal
import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.pipelines.lake import Lake

REGIONS = ("EU", "US", None)
COLUMNS = (
    "id bigint, region string, email string, amount int, born date, price decimal(9,2), "
    "home struct<zip: string, city: string>, tags array<struct<k: string, v: string>>"
)
Row = dict[str, Any]


def people(first: int, count: int) -> list[Row]:
    return [
        {
            "id": n,
            "region": REGIONS[n % 3],
            "email": f"person{n}@example.org" if n % 7 else None,
            "amount": n * 10 - 50,
            "born": dt.date(1950 + n % 50, 1 + n % 12, 1 + n % 28),
            "price": decimal.Decimal(n * 125).scaleb(-2),
            "home": {"zip": f"{10000 + n}", "city": f"city{n % 4}"} if n % 5 else None,
            "tags": [{"k": f"k{n}", "v": f"v{n}"}, {"k": "x", "v": None}] if n % 4 else None,
        }
        for n in range(first, first + count)
    ]


def insert(lake: Lake, table: str, rows: list[Row], columns: str = COLUMNS) -> None:
    """Append rows, one file per partition."""
    lake.spark.createDataFrame(rows, columns.replace(": ", ":")).coalesce(1).writeTo(table).append()


def evolved(lake: Lake, version: int, *, file_format: str = "parquet") -> tuple[str, list[Row]]:
    """A table that was renamed, promoted, added to, dropped from and partitioned anew, with deletes of every kind.

    Answers the rows that are left, by the names of the current schema.
    """
    more = f", 'write.format.default'='{file_format}'"
    table = lake.create(COLUMNS + ", note string", version=version, partitioned="region", more=more)
    first = people(0, 24)
    insert(lake, table, [{**row, "note": f"note{row['id']}"} for row in first], COLUMNS + ", note string")
    sql = lake.spark.sql
    sql(f"ALTER TABLE {table} RENAME COLUMN amount TO total")
    sql(f"ALTER TABLE {table} ALTER COLUMN total TYPE bigint")
    sql(f"ALTER TABLE {table} ADD COLUMN level string")
    sql(f"ALTER TABLE {table} DROP COLUMN note")
    sql(f"ALTER TABLE {table} ADD COLUMN home.country string")
    sql(f"ALTER TABLE {table} REPLACE PARTITION FIELD region WITH bucket(2, id)")
    second = [
        {
            **{k: v for k, v in row.items() if k != "amount"},
            "total": row["amount"] + 2**40,
            "level": f"level{row['id'] % 3}",
            "home": None if row["home"] is None else {**row["home"], "country": f"c{row['id'] % 2}"},
        }
        for row in people(24, 24)
    ]
    insert(
        lake,
        table,
        second,
        "id bigint, region string, email string, total bigint, born date, price decimal(9,2), "
        "home struct<zip: string, city: string, country: string>, tags array<struct<k: string, v: string>>, level string",
    )
    left = [
        {
            **{k: v for k, v in row.items() if k != "amount"},
            "total": row["amount"],
            "level": None,
            "home": None if row["home"] is None else {**row["home"], "country": None},
        }
        for row in first
    ] + second
    if version > 1:
        sql(f"DELETE FROM {table} WHERE id IN (3, 4, 30, 31)")
        # The delete is of the first spec's partition without a region, where person 5 is and person 40 is not.
        delete_equal(lake, table, "email", ["person5@example.org", "person40@example.org"])
        left = [r for r in left if r["id"] not in (3, 4, 30, 31, 5)]
    return table, left


def delete_equal(lake: Lake, table: str, column: str, values: list[str]) -> None:
    """Commit an equality delete in the spec 0 and no partition, as a stream processor would."""
    java = lake.java(table)
    iceberg = lake.spark._jvm.org.apache.iceberg
    field_id = java.schema().findField(column).fieldId()
    path = f"{java.location()}/data/equal-{java.currentSnapshot().snapshotId()}.parquet"
    field = pa.field(column, pa.string(), metadata={"PARQUET:field_id": str(field_id)})
    pq.write_table(pa.table([values], schema=pa.schema([field])), path.removeprefix("file:"))
    ids = lake.spark._sc._gateway.new_array(lake.spark._jvm.int, 1)
    ids[0] = field_id
    delete = (
        iceberg.FileMetadata.deleteFileBuilder(iceberg.PartitionSpec.unpartitioned())
        .ofEqualityDeletes(ids)
        .withPath(path)
        .withFormat("PARQUET")
        .withFileSizeInBytes(os.path.getsize(path.removeprefix("file:")))
        .withRecordCount(len(values))
        .build()
    )
    java.newRowDelta().addDeletes(delete).commit()
