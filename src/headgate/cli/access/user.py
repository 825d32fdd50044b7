"""`headgate user`."""

from headgate.cli.command import Name, command, group
from headgate.cli.session import Session

app = group("user", "Users of a metalake.")


@command(app, "list")
def list_(session: Session) -> None:
    """List the users that you may see."""
    session.show(session.get(session.in_metalake("users"), details=True)["users"], "name", "roles")


@command(app, "create")
def create(session: Session, name: Name) -> None:
    """Add a user to the metalake."""
    session.done(f"user {name} added", session.post(session.in_metalake("users"), {"name": name})["user"])


@command(app, "details")
def details(session: Session, name: Name) -> None:
    """Show a user and the roles they hold."""
    session.show(session.get(session.in_metalake("users", name))["user"])


@command(app, "delete")
def delete(session: Session, name: Name) -> None:
    """Remove a user from the metalake, with all they hold."""
    session.dropped(f"user {name}", session.delete(session.in_metalake("users", name)))
