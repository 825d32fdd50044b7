"""Scan planning of forged tables: in process, over HTTP, by Spark in both modes and by pyiceberg, in one run.

    python -m bench.plan [--quick] [--files 1,100,10000,100000] [--no-spark]

Tables are forged: real manifests with statistics, of data files that do not exist, so what is measured is planning and
never reading. Every answer is checked against the files that it must find. Sizes, cases and modes run in shuffled order;
the machine may be busy, so read ratios and files per second of CPU before the milliseconds.

- in process: `headgate.planning` alone, on one thread;
- HTTP: a server process of its own, one connection, a plan's tasks fetched one after the other, as its owner;
- spark: SQL text to input partitions; java: Iceberg's `planFiles()` alone (see `bench.planned_by_spark`).
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.expressions import AlwaysTrue, BooleanExpression, EqualTo
from pyiceberg.table import StaticTable
from rich.console import Console
from rich.table import Table

from bench.forge import ForgedTable, forge_table
from bench.planned_by_spark import spark_cases, spark_session
from bench.served import Served, http_cases, served
from headgate.planning import ManifestIndex, PlanRequest, plan
from headgate.planning.manifests.manifest import warm_up

RESULTS = Path(__file__).parent / "results" / "plan.json"
PYICEBERG_LIMIT = SERVED_LIMIT = 100_000


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


def measure(table: ForgedTable, repeat: int, server: Served | None, session: Any) -> dict[str, Any]:
    """All figures of one table, its parts in shuffled order."""
    name = f"t{table.files}"
    parts: list[Callable[[], dict[str, Any]]] = [lambda: server_cases(table, repeat)]
    if table.files <= PYICEBERG_LIMIT:
        parts.append(lambda: pyiceberg_cases(table))
    if server is not None:
        server.register(name, table)
        parts.append(lambda: http_cases(server, name, table, repeat))
    row: dict[str, Any] = {"files": table.files}
    for part in random.sample(parts, len(parts)):
        row |= part()
    if session is not None:
        # Behind the others: it needs the table registered, and its first plan would take the cold one away.
        row |= spark_cases(session, name, table, repeat)
    if "pyiceberg_full_ms" in row:
        row["full_ratio"] = row["pyiceberg_full_ms"] / row["full_ms"]
        row["selective_ratio"] = row["pyiceberg_selective_ms"] / row["selective_ms"]
        row["cold_ratio"] = row["pyiceberg_full_ms"] / row["cold_ms"]
    return row


Shown = dict[str, tuple[str, str]]

IN_PROCESS: Shown = {
    "files": ("files", "{:,}"),
    "cold_ms": ("cold ms", "{:,.1f}"),
    "cold_files_per_cpu_second": ("files/CPU s", "{:,.0f}"),
    "from_disk_ms": ("disk ms", "{:,.1f}"),
    "selective_ms": ("1 % ms", "{:,.2f}"),
    "full_ms": ("full ms", "{:,.2f}"),
    "full_files_per_second": ("full files/s", "{:,.0f}"),
    "statistics_ms": ("stats ms", "{:,.1f}"),
    "index_bytes": ("index B", "{:,.0f}"),
    "pyiceberg_full_ms": ("pyiceberg full ms", "{:,.0f}"),
    "pyiceberg_selective_ms": ("1 % ms", "{:,.0f}"),
}
OVER_HTTP: Shown = {
    "files": ("files", "{:,}"),
    "http_cold_ms": ("HTTP cold ms", "{:,.1f}"),
    "http_selective_ms": ("1 % ms", "{:,.2f}"),
    "http_selective_best_ms": ("best", "{:,.2f}"),
    "http_repeated_ms": ("1 % repeated ms", "{:,.2f}"),
    "http_full_ms": ("full ms", "{:,.2f}"),
    "http_full_files_per_second": ("full files/s", "{:,.0f}"),
}
BY_SPARK: Shown = {
    "files": ("files", "{:,}"),
    **{
        f"{what}_{which}_{column}": (f"{what} {told} {head}", form)
        for what in ("java", "spark")
        for which, told in (("full", "full"), ("selective", "1 %"))
        for column, head, form in (
            ("client_ms", "client", "{:,.0f}"),
            ("server_ms", "server", "{:,.0f}"),
            ("ratio", "÷", "{:,.2f}"),
            ("floor", "floor", "{:,.2f}"),
        )
    },
}


def show(rows: list[dict[str, Any]], columns: Shown) -> None:
    """Print some columns of those rows that have any of them."""
    told = [row for row in rows if any(key in row for key in columns if key != "files")]
    table = Table(*(head for head, _ in columns.values()))
    for row in told:
        table.add_row(*(form.format(row[key]) if key in row else "–" for key, (_, form) in columns.items()))
    if told:
        Console(width=200).print(table)


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was found beside what was aimed at, as far as it was measured."""
    by_files = {int(row["files"]): row for row in rows}
    goals = [
        ("warm 1 % of 100,000 files over HTTP, ms", 100_000, "http_selective_ms", 5.0),
        ("Spark server ÷ client, 1 file, full", 1, "spark_full_ratio", 1.2),
        ("Spark server ÷ client, 100 files, full", 100, "spark_full_ratio", 1.2),
        ("Spark server ÷ client, 10,000 files, full", 10_000, "spark_full_ratio", 1.2),
        ("Spark server ÷ client, 10,000 files, 1 %", 10_000, "spark_selective_ratio", 0.3),
        ("Spark server ÷ client, 100,000 files, 1 %", 100_000, "spark_selective_ratio", 0.1),
        ("Spark server ÷ client, 100,000 files, full", 100_000, "spark_full_ratio", 1.0),
        ("index of 1,000,000 files, bytes", 1_000_000, "index_bytes", 0.9e9),
    ]
    told: list[dict[str, Any]] = [
        {"goal": goal, "found": by_files[size][key], "at most": most, "met": by_files[size][key] <= most}
        | {"floor": by_files[size].get(f"{key.removesuffix('_ratio')}_floor")}
        for goal, size, key, most in goals
        if key in by_files.get(size, {})
    ]
    if {10_000, 100_000} <= by_files.keys() and "http_selective_ms" in by_files[10_000]:
        growth = by_files[100_000]["http_selective_ms"] / by_files[10_000]["http_selective_ms"]
        told.append(
            {
                "goal": "1 % over HTTP, 100,000 ÷ 10,000 files",
                "found": growth,
                "at most": 10,
                "met": growth < 10,
            }
        )
    largest = by_files[max(by_files)]
    for goal, key, least in (
        ("cold, files a second of CPU", "cold_files_per_cpu_second", 60_000),
        ("warm full plan in process, files a second", "full_files_per_second", 1_000_000),
    ):
        told.append({"goal": goal, "found": largest[key], "at least": least, "met": largest[key] >= least})
    return told


