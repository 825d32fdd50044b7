"""Promise: Spark, pyiceberg and DuckDB read exactly what the lens shows, whatever shape the table is in."""

from typing import Any

import pytest

from tests.pipelines.lake import LAKE, Governed, Lake, expected, view
from tests.pipelines.people import COLUMNS, delete_equal, evolved, insert, people

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

STRICT = {
    "hide": ["price", "home.zip", "tags.element.v"],
    "mask": {
        "email": "show_last_4(email)",
        "born": "truncate_to_year(born)",
        "home.city": "sha256(home.city)",
        "id": "token(id, 'customers')",
    },
    "rows": "region = 'EU' OR price > 30.00",
}


def assert_seen(governed: Governed, want: list[Any]) -> None:
    assert want
    for engine, found in governed.by_every_engine().items():
        assert found == want, engine


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_that_changed_its_shape_and_has_deletes(lake: Lake, version: int) -> None:
    table, rows = evolved(lake, version)
    seen = view(lake.document(table), **STRICT)
    assert_seen(lake.through(table, seen), expected(seen, rows))


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_sources_of_other_formats(lake: Lake, file_format: str) -> None:
    table, rows = evolved(lake, 2, file_format=file_format)
    seen = view(lake.document(table), **STRICT)
    governed = lake.through(table, seen)
    assert {path.rsplit(".", 1)[-1] for copy in governed.copies for path in copy.source.paths} == {
        file_format
    }
    assert_seen(governed, expected(seen, rows))


def test_files_that_conform_are_given_as_they_are_and_the_partition_spec_is_kept(lake: Lake) -> None:
    table = lake.create(COLUMNS, partitioned="region")
    rows = people(0, 30)
    insert(lake, table, rows)
    seen = view(lake.document(table), rows="region = 'EU'")
    governed = lake.through(table, seen)
    assert len(governed.originals) == 1
    assert not governed.copies
    specs = {spec["spec-id"]: spec["fields"] for spec in governed.document["partition-specs"]}
    assert [field["name"] for field in specs[governed.document["default-spec-id"]]] == ["region"]
    assert_seen(governed, expected(seen, rows))


def test_a_file_with_deletes_is_copied_even_if_its_rows_conform(lake: Lake) -> None:
    table = lake.create(COLUMNS, partitioned="region")
    rows = people(0, 30)
    insert(lake, table, rows)
    lake.spark.sql(f"DELETE FROM {table} WHERE id = 0")
    seen = view(lake.document(table), rows="region = 'EU'")
    governed = lake.through(table, seen)
    assert not governed.originals
    assert [len(file.deletes) for copy in governed.copies for file in copy.source.files] == [1]
    assert_seen(governed, expected(seen, [r for r in rows if r["id"] != 0]))


def test_equality_deletes_of_a_whole_table(lake: Lake) -> None:
    table = lake.create(COLUMNS)
    rows = people(0, 30)
    insert(lake, table, rows)
    delete_equal(lake, table, "email", ["person5@example.org", "person6@example.org"])
    insert(lake, table, [rows[5]])
    seen = view(lake.document(table), hide=["email"])
    governed = lake.through(table, seen)
    assert sorted(len(file.deletes) for copy in governed.copies for file in copy.source.files) == [0, 1]
    assert_seen(governed, expected(seen, [r for r in rows if r["id"] != 6]))


def test_a_masked_partition_column_takes_the_spec_with_it(lake: Lake) -> None:
    table = lake.create(COLUMNS, partitioned="region, bucket(2, id)")
    rows = people(0, 30)
    insert(lake, table, rows)
    seen = view(lake.document(table), mask={"region": "constant('somewhere')"})
    governed = lake.through(table, seen)
    assert governed.document["partition-specs"] == [{"spec-id": 0, "fields": []}]
    assert_seen(governed, expected(seen, rows))


def test_every_row_and_no_row(lake: Lake) -> None:
    table, rows = evolved(lake, 2)
    every = view(lake.document(table), hide=["email"])
    assert_seen(lake.through(table, every), expected(every, rows))
    none = view(lake.document(table), rows="length(email) > 1000")
    governed = lake.through(table, none)
    assert [copy.files for copy in governed.copies] == [()] * len(governed.copies)
    assert governed.by_every_engine() == {"spark": [], "pyiceberg": [], "duckdb": []}


