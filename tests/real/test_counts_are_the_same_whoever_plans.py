"""What pyiceberg and Spark make of a filter is the same whether they plan or the server does: counts, rows, limits."""

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg import expressions as ex
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    Transform,
    TruncateTransform,
    parse_transform,
)
from pyiceberg.types import DoubleType, IntegerType, StringType, TimestampType

from tests.planning.forge import simple_schema
from tests.real.iceberg_clients import pyiceberg
from tests.real.iceberg_lake import IcebergLake
from tests.real.spark_client import SparkClient

pytestmark = pytest.mark.real

SCHEMA = simple_schema(
    ("id", IntegerType()), ("region", StringType()), ("at", TimestampType()), ("share", DoubleType())
)
ARROW = pa.schema(
    [("id", pa.int32()), ("region", pa.string()), ("at", pa.timestamp("us")), ("share", pa.float64())]
)
START = datetime(2024, 2, 28, 6)
# The client reads no NULL among a plan's partition values, so NULL stands where no table is partitioned.
ROWS = [
    {
        "id": n,
        "region": ("EU", "US", "EUX", "AS")[n % 4],
        "at": START + timedelta(hours=7 * n),
        "share": None if n % 5 == 0 else n / 8,
    }
    for n in range(30)
]


def of(source: int, transform: Transform[Any, Any], name: str) -> PartitionField:
    return PartitionField(source, 1000 + source, transform, name)


SPECS = {
    "whole": PartitionSpec(),
    "identity": PartitionSpec(of(2, IdentityTransform(), "region")),
    "bucket": PartitionSpec(of(1, BucketTransform(3), "id_bucket")),
    "truncate": PartitionSpec(
        of(2, TruncateTransform(2), "region_start"), of(1, TruncateTransform(10), "tens")
    ),
    "day": PartitionSpec(of(3, DayTransform(), "day")),
}
EVOLVED = "evolved"


@pytest.fixture(scope="module")
def own(shared_lake: IcebergLake) -> RestCatalog:
    """Plans by itself."""
    return pyiceberg(shared_lake)


@pytest.fixture(scope="module")
def srv(shared_lake: IcebergLake) -> RestCatalog:
    """Lets the server plan."""
    return pyiceberg(shared_lake, **{"scan-planning-mode": "server"})


@pytest.fixture(scope="module")
def tables(own: RestCatalog) -> list[str]:
    """The same rows under every partition spec, and in a table whose spec changed between files."""
    rows = pa.Table.from_pylist(ROWS, ARROW)
    for name, spec in SPECS.items():
        own.create_table(f"s.count_{name}", SCHEMA, partition_spec=spec).append(rows)
    table = own.create_table(f"s.count_{EVOLVED}", SCHEMA)
    table.append(rows.slice(0, 10))
    with table.update_spec() as update:
        update.add_identity("region")
    table.append(rows.slice(10, 10))
    with table.update_spec() as update:
        update.remove_field("region")
        update.add_field("at", parse_transform("day"), "day")
    table.append(rows.slice(20))
    return [f"s.count_{name}" for name in (*SPECS, EVOLVED)]


COMPARISONS = (
    ex.EqualTo,
    ex.NotEqualTo,
    ex.LessThan,
    ex.LessThanOrEqual,
    ex.GreaterThan,
    ex.GreaterThanOrEqual,
)
VALUES: dict[str, list[Any]] = {
    "id": [0, 3, 7, 19, 29, 40],
    "region": ["EU", "US", "EUX", "E", "ZZ"],
    "at": [(START + timedelta(hours=hours)).isoformat() for hours in (0, 18, 70, 91, 400)],
    "share": [0.0, 0.5, 1.25, 9.0],
}


@st.composite
def predicates(draw: st.DrawFn) -> ex.BooleanExpression:
    column = draw(st.sampled_from(sorted(VALUES)))
    values = st.sampled_from(VALUES[column])
    shape = draw(st.sampled_from(["compare", "compare", "set", "null", "prefix"]))
    if shape == "set":
        make = draw(st.sampled_from([ex.In, ex.NotIn]))
        return make(column, draw(st.lists(values, min_size=2, max_size=3, unique=True)))
    if shape == "null":
        return draw(st.sampled_from([ex.IsNull, ex.NotNull]))(column)
    if shape == "prefix" and column == "region":
        return draw(st.sampled_from([ex.StartsWith, ex.NotStartsWith]))(
            column, draw(st.sampled_from(["E", "EU", "U"]))
        )
    return draw(st.sampled_from(COMPARISONS))(column, draw(values))


FILTERS = st.recursive(
    predicates(),
    lambda parts: st.one_of(
        st.tuples(parts, parts).map(lambda pair: ex.And(*pair)),
        st.tuples(parts, parts).map(lambda pair: ex.Or(*pair)),
        parts.map(ex.Not),
    ),
    max_leaves=4,
)


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def test_a_count_with_a_filter_counts_the_rows_that_match(srv: RestCatalog, tables: list[str]) -> None:
    for name in tables:
        assert srv.load_table(name).scan("id = 3").count() == 1
        assert srv.load_table(name).scan("region = 'EU'").count() == 8
        assert srv.load_table(name).scan().count() == len(ROWS)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(filter=FILTERS, data=st.data())
def test_every_call_of_pyiceberg_answers_as_if_it_had_planned_itself(
    own: RestCatalog, srv: RestCatalog, tables: list[str], filter: ex.BooleanExpression, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(tables))
    mine, theirs = own.load_table(name), srv.load_table(name)
    rows = mine.scan(filter).to_arrow()
    assert theirs.scan(filter).count() == mine.scan(filter).count() == len(rows)
    assert ids(theirs.scan(filter).to_arrow()) == ids(rows)
    narrow = theirs.scan(filter, selected_fields=("share",)).to_arrow()
    assert (len(narrow), narrow.column_names) == (len(rows), ["share"])
    limit = data.draw(st.integers(1, 12))
    cut = theirs.scan(filter, limit=limit).to_arrow()
    assert len(cut) == min(limit, len(rows))
    assert set(ids(cut)) <= set(ids(rows))
    read = theirs.scan(filter).to_arrow_batch_reader().read_all()
    assert ids(read) == ids(rows)


CONDITIONS = (
    "id = 3",
    "region = 'EU'",
    "region <> 'EU' AND id > 10",
    "at >= TIMESTAMP_NTZ '2024-03-01 00:00:00'",
    "share IS NULL OR region LIKE 'EU%'",
    "id IN (1, 2, 29) OR at < TIMESTAMP_NTZ '2024-02-29 00:00:00'",
    "NOT (region = 'US')",
)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_aggregates_of_spark_are_the_same_whoever_plans(spark: SparkClient, tables: list[str]) -> None:
    for name in tables:
        for condition in CONDITIONS:
            asked = f"SELECT count(*), count(share), min(id), max(at), sum(id) FROM {{t}} WHERE {condition}"
            assert spark.same(asked, name.removeprefix("s."))
            assert spark.same(
                f"SELECT id FROM {{t}} WHERE {condition} ORDER BY id LIMIT 4", name.removeprefix("s.")
            )
