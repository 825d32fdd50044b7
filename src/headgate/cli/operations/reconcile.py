"""`headgate audit reconcile`: what was read, compared with what was planned."""

import base64
import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from headgate.cli.failure import Failure, Usage
from headgate.cli.operations.spark import LOCAL, Conf, Master, Remote, open_spark
from headgate.cli.output import Format, console
from headgate.cli.session import Session
from headgate.cli.syncs.requests import age
from headgate.pipelines.errors import causes_of
from headgate.pipelines.needs import SparkWork

if TYPE_CHECKING:
    from headgate.pipelines.reconcile import Evidence, LostAccess, Reconciliation, Terms

Since = Annotated[
    str, typer.Option("--since", help="From this time on (ISO-8601, UTC), or an age such as 24h.")
]
Logs = Annotated[
    list[str] | None, typer.Option("--logs", help="Access logs: a file, folder or s3://…; may be repeated.")
]
LogFormat = Annotated[str, typer.Option("--format", help="What the logs are: auto, s3 or minio.")]
Write = Annotated[
    str | None, typer.Option("--write", help="Add all findings to the Parquet table in this folder.")
]
Window = Annotated[str, typer.Option("--window", help="How long a load or plan covers reads, e.g. 12h.")]
Skew = Annotated[str, typer.Option("--skew", help="How far clocks may be apart, e.g. 2m.")]
Trusted = Annotated[
    list[str] | None,
    typer.Option("--trusted", help="A requester, session or access key to pass over; may be repeated."),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="Show so many findings.")]

COLUMNS: Final = ("kind", "user", "object", "file", "requester", "reads", "bytes", "first", "last")
_PAGE: Final = 1000


def reconcile(
    session: Session,
    since: Since,
    logs: Logs = None,
    format: LogFormat = "auto",
    write: Write = None,
    window: Window = "12h",
    skew: Skew = "2m",
    trusted: Trusted = None,
    limit: Limit = 100,
    spark_master: Master = LOCAL,
    spark_remote: Remote = None,
    spark_conf: Conf = None,
) -> None:
    """Find reads that no plan allowed, reads after revocation, and plans never read. Ends with 1 if reads are amiss.

    Joins loads, plans and engines' reports of the audit trail with access logs of object storage: S3 server access logs or
    MinIO's audit log. For the owner of the metalake.
    """
    from headgate.pipelines.reconcile import Terms, gather
    from headgate.pipelines.reconcile.access_logs import FORMATS

    if format not in FORMATS:
        raise Usage(f"'{format}' is no format of logs", f"use one of {', '.join(FORMATS)}")
    places = [_place(text) for text in logs or ()]
    terms = Terms(_since(since), dt.timedelta(seconds=age(window)), dt.timedelta(seconds=age(skew)))
    say = console(err=True).print
    say(Text("reading the audit trail"))
    users = session.get(session.in_metalake("users"))["names"]
    evidence = gather(_events(session, terms), users, terms)
    losses = _losses(session, terms, evidence)
    named = {view: _files(session, view) for view in sorted(evidence.views)}
    say(
        Text(f"{len(evidence.planned)} plans of {len(set(evidence.folders.values()))} tables; starting Spark")
    )
    written = () if write is None else (_place(write),)
    spark = open_spark(spark_master, spark_remote, spark_conf, work=SparkWork(files=(*places, *written)))
    outcome = _compared(
        spark,
        evidence,
        terms,
        logs=places,
        format=format,
        named=named,
        losses=losses,
        trusted=tuple(trusted or ()),
    )
    for place in written:
        _written(outcome, place)
    counts = _report(session, outcome, limit, places)
    if any(counts.get(kind) for kind in _AMISS):
        raise typer.Exit(1)


_AMISS: Final = ("after-revocation", "unplanned", "stranger", "report-without-plan")
"""A plan that nobody read is worth knowing, and nothing is wrong with it."""


# -- what the server knows ----------------------------------------------------------------------------------------


def _events(session: Session, terms: "Terms") -> Iterator[dict[str, Any]]:
    """Loads and plans, from so early on that what they gave still held at the beginning."""
    since = (terms.since - terms.window - terms.skew).isoformat()
    asked = {"metalake": session.in_metalake()[1], "allowed": "true", "since": since, "limit": _PAGE}
    for action in ("load_table", "read_table"):
        after = 0
        while True:
            found = session.get(("headgate", "audit"), **asked, action=action, after=str(after))["events"]
            yield from found
            if len(found) < _PAGE:
                break
            after = found[-1]["id"]


