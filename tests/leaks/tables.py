"""Random tables: their columns, their rows, and a history of changes made by Spark, remembered in plain Python."""

import datetime as dt
import decimal
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tests.leaks.canaries import Aviary, leaves
from tests.leaks.truth import Column, Row, names

EPOCH: Final = dt.datetime(2001, 1, 1)
NESTED: Final = ("struct", "array", "map")


@dataclass(frozen=True)
class Snapshot:
    """What a table held, and what was done to make it so."""

    id: int
    rows: tuple[Row, ...]
    done: str


@dataclass
class Table:
    """A table as it is now, and all that ever was in it."""

    name: str
    version: int
    columns: list[Column]
    groups: list[str]
    """The values of the column that rows are grouped by."""
    days: list[dt.date]
    """The few days that are there if rows are partitioned by them."""
    partitioned: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    ever: set[Any] = field(default_factory=set)
    """Every value and every name that was ever in the table."""
    tags: dict[str, str] = field(default_factory=dict)
    """Keys of columns with the value of their tag."""
    former: dict[str, set[str]] = field(default_factory=dict)
    """Keys of columns with the names that they had before."""
    met: set[str] = field(default_factory=set)
    """What happened to it, so that a hunt can tell what it covered."""

    def column(self, key: str) -> Column:
        return next(c for c in self.columns if c.key == key)

    def remember(self) -> None:
        self.ever.update(leaves(self.rows))
        self.ever.update(names(self.columns))


def random_table(rng: random.Random, birds: Aviary, name: str, version: int) -> Table:
    """Columns with names that are canaries; some always there, because every history and policy speaks of them."""

    def column(key: str, type: str, *fields: Column) -> Column:
        return Column(key, birds.word(), type, fields)

    always = [
        column("id", "bigint"),
        column("group", "string"),
        column("text", "string"),
        column("amount", "int"),
        column("born", "date"),
    ]
    deep = column("deep", "struct<{}>", column("x", "string"), column("y", "bigint"))
    maybe = [
        column("other", "string"),
        column("common", "string"),
        column("price", "decimal(18,2)"),
        column("ratio", "double"),
        column("at", "timestamp_ntz"),
        column("zoned", "timestamp"),
        column("flag", "boolean"),
        column("raw", "binary"),
        column("home", "struct<{}>", column("zip", "string"), column("street", "string"), deep),
        column("list", "array<struct<{}>>", column("k", "string"), column("v", "string")),
        column("map", "map<string, string>"),
    ]
    chosen = [*always, *rng.sample(maybe, rng.randint(6, len(maybe)))]
    rng.shuffle(chosen)
    groups, days = [birds.word() for _ in range(3)], [birds.day() for _ in range(3)]
    return Table(name, version, chosen, groups, days)


def random_rows(rng: random.Random, birds: Aviary, table: Table, count: int) -> list[Row]:
    common = [birds.word() for _ in range(4)]

    def value(column: Column) -> Any:
        if column.key == "id":
            return birds.number()
        if column.key == "group":
            return rng.choice([*table.groups, *table.groups, None])
        if column.key == "born" and "day of born" in table.partitioned:
            return rng.choice([*table.days, None])
        if column.key == "common":
            return rng.choice([*common[:1] * 5, *common[1:], None])
        if rng.random() < 0.15:
            return None
        if column.type == "struct<{}>":
            return {f.key: value(f) for f in column.fields}
        if column.type.startswith("array"):
            return [{f.key: value(f) for f in column.fields} for _ in range(rng.randint(0, 2))]
        return _MADE[column.type](rng, birds)

    return [{c.key: value(c) for c in table.columns} for _ in range(count)]


_MADE: Final[dict[str, Callable[[random.Random, Aviary], Any]]] = {
    "string": lambda rng, birds: birds.word(),
    "bigint": lambda rng, birds: birds.number(),
    "int": lambda rng, birds: birds.small(),
    "date": lambda rng, birds: birds.day(),
    "decimal(18,2)": lambda rng, birds: decimal.Decimal(birds.number()).scaleb(-2),
    "double": lambda rng, birds: birds.small() / 8,
    "timestamp_ntz": lambda rng, birds: EPOCH + dt.timedelta(microseconds=birds.small() * 400_000),
    "timestamp": lambda rng, birds: (EPOCH + dt.timedelta(microseconds=birds.small() * 400_000)).replace(
        tzinfo=dt.UTC
    ),
    "boolean": lambda rng, birds: rng.random() < 0.5,
    "binary": lambda rng, birds: birds.word().encode(),
    "map<string, string>": lambda rng, birds: {birds.word(): birds.word() for _ in range(rng.randint(0, 2))},
}


