"""Promise: a job done twice is a job done once, a failing one leaves nothing behind, a hostile manifest gets nothing."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pytest

from headgate.language.errors import LoweringError
from headgate.lenses.arrangement import arrangement_of
from headgate.lenses.copies import CopyFile, CopySource, GovernedCopy, SourceFile, copy_key
from headgate.model.errors import Conflict, IllegalArgument
from headgate.model.schema import LONG, Field, Schema
from headgate.pipelines.errors import JobFailed
from headgate.pipelines.materialise import MaterialiseJob, materialise
from headgate.pipelines.shown_rows import shown_rows
from tests.pipelines.lake import SECRETS, STORAGE, Lake, files_of, view
from tests.pipelines.people import COLUMNS, insert, people

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


def job_of(lake: Lake, table: str, **lens: Any) -> MaterialiseJob:
    document = lake.document(table)
    seen = view(document, **lens)
    sources, _ = files_of(document, document["current-snapshot-id"], seen)
    output, staging = f"file://{lake.folder}/lens", f"file://{lake.folder}/staging"
    lens = seen.sql()
    arrangement = arrangement_of(document, lens.outline)
    return MaterialiseJob(
        document, document["current-snapshot-id"], tuple(sources), lens, output, staging, arrangement
    )


def files_in(copies: list[GovernedCopy]) -> list[CopyFile]:
    return [file for copy in copies for file in copy.files]


def one(path: str, *deletes: str) -> CopySource:
    return CopySource((SourceFile(path, deletes),))


def local(path: str) -> Path:
    return Path(path.removeprefix("file://").removeprefix("file:"))


def contents(lake: Lake, copies: list[GovernedCopy]) -> list[list[Any]]:
    return [sorted(map(repr, lake.spark.read.parquet(f.location).collect())) for f in files_in(copies)]


def written(lake: Lake) -> list[Path]:
    return [p for name in ("lens", "staging") for p in (lake.folder / name).rglob("*") if p.is_file()]


def table_of(lake: Lake, files: int = 3) -> str:
    table = lake.create(COLUMNS)
    for n in range(files):
        insert(lake, table, people(n * 10, 10))
    return table


def test_a_job_done_twice_gives_equal_copies_under_equal_keys(lake: Lake) -> None:
    job = job_of(lake, table_of(lake), mask={"email": "sha256(email)"}, rows="id <> 15")
    first, second = (materialise(lake.spark, job, STORAGE) for _ in range(2))
    assert [c.key for c in first] == [c.key for c in second] == [job.key(s) for s in job.sources]
    assert contents(lake, first) == contents(lake, second)
    assert [f.metrics.lower_bounds for f in files_in(first)] == [
        f.metrics.lower_bounds for f in files_in(second)
    ]
    # Neither attempt touched a file of the other.
    assert not {f.location for f in files_in(first)} & {f.location for f in files_in(second)}


def test_the_key_is_the_file_its_deletes_and_the_lens(lake: Lake) -> None:
    table = table_of(lake, 1)
    job = job_of(lake, table, mask={"email": "sha256(email)"})
    source = job.sources[0]
    insert(lake, table, people(50, 5))
    lake.spark.sql(f"ALTER TABLE {table} RENAME COLUMN email TO mail")
    later = job_of(lake, table, mask={"mail": "sha256(mail)"})
    assert job.key(source) in {later.key(s) for s in later.sources}
    assert job.key(source) != job.key(one(source.paths[0], "file:/d"))
    assert copy_key(one("a", "b", "c"), "l") == copy_key(one("a", "c", "b"), "l")
    assert copy_key(one("a", "bc"), "l") != copy_key(one("a", "b", "c"), "l")
    files = (SourceFile("a", ("b",)), SourceFile("c"))
    assert copy_key(CopySource(files), "l") == copy_key(CopySource(files[::-1]), "l")
    assert copy_key(CopySource(files), "l") != copy_key(one("a", "b", "c"), "l")
    counted = job_of(lake, table, mask={"mail": "k_anonymous(mail, 2)"})
    assert counted.key(source) != replace(counted, snapshot_id=1).key(source)


def test_another_key_or_salt_makes_another_lens(lake: Lake) -> None:
    document = lake.document(table_of(lake, 1))
    seen = view(document, mask={"email": "token(email, 'customers')", "id": "sha256_query_local(id)"})
    ids = {
        seen.sql(SECRETS).id,
        seen.sql(replace(SECRETS, keys={"customers": b"k" * 32})).id,
        seen.sql(replace(SECRETS, salt=b"s" * 16)).id,
        seen.sql(replace(SECRETS, names=b"n" * 16)).id,
    }
    assert len(ids) == 4


def test_a_corrupt_source_fails_the_job_and_leaves_nothing(lake: Lake) -> None:
    job = job_of(lake, table_of(lake), mask={"email": "sha256(email)"})
    victim = local(job.sources[-1].paths[0])
    data = victim.read_bytes()
    victim.write_bytes(data[:4] + b"\0" * (len(data) - 12) + data[-8:])
    with pytest.raises(JobFailed) as failed:
        materialise(lake.spark, job, STORAGE)
    assert written(lake) == []
    assert "person" not in str(failed.value)
    victim.write_bytes(data)
    assert len(materialise(lake.spark, job, STORAGE)) == 3


@pytest.mark.parametrize("gone", ["data", "delete"])
def test_a_missing_file_fails_the_job_and_leaves_nothing(lake: Lake, gone: str) -> None:
    table = table_of(lake)
    lake.spark.sql(f"DELETE FROM {table} WHERE id = 3")
    job = job_of(lake, table, mask={"email": "sha256(email)"})
    source = next(f for s in job.sources for f in s.files if f.deletes)
    os.unlink(local(source.path if gone == "data" else source.deletes[0]))
    with pytest.raises(JobFailed):
        materialise(lake.spark, job, STORAGE)
    assert written(lake) == []


def test_an_expression_that_fails_on_a_value_does_not_tell_the_value(
    lake: Lake, capfd: pytest.CaptureFixture[str]
) -> None:
    job = job_of(lake, table_of(lake, 1), mask={"email": "sha256(email)"})
    column = replace(job.lens.columns[0], sql="CAST(CAST(email AS INT) AS BIGINT)")
    lens = replace(job.lens, columns=(column, *job.lens.columns[1:]))
    with pytest.raises(JobFailed) as failed:
        materialise(lake.spark, replace(job, lens=lens), STORAGE)
    assert "CAST_INVALID_INPUT" in str(failed.value)
    assert "person" not in str(failed.value) + repr(failed.value.causes)
    assert failed.value.__context__ is None
    assert "person" not in "".join(capfd.readouterr())
    assert written(lake) == []


def test_a_data_file_outside_the_table_is_refused(lake: Lake) -> None:
    """A writer of one table names a file of another in a manifest of its own."""
    other, table = table_of(lake, 1), table_of(lake, 1)
    stolen = job_of(lake, other, hide=["email"]).sources[0].paths[0]
    document = lake.document(table)
    manifest_list = local(document["snapshots"][0]["manifest-list"])
    with manifest_list.open("rb") as stream:
        manifest = local(next(iter(fastavro.reader(stream)))["manifest_path"])
    with manifest.open("rb") as stream:
        reader = fastavro.reader(stream)
        entries, schema, header = list(reader), reader.writer_schema, dict(reader.metadata)
    entries[0]["data_file"]["file_path"] = stolen
    header = {k: v for k, v in header.items() if not k.startswith("avro.")}
    with manifest.open("wb") as stream:
        fastavro.writer(stream, schema, entries, metadata=header)
    job = job_of(lake, table, mask={"email": "sha256(email)"})
    assert [s.paths for s in job.sources] == [(stolen,)]
    with pytest.raises(IllegalArgument, match="outside the table"):
        materialise(lake.spark, job, STORAGE)
    # Nor when the job itself does not name it.
    honest = replace(job, sources=(one(f"{document['location']}/data/x.parquet"),))
    with pytest.raises(IllegalArgument, match="outside the table"):
        materialise(lake.spark, honest, STORAGE)
    assert written(lake) == []


@pytest.mark.parametrize("escape", ["/../other/x.parquet", "x/y.parquet", "//x.parquet", "/./x.parquet"])
def test_no_spelling_leads_out_of_the_table(lake: Lake, escape: str) -> None:
    job = job_of(lake, table_of(lake, 1), hide=["email"])
    bad = one(job.document["location"] + escape)
    with pytest.raises(IllegalArgument, match="outside the table"):
        materialise(lake.spark, replace(job, sources=(bad,)), STORAGE)


def test_a_file_that_is_not_in_the_snapshot_is_refused(lake: Lake) -> None:
    job = job_of(lake, table_of(lake, 1), hide=["email"])
    gone = one(job.document["location"] + "/data/gone.parquet")
    with pytest.raises(Conflict, match="not in snapshot"):
        materialise(lake.spark, replace(job, sources=(*job.sources, gone)), STORAGE)
    with pytest.raises(IllegalArgument, match="twice"):
        materialise(lake.spark, replace(job, sources=job.sources * 2), STORAGE)
    with pytest.raises(IllegalArgument, match="apart"):
        materialise(lake.spark, replace(job, staging=f"{job.output}/staging"), STORAGE)
    assert materialise(lake.spark, replace(job, sources=()), STORAGE) == []


def test_secrets_are_in_no_plan(lake: Lake) -> None:
    table = table_of(lake, 1)
    job = job_of(lake, table, mask={"email": "token(email, 'customers')", "id": "sha256_query_local(id)"})
    assert set(job.lens.secrets) == {"_headgate_inner0", "_headgate_outer0", "_headgate_salt"}
    rows = shown_rows(lake.spark, job, {"input": table}, [1])
    plan = rows._jdf.queryExecution().toString().lower() + repr(job.lens).lower()
    assert "_headgate_inner0" in plan
    assert "_headgate_order" in plan
    for secret in (*job.lens.secrets.values(), job.lens.order):
        assert secret.hex() not in plan
        assert str(list(secret))[1:-1] not in plan
    for source in job.sources:
        assert source.paths[0].lower() not in plan


def test_columns_cannot_be_taken_for_the_pipelines_own(lake: Lake) -> None:
    table = lake.create("id bigint, _headgate string, _headgate_file string, `a.b` string, `A.B` string")
    lake.spark.sql(f"INSERT INTO {table} VALUES (1, 'x', 'y', 'dotted', 'Capital')")
    seen = view(
        lake.document(table),
        mask={"_headgate_file": "token(_headgate_file, 'customers')"},
        rows="\"a.b\" = 'dotted'",
    )
    governed = lake.through(table, seen)
    row = governed.in_spark()[0]
    assert (row[2], row[4], row[5]) == ("x", "dotted", "Capital")
    with pytest.raises(LoweringError, match="_file"):
        view({"schemas": [Schema((Field(1, "_file", LONG),)).to_json()], "current-schema-id": 0}).sql()


def test_a_copy_fits_later_columns_but_not_columns_that_come_back() -> None:
    copy = GovernedCopy("k", one("p"), (CopyFile("l"),), field_ids=frozenset({1, 3}), last_column_id=3)
    assert copy.fits(Schema((Field(1, "a", LONG), Field(4, "d", LONG))))
    assert not copy.fits(Schema((Field(1, "a", LONG), Field(2, "b", LONG))))


def test_one_copy_per_file_with_its_own_statistics(lake: Lake) -> None:
    job = job_of(lake, table_of(lake, 4), mask={"id": "bucket(id, 100)"}, hide=["email"], rows="id >= 10")
    copies = materialise(lake.spark, job, STORAGE)
    # The planner left out the file without a row to see.
    assert [f.records for f in files_in(copies)] == [10, 10, 10]
    assert {json.dumps(f.metrics.lower_bounds[1].hex()) for f in files_in(copies)} == {'"' + "00" * 8 + '"'}
    assert all(
        3 not in f.metrics.value_counts and 2_000_000_000 not in f.metrics.lower_bounds
        for f in files_in(copies)
    )
    assert {f.size for f in files_in(copies)} == {local(f.location).stat().st_size for f in files_in(copies)}
