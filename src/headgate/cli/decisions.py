"""`headgate check` and `headgate explain`: may someone do something, and why."""

from typing import Annotated, Any

import typer

from headgate.cli.command import On, command, names, object_of
from headgate.cli.failure import Denied
from headgate.cli.session import Session

Operation = Annotated[str, typer.Option("--operation", help="E.g. load_table, create_schema, drop_catalog.")]
User = Annotated[str | None, typer.Option("--user", help="Who would do it; else you yourself.")]
Groups = Annotated[str | None, typer.Option("--groups", help="Groups that their token would carry: g,h")]


def check(session: Session, operation: Operation, on: On, user: User = None, groups: Groups = None) -> None:
    """Say whether someone may do something; the exit code is 3 if not."""
    question = _question(operation, on, user, groups)
    answer = session.post(("headgate", "check"), {"metalake": _metalake(session), "questions": [question]})
    verdict = answer["verdicts"][0]
    session.done("allowed" if verdict["allowed"] else "denied", verdict)
    if not verdict["allowed"]:
        raise Denied("denied", "'headgate explain' with the same options says why")


def explain(session: Session, operation: Operation, on: On, user: User = None, groups: Groups = None) -> None:
    """Say why someone may or may not do something: roles, grants, levels, owners, what is missing."""
    question = _question(operation, on, user, groups)
    answer = session.post(("headgate", "explain"), {"metalake": _metalake(session), **question})
    session.show(answer["explanation"])


def register(app: typer.Typer) -> None:
    command(app, "check")(check)
    command(app, "explain")(explain)


def _metalake(session: Session) -> str:
    return session.in_metalake()[1]


def _question(operation: str, on: str, user: str | None, groups: str | None) -> dict[str, Any]:
    type, name = object_of(on)
    asked: dict[str, Any] = {"operation": operation.lower(), "type": type, "fullName": name}
    if user is not None:
        asked |= {"user": user, "groups": names(groups)}
    return asked
