"""`headgate group`."""

from typing import Annotated

import typer

from headgate.cli.command import Name, command, group, names
from headgate.cli.session import Session

app = group("group", "Groups of a metalake.")

Users = Annotated[str, typer.Option("--users", help="Exactly these users, by comma; '' for none.")]
Groups = Annotated[str, typer.Option("--groups", help="Exactly these groups, by comma.")]


@command(app, "list")
def list_(session: Session) -> None:
    """List the groups that you may see."""
    session.show(session.get(session.in_metalake("groups"), details=True)["groups"], "name", "roles")


@command(app, "create")
def create(session: Session, name: Name) -> None:
    """Add a group to the metalake."""
    session.done(f"group {name} added", session.post(session.in_metalake("groups"), {"name": name})["group"])


@command(app, "details")
def details(session: Session, name: Name) -> None:
    """Show a group and the roles it holds."""
    session.show(session.get(session.in_metalake("groups", name))["group"])


@command(app, "members")
def members(session: Session, name: Name, users: Users, groups: Groups = "") -> None:
    """Set who belongs to a group, beside those whose tokens say so."""
    body = {"users": names(users), "groups": names(groups)}
    answer = session.put(session.in_metalake("groups", name, "members"), body)
    session.done(f"members of group {name} set", answer)


@command(app, "delete")
def delete(session: Session, name: Name) -> None:
    """Remove a group from the metalake, with all it holds."""
    session.dropped(f"group {name}", session.delete(session.in_metalake("groups", name)))
