"""`headgate schema`."""

from typing import Annotated

import typer

from headgate.cli.command import Catalog, Comment, Name, Properties, Remove, command, group, pairs, updates
from headgate.cli.session import Path, Session

app = group("schema", "Schemas of a catalog.")

Cascade = Annotated[bool, typer.Option("--cascade", help="With everything in it.")]


@command(app, "list")
def list_(session: Session, catalog: Catalog) -> None:
    """List the schemas that you may see."""
    session.show(session.names(_path(session, catalog)), "name")


@command(app, "create")
def create(
    session: Session, catalog: Catalog, name: Name, comment: Comment = None, properties: Properties = None
) -> None:
    """Create a schema; you become its owner."""
    body = {"name": name, "comment": comment, "properties": pairs(properties)}
    made = session.post(_path(session, catalog), body)["schema"]
    session.done(f"schema {catalog}.{name} created", made)


@command(app, "details")
def details(session: Session, catalog: Catalog, name: Name) -> None:
    """Show a schema."""
    session.show(session.get((*_path(session, catalog), name))["schema"])


@command(app, "update")
def update(
    session: Session, catalog: Catalog, name: Name, properties: Properties = None, remove: Remove = None
) -> None:
    """Change the properties of a schema."""
    body = updates(None, None, properties, remove)
    made = session.put((*_path(session, catalog), name), body)["schema"]
    session.done(f"schema {catalog}.{name} updated", made)


@command(app, "delete")
def delete(session: Session, catalog: Catalog, name: Name, cascade: Cascade = False) -> None:
    """Drop a schema."""
    answer = session.delete((*_path(session, catalog), name), cascade=cascade)
    session.dropped(f"schema {catalog}.{name}", answer)


def _path(session: Session, catalog: str) -> Path:
    return session.in_metalake("catalogs", catalog, "schemas")