def show_goals(goals: list[dict[str, Any]]) -> None:
    table = Table("goal", "found", "aim", "", "with a server that costs nothing")
    for goal in goals:
        least = "at least" in goal
        aim = f"≥ {goal['at least']:,}" if least else f"≤ {goal['at most']:,}"
        found = f"{goal['found']:,.2f}" if goal["found"] < 1000 else f"{goal['found']:,.0f}"
        floor = f"{goal['floor']:.2f}" if goal.get("floor") else ""
        table.add_row(goal["goal"], found, aim, "met" if goal["met"] else "MISSED", floor)
    Console(width=200).print(table)


def run(sizes: list[int], repeat: int, *, spark: bool, folder: Path) -> tuple[list[dict[str, Any]], float]:
    """All tables; and the milliseconds of a server's first plan, with what it has to load for it."""
    forged = folder / "forged"
    with served(folder / "home", forged) as server, ExitStack() as open:
        first = forge_table(forged / "first", 2_000)
        server.register("first", first)
        first_ms = http_cases(server, "first", first, 1)["http_cold_ms"]
        session = open.enter_context(spark_session(server)) if spark else None
        if session is not None:
            # Java compiles what it has done often enough.
            spark_cases(session, "first", first, 2 * repeat)
        rows = []
        for size in random.sample(sizes, len(sizes)):
            table = forge_table(forged / f"t{size}", size)
            # A million files are measured in process only: Spark would need more memory than the machine may have.
            few = size <= SERVED_LIMIT
            rows.append(measure(table, repeat, server if few else None, session if few else None))
            shutil.rmtree(forged / f"t{size}")
    return sorted(rows, key=lambda row: int(row["files"])), first_ms


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 files, fewer runs")
    parser.add_argument("--files", help="sizes of the tables (default 1,100,10000,100000,1000000)")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--no-spark", action="store_true", help="without Spark")
    options = parser.parse_args()
    usual = "1,100,10000" if options.quick else "1,100,10000,100000,1000000"
    sizes = [int(size) for size in (options.files or usual).split(",")]
    repeat = options.repeat or (3 if options.quick else 7)
    start = time.perf_counter()
    warm_up()
    print(f"compiled reader ready after {(time.perf_counter() - start) * 1000:,.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        rows, first_ms = run(sizes, repeat, spark=not options.no_spark, folder=Path(folder))
    for columns in (IN_PROCESS, OVER_HTTP, BY_SPARK):
        show(rows, columns)
    print(f"first plan of a new server, 2,000 files: {first_ms:,.0f} ms")
    goals = compared(rows)
    show_goals(goals)
    RESULTS.parent.mkdir(exist_ok=True)
    told = {"benchmark": "plan", "rows": rows, "first_plan_ms": first_ms, "goals": goals}
    RESULTS.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
