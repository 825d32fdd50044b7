"""Promise: where rows lie, in which file and in which order, depends on nothing but what the lens shows."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headgate.lenses.arrangement import arrangement_of
from headgate.lenses.copies import Arrangement
from headgate.lenses.metadata import Outline
from headgate.model.schema import LONG, STRING, Field, Schema
from headgate.pipelines import materialise
from tests.pipelines.lake import Governed, Lake, expected, view

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

COLUMNS = "id bigint, name string, diagnosis string, wage bigint"
DIAGNOSES = ("flu", "gout", "measles", "mumps", "plague", "tetanus")


def patients(seed: int, count: int = 60) -> list[dict[str, Any]]:
    """The same people whatever the seed; what is hidden of them differs."""
    chance = random.Random(seed)
    return [
        {"id": n, "name": f"n{n}", "diagnosis": chance.choice(DIAGNOSES), "wage": chance.randrange(100_000)}
        for n in range(count)
    ]


def append(lake: Lake, table: str, rows: list[dict[str, Any]]) -> None:
    lake.spark.createDataFrame(rows, COLUMNS).coalesce(1).writeTo(table).append()


def data_files(governed: Governed) -> list[Path]:
    return [Path(f.location.removeprefix("file://")) for copy in governed.copies for f in copy.files]


def lying(governed: Governed) -> list[list[dict[str, Any]]]:
    """Every file's rows in their order; files by what is in them."""
    return sorted((pq.read_table(path).to_pylist() for path in data_files(governed)), key=repr)


def seen_by_position(governed: Governed) -> Any:
    """All that can be told from where rows lie: bounds and order of files, counts, sizes, statistics."""
    metrics = [(f.records, f.size, repr(f.metrics)) for copy in governed.copies for f in copy.files]
    return lying(governed), sorted(metrics)


def test_one_diagnosis_per_file_is_not_recoverable(lake: Lake) -> None:
    shown = []
    for seed in (1, 2):
        table = lake.create(COLUMNS, partitioned="diagnosis")
        rows = patients(seed)
        append(lake, table, rows[:40])
        append(lake, table, rows[40:])
        seen = view(lake.document(table), hide=["diagnosis", "wage"])
        governed = lake.through(table, seen)
        assert len(governed.copies[0].source.paths) > 3, "the writer made a file per diagnosis"
        # That there were two commits is known anyway.
        assert sorted(f.records for copy in governed.copies for f in copy.files) == [20, 40]
        assert governed.in_pyiceberg() == expected(seen, rows)
        shown.append(seen_by_position(governed))
    assert shown[0] == shown[1]


def test_a_masked_bucket_or_truncated_column_is_no_better(lake: Lake) -> None:
    shown = []
    for seed in (1, 2):
        table = lake.create(COLUMNS, partitioned="bucket(4, wage), truncate(1, diagnosis)")
        append(lake, table, patients(seed))
        seen = view(
            lake.document(table), mask={"wage": "mask_to_fixed_value(wage)", "diagnosis": "constant('-')"}
        )
        governed = lake.through(table, seen)
        assert [f.records for copy in governed.copies for f in copy.files] == [60]
        shown.append(seen_by_position(governed))
    assert shown[0] == shown[1]


@pytest.mark.parametrize("declared", [True, False])
def test_the_order_of_a_hidden_wage_is_not_recoverable(lake: Lake, declared: bool) -> None:
    """Neither where the table says that it is sorted, nor where a writer just did so."""
    shown = []
    for seed in (1, 2):
        table = lake.create(COLUMNS)
        rows = patients(seed)
        if declared:
            lake.spark.sql(f"ALTER TABLE {table} WRITE ORDERED BY wage")
        append(lake, table, sorted(rows, key=lambda row: row["wage"]))
        governed = lake.through(table, view(lake.document(table), hide=["wage", "diagnosis"]))
        shown.append(seen_by_position(governed))
        (ids,) = ([row["id"] for row in file] for file in lying(governed))
        assert sorted(ids) == list(range(60))
        assert ids != sorted(ids)
    assert shown[0] == shown[1]


