"""Scan planning on forged tables: index build, selective and full plans, memory, beside pyiceberg in the same run.

    python -m bench.plan [--files 1,100,10000,100000] [--million] [--repeat 7]

Every figure is checked against the number of files that it must find. Cases run in shuffled order; the machine may be
busy, so read the ratios and the files per second of CPU before the milliseconds. `server_cases` measures the library; cases that need a server or an
engine belong beside it, each adding its columns to the same rows.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.expressions import AlwaysTrue, BooleanExpression, EqualTo
from pyiceberg.table import StaticTable

from bench.forge import ForgedTable, forge_table
from headgate.planning import ManifestIndex, PlanRequest, plan
from headgate.planning.manifest import warm_up

RESULTS = Path(__file__).parent / "results" / "plan.json"
PYICEBERG_LIMIT = 100_000


@dataclass(frozen=True)
class Timing:
    """Milliseconds of several runs."""

    best: float
    median: float


def timed(action: Callable[[], object], repeat: int) -> Timing:
    """Run an action several times."""
    runs = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        runs.append((time.perf_counter() - start) * 1000)
    return Timing(min(runs), statistics.median(runs))


def check(found: int, expected: int, what: str) -> None:
    """A benchmark of wrong answers measures nothing."""
    if found != expected:
        raise AssertionError(f"{what}: {found} files instead of {expected}")


def server_cases(table: ForgedTable, repeat: int) -> dict[str, Any]:
    """The library's own figures for one table."""
    metadata, io = table.metadata, table.io
    one_percent = PlanRequest(filter=table.one_percent_filter)

    start, cpu = time.perf_counter(), time.process_time()
    cold = ManifestIndex(memory_bytes=4 << 30, threads=1)
    check(plan(metadata, PlanRequest(), io=io, index=cold).file_count, table.files, "cold plan")
    cold_ms, cold_cpu = (time.perf_counter() - start) * 1000, time.process_time() - cpu
    memory = cold.nbytes

    with tempfile.TemporaryDirectory() as folder:
        plan(metadata, PlanRequest(), io=io, index=ManifestIndex(memory_bytes=4 << 30, folder=Path(folder)))
        start = time.perf_counter()
        again = ManifestIndex(memory_bytes=4 << 30, folder=Path(folder), threads=1)
        check(
            plan(metadata, PlanRequest(), io=io, index=again).file_count,
            table.files,
            "plan from the disk cache",
        )
        disk_ms = (time.perf_counter() - start) * 1000

    def selective() -> None:
        made = plan(metadata, one_percent, io=io, index=cold)
        made.body()
        check(made.file_count, table.one_percent_files, "1 % plan")

    def full() -> None:
        made = plan(metadata, PlanRequest(), io=io, index=cold)
        made.body()
        check(made.file_count, table.files, "full plan")

    with_statistics = PlanRequest(stats_fields=tuple(table.columns))

    def full_with_statistics() -> None:
        plan(metadata, with_statistics, io=io, index=cold).body()

    cases: dict[str, Callable[[], None]] = {
        "selective": selective,
        "full": full,
        "statistics": full_with_statistics,
    }
    order = list(cases)
    random.shuffle(order)
    runs = {
        name: timed(cases[name], 1 if name == "statistics" and table.files > 100_000 else repeat)
        for name in order
    }
    return {
        "cold_ms": cold_ms,
        "cold_files_per_second": table.files / cold_ms * 1000,
        "cold_files_per_cpu_second": table.files / cold_cpu,
        "from_disk_ms": disk_ms,
        "selective_ms": runs["selective"].median,
        "selective_best_ms": runs["selective"].best,
        "full_ms": runs["full"].median,
        "full_best_ms": runs["full"].best,
        "full_files_per_second": table.files / runs["full"].best * 1000,
        "statistics_ms": runs["statistics"].median,
        "index_bytes": memory,
        "bytes_per_million_files": memory / table.files * 1_000_000,
    }


def pyiceberg_cases(table: ForgedTable) -> dict[str, Any]:
    """pyiceberg's own planner on the same table."""
    static = StaticTable.from_metadata(str(table.metadata_path))

    def run(row_filter: BooleanExpression) -> tuple[int, float]:
        start = time.perf_counter()
        found = len(list(static.scan(row_filter=row_filter).plan_files()))
        return found, (time.perf_counter() - start) * 1000

    found, full_ms = run(AlwaysTrue())
    check(found, table.files, "pyiceberg, full")
    found, selective_ms = run(EqualTo(table.one_percent_column, table.one_percent_value))
    check(found, table.one_percent_files, "pyiceberg, 1 %")
    return {"pyiceberg_full_ms": full_ms, "pyiceberg_selective_ms": selective_ms}


def measure(files: int, repeat: int, folder: Path) -> dict[str, Any]:
    """All figures of one table."""
    table = forge_table(folder, files)
    row: dict[str, Any] = {"files": files} | server_cases(table, repeat)
    if files <= PYICEBERG_LIMIT:
        row |= pyiceberg_cases(table)
        row["full_ratio"] = row["pyiceberg_full_ms"] / row["full_ms"]
        row["selective_ratio"] = row["pyiceberg_selective_ms"] / row["selective_ms"]
        row["cold_ratio"] = row["pyiceberg_full_ms"] / row["cold_ms"]
    return row


COLUMNS = {
    "files": ("files", "{:,}"),
    "cold_ms": ("cold ms", "{:,.1f}"),
    "cold_files_per_second": ("cold files/s", "{:,.0f}"),
    "cold_files_per_cpu_second": ("per CPU s", "{:,.0f}"),
    "from_disk_ms": ("disk ms", "{:,.1f}"),
    "selective_ms": ("1 % ms", "{:,.2f}"),
    "full_ms": ("full ms", "{:,.2f}"),
    "full_files_per_second": ("full files/s", "{:,.0f}"),
    "statistics_ms": ("stats ms", "{:,.1f}"),
    "bytes_per_million_files": ("B per M files", "{:,.0f}"),
    "pyiceberg_full_ms": ("pyiceberg full ms", "{:,.0f}"),
    "cold_ratio": ("÷ cold", "{:,.1f}"),
    "full_ratio": ("÷ full", "{:,.0f}"),
    "selective_ratio": ("÷ 1 %", "{:,.0f}"),
}


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    texts = [
        [form.format(row[key]) if key in row else "–" for key, (_, form) in COLUMNS.items()] for row in rows
    ]
    heads = [head for head, _ in COLUMNS.values()]
    widths = [max(len(line[i]) for line in [heads, *texts]) for i in range(len(heads))]
    for line in [heads, *texts]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", default="1,100,10000,100000")
    parser.add_argument("--million", action="store_true", help="add a table of 1,000,000 files")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    sizes = [int(size) for size in options.files.split(",")] + ([1_000_000] if options.million else [])
    random.shuffle(sizes)
    start = time.perf_counter()
    warm_up()
    print(f"compiled reader ready after {(time.perf_counter() - start) * 1000:,.0f} ms")
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(size, options.repeat, Path(folder)))
    rows.sort(key=lambda row: int(row["files"]))
    show(rows)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"benchmark": "plan", "rows": rows}, indent=2))
    print(f"written to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


if __name__ == "__main__":
    main()
