"""`headgate classify`: which columns hold personal data, and tags for them."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from headgate.cli.command import Catalog, Yes, command, confirm, need_answer, verbs
from headgate.cli.failure import Failure, Usage
from headgate.cli.operations.spark import LOCAL, Conf, Master, Remote, catalog_settings, open_spark
from headgate.cli.output import Format, console
from headgate.cli.session import Path, Session
from headgate.model.errors import HeadgateError
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType
from headgate.pipelines import classify as pipeline
from headgate.pipelines.classify import KINDS, MOST_ROWS, TAG, Classified
from headgate.pipelines.needs import SparkWork

app = verbs()

OnlySchema = Annotated[str | None, typer.Option("--schema", help="Only the tables of this schema.")]
OnlyTable = Annotated[str | None, typer.Option("--table", help="Only this table of --schema.")]
Sample = Annotated[
    int, typer.Option("--sample", min=1, max=1_000_000, help="Rows to look at, of each table.")
]
Least = Annotated[
    float, typer.Option("--min-confidence", min=0.0, max=1.0, help="Show what is at least so likely.")
]
Apply = Annotated[bool, typer.Option("--apply", help="Put the tags on the columns.")]

COLUMNS: Final = ("table", "column", "tag", "confidence", "evidence", "state")
NEW: Final = "new"
LOOK: Final = "look at it without --apply"
_ANYWHERE: Final = "s3://"

Row = dict[str, Any]


@command(app, "classify")
def classify(
    session: Session,
    catalog: Catalog,
    schema: OnlySchema = None,
    table: OnlyTable = None,
    sample: Sample = MOST_ROWS,
    min_confidence: Least = 0.6,
    apply: Apply = False,
    yes: Yes = False,
    spark_master: Master = LOCAL,
    spark_remote: Remote = None,
    spark_conf: Conf = None,
) -> None:
    """Find columns that hold personal data, and propose or apply the tag pii.

    Spark, started here or on your cluster, reads a sample of each table through this server as you: it sees what you may see, so run it
    as someone who sees the tables whole. Only counts leave Spark; no value is kept, logged or shown. With --apply the tags
    that are new are put on their columns; what bears the tag already is left as it is.
    """
    if table is not None and schema is None:
        raise Usage("--table needs the schema it is in", "add --schema NAME")
    if apply:
        # Before Spark starts, rather than after it has read every table.
        need_answer(yes, look=LOOK)
    tables = _tables(session, catalog, schema, table)
    rows, unread, seen = _looked_at(
        session, catalog, tables, sample, min_confidence, spark_master, spark_remote, spark_conf
    )
    allowed = _allowed_values(session)
    for row in rows:
        row["state"] = _state(session, row, allowed)
    code = _applied(session, rows, allowed is None, yes) if apply else 0
    _shown(session, rows, unread, seen, len(tables))
    if code or unread:
        raise typer.Exit(code or 1)


# -- looking ------------------------------------------------------------------------------------------------------


def _tables(session: Session, catalog: str, schema: str | None, table: str | None) -> list[ObjectRef]:
    top = ObjectRef(session.in_metalake()[1], ObjectType.CATALOG, (catalog,))
    path = session.in_metalake("catalogs", catalog, "schemas")
    schemas = [schema] if schema is not None else [found["name"] for found in session.names(path)]
    return [
        top.child(ObjectType.SCHEMA, each).child(ObjectType.TABLE, name)
        for each in schemas
        for name in (
            [table]
            if table is not None
            else [found["name"] for found in session.names((*path, each, "tables"))]
        )
    ]


def _looked_at(
    session: Session,
    catalog: str,
    tables: list[ObjectRef],
    sample: int,
    least: float,
    master: str,
    remote: str | None,
    conf: list[str] | None,
) -> tuple[list[Row], list[Row], int]:
    """The proposals, the tables that could not be read and why, and how many rows were looked at."""
    if not tables:
        return [], [], 0
    name, settings = catalog_settings(session, catalog)
    say = console(err=True).print
    say(Text(f"starting Spark ({remote or master})"))
    work = SparkWork(tables=tuple(_places(session, tables)))
    spark = open_spark(master, remote, conf, settings, work=work)
    rows: list[Row] = []
    unread: list[Row] = []
    seen = 0
    for number, ref in enumerate(tables, 1):
        schema, table = ref.path[1:]
        say(Text(f"[{number}/{len(tables)}] {ref.full_name} … "), end="")
        try:
            found = pipeline.classify(
                spark, (name, *schema.split(SCHEMA_SEPARATOR), table), rows=sample, least=least
            )
        except HeadgateError as error:
            say(Text(error.message))
            unread.append({"table": ref.full_name, "why": error.message, "next": error.hint})
            continue
        say(Text(f"{found.rows} rows, {found.columns} columns, {len(found.proposals)} proposals"))
        seen += found.rows
        rows += _rows(ref, found)
    return rows, unread, seen


def _places(session: Session, tables: list[ObjectRef]) -> Iterator[str]:
    """Where the tables lie, as far as it decides what Spark needs: no further than the first one in S3.

    A caller who sees a part of a table is not told where it lies. Then Spark is made ready for S3 as well.
    """
    for ref in tables:
        catalog, schema, table = ref.path
        path = session.in_metalake("catalogs", catalog, "schemas", schema, "tables", table)
        try:
            place = str(session.get(path)["table"]["properties"].get("location", _ANYWHERE))
        except Failure:
            # Why it cannot be read is said when Spark tries.
            continue
        yield place
        if place.startswith(_ANYWHERE):
            return


def _rows(ref: ObjectRef, found: Classified) -> list[Row]:
    return [
        {
            "table": ref.full_name,
            "column": proposal.column,
            "object": ref.child(ObjectType.COLUMN, proposal.column).full_name,
            "tag": f"{TAG}={proposal.value}",
            "value": proposal.value,
            "confidence": proposal.confidence,
            "values": proposal.values,
            "passed": proposal.passed,
            "named": proposal.named,
        }
        for proposal in found.proposals
    ]


# -- tags ---------------------------------------------------------------------------------------------------------


def _allowed_values(session: Session) -> list[str] | None:
    """The values that the tag may have, all if these are not governed; None if there is no such tag to be seen."""
    tags = session.get(session.in_metalake("tags"), details=True)["tags"]
    found = next((tag for tag in tags if tag["name"] == TAG), None)
    return None if found is None else list(found.get("allowedValues") or _values())


def _values() -> list[str]:
    return [kind.value for kind in KINDS]


def _state(session: Session, row: Row, allowed: list[str] | None) -> str:
    """What became of a proposal before: whether the column bears the tag already, itself or from above."""
    found = session.get(_tags_of(session, row), details=True)["tags"]
    held = next((tag for tag in found if tag["name"] == TAG), None)
    if held is None:
        return NEW if allowed is None or row["value"] in allowed else "not a value of the tag"
    value = next(iter(held.get("assignmentValues") or []), None)
    how = "inherited" if held.get("inherited") else "tagged"
    return how if value == row["value"] else f"{how} {TAG}={value}" if value else f"{how} {TAG}"


def _tags_of(session: Session, row: Row) -> Path:
    return session.in_metalake("objects", "column", row["object"], "tags")


def _applied(session: Session, rows: list[Row], missing: bool, yes: bool) -> int:
    """Put the new tags on their columns, one by one; answers the exit code."""
    new = [row for row in rows if row["state"] == NEW]
    if not new:
        return 0
    if not yes:
        _preview(rows)
        confirm(f"Put {len(new)} tags on columns?", yes, look=LOOK)
    if missing:
        session.post(
            session.in_metalake("tags"),
            {"name": TAG, "comment": "personal data, by kind", "allowedValues": _values()},
        )
    code = 0
    for row in new:
        body = {"tagsToAdd": [{"name": TAG, "value": row["value"]}], "tagsToRemove": []}
        try:
            session.post(_tags_of(session, row), body)
            row["state"] = "applied"
        except Failure as failure:
            row["state"] = f"failed: {failure.message}"
            code = max(code, failure.code)
    done = next((row for row in new if row["state"] == "applied"), None)
    if done is not None:
        undo = f"headgate tag remove --tag {TAG} --on 'column:{done['object']}'"
        console(err=True).print(Text(f"take one back with: {undo}"))
    return code


# -- showing ------------------------------------------------------------------------------------------------------


def _preview(rows: list[Row]) -> None:
    console(err=True).print(
        Text(
            "\n".join(
                f"  {row['object']}  {row['tag']}  {row['confidence']:.2f}  {row['state']}" for row in rows
            )
        )
    )


def _shown(session: Session, rows: list[Row], unread: list[Row], seen: int, tables: int) -> None:
    if session.format is not Format.TABLE:
        session.show({"proposals": rows, "unread": unread, "tables": tables, "rows": seen})
        return
    session.show([{**row, "evidence": _evidence(row)} for row in rows], *COLUMNS)
    if unread:
        session.show(unread, "table", "why", "next")


def _evidence(row: Row) -> str:
    passed = ", ".join(f"{count} {signal}" for signal, count in row["passed"].items())
    return f"{passed} of {row['values']}{', and its name' if row['named'] else ''}"
