"""Making governed copies: many source files in one Spark job, one task and one copy per file."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.locations import inside, normal
from headgate.lenses.copies import CopyFile, GovernedCopy, Metrics
from headgate.lenses.entries import check_inside
from headgate.model.errors import Conflict, HeadgateError, IllegalArgument
from headgate.pipelines.errors import job_failed
from headgate.pipelines.job import MaterialiseJob
from headgate.pipelines.job_tables import NUMBER_ID, number_column, write_input, write_sink
from headgate.pipelines.session import NAMESPACE, jobs_catalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Json = dict[str, Any]

_WHOLE_FILES: Final = {"split-size": str(1 << 40), "file-open-cost": str(1 << 40)}
"""No file shares a task with another."""
_HARVESTED: Final = (
    "file_path",
    "file_size_in_bytes",
    "record_count",
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
    "split_offsets",
)


def materialise(spark: "SparkSession", job: MaterialiseJob, storage: Storage) -> list[GovernedCopy]:
    """Make the copies of a job and say where they lie, in the order of its sources.

    INVARIANT: files are written under names that no other attempt has, and count only once somebody records what is
    answered here. If anything fails, everything that this attempt wrote is deleted.
    """
    _check(job)
    if not job.sources:
        return []
    attempt = uuid.uuid4().hex
    staging, data = f"{job.staging}/{attempt}", f"{job.output}/data/{attempt}"
    try:
        return _run(spark, job, storage, attempt, staging, data)
    except HeadgateError:
        storage.delete_folder(data)
        raise
    except Exception as error:
        storage.delete_folder(data)
        failure = job_failed(error, [path for source in job.sources for path in source.paths])
    finally:
        storage.delete_folder(staging)
    # Raised out here so that it does not carry the original along, which may hold values of the table.
    raise failure


def _run(
    spark: "SparkSession", job: MaterialiseJob, storage: Storage, attempt: str, staging: str, data: str
) -> list[GovernedCopy]:
    catalog = jobs_catalog(spark, job.storage)
    with _tables(spark, catalog, _documents(job, storage, staging, data), attempt) as names:
        (
            _rows(spark, job, names)
            .writeTo(names["sink"])
            .option("distribution-mode", "none")
            .option("use-table-distribution-and-ordering", "false")
            .option("fanout-enabled", "false")
            .append()
        )
        return _harvest(spark, job, names["sink"])


def _check(job: MaterialiseJob) -> None:
    output, staging = normal(job.output), normal(job.staging)
    if inside(staging, output) or inside(output, staging):
        raise IllegalArgument(
            "the job's own files would lie in the lens's folder", hint="keep staging and output apart"
        )
    paths = [path for source in job.sources for path in source.paths]
    for path in paths:
        check_inside(job.document, path)
        if inside(normal(path), output):
            raise IllegalArgument(
                "a governed copy cannot be the source of another", hint="plan the scan again"
            )
    if len(set(paths)) < len(paths):
        raise IllegalArgument(
            "a source file is named twice", hint="name each file once, with all its deletes"
        )


def _documents(job: MaterialiseJob, storage: Storage, staging: str, data: str) -> dict[str, str]:
    wanted = {path for source in job.sources for path in source.paths}
    made = {
        "input": write_input(storage, job.document, job.snapshot_id, wanted, job.lens, f"{staging}/input"),
        "sink": write_sink(storage, job.lens, f"{staging}/sink", data),
    }
    if job.lens.counted:
        made["population"] = write_input(
            storage, job.document, job.snapshot_id, None, job.lens, f"{staging}/population"
        )
    return made


@contextmanager
def _tables(
    spark: "SparkSession", catalog: str, documents: Mapping[str, str], attempt: str
) -> Iterator[dict[str, str]]:
    """Register the job's tables under names of their own, and forget them afterwards."""
    names: dict[str, str] = {}
    try:
        for role, location in documents.items():
            table = f"{NAMESPACE}.{role}_{attempt}"
            spark.sql(
                f"CALL {catalog}.system.register_table(table => :table, metadata_file => :location)",
                {"table": table, "location": location},
            )
            names[role] = f"{catalog}.{table}"
        yield names
    finally:
        for name in names.values():
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def _rows(spark: "SparkSession", job: MaterialiseJob, names: Mapping[str, str]) -> "DataFrame":
    """The rows of all sources as the lens shows them, each with the number of its source."""
    from pyspark.sql import functions as f

    lens = job.lens
    file, number = f"{lens.prefix}_file", number_column(lens)
    rows = spark.read.options(**_WHOLE_FILES).table(names["input"])
    if lens.row_filter is not None:
        rows = rows.where(lens.row_filter)
    rows = rows.selectExpr("*", f"_file AS {file}")
    # A number that means nothing outside the job: a hash of the path would confirm a guessed one.
    numbered = {path: n for n, source in enumerate(job.sources) for path in source.paths}
    numbers = spark.createDataFrame(
        pa.table({file: list(numbered), number: pa.array(numbered.values(), pa.int64())})
    )
    rows = rows.join(f.broadcast(numbers), file, "left")
    if lens.secrets:
        frame = spark.createDataFrame(
            pa.table({name: pa.array([value], pa.binary()) for name, value in lens.secrets.items()})
        )
        rows = rows.crossJoin(f.broadcast(frame))
    for counted in lens.counted:
        values = spark.table(names["population"]).selectExpr(f"{counted.sql} AS {counted.frequent}")
        frequent = (
            values.where(f"{counted.frequent} IS NOT NULL")
            .groupBy(counted.frequent)
            .count()
            .where(f"count >= {counted.k}")
            .select(counted.frequent)
        )
        rows = rows.join(f.broadcast(frequent), f.expr(counted.sql) == frequent[counted.frequent], "left")
    return rows.selectExpr(*(f"{c.sql} AS {_quoted(c.name)}" for c in lens.columns), number)


def _harvest(spark: "SparkSession", job: MaterialiseJob, sink: str) -> list[GovernedCopy]:
    """What Iceberg wrote down about the files it wrote, source by source."""
    found = (
        spark.table(f"{sink}.data_files")
        .selectExpr(f"partition.{number_column(job.lens)} AS number", *_HARVESTED)
        .collect()
    )
    by_number: dict[int, list[Any]] = {}
    for row in found:
        if row.number is None:
            raise Conflict("Spark wrote rows that belong to no source", hint="try again")
        by_number.setdefault(row.number, []).append(row)
    return [
        GovernedCopy(
            key=job.key(source),
            source=source,
            files=tuple(map(_file, by_number.get(n, ()))),
            field_ids=frozenset(job.lens.schema.by_id),
            last_column_id=int(job.document["last-column-id"]),
        )
        for n, source in enumerate(job.sources)
    ]


def _file(row: Any) -> CopyFile:
    return CopyFile(
        location=row.file_path,
        size=row.file_size_in_bytes,
        records=row.record_count,
        split_offsets=tuple(row.split_offsets or ()),
        metrics=Metrics(
            column_sizes=_own(row.column_sizes),
            value_counts=_own(row.value_counts),
            null_value_counts=_own(row.null_value_counts),
            nan_value_counts=_own(row.nan_value_counts),
            lower_bounds={id: bytes(v) for id, v in _own(row.lower_bounds).items()},
            upper_bounds={id: bytes(v) for id, v in _own(row.upper_bounds).items()},
        ),
    )


def _own(statistics: Mapping[int, Any] | None) -> dict[int, Any]:
    return {id: value for id, value in (statistics or {}).items() if id != NUMBER_ID}


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
