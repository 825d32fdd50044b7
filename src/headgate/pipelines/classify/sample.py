"""Sampling a table and counting what its values look like, all of it in the JVM.

The sample is the first rows of the table's files in the order they are planned, read by one task that stops when it has enough: it
is not shuffled, sorted or cached, so no value is written anywhere.
"""

from typing import TYPE_CHECKING, Any, Final

import msgspec

from headgate.model.errors import HeadgateError
from headgate.pipelines.classify.columns import LeafColumn, leaves, quoted
from headgate.pipelines.classify.kinds import KINDS, SOLID, TEXT
from headgate.pipelines.classify.proposals import Counts, Proposal, propose
from headgate.pipelines.errors import causes_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_ROWS: Final = 10_000
LONGEST: Final = 256
"""Longer texts are values, but of no kind."""
_AT_ONCE: Final = 100
"""So many columns are counted in one pass over the sample: an expression over more of them compiles slowly."""
_EMPTY: Final = ("", "-", "?", "n/a", "na", "nan", "null", "none", "unknown")
"""Texts that stand for no value."""
_ROWS: Final = -1


class Classified(msgspec.Struct, frozen=True):
    """What was found in a table: how many rows and columns were looked at, and the tags proposed."""

    rows: int
    columns: int
    proposals: tuple[Proposal, ...]


class SampleFailed(HeadgateError):
    """Spark could not sample a table. INVARIANT: carries the names of Spark's errors only; their messages hold values."""

    def __init__(self, table: str, causes: tuple[str, ...]) -> None:
        super().__init__(
            f"table '{table}' cannot be sampled ({', '.join(causes)})",
            hint="check that you may read all of it, and that Spark reaches its storage",
        )
        self.causes = causes


def classify(
    spark: "SparkSession",
    table: tuple[str, ...],
    *,
    rows: int = MOST_ROWS,
    least: float = 0.0,
) -> Classified:
    """Propose tags for the columns of a table, named by its parts as Spark reads it, from at most `rows` rows."""
    try:
        source = spark.table(".".join(map(quoted, table)))
        found = leaves(source.schema.jsonValue())
        seen = 0
        counted: list[tuple[tuple[str, ...], tuple[str, ...], Counts]] = []
        for start in range(0, len(found), _AT_ONCE):
            part = found[start : start + _AT_ONCE]
            by_leaf = {row.leaf: row for row in counts(source, part, rows).collect()}
            seen = by_leaf[_ROWS].total if _ROWS in by_leaf else 0
            counted += [(leaf.path, leaf.column, _read(by_leaf.get(n))) for n, leaf in enumerate(part)]
    except Exception as error:
        raise SampleFailed(".".join(table[1:]), causes_of(error)) from None
    proposals = propose([each for each in counted if each[2].values], table[-1], least)
    return Classified(seen, len(found), tuple(proposals))


def counts(source: "DataFrame", found: list[LeafColumn], rows: int) -> "DataFrame":
    """A row of numbers for each leaf, and one under the number -1 with how many rows there were."""
    parts = [f"named_struct('leaf', {_ROWS}, 'texts', array('row'))"]
    parts += [f"named_struct('leaf', {n}, 'texts', {leaf.sql})" for n, leaf in enumerate(found)]
    values = (
        # One task goes through the files one after the other, and stops reading once the limit is reached.
        source.coalesce(1)
        .limit(rows)
        .selectExpr(f"inline(array({', '.join(parts)}))")
        .selectExpr("leaf", "explode(texts) AS value")
        .selectExpr("leaf", f"trim(substring(value, 1, {LONGEST + 1})) AS {TEXT}")
        .where(f"{TEXT} IS NOT NULL AND lower({TEXT}) NOT IN ({', '.join(repr(word) for word in _EMPTY)})")
        .selectExpr("leaf", TEXT, rf"upper(regexp_replace({TEXT}, r'[ .\-/]', '')) AS {SOLID}")
        .selectExpr("leaf", *(f"{_signal(kind.signals)} AS {_column(kind.value)}" for kind in KINDS))
    )
    return values.groupBy("leaf").agg(*_sums())


def _sums() -> list[Any]:
    from pyspark.sql import functions as f

    return [
        f.expr("count(1) AS total"),
        *(
            f.expr(f"count_if({_column(kind.value)} = {n}) AS {_column(kind.value)}_{n}")
            for kind in KINDS
            for n, _ in enumerate(kind.signals)
        ),
    ]


def _signal(signals: tuple[Any, ...]) -> str:
    """The number of the first signal that a value meets; NULL if it meets none."""
    cases = " ".join(f"WHEN {signal.sql} THEN {n}" for n, signal in enumerate(signals))
    return f"CASE WHEN length({TEXT}) > {LONGEST} THEN NULL {cases} END"


def _column(kind: str) -> str:
    return f"is_{kind.replace('-', '_')}"


def _read(row: Any) -> Counts:
    if row is None:
        return Counts(0, {})
    passed = {
        kind.value: {signal.name: row[f"{_column(kind.value)}_{n}"] for n, signal in enumerate(kind.signals)}
        for kind in KINDS
    }
    return Counts(row.total, passed)
