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
TagValues = Annotated[str, typer.Option("--tag", help="TAG or TAG=VALUE, or several by comma.")]
Values = Annotated[str | None, typer.Option("--allowed-values", help="The values it may have, by comma.")]
Value = Annotated[str | None, typer.Option("--value", help="Only where it has this value.")]
OnAny = Annotated[str | None, typer.Option("--on", help="Those of one object: TYPE:NAME.")]


@command(app, "list")
def list_(session: Session, on: OnAny = None) -> None:
    """List the tags that you may see, or those of an object with what it inherits."""
    where = session.in_metalake(*(("objects", *object_of(on), "tags") if on else ("tags",)))
    columns = (
        ("name", "assignmentValues", "inherited", "comment")
        if on
        else ("name", "allowedValues", "comment", "properties")
    )
    session.show(session.get(where, details=True)["tags"], *columns)


@command(app, "create")
def create(
    session: Session,
    name: Name,
    allowed_values: Values = None,
    comment: Comment = None,
    properties: Properties = None,
) -> None:
    """Create a tag, with the values it may have if these are governed."""
    body: dict[str, Any] = {"name": name, "comment": comment, "properties": pairs(properties)}
    if allowed_values is not None:
        body["allowedValues"] = names(allowed_values)
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
def objects(session: Session, name: Name, value: Value = None) -> None:
    """List the objects that bear a tag, each with the value it has there."""
    found = session.get(session.in_metalake("tags", name, "objects"), value=value, details=True)
    session.show(found["metadataObjects"], "type", "fullName", "value")


@command(app, "apply")
def apply(session: Session, tag: TagValues, on: On) -> None:
    """Put tags on an object, each with a value if it has one."""
    added = [dict(zip(("name", "value"), text.split("=", 1), strict=False)) for text in names(tag)]
    _associate(session, on, {"tagsToAdd": added, "tagsToRemove": []}, f"{tag} applied to {on}")


@command(app, "remove")
def remove(session: Session, tag: Tags, on: On) -> None:
    """Take tags from an object."""
    _associate(session, on, {"tagsToAdd": [], "tagsToRemove": names(tag)}, f"{tag} removed from {on}")


@command(app, "delete")
def delete(session: Session, name: Name) -> None:
    """Drop a tag from everything that bears it."""
    session.dropped(f"tag {name}", session.delete(session.in_metalake("tags", name)))


def _associate(session: Session, on: str, body: dict[str, Any], message: str) -> None:
    session.done(message, session.post(session.in_metalake("objects", *object_of(on), "tags"), body)["names"])
