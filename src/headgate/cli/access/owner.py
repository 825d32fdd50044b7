"""`headgate owner`."""

from typing import Annotated

import typer

from headgate.cli.command import On, command, group, object_of
from headgate.cli.failure import Usage
from headgate.cli.session import Path, Session

app = group("owner", "Owners of objects.")

User = Annotated[str | None, typer.Option("--user", help="This user.")]
Group = Annotated[str | None, typer.Option("--group", help="This group.")]


@command(app, "details")
def details(session: Session, on: On) -> None:
    """Show who owns an object."""
    session.show(session.get(_path(session, on)).get("owner") or {"name": None, "type": None})


@command(app, "set")
def set_(session: Session, on: On, user: User = None, group: Group = None) -> None:
    """Make a user or a group the owner of an object."""
    if (user is None) == (group is None):
        raise Usage("one owner must be named", "give either --user or --group")
    owner = {"name": user, "type": "user"} if user is not None else {"name": group, "type": "group"}
    session.put(_path(session, on), owner)
    session.done(f"{on} is owned by {owner['type']} {owner['name']}", owner)


def _path(session: Session, on: str) -> Path:
    type, name = object_of(on)
    return session.in_metalake("owners", type, name)
