"""`headgate metalake`."""

from headgate.cli.command import (
    Comment,
    Force,
    Name,
    Properties,
    Remove,
    Rename,
    command,
    group,
    pairs,
    updates,
)
from headgate.cli.session import Session

app = group("metalake", "Metalakes: the roots of the tree.")


@command(app, "list")
def list_(session: Session) -> None:
    """List the metalakes that you are a user of."""
    session.show(session.get(("metalakes",))["metalakes"], "name", "comment", "properties")


@command(app, "create")
def create(session: Session, name: Name, comment: Comment = None, properties: Properties = None) -> None:
    """Create a metalake; you become its owner."""
    body = {"name": name, "comment": comment, "properties": pairs(properties)}
    session.done(f"metalake {name} created", session.post(("metalakes",), body)["metalake"])


@command(app, "details")
def details(session: Session, name: Name) -> None:
    """Show a metalake."""
    session.show(session.get(("metalakes", name))["metalake"])


@command(app, "update")
def update(
    session: Session,
    name: Name,
    rename: Rename = None,
    comment: Comment = None,
    properties: Properties = None,
    remove: Remove = None,
) -> None:
    """Rename a metalake, change its comment or properties."""
    made = session.put(("metalakes", name), updates(rename, comment, properties, remove))
    session.done(f"metalake {name} updated", made["metalake"])


@command(app, "enable")
def enable(session: Session, name: Name) -> None:
    """Take a metalake into use."""
    session.patch(("metalakes", name), {"inUse": True})
    session.done(f"metalake {name} enabled")


@command(app, "disable")
def disable(session: Session, name: Name) -> None:
    """Take a metalake out of use."""
    session.patch(("metalakes", name), {"inUse": False})
    session.done(f"metalake {name} disabled")


@command(app, "delete")
def delete(session: Session, name: Name, force: Force = False) -> None:
    """Drop a metalake."""
    session.dropped(f"metalake {name}", session.delete(("metalakes", name), force=force))
