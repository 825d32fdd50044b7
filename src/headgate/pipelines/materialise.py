"""Making governed copies: many sources in one Spark job, each output file written by one task for one source.

Spark writes into the job's own folder. Which source a file was made from is observed while it is written, as pairs of
source and task; Iceberg names files by their task. Finished files are moved into the lens's folder under random names,
so neither their names nor their number tells of what was read.
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.locations import inside, normal
from headgate.lenses.copies import CopyFile, FileMetrics, GovernedCopy
from headgate.lenses.entries import check_inside
from headgate.model.errors import Conflict, HeadgateError, IllegalArgument
from headgate.pipelines.errors import job_failed
from headgate.pipelines.job import MaterialiseJob
from headgate.pipelines.job_tables import registered, write_input, write_sink
from headgate.pipelines.session import is_remote, jobs_catalog
from headgate.pipelines.shown_rows import ROWS_PER_FILE, Names, merged, shown_rows, visible_counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Json = dict[str, Any]

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
_TASK: Final = re.compile(r"/(\d+)-\d+-[^/]+\.parquet$")
"""How Iceberg names a file: by the number of its task, and then by attempt, write and count."""
_MOVED_AT_ONCE: Final = 8


@dataclass(frozen=True)
class _JobTables:
    """The job's tables, by role, and how many rows each of their files has at most; negative if unknown."""

    locations: Mapping[str, str]
    records: Mapping[str, int]


def materialise(spark: "SparkSession", job: MaterialiseJob, storage: Storage) -> list[GovernedCopy]:
    """Make the copies of a job and say where they lie, in the order of its sources.

    INVARIANT: files are written under names that no other attempt has, and count only once somebody records what is
    answered here. If anything fails, everything that this attempt wrote is deleted.
    """
    _check(job)
    if not job.sources:
        return []
    attempt = uuid.uuid4().hex
    staging = f"{job.staging}/{attempt}"
    try:
        return _publish(job, storage, _run(spark, job, storage, attempt, staging))
    except HeadgateError:
        raise
    except Exception as error:
        failure = job_failed(error, [path for source in job.sources for path in source.paths])
    finally:
        storage.delete_folder(staging)
    # Raised out here so that it does not carry the original along, which may hold values of the table.
    raise failure


def _run(
    spark: "SparkSession", job: MaterialiseJob, storage: Storage, attempt: str, staging: str
) -> list[GovernedCopy]:
    catalog = jobs_catalog(spark, job.storage)
    documents = _documents(job, storage, staging)
    with registered(spark, catalog, documents.locations, attempt) as names:
        tasks = _write(spark, job, names, _cuts(spark, job, names, documents.records))
        return _harvest(spark, job, names["sink"], tasks)


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


def _documents(job: MaterialiseJob, storage: Storage, staging: str) -> _JobTables:
    wanted = {path for source in job.sources for path in source.paths}
    read, records = write_input(storage, job.document, job.snapshot_id, wanted, job.lens, f"{staging}/input")
    made = {"input": read, "sink": write_sink(storage, job.lens, f"{staging}/sink", f"{staging}/data")}
    if job.lens.counted:
        made["population"], _ = write_input(
            storage, job.document, job.snapshot_id, None, job.lens, f"{staging}/population"
        )
    return _JobTables(made, records)


def _cuts(
    spark: "SparkSession", job: MaterialiseJob, names: Mapping[str, str], records: Mapping[str, int]
) -> list[int]:
    """Into how many files each source is cut, by its visible rows; one that is small as a whole is not counted."""
    cuts = [1] * len(job.sources)
    if merged(job):
        large = [n for n, source in enumerate(job.sources) if not _is_small(source.paths, records)]
        for n, count in visible_counts(spark, job, names, large).items() if large else ():
            cuts[n] = max(1, ceil(count / ROWS_PER_FILE))
    return cuts


def _is_small(paths: Sequence[str], records: Mapping[str, int]) -> bool:
    counts = [records[path] for path in paths]
    return min(counts) >= 0 and sum(counts) <= ROWS_PER_FILE


