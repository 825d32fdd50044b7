"""Reading through a lens: TPC-H's 22 queries in Spark, governed beside ungoverned, cold and warm.

    scripts/bench lens-read [--scale 0.1] [--repeat 5] [--megabytes 100] [--master local[*]] [--reload]

Each reader of bench.tpch_lake is measured against plain Iceberg tables with the same rows and the same values, which no
server knows: `whole` against the owner's own files, `filtered` and `masked` against copies that Spark made by hand with the same
partitioning. A filter leaves less to read, so comparing a filtered reader with the whole table would flatter the filter.
Readers and queries take turns in shuffled order; the best of each counts, since a busy machine only ever adds.

Cold is a reader's first run of each query: it includes making copies. Before it, the session ran all queries once over the plain
tables, so that the difference is the reader's own. Every answer, cold or warm, must equal the plain tables' to the last digit.
"""

import argparse
import json
import math
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from bench.tpch import generate, orders_and_lines
from bench.tpch_lake import LARGE, READERS, VISIBLE, TpchLake, seen, tpch_lake
from bench.tpch_queries import QUERIES

RESULTS: Final = Path(__file__).parent / "results" / "lens-read.json"
WARM_GOAL: Final = 1.05
FIRST_READ_GOAL: Final = 10.0
FULL: Final = (
    "SELECT count(*), count(DISTINCT l_commitdate), sum(l_extendedprice), max(l_comment) FROM lineitem"
)
PLAIN: Final = {reader: f"beside.for_{reader}" for reader in READERS}
GOVERNED: Final = {reader: f"{reader}.s" for reader in READERS}

Rows = list[tuple[Any, ...]]
Seconds = dict[str, dict[str, float]]
"""By namespace, then by query."""


class Clock:
    """Runs queries in a namespace, and holds every answer against the one that it must be."""

    def __init__(self, lake: TpchLake) -> None:
        self.lake = lake
        self.expected: dict[tuple[str, str], Rows] = {}

    def run(self, space: str, query: str) -> tuple[Rows, float]:
        self.lake.spark.sql(f"USE {space}")
        start = time.perf_counter()
        rows = self.lake.spark.sql(QUERIES[query]).collect()
        return [tuple(row) for row in rows], time.perf_counter() - start

    def learn(self) -> Seconds:
        """All queries once over the plain tables: what readers must be answered."""
        times: Seconds = {}
        for reader, space in PLAIN.items():
            for query in QUERIES:
                self.expected[reader, query], seconds = self.run(space, query)
                times.setdefault(space, {})[query] = seconds
        return times

    def checked(self, reader: str, space: str, query: str) -> float:
        rows, seconds = self.run(space, query)
        if rows != self.expected[reader, query]:
            raise AssertionError(
                f"{query} in {space} answers {rows[:3]} and not {self.expected[reader, query][:3]}"
            )
        return seconds

    def differing(self, reader: str) -> int:
        """In how many answers a reader's policies can be seen at all."""
        return sum(self.expected[reader, query] != self.expected["whole", query] for query in QUERIES)


def cold(clock: Clock) -> Seconds:
    return {
        space: {query: clock.checked(reader, space, query) for query in QUERIES}
        for reader, space in GOVERNED.items()
    }


def warm(clock: Clock, repeat: int) -> Seconds:
    turns = [(r, space, q) for r in READERS for space in (PLAIN[r], GOVERNED[r]) for q in QUERIES]
    best: Seconds = {}
    for turn in range(repeat):
        random.Random(turn).shuffle(turns)
        for reader, space, query in turns:
            seconds = clock.checked(reader, space, query)
            times = best.setdefault(space, {})
            times[query] = min(seconds, times.get(query, seconds))
    return best


def first_read(lake: TpchLake) -> dict[str, Any]:
    """A table of ten files that `masked` has never read: from the SQL text to the rows, copies and all."""
    told = lake.spark.sql(f"SELECT count(*), sum(file_size_in_bytes) FROM owner.s.{LARGE}.files").collect()[0]
    query = "SELECT count(*), sum(price), max(comment), min(shipdate), max(clerk) FROM "
    if lake.made(LARGE):
        raise AssertionError("somebody has read the table before")
    start = time.perf_counter()
    found = lake.spark.sql(query + f"masked.s.{LARGE}").collect()[0]
    seconds = time.perf_counter() - start
    by_hand = lake.spark.sql(
        "SELECT count(*), sum(price), max(translate(regexp_replace(comment, '[^0-9]', 'x'), '0123456789', 'nnnnnnnnnn')),"
        f" min(trunc(shipdate, 'MM')), max(sha2(clerk, 256)) FROM owner.s.{LARGE} WHERE mode IN ('AIR', 'RAIL')"
    ).collect()[0]
    if tuple(found) != tuple(by_hand) or lake.made(LARGE) != told[0]:
        raise AssertionError(f"{tuple(found)} is not {tuple(by_hand)}, or not every file was copied")
    return {"files": told[0], "megabytes": round(told[1] / 1e6, 1), "seconds": round(seconds, 2)}