class Writer:
    """Changes a table in Spark as its owner, and its model with it."""

    def __init__(
        self,
        spark: Any,
        catalog: str,
        table: Table,
        rng: random.Random,
        birds: Aviary,
        current: Callable[[], int],
    ) -> None:
        self.spark = spark
        self.name = f"{catalog}.{table.name}"
        self.table = table
        self.rng = rng
        self.birds = birds
        self.current = current

    def create(self, file_format: str = "parquet") -> None:
        t = self.table
        by = self._partitioning()
        text, bloom = t.column("text").name, "write.parquet.bloom-filter-enabled.column"
        self.spark.sql(
            f"CREATE TABLE {self.name} ({self._ddl()}) USING iceberg "
            f"{f'PARTITIONED BY ({by})' if by else ''} TBLPROPERTIES ('format-version'='{t.version}', "
            "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', "
            f"'write.metadata.metrics.default'='full', '{bloom}.{text}'='true', "
            f"'write.format.default'='{file_format}', 'write.distribution-mode'='none', "
            "'write.spark.fanout.enabled'='true')"
        )
        t.met |= {f"version {t.version}", file_format, *(f"partitioned by {p}" for p in t.partitioned)}

    def append(self, count: int) -> None:
        rows = random_rows(self.rng, self.birds, self.table, count)
        frame = self.spark.createDataFrame([self._tuple(row) for row in rows], self._ddl().replace(": ", ":"))
        frame.coalesce(1).writeTo(self.name).append()
        self._happened([*self.table.rows, *rows], "append")

    def delete_some(self, count: int) -> None:
        """Rows out of the middle of files: position deletes, or deletion vectors."""
        gone = {row["id"] for row in self.rng.sample(self.table.rows, min(count, len(self.table.rows)))}
        self.spark.sql(f"DELETE FROM {self.name} WHERE {self.table.column('id').name} IN ({_list(gone)})")
        self._happened(
            [r for r in self.table.rows if r["id"] not in gone], f"deletes of version {self.table.version}"
        )

    def update_some(self, count: int) -> None:
        changed = {row["id"]: self.birds.word() for row in self.rng.sample(self.table.rows, count)}
        id, text = self.table.column("id").name, self.table.column("text").name
        cases = " ".join(f"WHEN {id} = {key} THEN '{word}'" for key, word in changed.items())
        self.spark.sql(
            f"UPDATE {self.name} SET {text} = CASE {cases} ELSE {text} END WHERE {id} IN ({_list(changed)})"
        )
        self._happened([{**r, "text": changed.get(r["id"], r["text"])} for r in self.table.rows], "update")

    def overwrite_group(self) -> None:
        """All rows of one group replaced by new ones."""
        group = self.rng.choice(self.table.groups)
        rows = [{**row, "group": group} for row in random_rows(self.rng, self.birds, self.table, 4)]
        frame = self.spark.createDataFrame([self._tuple(row) for row in rows], self._ddl().replace(": ", ":"))
        from pyspark.sql.functions import col

        frame.coalesce(1).writeTo(self.name).overwrite(col(self.table.column("group").name) == group)
        self._happened([*(r for r in self.table.rows if r["group"] != group), *rows], "overwrite")

    def evolve(self) -> None:
        """A rename, a promotion, a new column, and perhaps one dropped and another partitioning."""
        t, rng = self.table, self.rng
        for key in rng.sample(["text", "born", "group"], 2):
            old, new = t.column(key).name, self.birds.word()
            self.spark.sql(f"ALTER TABLE {self.name} RENAME COLUMN {old} TO {new}")
            self._replace(key, name=new)
            t.former.setdefault(key, set()).add(old)
        self.spark.sql(f"ALTER TABLE {self.name} ALTER COLUMN {t.column('amount').name} TYPE bigint")
        self._replace("amount", type="bigint")
        added = Column("added", self.birds.word(), "string")
        self.spark.sql(f"ALTER TABLE {self.name} ADD COLUMN {added.name} string")
        t.columns.append(added)
        t.rows = [{**row, "added": None} for row in t.rows]
        t.met |= {"rename", "promote", "add"}
        if "home" in {c.key for c in t.columns}:
            home, more = t.column("home"), Column("country", self.birds.word(), "string")
            self.spark.sql(f"ALTER TABLE {self.name} ADD COLUMN {home.name}.{more.name} string")
            self._replace("home", fields=(*home.fields, more))
            t.met.add("add inside")
        t.remember()

    def drop(self, key: str) -> None:
        self.spark.sql(f"ALTER TABLE {self.name} DROP COLUMN {self.table.column(key).name}")
        self.table.columns = [c for c in self.table.columns if c.key != key]
        self.table.met.add("drop")

    def repartition(self) -> None:
        id = self.table.column("id").name
        self.spark.sql(f"ALTER TABLE {self.name} ADD PARTITION FIELD bucket(3, {id})")
        self.table.met.add("another partitioning")

    def _happened(self, rows: Sequence[Row], what: str) -> None:
        self.table.rows = list(rows)
        self.table.remember()
        self.table.snapshots.append(Snapshot(self.current(), tuple(rows), what))
        self.table.met.add(what)

    def _replace(self, key: str, **changes: Any) -> None:
        t = self.table
        t.columns = [replace(c, **changes) if c.key == key else c for c in t.columns]

    def _partitioning(self) -> str:
        column = self.table.column
        ways = {
            "group": column("group").name,
            "truncated group": f"truncate(12, {column('group').name})",
            "bucket of id": f"bucket(2, {column('id').name})",
            "day of born": f"days({column('born').name})",
        }
        return ", ".join(ways[key] for key in self.table.partitioned)

    def _ddl(self) -> str:
        return ", ".join(f"{c.name} {c.ddl}" for c in self.table.columns)

    def _tuple(self, row: Row) -> tuple[Any, ...]:
        return tuple(_nested(c, row.get(c.key)) for c in self.table.columns)


def _nested(column: Column, value: Any) -> Any:
    if value is None or not column.fields:
        return value
    if isinstance(value, list):
        return [tuple(_nested(f, one.get(f.key)) for f in column.fields) for one in value]
    return tuple(_nested(f, value.get(f.key)) for f in column.fields)


def _list(values: Any) -> str:
    return ", ".join(map(str, sorted(values)))
