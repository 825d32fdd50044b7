"""`headgate check` and `headgate explain`: may someone do something, what do they see, and why."""

from typing import Annotated, Any

import typer

from headgate.cli.command import On, command, names, object_of, verbs
from headgate.cli.failure import Denied, Usage
from headgate.cli.output import Format, console
from headgate.cli.policies import reasons
from headgate.cli.policies.views import Engine, Purpose, show_view
from headgate.cli.session import Session

app = verbs()

Operation = Annotated[
    str | None, typer.Option("--operation", help="E.g. load_table, create_schema, drop_catalog.")
]
Privilege = Annotated[str | None, typer.Option("--privilege", help="Or a privilege, e.g. select_table.")]
User = Annotated[str | None, typer.Option("--user", help="Who would do it; else you yourself.")]
Groups = Annotated[str | None, typer.Option("--groups", help="Groups that their token would carry: g,h")]

OnAny = Annotated[
    str | None, typer.Option("--on", help="The object as TYPE:NAME, e.g. table:lake.sales.orders.")
]
AsAny = Annotated[str | None, typer.Option("--as", help="Whose view of --table to explain.")]
TableAny = Annotated[
    str | None, typer.Option("--table", help="A table, CATALOG.SCHEMA.TABLE, as --as sees it.")
]


@command(app, "check")
def check(
    session: Session,
    on: On,
    operation: Operation = None,
    privilege: Privilege = None,
    user: User = None,
    groups: Groups = None,
) -> None:
    """Say whether someone may do something; the exit code is 3 if not."""
    question = _question(session, operation, privilege, on, user, groups)
    verdict = session.post(("headgate", "check"), question)["verdict"]
    session.done("allowed" if verdict["allowed"] else "denied", verdict)
    if not verdict["allowed"]:
        raise Denied("denied", "'headgate explain' with the same options says why")


@command(app, "explain")
def explain(
    session: Session,
    on: OnAny = None,
    operation: Operation = None,
    privilege: Privilege = None,
    user: User = None,
    groups: Groups = None,
    as_: AsAny = None,
    table: TableAny = None,
    purpose: Purpose = None,
    engine: Engine = None,
) -> None:
    """Say why someone may or may not do something, or with --as and --table what they see of a table and why."""
    if (as_ is None) != (table is None) or (on is None) == (table is None):
        raise Usage(
            "one thing must be asked", "give --as and --table, or --on with --operation or --privilege"
        )
    if as_ is not None and table is not None:
        show_view(session, as_, table, purpose, engine, names(groups))
        return
    question = _question(session, operation, privilege, on or "", user, groups)
    explanation = session.post(("headgate", "explain"), question)["explanation"]
    if session.format is Format.TABLE:
        console().print(reasons.tree(explanation))
    else:
        session.show(explanation)


def _question(
    session: Session,
    operation: str | None,
    privilege: str | None,
    on: str,
    user: str | None,
    groups: str | None,
) -> dict[str, Any]:
    if (operation is None) == (privilege is None):
        raise Usage("one thing must be asked", "give either --operation or --privilege")
    type, name = object_of(on)
    asked: dict[str, Any] = {"metalake": session.in_metalake()[1], "type": type, "fullName": name}
    asked |= {"operation": operation} if operation is not None else {"privilege": privilege}
    if user is not None:
        asked["user"] = user
    if groups is not None:
        # Said only if they are supposed: a question that supposes nothing about oneself needs no right.
        asked["groups"] = names(groups)
    return asked