def append(lake: TpchLake, scale: float, folder: Path) -> dict[str, Any]:
    """One percent more line items: how many copies the next read has made, and how long it takes."""
    spark, before = lake.spark, _files(lake)
    copies = lake.made("lineitem")
    # Orders that come after all that are there.
    more = [lines for _, lines in orders_and_lines(scale, first=1 << 30, count=round(15_000 * scale))]
    (folder / "more").mkdir()
    for number, lines in enumerate(more):
        pq.write_table(lines, folder / "more" / f"{number}.parquet")
    spark.read.parquet(str(folder / "more")).writeTo("owner.s.lineitem").append()
    added = _files(lake) - before
    start = time.perf_counter()
    spark.sql("REFRESH TABLE masked.s.lineitem")
    spark.sql("USE masked.s")
    found = spark.sql(FULL).collect()
    seconds = time.perf_counter() - start
    spark.sql("REFRESH TABLE owner.s.lineitem")
    by_hand = spark.sql(
        FULL.replace("lineitem", f"({seen('owner.s.lineitem', 'lineitem', 'masked')})")
    ).collect()
    if found != by_hand:
        raise AssertionError(f"after appending, {found} is not {by_hand}")
    made = lake.made("lineitem") - copies
    if made != len(added):
        raise AssertionError(f"{len(added)} files were appended, and {made} copies made")
    return {
        "rows": sum(lines.num_rows for lines in more),
        "files": len(added),
        "copies before": copies,
        "copies made": made,
        "seconds": round(seconds, 2),
    }


def _files(lake: TpchLake) -> set[str]:
    """The files of line items of which the filter leaves rows; it goes by year, as their partitioning does."""
    files = lake.spark.sql(
        "SELECT file_path FROM owner.s.lineitem.files WHERE partition.l_shipdate_year < 1997 - 1970"
    )
    return {row[0] for row in files.collect()}


def compared(best: Seconds) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for reader in READERS:
        plain, governed = best[PLAIN[reader]], best[GOVERNED[reader]]
        found[reader] = {
            "plain": statistics.geometric_mean(plain.values()),
            "governed": statistics.geometric_mean(governed.values()),
            "ratio": math.exp(statistics.mean(math.log(governed[q] / plain[q]) for q in QUERIES)),
        }
    return found


def measure(options: argparse.Namespace, screen: Console) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="lens-read-") as made:
        folder = Path(made)
        screen.print(f"generating TPC-H, scale {options.scale}")
        tables = generate(options.scale, folder / "generated")
        with tpch_lake(folder, master=options.master, cached=not options.reload) as lake:
            screen.print("writing it as its owner, and once more by hand for each reader")
            lake.fill(tables, options.megabytes)
            clock = Clock(lake)
            screen.print("all queries over the plain tables")
            clock.learn()
            screen.print("all queries as each reader, cold")
            first = cold(clock)
            if lake.copies("filtered", VISIBLE) != 0:
                raise AssertionError("a filter on partition columns made copies")
            screen.print(f"all queries, warm, {options.repeat} times in shuffled order")
            best = warm(clock, options.repeat)
            told = {
                "scale": options.scale,
                "cold": first,
                "warm": best,
                "compared": compared(best),
                "answers that differ from the whole table's": {r: clock.differing(r) for r in READERS[1:]},
                "copies": {name: lake.made(name) for name in VISIBLE},
            }
            screen.print("a new table's first read, and one percent more")
            return {**told, "first read": first_read(lake), "append": append(lake, options.scale, folder)}


def judged(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    goals = {
        f"warm, {reader}: governed over plain": (figures["ratio"], WARM_GOAL)
        for reader, figures in found["compared"].items()
    }
    goals["first read of a new view, seconds"] = (found["first read"]["seconds"], FIRST_READ_GOAL)
    goals["copies made after appending 1 %"] = (found["append"]["copies made"], found["append"]["files"])
    return {what: {"found": f, "at most": goal, "met": f <= goal} for what, (f, goal) in goals.items()}


def show(found: dict[str, Any], screen: Console) -> None:
    table = Table(
        title=f"TPC-H at scale {found['scale']}: milliseconds, best of the warm runs", title_justify="left"
    )
    table.add_column("query")
    for reader in READERS:
        for column in ("plain", reader, "ratio", "cold"):
            table.add_column(column, justify="right")
    for query in QUERIES:
        cells = []
        for reader in READERS:
            plain, governed = found["warm"][PLAIN[reader]][query], found["warm"][GOVERNED[reader]][query]
            once = found["cold"][GOVERNED[reader]][query]
            cells += [
                f"{plain * 1e3:,.0f}",
                f"{governed * 1e3:,.0f}",
                f"{governed / plain:.2f}",
                f"{once * 1e3:,.0f}",
            ]
        table.add_row(query, *cells)
    means = []
    for reader, figures in found["compared"].items():
        whole = statistics.geometric_mean(found["cold"][GOVERNED[reader]].values())
        means += [
            f"{figures['plain'] * 1e3:,.0f}",
            f"{figures['governed'] * 1e3:,.0f}",
            f"{figures['ratio']:.2f}",
        ]
        means.append(f"{whole * 1e3:,.0f}")
    table.add_section()
    table.add_row("mean", *means)
    screen.print(table)
    screen.print(
        "Each reader beside plain Iceberg tables that hold the same rows and values: what a filter leaves out, neither reads.\n"
        f"Copies made for 'masked': {found['copies']}; for 'filtered': none, whole partitions are given as they are.\n"
        f"First read of a new view: {found['first read']}.\nOne percent more line items: {found['append']}."
    )
    goals = Table(title="goals", title_justify="left")
    for column in ("", "found", "at most", "met"):
        goals.add_column(column)
    for what, goal in found["goals"].items():
        goals.add_row(what, f"{goal['found']:.2f}", f"{goal['at most']}", "yes" if goal["met"] else "no")
    screen.print(goals)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--megabytes", type=int, default=100, help="of the table whose first read is measured"
    )
    parser.add_argument("--master", default="local[*]")
    parser.add_argument(
        "--reload", action="store_true", help="load tables anew for every query, plain ones too"
    )
    screen = Console()
    found = measure(parser.parse_args(), screen)
    found["goals"] = judged(found)
    show(found, screen)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"benchmark": "lens-read", **found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
