"""`headgate audit`: what was asked, by whom, and what was answered."""

import time
from typing import Annotated, Any

import typer

from headgate.cli import output
from headgate.cli.command import command, group
from headgate.cli.operations import reconcile
from headgate.cli.output import Format
from headgate.cli.session import Session

app = group("audit", "The audit trail of a metalake, for its owner.")

COLUMNS = ("at", "user", "action", "type", "object", "allowed", "outcome", "revision")

User = Annotated[str | None, typer.Option("--user", help="Only of this user.")]
Action = Annotated[str | None, typer.Option("--action", help="Only this operation, e.g. load_table.")]
Object = Annotated[str | None, typer.Option("--object", help="Only of the object of this full name.")]
Denied = Annotated[bool, typer.Option("--denied", help="Only what was refused.")]
Since = Annotated[str | None, typer.Option("--since", help="Only from this time on (ISO-8601, UTC).")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="The latest so many.")]
Follow = Annotated[bool, typer.Option("--follow/--no-follow", help="Go on with what comes.")]


@command(app, "query")
def query(
    session: Session,
    user: User = None,
    action: Action = None,
    object: Object = None,
    denied: Denied = False,
    since: Since = None,
    limit: Limit = 100,
) -> None:
    """Show the latest events that match, oldest first."""
    found = _events(session, user=user, action=action, object=object, denied=denied, since=since, limit=limit)
    session.show(found, *COLUMNS)


@command(app, "tail")
def tail(session: Session, limit: Limit = 20, follow: Follow = True) -> None:
    """Show the latest events and go on with what comes."""
    after: int | None = None
    while True:
        for event in _events(session, limit=limit, after=after):
            after = event["id"]
            _line(session, event)
        if not follow:
            return
        limit = 1000
        time.sleep(1)


command(app, "reconcile")(reconcile.reconcile)


def _events(session: Session, *, denied: bool = False, **asked: Any) -> list[dict[str, Any]]:
    if denied:
        asked["allowed"] = "false"
    found = session.get(("headgate", "audit"), metalake=session.in_metalake()[1], **asked)["events"]
    return [{**event, "outcome": (event.get("details") or {}).get("outcome")} for event in found]


def _line(session: Session, event: dict[str, Any]) -> None:
    if session.format is not Format.TABLE:
        print(output.text(event, session.format), flush=True)
        return
    answer = "allowed" if event["allowed"] else "DENIED "
    ended = f" {event['outcome']}" if event["outcome"] else ""
    print(
        f"{event['at']} {answer} {event['user']} {event['action']} {event['type']}:{event['object']}{ended}",
        flush=True,
    )
