"""`headgate lens`: the restricted views of tables, and the copies that are made for them."""

import time
from typing import Annotated, Any

import typer

from headgate.cli.command import command, group, names
from headgate.cli.failure import Failure
from headgate.cli.output import Format, console
from headgate.cli.session import Session

app = group("lens", "Restricted views of tables and the copies that are made for them.")

COLUMNS = ("table", "view", "wanted", "making", "made", "failed", "used_at", "reason")

OWN_COLUMNS = ("table", "view", "ready")

Table = Annotated[str | None, typer.Option("--table", help="Only my own view of catalog.schema.table.")]
Tables = Annotated[
    str | None, typer.Option("--table", help="catalog.schema.table, several joined by commas (default: all).")
]
Users = Annotated[
    str | None, typer.Option("--users", help="For these users: a,b (default: views used in the last day).")
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is made.")]
Days = Annotated[
    int | None,
    typer.Option(
        "--unused-days",
        min=0,
        max=36500,
        help="Collect views unused for so long (default: as the server does).",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")]


@command(app, "status")
def status(session: Session, table: Table = None) -> None:
    """Show how far the views of a metalake's tables are; with --table whether one's own view of it is ready."""
    session.show(_shown(session, _views(session, table)), *(COLUMNS if table is None else OWN_COLUMNS))


@command(app, "warm")
def warm(session: Session, table: Tables = None, users: Users = None, wait: Wait = True) -> None:
    """Have copies made before anybody waits for them."""
    asked = {"tables": names(table), "users": names(users)}
    path = ("headgate", "lenses", "warm")
    warmed = _warm(session, path, asked)
    total = sum(one["missing"] for one in warmed)
    if wait and total:
        from rich.progress import Progress

        with Progress(console=console(err=True)) as bar:
            task = bar.add_task("making copies", total=total)
            while left := sum(one["missing"] for one in warmed):
                bar.update(task, completed=total - min(left, total))
                time.sleep(0.5)
                warmed = _warm(session, path, asked)
    session.show(_shown(session, warmed), "table", "user", "view", "missing", "problem")
    if any(one["problem"] for one in warmed):
        raise Failure("some views could not be made ready", "the column 'problem' says why")


@command(app, "gc")
def gc(session: Session, unused_days: Days = None, dry_run: DryRun = False) -> None:
    """Delete copies that nobody can use any more: of files, lenses and tables that are gone, or long unused."""
    found = session.post(
        ("headgate", "lenses", "gc"),
        {"dryRun": dry_run} | ({} if unused_days is None else {"unusedDays": unused_days}),
        metalake=session.in_metalake()[1],
    )["collected"]
    session.show(_shown(session, found), "table", "view", "why", "copies", "files", "problem")


def _warm(session: Session, path: tuple[str, ...], asked: dict[str, Any]) -> list[dict[str, Any]]:
    return list(session.post(path, asked, metalake=session.in_metalake()[1])["warmed"])


def _views(session: Session, table: str | None) -> list[dict[str, Any]]:
    path: tuple[str, ...] = ("headgate", "lenses")
    lake = session.in_metalake()[1]
    found = (
        session.get(path, metalake=lake)
        if table is None
        else session.get((*path, "mine"), metalake=lake, table=table)
    )
    return list(found["views"])


def _shown(session: Session, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Names of views are long; people need only enough to tell them apart."""
    if session.format is not Format.TABLE:
        return rows
    return [{**row, "view": row["view"] and row["view"][:12]} for row in rows]