def test_hidden_rows_move_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the number of files of a merged copy nor what is in each depends on rows that are not shown."""
    monkeypatch.setattr(materialise, "ROWS_PER_FILE", 12)
    shown = []
    for more in (0, 200):
        table = lake.create(COLUMNS, partitioned="diagnosis")
        rows = patients(1, 60 + more)
        random.Random(more).shuffle(rows)
        append(lake, table, rows)
        seen = view(lake.document(table), hide=["diagnosis", "wage"], rows="id < 60")
        governed = lake.through(table, seen)
        assert governed.in_pyiceberg() == governed.in_spark() == expected(seen, rows)
        shown.append(seen_by_position(governed))
    assert shown[0] == shown[1]
    assert len(shown[0][0]) == 5


def test_only_a_row_filter_keeps_the_order_of_the_file(lake: Lake) -> None:
    table = lake.create(COLUMNS)
    rows = patients(3)
    append(lake, table, rows)
    governed = lake.through(table, view(lake.document(table), rows="id % 2 = 0"))
    assert [[row["id"] for row in file] for file in lying(governed)] == [list(range(0, 60, 2))]


def test_no_file_has_a_column_that_its_schema_does_not_name(lake: Lake) -> None:
    for partitioned, seen in (
        ("diagnosis", {"hide": ["diagnosis"]}),
        ("", {"mask": {"name": "sha256(name)"}}),
        ("", {"rows": "id < 10"}),
    ):
        table = lake.create(COLUMNS, partitioned=partitioned)
        append(lake, table, patients(4))
        governed = lake.through(table, view(lake.document(table), **seen))  # type: ignore[arg-type]
        names = [f.name for f in governed.schema.fields]
        for path in data_files(governed):
            file = pq.ParquetFile(path)
            assert [column.name for column in file.schema] == names
            footer = {key.decode(): value.decode() for key, value in (file.metadata.metadata or {}).items()}
            assert set(footer) <= {"iceberg.schema"}
            assert [f["name"] for f in json.loads(footer["iceberg.schema"])["fields"]] == names
            # A name tells nothing either: not which task wrote the file, and so not how many found no row to show.
            assert re.fullmatch(r"[0-9a-f]{32}\.parquet", path.name)
        assert {p for p in governed.files() if p.suffix == ".parquet"} == set(data_files(governed))
        assert all("headgate" not in p.read_bytes().decode("latin-1") for p in data_files(governed))


def test_rows_that_only_a_map_or_a_sign_tells_apart_lie_by_what_is_shown(lake: Lake) -> None:
    columns = "id bigint, tags map<string, string>, x double, secret bigint"
    shown = []
    for seed in (1, 2):
        rows = [{"id": 0, "tags": {"k": str(n % 5)}, "x": (-0.0, 0.0)[n % 2], "secret": n} for n in range(40)]
        random.Random(seed).shuffle(rows)
        table = lake.create(columns)
        lake.spark.createDataFrame(rows, columns).coalesce(1).writeTo(table).append()
        governed = lake.through(table, view(lake.document(table), hide=["secret"]))
        shown.append([[(row["tags"], repr(row["x"])) for row in file] for file in lying(governed)])
    assert shown[0] == shown[1]


# -- which arrangement a table needs ----------------------------------------------------------------------------------

_SCHEMA = Schema((Field(1, "id", LONG), Field(2, "region", STRING)))


def _document(**fields: Any) -> dict[str, Any]:
    specs = [{"spec-id": n, "fields": [f]} for n, f in enumerate(fields.get("specs", ()))]
    orders = [{"order-id": n + 1, "fields": [f]} for n, f in enumerate(fields.get("orders", ()))]
    return {"partition-specs": specs or [{"spec-id": 0, "fields": []}], "sort-orders": orders}


@pytest.mark.parametrize("transform", ["identity", "bucket[4]", "truncate[2]"])
@pytest.mark.parametrize("where", ["specs", "orders"])
@pytest.mark.parametrize("blind", [2, 9])
def test_files_cut_by_what_is_not_shown_are_merged(transform: str, where: str, blind: int) -> None:
    """Also by a column that is gone, and by a former way of partitioning or sorting."""
    cut = {"source-id": blind, "field-id": 1000, "name": "p", "transform": transform}
    plain = {"source-id": 1, "field-id": 1001, "name": "q", "transform": "identity"}
    document = _document(**{where: [cut, plain]})
    assert arrangement_of(document, Outline(_SCHEMA, frozenset({2}))) is Arrangement.MERGED
    several = {**cut, "source-ids": [1, blind]}
    del several["source-id"]
    assert (
        arrangement_of(_document(**{where: [several]}), Outline(_SCHEMA, frozenset({2})))
        is Arrangement.MERGED
    )
    void = _document(**{where: [{**cut, "transform": "void"}]})
    assert arrangement_of(void, Outline(_SCHEMA, frozenset({2}))) is Arrangement.SHUFFLED


def test_files_cut_by_what_is_shown_stay_apart() -> None:
    document = _document(specs=[{"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity"}])
    assert arrangement_of(document, Outline(_SCHEMA, frozenset({2}))) is Arrangement.SHUFFLED
    assert arrangement_of(document, Outline(_SCHEMA, frozenset())) is Arrangement.AS_WRITTEN
    # A column that was dropped is hidden from everybody who sees a part.
    assert arrangement_of(document, Outline(_SCHEMA, frozenset()), lost=True) is Arrangement.SHUFFLED


def test_the_name_of_a_governed_document_counts_nothing(lake: Lake) -> None:
    """Its version is that of a first document, however many the table has had, and the rest of it is random."""
    names = set()
    for hidden_changes in (0, 1, 12):
        table = lake.create(COLUMNS)
        append(lake, table, patients(5))
        for n in range(hidden_changes):
            lake.spark.sql(f"ALTER TABLE {table} ALTER COLUMN wage COMMENT 'raised {n} times'")
            lake.spark.sql(f"DELETE FROM {table} WHERE id = {1000 + n}")
        seen = view(lake.document(table), hide=["wage", "diagnosis"], rows="id < 60")
        names |= {lake.through(table, seen).location.rpartition("/")[2] for _ in range(2)}
    assert len(names) == 6
    random_part = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(rf"00000-{random_part}\.metadata\.json", name) for name in names), names
