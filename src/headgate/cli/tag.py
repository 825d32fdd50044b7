"""`headgate tag`."""

from typing import Annotated, Any

import typer

from headgate.cli.command import (
    Comment,
    Name,
    On,
    Properties,
    Remove,
    Rename,
    command,
    group,
    names,
    object_of,
    pairs,
    updates,
)
from headgate.cli.session import Session

app = group("tag", "Tags, and the objects that bear them.")

Tags = Annotated[str, typer.Option("--tag", help="The tag, or several by comma.")]
OnAny = Annotated[str | None, typer.Option("--on", help="Those of one object: TYPE:NAME.")]


@command(app, "list")
def list_(session: Session, on: OnAny = None) -> None:
    """List the tags that you may see, or those of an object with what it inherits."""
    where = session.in_metalake(*(("objects", *object_of(on), "tags") if on else ("tags",)))
    columns = ("name", "inherited", "comment") if on else ("name", "comment", "properties")
    session.show(session.get(where, details=True)["tags"], *columns)


@command(app, "create")
def create(session: Session, name: Name, comment: Comment = None, properties: Properties = None) -> None:
    """Create a tag."""
    body = {"name": name, "comment": comment, "properties": pairs(properties)}
    session.done(f"tag {name} created", session.post(session.in_metalake("tags"), body)["tag"])


@command(app, "details")
def details(session: Session, name: Name) -> None:
    """Show a tag."""
    session.show(session.get(session.in_metalake("tags", name))["tag"])


@command(app, "update")
def update(
    session: Session,
    name: Name,
    rename: Rename = None,
    comment: Comment = None,
    properties: Properties = None,
    remove: Remove = None,
) -> None:
    """Rename a tag, change its comment or properties."""
    body = updates(rename, comment, properties, remove)
    session.done(f"tag {name} updated", session.put(session.in_metalake("tags", name), body)["tag"])


@command(app, "objects")
def objects(session: Session, name: Name) -> None:
    """List the objects that bear a tag."""
    found = session.get(session.in_metalake("tags", name, "objects"))["metadataObjects"]
    session.show(found, "type", "fullName")


@command(app, "apply")
def apply(session: Session, tag: Tags, on: On) -> None:
    """Put tags on an object."""
    _associate(session, on, {"tagsToAdd": names(tag), "tagsToRemove": []}, f"{tag} applied to {on}")


@command(app, "remove")
def remove(session: Session, tag: Tags, on: On) -> None:
    """Take tags from an object."""
    _associate(session, on, {"tagsToAdd": [], "tagsToRemove": names(tag)}, f"{tag} removed from {on}")


@command(app, "delete")
def delete(session: Session, name: Name) -> None:
    """Drop a tag from everything that bears it."""
    session.dropped(f"tag {name}", session.delete(session.in_metalake("tags", name)))


def _associate(session: Session, on: str, body: dict[str, Any], said: str) -> None:
    session.done(said, session.post(session.in_metalake("objects", *object_of(on), "tags"), body)["names"])