def _losses(session: Session, terms: "Terms", evidence: "Evidence") -> list["LostAccess"]:
    from headgate.pipelines.reconcile import LostAccess
    from headgate.pipelines.reconcile.evidence import moment

    pairs = sorted({(given.user, given.object) for given in evidence.given})
    query = {"metalake": session.in_metalake()[1], "since": (terms.since - terms.window).isoformat()}
    found: list[LostAccess] = []
    for start in range(0, len(pairs), _PAGE):
        body = {"readers": [{"user": user, "object": name} for user, name in pairs[start : start + _PAGE]]}
        answer = session.ask("POST", ("headgate", "audit", "losses"), body, query, patience=None)
        if not answer["complete"]:
            console(err=True).print(
                Text(
                    "the journal does not reach back to its beginning: revocations cannot be told",
                    style="yellow",
                )
            )
            return []
        found += [
            LostAccess(
                x["user"], x["object"], moment(x["at"]), moment(x["until"]) if x.get("until") else None
            )
            for x in answer["losses"]
        ]
    return found


def _files(session: Session, view: str) -> bytes:
    metalake = session.in_metalake()[1]
    answer = session.get(("headgate", "audit", "files"), metalake=metalake, view=view)
    return base64.b64decode(answer["files"])


# -- comparing ----------------------------------------------------------------------------------------------------


def _compared(spark: Any, evidence: "Evidence", terms: "Terms", **more: Any) -> "Reconciliation":
    from headgate.pipelines.reconcile import reconcile as compare

    try:
        return compare(spark, evidence, terms, **more)
    except Exception as error:
        raise Failure(
            f"Spark could not read the logs ({', '.join(causes_of(error))})",
            "check that --logs names files or folders that Spark can reach",
        ) from None


def _written(outcome: "Reconciliation", place: str) -> None:
    """All findings as rows that also tell when they were found."""
    try:
        outcome.frame.selectExpr("current_timestamp() AS found", "*").write.mode("append").parquet(place)
    except Exception as error:
        raise Failure(
            f"{place} cannot be written ({', '.join(causes_of(error))})", "choose another --write"
        ) from None


def _report(session: Session, outcome: "Reconciliation", limit: int, logs: list[str]) -> dict[str, int]:
    from headgate.pipelines.reconcile import KINDS

    counts = outcome.counts()
    found = [_row(finding) for finding in outcome.findings(limit)]
    bad = sum(outcome.malformed.values())
    if session.format is not Format.TABLE:
        session.show(
            {
                "findings": found,
                "counts": counts,
                "reads": outcome.reads,
                "lines": outcome.lines,
                "malformed": outcome.malformed,
                "until": None if outcome.until is None else outcome.until.isoformat(),
            }
        )
    else:
        session.show(found, *COLUMNS)
    say = console(err=True).print
    for kind, count in counts.items():
        say(Text(f"{count} {kind}: {KINDS[kind]}"))
    if sum(counts.values()) > len(found):
        say(
            Text(
                f"{len(found)} of {sum(counts.values())} are shown: raise --limit, or look at all with --write"
            )
        )
    if logs:
        say(Text(f"{outcome.reads} reads in {outcome.lines} lines, {bad} of which cannot be read"))
        for file, count in sorted(outcome.malformed.items()):
            say(Text(f"  {count} in {file}"))
    return counts


def _row(finding: Any) -> dict[str, Any]:
    values = {name: getattr(finding, name) for name in COLUMNS}
    return {**values, "first": finding.first.isoformat(), "last": finding.last.isoformat()}


# -- options ------------------------------------------------------------------------------------------------------


def _since(text: str) -> dt.datetime:
    now = dt.datetime.now(dt.UTC)
    if text[-1:] in ("s", "m", "h") and text[:-1].isdigit():
        return now - dt.timedelta(seconds=age(text))
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        raise Usage(f"'{text}' is not a time", "write 2026-01-31T12:00:00Z, or an age such as 24h") from None
    return at if at.tzinfo else at.replace(tzinfo=dt.UTC)


def _place(text: str) -> str:
    """A place as Spark's file systems name it."""
    if text.startswith(("s3://", "s3n://")):
        return "s3a://" + text.partition("://")[2]
    return text if "://" in text else f"file://{Path(text).absolute()}"
