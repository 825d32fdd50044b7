"""The rows of a job as the lens shows them, in the order and in the tasks in which they are written.

INVARIANT: Spark itself evaluates the row filter, over values. A filter that is pushed into the scan of an Iceberg table is
evaluated by Iceberg over partition values and statistics instead, where it fails on NULL (LIKE), takes NULL for the least
of all values (<), or compares bytes with text (uuid). `_read_in` below keeps it out of the scan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from headgate.language.lower.spark import SparkPrinter
from headgate.lenses.copies import Arrangement
from headgate.lenses.rendering import RenderedLens
from headgate.model.schema import DOUBLE, FLOAT, VARIANT, Field, MapType, Schema
from headgate.pipelines.job import MaterialiseJob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_FILE: Final = 4_000_000
"""How many visible rows one file of a merged copy holds, more or less."""
_WHOLE_FILES: Final = {"split-size": str(1 << 40), "file-open-cost": str(1 << 40)}
"""No file shares a task with another."""
_EXACT_JSON: Final = (
    "map('timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS')"
)


@dataclass(frozen=True)
class Names:
    """The names of the pipeline's own columns; none of the table's begins like them."""

    prefix: str

    def __getattr__(self, name: str) -> str:
        return f"{self.prefix}_{name}"


def shown_rows(
    spark: "SparkSession", job: MaterialiseJob, tables: Mapping[str, str], cuts: Sequence[int]
) -> "DataFrame":
    """The rows of all sources as the lens shows them, each with the number of its source and of the task that writes it.

    `cuts` says into how many files each source is cut; each of them is written by one task.
    """
    lens, own = job.lens, Names(job.lens.prefix)
    rows = _seen(spark, job, tables, cuts)
    if job.arrangement is not Arrangement.AS_WRITTEN:
        rows = _ordered(spark, rows, lens, own, sum(cuts) if merged(job) else None)
    shown = [SparkPrinter(lens.source).quote(column.name) for column in lens.columns]
    return rows.selectExpr(*shown, own.number, own.read_in, f"spark_partition_id() AS {own.task}")


def merged(job: MaterialiseJob) -> bool:
    return job.arrangement is Arrangement.MERGED


def visible_counts(
    spark: "SparkSession", job: MaterialiseJob, tables: Mapping[str, str], numbers: Sequence[int]
) -> dict[int, int]:
    """How many rows of these sources are visible, by their numbers."""
    own = Names(job.lens.prefix)
    rows = _read(spark, job, tables).join(
        _numbers(spark, job, [1] * len(job.sources), only=numbers), own.file
    )
    # What is read in one task is counted there, which also keeps the filter out of the scan.
    counts = rows.groupBy(own.number, own.read_in).count().groupBy(own.number).sum("count").collect()
    return {row[0]: row[1] for row in counts}


def _read(spark: "SparkSession", job: MaterialiseJob, tables: Mapping[str, str]) -> "DataFrame":
    own = Names(job.lens.prefix)
    reader = spark.read if merged(job) else spark.read.options(**_WHOLE_FILES)
    # A filter does not pass what differs from run to run.
    rows = reader.table(tables["input"]).selectExpr(
        "*", f"_file AS {own.file}", f"spark_partition_id() AS {own.read_in}"
    )
    return rows if job.lens.row_filter is None else rows.where(job.lens.row_filter)


def _seen(
    spark: "SparkSession", job: MaterialiseJob, tables: Mapping[str, str], cuts: Sequence[int]
) -> "DataFrame":
    from pyspark.sql import functions as f

    lens, own = job.lens, Names(job.lens.prefix)
    rows = _read(spark, job, tables).join(_numbers(spark, job, cuts), own.file, "left")
    secrets = dict(lens.secrets)
    if job.arrangement is not Arrangement.AS_WRITTEN:
        secrets[own.order] = lens.order
    if secrets:
        frame = spark.createDataFrame(
            pa.table({name: pa.array([value], pa.binary()) for name, value in secrets.items()})
        )
        rows = rows.crossJoin(f.broadcast(frame))
    for counted in lens.counted:
        values = _population(spark, job, tables).selectExpr(
            f"{counted.sql} AS {counted.frequent}", own.read_in
        )
        # As for `visible_counts`: what is read in one task is counted there, which keeps the filter out of the scan.
        frequent = (
            values.where(f"{counted.frequent} IS NOT NULL")
            .groupBy(counted.frequent, own.read_in)
            .count()
            .groupBy(counted.frequent)
            .agg(f.sum("count").alias("count"))
            .where(f"count >= {counted.k}")
            .select(counted.frequent)
        )
        rows = rows.join(f.broadcast(frequent), f.expr(counted.sql) == frequent[counted.frequent], "left")
    kept = [own.number, own.read_in]
    if job.arrangement is not Arrangement.AS_WRITTEN:
        kept += [own.order, own.first, own.cuts]
    quote = SparkPrinter(lens.source).quote
    return rows.selectExpr(*(f"{c.sql} AS {quote(c.name)}" for c in lens.columns), *kept)


def _population(spark: "SparkSession", job: MaterialiseJob, tables: Mapping[str, str]) -> "DataFrame":
    """The rows of the snapshot that the lens shows.

    INVARIANT: a hidden row counts for nothing, so no value that is shown or left out tells of one.
    """
    rows = spark.table(tables["population"]).selectExpr(
        "*", f"spark_partition_id() AS {Names(job.lens.prefix).read_in}"
    )
    return rows if job.lens.row_filter is None else rows.where(job.lens.row_filter)


def _numbers(
    spark: "SparkSession", job: MaterialiseJob, cuts: Sequence[int], only: Sequence[int] | None = None
) -> "DataFrame":
    """Which source each file belongs to, its first task and how many tasks write it.

    The number means nothing outside the job: a hash of the path would confirm a guessed one.
    """
    from pyspark.sql import functions as f

    own = Names(job.lens.prefix)
    chosen = None if only is None else frozenset(only)
    firsts = [sum(cuts[:n]) for n in range(len(cuts))]
    found = [
        (path, n, firsts[n], cuts[n])
        for n, source in enumerate(job.sources)
        if chosen is None or n in chosen
        for path in source.paths
    ]
    paths, numbers, first, many = zip(*found, strict=True)
    frame = pa.table(
        {
            own.file: pa.array(paths, pa.string()),
            own.number: pa.array(numbers, pa.int32()),
            own.first: pa.array(first, pa.int32()),
            own.cuts: pa.array(many, pa.int32()),
        }
    )
    return f.broadcast(spark.createDataFrame(frame))


def _ordered(
    spark: "SparkSession", rows: "DataFrame", lens: RenderedLens, own: Names, tasks: int | None
) -> "DataFrame":
    """The rows of each task by a keyed hash of what is shown; with `tasks`, spread over so many by the same hash.

    INVARIANT: nothing but shown values and the secret decides where a row comes to lie. Rows that the hash does not tell
    apart are put in order by the values themselves, so only rows that look alike keep the order they were read in.
    """
    values = [_comparable(lens.schema, field, exact=False) for field in lens.schema.fields]
    rows = rows.selectExpr("*", f"xxhash64({own.order}, {', '.join(values)}) AS {own.hash}")
    if tasks is not None:
        target = f"CAST({own.first} + pmod({own.hash}, {own.cuts}) AS INT) AS {own.target}"
        rows = rows.selectExpr("*", target).repartitionById(tasks, own.target)
    from pyspark.sql import functions as f

    ties = [f.expr(_comparable(lens.schema, field, exact=True)) for field in lens.schema.fields]
    return rows.sortWithinPartitions(f.col(own.hash), *ties)


def _comparable(schema: Schema, field: Field, *, exact: bool) -> str:
    """A column in a form that can be hashed, or with `exact` put in order to the last bit."""
    text = SparkPrinter(schema).quote(field.name)
    types = [at.field.type for at in Schema((field,)).walk()]
    awkward = any(isinstance(type_, MapType) or type_ == VARIANT for type_ in types)
    if awkward or (exact and any(type_ in (FLOAT, DOUBLE) for type_ in types)):
        return f"to_json(named_struct('v', {text}), {_EXACT_JSON})"
    return text
