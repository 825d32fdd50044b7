"""Governed copies: the rate of making them beside a plain Spark copy of the same files, and the first read of a new lens.

    python -m bench.materialise [--files 10] [--megabytes 100] [--repeat 5] [--master local[*]]

All cases run in one session and in turn, so that a busy machine slows them alike: read the ratios. `plain` reads the
files as Parquet and writes them as Parquet, knowing nothing of deletes, field ids or statistics; `table` copies the table
with Iceberg; `filter` shows 40 % of the rows as they are; `copy` hides one column; `lens` shows 40 % of the rows and masks four
columns; `merged` does as `copy`, as if the hidden column cut the files. All but `filter` put rows in another order.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.openings import TEMPORARY

from headgate.catalogs.iceberg.storage import Storage
from headgate.language.ast import TRUE
from headgate.language.bind import bind
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.masks.python import Secrets
from headgate.language.parse import parse
from headgate.lenses.copies import Arrangement, CopySource, SourceFile, by_source
from headgate.lenses.metadata import govern_snapshot, governed_document, write_governed_document
from headgate.lenses.rendering import RenderedLens, render_lens
from headgate.model.schema import Schema
from headgate.pipelines.job import MaterialiseJob
from headgate.pipelines.materialise import materialise
from headgate.pipelines.session import SparkSettings, open_session
from headgate.planning import ManifestIndex, PlanRequest, plan

RESULTS = Path(__file__).parent / "results" / "materialise.json"
STORAGE = Storage({}, TEMPORARY)
SECRETS = Secrets({"bench": b"0123456789abcdef"}, order=b"0123456789abcdef", names=b"0123456789abcdef")
BYTES_PER_ROW = 30
"""What a row of the table takes on disk, compressed."""
MASKS = {
    "comment": "mask_alphanum(comment)",
    "partkey": "sha256(partkey)",
    "clerk": "token(clerk, 'bench')",
    "shipdate": "truncate_to_month(shipdate)",
}


def lineitem_like(spark: Any, files: int, megabytes: int) -> Any:
    """Rows like TPC-H's lineitem that become so many files of so much in all."""
    rows = megabytes * 1_000_000 // BYTES_PER_ROW
    return spark.range(0, rows, 1, files).selectExpr(
        "id AS orderkey",
        "pmod(xxhash64(id), 200000) AS partkey",
        "CAST(pmod(xxhash64(id, 1), 50) AS INT) + 1 AS quantity",
        "CAST(pmod(xxhash64(id, 2), 10000000) / 100 AS DECIMAL(12, 2)) AS price",
        "date_add(DATE '1992-01-01', CAST(pmod(xxhash64(id, 3), 2500) AS INT)) AS shipdate",
        "concat('Clerk#', lpad(CAST(pmod(xxhash64(id, 4), 1000) AS STRING), 9, '0')) AS clerk",
        "concat_ws(' ', hex(xxhash64(id, 5)), hex(xxhash64(id, 6))) AS comment",
        "element_at(array('AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL'), CAST(pmod(xxhash64(id, 7), 5) AS INT) + 1) AS mode",
    )


def make_table(spark: Any, files: int, megabytes: int) -> dict[str, Any]:
    """The table in the session's own catalog; answers its document."""
    lineitem_like(spark, files, megabytes).writeTo("bench.db.lineitem").using("iceberg").create()
    located = spark.sql("SELECT file FROM bench.db.lineitem.metadata_log_entries").collect()[-1].file
    return STORAGE.read(located)


def lenses(document: dict[str, Any]) -> dict[str, RenderedLens]:
    schema = Schema.from_json(document["schemas"][0])
    shown = Schema(tuple(f for f in schema.fields if f.name != "quantity"))
    masks = [bind_mask(parse_mask(m), schema, schema.by_path[(c,)].field.id) for c, m in MASKS.items()]
    rows = bind(parse("mode IN ('AIR', 'RAIL')"), schema)
    return {
        "filter": render_lens("bench-filter", schema, schema, (), rows, SECRETS),
        "copy": render_lens("bench-copy", schema, shown, (), TRUE, SECRETS),
        "lens": render_lens("bench-lens", schema, schema, masks, rows, SECRETS),
    }