def test_older_snapshots_show_what_they_held_in_the_current_schema(lake: Lake) -> None:
    table = lake.create(COLUMNS)
    insert(lake, table, people(0, 10))
    first = lake.document(table)["current-snapshot-id"]
    insert(lake, table, people(10, 10))
    lake.spark.sql(f"ALTER TABLE {table} DROP COLUMN price")
    seen = view(lake.document(table), mask={"email": "mask_alphanum(email)"})
    governed = lake.through(table, seen, snapshot_id=first)
    shown, withheld = governed.document["snapshots"]
    assert shown["snapshot-id"] == first
    assert "withheld" in withheld["manifest-list"], "the other keeps its place, and names nothing"
    with pytest.raises(Exception, match="withheld"):
        lake.spark.read.format("iceberg").load(governed.location).count()
    at = lake.spark.read.format("iceberg").option("versionAsOf", first).load(governed.location)
    assert "price" not in at.columns
    assert at.count() == 10


def test_default_values_of_added_columns_are_filled_in(lake: Lake) -> None:
    table = lake.create("id bigint, name string", version=3)
    lake.spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    types = lake.spark._jvm.org.apache.iceberg.types.Types
    literal = lake.spark._jvm.org.apache.iceberg.expressions.Expressions.lit("somewhere")
    lake.java(table).updateSchema().addColumn("place", types.StringType.get(), literal).commit()
    lake.spark.sql(f"INSERT INTO {table} VALUES (3, 'c', 'here')")
    rows = [
        {"id": 1, "name": "a", "place": "somewhere"},
        {"id": 2, "name": "b", "place": "somewhere"},
        {"id": 3, "name": "c", "place": "here"},
    ]
    seen = view(lake.document(table), mask={"name": "sha256(name)"}, rows="place = 'somewhere'")
    assert_seen(lake.through(table, seen), expected(seen, rows))
    masked = view(lake.document(table), mask={"place": "mask_alphanum(place)"})
    governed = lake.through(table, masked)
    assert "somewhere" not in str(governed.document)
    assert_seen(governed, expected(masked, rows))


def test_a_table_that_was_upgraded_from_version_to_version(lake: Lake) -> None:
    table = lake.create(COLUMNS, version=1, partitioned="region")
    rows = people(0, 40)
    insert(lake, table, rows[:20])
    for version, part, gone in ((2, rows[20:30], 2), (3, rows[30:], 5)):
        lake.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='{version}')")
        insert(lake, table, part)
        lake.spark.sql(f"DELETE FROM {table} WHERE id = {gone}")
    seen = view(lake.document(table), **STRICT)
    assert_seen(lake.through(table, seen), expected(seen, [r for r in rows if r["id"] not in (2, 5)]))


def test_files_without_field_ids_are_read_by_name(lake: Lake) -> None:
    table = lake.create("id bigint, name string")
    folder = f"{lake.document(table)['location']}/imported"
    lake.spark.sql("SELECT 1L AS id, 'a' AS name UNION ALL SELECT 2L, 'b'").coalesce(1).write.parquet(folder)
    lake.spark.sql(
        f"CALL {LAKE}.system.add_files('{table.removeprefix(LAKE + '.')}', '`parquet`.`{folder}`')"
    )
    lake.spark.sql(f"ALTER TABLE {table} RENAME COLUMN name TO called")
    seen = view(lake.document(table), mask={"called": "sha256(called)"}, rows="id = 2")
    assert_seen(
        lake.through(table, seen), expected(seen, [{"id": 1, "called": "a"}, {"id": 2, "called": "b"}])
    )


def test_rows_keep_the_order_of_their_file_where_only_rows_are_filtered(lake: Lake) -> None:
    table = lake.create("id bigint, name string")
    rows = [{"id": (n * 7919) % 1000, "name": f"n{n}"} for n in range(1000)]
    insert(lake, table, rows, "id bigint, name string")
    seen = view(lake.document(table), rows="id % 3 = 0")
    governed = lake.through(table, seen)
    ids = [row.id for row in lake.spark.read.parquet(governed.copies[0].files[0].location).collect()]
    assert ids == [row["id"] for row in rows if row["id"] % 3 == 0]
