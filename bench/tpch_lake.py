"""TPC-H in a real server with three readers, and the same rows beside it in tables that nobody governs.

The readers: `whole` sees everything, `filtered` the rows that filters on partition columns leave, `masked` those rows with
three columns masked. Spark reads as each of them through the server. Beside it, in a catalog that is only a file, lie the
owner's very files, and for both restricted readers a copy by hand: plain Iceberg tables with the same rows and values,
made by Spark SQL that knows nothing of Headgate. What a query answers over those is what it must answer over a lens.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.real.iceberg_lake import IcebergLake, iceberg_lake

from bench.materialise import lineitem_like
from headgate.pipelines.needs import RUNTIME, SQLITE

API: Final = "/api/metalakes/lake"
PARTITIONED: Final = {
    "lineitem": "years(l_shipdate)",
    "orders": "years(o_orderdate)",
    "customer": "c_mktsegment",
}
VISIBLE: Final = {
    "lineitem": "l_shipdate < DATE '1997-01-01'",
    "orders": "o_orderdate < DATE '1997-01-01'",
    "customer": "c_mktsegment <> 'FURNITURE'",
}
"""What the row filters leave, in words that the policy language and Spark share."""
MASKED: Final = {
    "lineitem": (
        "l_commitdate",
        "truncate_to_month(l_commitdate)",
        "CAST(trunc(l_commitdate, 'MM') AS DATE)",
    ),
    "orders": ("o_comment", "mask_alphanum(o_comment)", "repeat('x', length(o_comment))"),
    "customer": (
        "c_phone",
        "show_first_4(c_phone)",
        "concat(left(c_phone, 4), regexp_replace(substr(c_phone, 5), '[0-9]', 'n'))",
    ),
}
"""Column, mask, and what Spark SQL makes of the column that is the same by another way."""
LARGE: Final = "large"
READERS: Final = ("whole", "filtered", "masked")
_LARGE_POLICIES: Final = """\
policy: large-rows
on: lake.cat.s.large
to: [user:masked]
rows: mode IN ('AIR', 'RAIL')
---
policy: large-masks
on: lake.cat.s.large
to: [user:masked]
mask:
  comment: mask_alphanum(comment)
  shipdate: truncate_to_month(shipdate)
  clerk: sha256(clerk)