def _write(
    spark: "SparkSession", job: MaterialiseJob, names: Mapping[str, str], cuts: Sequence[int]
) -> dict[int, int]:
    """Write the rows; answers which source each task wrote, as seen while it was written.

    Spark counts what a task observed only if the task is the one that counts, so retries change nothing.
    """
    from pyspark.sql import functions as f

    own = Names(job.lens.prefix)
    rows = shown_rows(spark, job, names, cuts)
    observed = _observation(spark)
    # Reading `read_in` here keeps the column, and with it the filter above the scan.
    pairs = f.collect_set(f.expr(f"shiftleft(CAST({own.task} AS BIGINT), 32) + coalesce({own.number}, -1)"))
    watched = rows.observe(observed, pairs.alias("pairs"), f.max(own.read_in).alias("tasks"))
    (
        watched.drop(own.number, own.read_in, own.task)
        .writeTo(names["sink"])
        .option("distribution-mode", "none")
        .option("use-table-distribution-and-ordering", "false")
        .option("fanout-enabled", "false")
        .append()
    )
    sources: dict[int, int] = {}
    for pair in observed.get.get("pairs") or ():
        task, number = (pair + 1) >> 32, pair & 0xFFFFFFFF
        if not 0 <= number < len(job.sources) or task in sources:
            raise Conflict(
                "Spark wrote rows that belong to no source, or to several at once", hint="try again"
            )
        sources[task] = number
    return sources


def _observation(spark: "SparkSession") -> Any:
    if is_remote(spark):
        from pyspark.sql.connect.observation import Observation as Remote

        return Remote()
    from pyspark.sql import Observation

    return Observation()


def _harvest(
    spark: "SparkSession", job: MaterialiseJob, sink: str, tasks: Mapping[int, int]
) -> list[GovernedCopy]:
    """What Iceberg wrote down about the files it wrote, source by source."""
    files: list[list[CopyFile]] = [[] for _ in job.sources]
    written: set[int] = set()
    for row in spark.table(f"{sink}.data_files").selectExpr(*_HARVESTED).collect():
        named = _TASK.search(row.file_path)
        task = None if named is None else int(named.group(1))
        if task is None or task not in tasks or task in written:
            raise Conflict("Spark wrote a file that cannot be told to be of one source", hint="try again")
        written.add(task)
        files[tasks[task]].append(_file(row))
    if written != tasks.keys():
        raise Conflict("Spark did not write all that it read", hint="try again")
    return [
        GovernedCopy(
            key=job.key(source),
            source=source,
            files=tuple(found),
            field_ids=frozenset(job.lens.schema.by_id),
            last_column_id=int(job.document["last-column-id"]),
        )
        for source, found in zip(job.sources, files, strict=True)
    ]


def _publish(job: MaterialiseJob, storage: Storage, copies: Sequence[GovernedCopy]) -> list[GovernedCopy]:
    """Move the files of copies into the lens's folder; answers the copies with the places that they have there."""
    places = {
        file.location: f"{job.output}/data/{uuid.uuid4().hex}.parquet"
        for copy in copies
        for file in copy.files
    }
    try:
        with ThreadPoolExecutor(_MOVED_AT_ONCE, thread_name_prefix="moving") as pool:
            for done in [pool.submit(storage.move, *move) for move in places.items()]:
                done.result()
    except BaseException:
        for place in places.values():
            storage.delete_if_there(place)
        raise
    return [
        replace(copy, files=tuple(replace(file, location=places[file.location]) for file in copy.files))
        for copy in copies
    ]


def _file(row: Any) -> CopyFile:
    return CopyFile(
        location=row.file_path,
        size=row.file_size_in_bytes,
        records=row.record_count,
        split_offsets=tuple(row.split_offsets or ()),
        metrics=FileMetrics(
            column_sizes=row.column_sizes or {},
            value_counts=row.value_counts or {},
            null_value_counts=row.null_value_counts or {},
            nan_value_counts=row.nan_value_counts or {},
            lower_bounds={id: bytes(v) for id, v in (row.lower_bounds or {}).items()},
            upper_bounds={id: bytes(v) for id, v in (row.upper_bounds or {}).items()},
        ),
    )
