"""Joining reads with what was given: every read by a principal must fall into something they were given, at its time.

All joins are on equal values: a file's folders are spelled out one by one, so a million reads meet ten thousand tables
without being compared with each of them.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from headgate.pipelines.reconcile.access_logs import READS, read_logs
from headgate.pipelines.reconcile.evidence import Evidence, LostAccess, Terms
from headgate.vending.credentials import KEY_PRINT
from headgate.vending.vendor import session_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNPLANNED: Final = "unplanned"
REVOKED: Final = "after-revocation"
STRANGER: Final = "stranger"
NEVER_READ: Final = "never-read"
UNGIVEN_REPORT: Final = "report-without-plan"
KINDS: Final = {
    REVOKED: "read after the reader lost the right to read the table",
    UNPLANNED: "read of a file that no load or plan of the reader gave them, or that is not of the plan its key was given for or signed under",
    STRANGER: "read of a table's file by someone who has no session of Headgate's",
    UNGIVEN_REPORT: "an engine reports a scan that no load or plan of its user allows",
    NEVER_READ: "a plan whose files were not read, as far as logs and reports tell",
}
_COLUMNS: Final = "kind STRING, user STRING, object STRING, file STRING, requester STRING, reads BIGINT, bytes BIGINT, first TIMESTAMP, last TIMESTAMP"  # fmt: skip
_TOTALS: Final = ("count(1) AS total", "count_if(NOT readable) AS bad", "max(at) AS latest")
_SUMMED: Final = ("sum(reads) AS reads", "sum(bytes) AS bytes", "min(at) AS first", "max(at) AS last")
_TIME: Final = pa.timestamp("us", tz="UTC")


class ReadFinding(msgspec.Struct, frozen=True):
    """Something that was read, or not, and should not have been, or should."""

    kind: str
    user: str | None
    object: str | None
    file: str | None
    requester: str | None
    reads: int
    bytes: int
    first: dt.datetime
    last: dt.datetime


class Reconciliation(msgspec.Struct, frozen=True):
    """The findings as rows in Spark, and what they rest on."""

    frame: Any
    reads: int
    """Successful reads in the logs since the time asked about."""
    lines: int
    malformed: dict[str, int]
    """Lines that could not be read, by file."""
    until: dt.datetime | None
    """The last time that the logs tell of."""

    def findings(self, most: int) -> list[ReadFinding]:
        """The first so many, the gravest kinds first."""
        grave = "CASE kind " + " ".join(f"WHEN '{k}' THEN {n}" for n, k in enumerate(KINDS)) + " END"
        names = ", ".join(ReadFinding.__struct_fields__)
        rows = self.frame.selectExpr(*names.split(", "), f"{grave} AS grave")
        ordered = rows.orderBy("grave", "user", "object", "first", "file").limit(most)
        return [
            ReadFinding(*(_utc(row[name]) for name in ReadFinding.__struct_fields__))
            for row in ordered.collect()
        ]

    def counts(self) -> dict[str, int]:
        """How many there are of each kind."""
        found = {row.kind: row["count"] for row in self.frame.groupBy("kind").count().collect()}
        return {kind: found[kind] for kind in KINDS if kind in found}


def reconcile(
    spark: "SparkSession",
    evidence: Evidence,
    terms: Terms,
    *,
    logs: Sequence[str] = (),
    format: str = "auto",
    named: Mapping[str, bytes] | None = None,
    losses: Sequence[LostAccess] = (),
    trusted: Sequence[str] = (),
) -> Reconciliation:
    """Compare logs and reports with what was given. `named` holds fingerprints of originals by view; `trusted` requesters are passed over."""
    if not logs:
        return Reconciliation(_rest(spark, evidence, terms, None, None), 0, 0, {}, None)
    lines = read_logs(spark, logs, format)
    totals = lines.groupBy("log").agg(*_exprs(*_TOTALS)).collect()
    until = max((_utc(row.latest) for row in totals if row.latest is not None), default=None)
    reads = _reads(spark, lines, evidence, terms, trusted)
    judged = _judged(spark, reads, evidence, terms, {**(named or {}), **evidence.prints}, losses).cache()
    wrong = judged.where("kind IS NOT NULL").groupBy("kind", "user", "object", "path", "requester")
    found = wrong.agg(*_exprs(*_SUMMED)).selectExpr(
        "kind", "user", "object", "path AS file", "requester", "reads", "bytes", "first", "last"
    )
    total = judged.selectExpr("coalesce(sum(reads), 0) AS n").collect()[0].n
    return Reconciliation(
        found.unionByName(_rest(spark, evidence, terms, judged, until)).cache(),
        int(total),
        sum(row.total for row in totals),
        {row.log: row.bad for row in totals if row.bad},
        until,
    )


# -- reads ------------------------------------------------------------------------------------------------------


def _reads(
    spark: "SparkSession", lines: "DataFrame", evidence: Evidence, terms: Terms, trusted: Sequence[str]
) -> "DataFrame":
    """Successful reads, alike ones as one row, each with the user that its session or key stands for."""
    from pyspark.sql import functions as f

    sessions = {session_name(user): user for user in evidence.users}
    people = f.broadcast(_table(spark, {"name": _texts(sessions), "user": _texts(sessions.values())}))
    own = people.selectExpr("name AS session", "user AS own")
    above = people.selectExpr("name AS parent", "user AS above")
    keys = f.broadcast(
        _table(spark, {"print": _texts(evidence.keys), "holder": _texts(evidence.keys.values())})
    )
    # Spelled out: a key may have signed for the files of many plans.
    pairs = [(print, file) for print, files in evidence.plans.items() for file in files]
    named = _table(spark, {"print": _texts(p for p, _ in pairs), "path": _texts(file for _, file in pairs)})
    bound = f.broadcast(_table(spark, {"print": _texts(evidence.plans)}).withColumn("bound", f.lit(True)))
    reads = (
        lines.where("readable AND status IN (200, 206)")
        .where(f.col("operation").isin(*READS))
        # What lies in other buckets is not Headgate's to judge, whoever reads it.
        .where(f.col("bucket").isin(*sorted({folder.split("/")[2] for folder in evidence.folders})))
        .where(f.col("at") >= f.lit(terms.since))
    )
    if trusted:
        known = [f.col(column).isin(*trusted) for column in ("requester", "session", "parent")]
        reads = reads.where(~f.coalesce(known[0] | known[1] | known[2], f.lit(False)))
    return (
        reads.join(own, "session", "left")
        .join(above, "parent", "left")
        .withColumn("print", f.expr(f"substring(sha2(session, 256), 1, {KEY_PRINT})"))
        .join(keys, "print", "left")
        .join(bound, "print", "left")
        .join(named.withColumn("named", f.lit(True)), ["print", "path"], "left")
        .selectExpr(
            "coalesce(holder, own, above) AS user",
            # A key that was given for a plan reads that plan's files, whatever else its holder was given; one that signs
            # under plans, what was signed for.
            "bound IS NOT NULL AND named IS NULL AS outside",
            "coalesce(requester, '-') AS requester",
            "path",
            "at",
            "bytes",
        )
        .groupBy("user", "requester", "outside", "path", "at")
        .agg(*_exprs("count(1) AS reads", "coalesce(sum(bytes), 0) AS bytes"))
    )


def _judged(
    spark: "SparkSession",
    reads: "DataFrame",
    evidence: Evidence,
    terms: Terms,
    named: Mapping[str, bytes],
    losses: Sequence[LostAccess],
) -> "DataFrame":
    """Each read with its table and the kind of finding it is; NULL for one that is as it should be."""
    from pyspark.sql import functions as f

    key = ["user", "requester", "outside", "path", "at", "reads", "bytes"]
    folders = _table(spark, {"folder": _texts(evidence.folders), "owner": _texts(evidence.folders.values())})
    spans = [given for given in evidence.given if given.place is not None]
    given = _table(
        spark,
        {
            "user": _texts(g.user for g in spans),
            "folder": _texts(g.place for g in spans),
            "begins": pa.array([g.start for g in spans], _TIME),
            "ends": pa.array([g.end for g in spans], _TIME),
        },
    )
    parts = "split(path, '/')"
    # s3:, an empty part, the bucket; then folder after folder, at last the file itself.
    above = f"transform(sequence(3, greatest(3, size({parts}))), n -> array_join(slice({parts}, 1, n), '/'))"
    placed = (
        reads.selectExpr(*key, f"explode({above}) AS folder")
        .join(f.broadcast(folders), "folder", "left")
        .join(given, ["user", "folder"], "left")
        .groupBy(*key)
        .agg(
            f.expr("max_by(owner, length(folder)) FILTER (WHERE owner IS NOT NULL) AS object"),
            f.expr("coalesce(bool_or(at BETWEEN begins AND ends), false) AS in_folder"),
        )
    )
    covered = (
        placed.withColumn("print", f.expr("CAST(conv(substring(sha2(path, 256), 1, 16), 16, -10) AS BIGINT)"))
        .join(_prints(spark, evidence, named), ["user", "print"], "left")
        .join(_lost(spark, losses), ["user", "object"], "left")
        .groupBy(*key, "object", "in_folder")
        .agg(
            f.expr("in_folder OR coalesce(bool_or(at BETWEEN begins AND ends), false) AS covered"),
            f.expr(
                f"coalesce(bool_or(at > lost + {_interval(terms.skew)} AND (regained IS NULL OR at < regained)), false) "
                "AS revoked"
            ),
        )
    )
    kind = (
        f"CASE WHEN user IS NULL THEN IF(object IS NULL, NULL, '{STRANGER}') "
        f"WHEN revoked THEN '{REVOKED}' WHEN outside OR NOT covered THEN '{UNPLANNED}' END AS kind"
    )
    return covered.selectExpr(*key, "object", kind)


def _prints(spark: "SparkSession", evidence: Evidence, named: Mapping[str, bytes]) -> "DataFrame":
    """The fingerprints that users were given, with from when to when."""
    spans = [given for given in evidence.given if given.view is not None]
    given = _table(
        spark,
        {
            "user": _texts(g.user for g in spans),
            "view": _texts(g.view for g in spans),
            "begins": pa.array([g.start for g in spans], _TIME),
            "ends": pa.array([g.end for g in spans], _TIME),
        },
    )
    arrays = {view: np.frombuffer(data, ">i8").astype(np.int64) for view, data in named.items()}
    sets = _table(
        spark,
        {
            "view": _texts(v for v, prints in arrays.items() for _ in range(len(prints))),
            "print": pa.array(np.concatenate([*arrays.values(), np.array([], np.int64)]), pa.int64()),
        },
    )
    return given.join(sets, "view").select("user", "print", "begins", "ends")


def _lost(spark: "SparkSession", losses: Sequence[LostAccess]) -> "DataFrame":
    return _table(
        spark,
        {
            "user": _texts(x.user for x in losses),
            "object": _texts(x.object for x in losses),
            "lost": pa.array([x.at for x in losses], _TIME),
            "regained": pa.array([x.until for x in losses], _TIME),
        },
    )


# -- plans and reports ------------------------------------------------------------------------------------------


def _rest(
    spark: "SparkSession",
    evidence: Evidence,
    terms: Terms,
    judged: "DataFrame | None",
    until: dt.datetime | None,
) -> "DataFrame":
    """Plans that nobody read, and reports of what nobody was given."""
    reports = [
        r for r in evidence.reported if r.at >= terms.since and not _given(evidence, r.user, r.object, r.at)
    ]
    rows = [(UNGIVEN_REPORT, r.user, r.object, None, None, 1, 0, r.at, r.at) for r in reports]
    found = spark.createDataFrame(rows, _COLUMNS)
    horizon = (until or dt.datetime.now(dt.UTC)) - terms.window
    plans = [p for p in evidence.planned if terms.since <= p.at <= horizon]
    if not plans:
        return found
    return found.unionByName(_never_read(spark, plans, evidence, terms, judged))


def _given(evidence: Evidence, user: str, table: str, at: dt.datetime) -> bool:
    return any(g.user == user and g.object == table and g.start <= at <= g.end for g in evidence.given)


def _never_read(
    spark: "SparkSession", plans: Sequence[Any], evidence: Evidence, terms: Terms, judged: "DataFrame | None"
) -> "DataFrame":
    """Plans after which neither a read nor a report of the same user and table comes within the window."""
    planned = _table(
        spark,
        {
            "user": _texts(p.user for p in plans),
            "object": _texts(p.object for p in plans),
            "at": pa.array([p.at for p in plans], _TIME),
            "files": pa.array([p.files for p in plans], pa.int64()),
        },
    )
    seen = _table(
        spark,
        {
            "user": _texts(r.user for r in evidence.reported),
            "object": _texts(r.object for r in evidence.reported),
            "at": pa.array([r.at for r in evidence.reported], _TIME),
        },
    )
    if judged is not None:
        seen = seen.unionByName(
            judged.where("user IS NOT NULL AND object IS NOT NULL").select("user", "object", "at")
        )
    # A clock that is late may tell of a read before its plan.
    signs = seen.selectExpr("user", "object", f"at + {_interval(terms.skew)} AS at", "at AS sign")
    moments = planned.selectExpr(
        "user", "object", "at", "CAST(NULL AS TIMESTAMP) AS sign", "files"
    ).unionByName(signs.selectExpr("user", "object", "at", "sign", "CAST(NULL AS BIGINT) AS files"))
    ahead = "OVER (PARTITION BY user, object ORDER BY at ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
    return (
        moments.selectExpr("*", f"min(sign) {ahead} AS next")
        .where(f"files IS NOT NULL AND (next IS NULL OR next > at + {_interval(terms.window)})")
        .selectExpr(
            f"'{NEVER_READ}' AS kind",
            "user",
            "object",
            "CAST(NULL AS STRING) AS file",
            "CAST(NULL AS STRING) AS requester",
            "0L AS reads",
            "0L AS bytes",
            "at AS first",
            "at AS last",
        )
    )


# -- small things -----------------------------------------------------------------------------------------------


def _table(spark: "SparkSession", columns: Mapping[str, pa.Array]) -> "DataFrame":
    return spark.createDataFrame(pa.table(dict(columns)))


def _texts(values: Iterable[str | None]) -> pa.Array:
    return pa.array(list(values), pa.string())


def _interval(span: dt.timedelta) -> str:
    return f"make_dt_interval(0, 0, 0, {span.total_seconds():.6f})"


def _exprs(*texts: str) -> list[Any]:
    from pyspark.sql import functions as f

    return [f.expr(text) for text in texts]


def _utc(value: Any) -> Any:
    """A time as Spark hands it over is a local one."""
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value