"""


class TpchLake:
    """The server, its readers, and a Spark session with a catalog for each of them."""

    def __init__(self, lake: IcebergLake, folder: Path, *, master: str, cached: bool) -> None:
        self.lake = lake
        self.tokens = {"owner": lake.token}
        self._introduce()
        self.spark = _session(master)
        for name, token in self.tokens.items():
            self._attach(name, cached, type="rest", uri=lake.uri, warehouse=lake.warehouse, token=token)
        beside = {"uri": f"jdbc:sqlite:{folder}/beside.db", "warehouse": f"file://{folder}/beside"}
        self._attach("beside", cached, type="jdbc", **beside, **{"jdbc.schema-version": "V1"})

    def fill(self, tables: dict[str, Path], megabytes: int) -> None:
        """Write the tables as their owner, put the policies in force, and lay the same rows beside them."""
        for name, folder in tables.items():
            rows = self.spark.read.parquet(str(folder))
            rows.createOrReplaceTempView("rows")
            self._create(f"owner.s.{name}", name, "SELECT * FROM rows")
        self.spark.catalog.dropTempView("rows")
        lineitem_like(self.spark, 10, megabytes).writeTo(f"owner.s.{LARGE}").using("iceberg").create()
        body = {"files": [{"file": "policies.yaml", "text": _policies()}], "whole": True}
        self.lake.server.must(self.lake.token, "POST", "/api/headgate/policies/apply?metalake=lake", body)
        for space in READERS:
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS beside.for_{space}")
            for name in tables:
                if space == "whole" or name not in VISIBLE:
                    self._register(name, space)
                else:
                    self._create(f"beside.for_{space}.{name}", name, seen(f"owner.s.{name}", name, space))

    def made(self, table: str) -> int:
        """How many copies the ledger has of what `masked` sees of a table."""
        views = self._views("masked", table)
        if len(views) > 1 or any(view["failed"] for view in views):
            raise AssertionError(f"{table} is not one healthy view: {views}")
        return sum(view["made"] for view in views)

    def copies(self, reader: str, tables: Iterable[str]) -> int:
        """How many copies were ever asked for by a reader."""
        states = ("wanted", "making", "made", "failed")
        return sum(view[state] for t in tables for view in self._views(reader, t) for state in states)

    def _views(self, reader: str, table: str) -> list[dict[str, Any]]:
        """What the owner is told of a reader's view; readers themselves are not told how many copies there are."""
        lenses, ask = "/api/headgate/lenses", self.lake.server.must
        mine = ask(self.tokens[reader], "GET", f"{lenses}/mine?metalake=lake&table=cat.s.{table}")["views"]
        own = {view["view"] for view in mine}
        every: list[dict[str, Any]] = ask(self.lake.token, "GET", f"{lenses}?metalake=lake")["views"]
        return [view for view in every if view["table"] == f"cat.s.{table}" and view["view"] in own]

    # -- making ---------------------------------------------------------------------------------------------------

    def _introduce(self) -> None:
        names = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
        reads = [{"name": name, "condition": "ALLOW"} for name in names]
        on = {"fullName": "cat", "type": "CATALOG", "privileges": reads}
        ask, owner = self.lake.server.must, self.lake.token
        ask(owner, "POST", f"{API}/roles", {"name": "reader", "securableObjects": [on]})
        for user in READERS:
            ask(owner, "POST", f"{API}/users", {"name": user})
            ask(owner, "PUT", f"{API}/permissions/users/{user}/grant", {"roleNames": ["reader"]})
            self.tokens[user] = self.lake.token_of(user)

    def _attach(self, name: str, cached: bool, **settings: str) -> None:
        catalog = f"spark.sql.catalog.{name}"
        self.spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
        for key, value in {**settings, "cache-enabled": str(cached).lower()}.items():
            self.spark.conf.set(f"{catalog}.{key}", value)

    def _create(self, target: str, name: str, query: str) -> None:
        parted = f"PARTITIONED BY ({PARTITIONED[name]})" if name in PARTITIONED else ""
        self.spark.sql(f"CREATE TABLE {target} USING iceberg {parted} AS {query}")

    def _register(self, name: str, space: str) -> None:
        """The owner's own files, by a catalog that only knows where they are."""
        log = self.spark.sql(f"SELECT file FROM owner.s.{name}.metadata_log_entries").collect()
        self.spark.sql(
            "CALL beside.system.register_table(table => :table, metadata_file => :file)",
            {"table": f"for_{space}.{name}", "file": log[-1].file},
        )


def seen(table: str, name: str, reader: str) -> str:
    """What a reader sees of a table, in Spark SQL over the raw rows."""
    shown = "*"
    if reader == "masked":
        column, _, sql = MASKED[name]
        shown = f"* EXCEPT ({column}), {sql} AS {column}"
    return f"SELECT {shown} FROM {table}" + ("" if reader == "whole" else f" WHERE {VISIBLE[name]}")


@contextmanager
def tpch_lake(folder: Path, *, master: str, cached: bool) -> Iterator[TpchLake]:
    with iceberg_lake(folder / "home") as lake:
        made = TpchLake(lake, folder, master=master, cached=cached)
        try:
            yield made
        finally:
            made.spark.stop()


def _policies() -> str:
    told = [_LARGE_POLICIES]
    for name, rows in VISIBLE.items():
        column, mask, _ = MASKED[name]
        on = f"on: lake.cat.s.{name}"
        told.append(f"policy: rows-{name}\n{on}\nto: [user:filtered, user:masked]\nrows: {rows}\n")
        told.append(f"policy: mask-{name}\n{on}\nto: [user:masked]\nmask:\n  {column}: {mask}\n")
    return "---\n".join(told)


def _session(master: str) -> Any:
    """Spark as it comes, with Iceberg."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.master(master).appName("lens-read")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "3g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.session.timeZone": "UTC",
        "spark.jars.packages": f"{RUNTIME},{SQLITE}",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
