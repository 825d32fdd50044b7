"""Unmodified Spark on the same forged tables, planning by itself and letting the server plan.

Two things are measured. "java" is the Iceberg library alone: `newScan().planFiles()`, drained. "spark" goes from the SQL
text to the input partitions of the physical plan: parsing, both loads of the table, planning and grouping; then Spark
would open files, which forged tables do not have. All modes must find the same files and make the same partitions.

Beside a client that plans by itself and one that lets the server plan there is a third, whose server only repeats what the
server said before (`bench.replay`): the floor, below which no server can bring that client.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.forge import ForgedTable
from bench.replay import replaying
from bench.served import CATALOG, Served

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
MODES = {"own": "client", "srv": "server", "replay": "server"}


@contextmanager
def spark_session(server: Served) -> Iterator[Any]:
    """One session with the same catalog three times, each planned in its own mode."""
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2]")
        .appName("bench-plan")
        .config("spark.jars.packages", RUNTIME)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        # All of it from the start: a heap that grows during a run would be charged to that run.
        .config("spark.driver.extraJavaOptions", "-Xms4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
    )
    with replaying(server.uri) as canned:
        for name, mode in MODES.items():
            catalog = f"spark.sql.catalog.{name}"
            builder = (
                builder.config(catalog, "org.apache.iceberg.spark.SparkCatalog")
                .config(f"{catalog}.type", "rest")
                .config(f"{catalog}.uri", canned if name == "replay" else server.uri)
                .config(f"{catalog}.warehouse", CATALOG)
                .config(f"{catalog}.token", server.token)
                .config(f"{catalog}.cache-enabled", "false")
                .config(f"{catalog}.scan-planning-mode", mode)
            )
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


def spark_cases(session: Any, name: str, table: ForgedTable, repeat: int) -> dict[str, Any]:
    """The figures of one table: the best milliseconds of each case and mode, the server's over the client's, and the floor."""
    found: dict[str, dict[str, list[float]]] = {}
    cases: dict[str, Callable[[str], tuple[int, float]]] = {
        "java_selective": lambda mode: _java(session, mode, name, table),
        "java_full": lambda mode: _java(session, mode, name, None),
        "spark_selective": lambda mode: _partitions(session, mode, name, table),
        "spark_full": lambda mode: _partitions(session, mode, name, None),
    }
    answers = {case: {mode: run(mode)[0] for mode in MODES} for case, run in cases.items()}
    for case, answer in answers.items():
        assert len(set(answer.values())) == 1, f"{case} of {name}: {answer}"
    assert answers["java_selective"]["own"] == table.one_percent_files, answers
    assert answers["java_full"]["own"] == table.files, answers
    counted = {mode: _count(session, mode, name) for mode in MODES}
    assert counted == dict.fromkeys(MODES, table.records), counted
    order = [(case, mode) for case in cases for mode in MODES for _ in range(repeat)]
    random.shuffle(order)
    for case, mode in order:
        _cleared(session)
        answer, milliseconds = cases[case](mode)
        assert answer == answers[case][mode], f"{case} of {name}: {answer} instead of {answers[case][mode]}"
        found.setdefault(case, {}).setdefault(mode, []).append(milliseconds)
    row: dict[str, Any] = {}
    for case, times in found.items():
        # The best of each: a busy machine and Java's compiler only ever add.
        own, srv, floor = (min(times[mode]) for mode in MODES)
        row |= {f"{case}_client_ms": own, f"{case}_server_ms": srv, f"{case}_floor_ms": floor}
        row |= {f"{case}_ratio": srv / own, f"{case}_floor": floor / own}
        medians = {mode: statistics.median(times[mode]) for mode in MODES}
        row[f"{case}_median_ratio"] = medians["srv"] / medians["own"]
    return row


def _cleared(session: Any) -> None:
    """Let go of what earlier runs left behind in Python and Java, so that no run pays for another's memory."""
    gc.collect()
    session._jvm.java.lang.System.gc()


def _java(session: Any, mode: str, name: str, table: ForgedTable | None) -> tuple[int, float]:
    """How many files the Iceberg library plans, without Spark."""
    jvm = session._jvm
    loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
        session._jsparkSession, f"{mode}.s.{name}"
    )
    start = time.perf_counter()
    scan = loaded.newScan()
    if table is not None:
        expressions = jvm.org.apache.iceberg.expressions.Expressions
        scan = scan.filter(expressions.equal(table.one_percent_column, table.one_percent_value))
    tasks = scan.planFiles()
    try:
        found = jvm.org.apache.iceberg.relocated.com.google.common.collect.Iterables.size(tasks)
    finally:
        tasks.close()
    return int(found), (time.perf_counter() - start) * 1000


def _partitions(session: Any, mode: str, name: str, table: ForgedTable | None) -> tuple[int, float]:
    """How many input partitions Spark makes of a query; no file is opened."""
    query = f"SELECT * FROM {mode}.s.{name}"
    if table is not None:
        query += f" WHERE {table.one_percent_column} = {table.one_percent_value}"
    start = time.perf_counter()
    made = session.sql(query)._jdf.rdd().getNumPartitions()
    return int(made), (time.perf_counter() - start) * 1000


def _count(session: Any, mode: str, name: str) -> int:
    """`count(*)` without a filter, which Iceberg answers from the record counts of the planned files."""
    return int(session.sql(f"SELECT count(*) FROM {mode}.s.{name}").collect()[0][0])