def first_read(spark: Any, document: dict[str, Any], lens: RenderedLens, folder: str) -> int:
    """Everything between a request and its answer: plan, copies, governed metadata, and a reader's count."""
    snapshot = document["current-snapshot-id"]
    made = plan(document, PlanRequest(), io=STORAGE.io, index=ManifestIndex(memory_bytes=1 << 28))
    sources = tuple(CopySource((SourceFile(file.path, file.deletes),)) for file in made.files())
    output = f"{folder}/{uuid.uuid4().hex}"
    job = MaterialiseJob(document, snapshot, sources, lens, output, f"{folder}/staging", Arrangement.SHUFFLED)
    copies = materialise(spark, job, STORAGE)
    governed = govern_snapshot(
        STORAGE,
        document,
        snapshot,
        outline=lens.outline,
        copies=by_source(copies),
        folder=output,
    )
    location = write_governed_document(STORAGE, governed_document(document, [governed], lens.outline, output))
    found = spark.read.format("iceberg").load(location).selectExpr("count(orderkey)").collect()[0][0]
    if found != sum(file.records for copy in copies for file in copy.files):
        raise AssertionError("the reader and the pipeline count differently")
    shutil.rmtree(output.removeprefix("file://"))
    return len(copies)


def cases(spark: Any, document: dict[str, Any], folder: str) -> dict[str, Callable[[], None]]:
    """Each case writes all files once, and removes what it wrote."""
    snapshot, seen = document["current-snapshot-id"], lenses(document)
    made = plan(document, PlanRequest(), io=STORAGE.io, index=ManifestIndex(memory_bytes=1 << 28))
    sources = tuple(CopySource((SourceFile(file.path),)) for file in made.files())
    paths = [path for source in sources for path in source.paths]
    whole = {
        "spark.sql.files.maxPartitionBytes": str(1 << 40),
        "spark.sql.files.openCostInBytes": str(1 << 40),
    }

    def plain() -> None:
        for key, value in whole.items():
            spark.conf.set(key, value)
        target = f"{folder}/plain"
        spark.read.parquet(*paths).write.option("compression", "zstd").parquet(target)
        shutil.rmtree(target.removeprefix("file://"))

    def table() -> None:
        spark.table("bench.db.lineitem").writeTo("bench.db.copied").using("iceberg").create()
        spark.sql("DROP TABLE bench.db.copied PURGE")

    together = (CopySource(tuple(file for source in sources for file in source.files)),)

    def governed(lens: RenderedLens, arrangement: Arrangement) -> Callable[[], None]:
        def run() -> None:
            made = together if arrangement is Arrangement.MERGED else sources
            output, staging = f"{folder}/lens", f"{folder}/staging"
            job = MaterialiseJob(document, snapshot, made, lens, output, staging, arrangement)
            if len(materialise(spark, job, STORAGE)) != len(made):
                raise AssertionError("a copy is missing")
            shutil.rmtree(f"{folder}/lens".removeprefix("file://"))

        return run

    return {
        "plain": plain,
        "table": table,
        "filter": governed(seen["filter"], Arrangement.AS_WRITTEN),
        "copy": governed(seen["copy"], Arrangement.SHUFFLED),
        "lens": governed(seen["lens"], Arrangement.SHUFFLED),
        "merged": governed(seen["copy"], Arrangement.MERGED),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--master", default="local[*]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = open_session(
            SparkSettings(
                master=options.master,
                more={
                    "spark.sql.catalog.bench": "org.apache.iceberg.spark.SparkCatalog",
                    "spark.sql.catalog.bench.type": "hadoop",
                    "spark.sql.catalog.bench.warehouse": f"file://{folder}/lake",
                },
            )
        )
        document = make_table(spark, options.files, options.megabytes)
        size = sum(
            row[0] for row in spark.sql("SELECT file_size_in_bytes FROM bench.db.lineitem.files").collect()
        )
        runs = cases(spark, document, f"file://{folder}")
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(options.repeat + 1):
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                if turn:  # the first turn warms up
                    seconds[name].append(time.perf_counter() - start)
        start = time.perf_counter()
        first_read(spark, document, lenses(document)["lens"], f"file://{folder}")
        first = time.perf_counter() - start
        spark.stop()
    result = {
        "files": options.files,
        "megabytes": round(size / 1e6, 1),
        "seconds": {name: round(statistics.median(times), 3) for name, times in seconds.items()},
        "rate against plain": {
            name: round(
                math.exp(
                    statistics.mean(math.log(p / t) for p, t in zip(seconds["plain"], times, strict=True))
                ),
                3,
            )
            for name, times in seconds.items()
        },
        "first read, seconds": round(first, 2),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")
    print(f"{result['files']} files, {result['megabytes']} MB")
    for name, median in result["seconds"].items():  # type: ignore[attr-defined]
        print(f"{name:8} {median:8.3f} s   {result['rate against plain'][name]:6.2f} x plain")  # type: ignore[index]
    print(f"first read of a new lens, warm session: {first:.2f} s")


if __name__ == "__main__":
    main()
