"""`headgate catalog`."""

from typing import Annotated, Final

import typer

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

app = group("catalog", "Catalogs: where tables, filesets, topics and models live.")

Provider = Annotated[str, typer.Option("--provider", help="What kind of system, e.g. lakehouse-iceberg.")]
Type = Annotated[
    str | None, typer.Option("--type", help="relational, fileset, messaging or model; else by the provider.")
]

_PATIENCE: Final = 90.0
"""Seconds for a test, for which a worker may have to start Spark."""

_TYPES = {"fileset": "fileset", "hadoop": "fileset", "kafka": "messaging", "model": "model"}


@command(app, "list")
def list_(session: Session) -> None:
    """List the catalogs that you may load."""
    found = session.get(session.in_metalake("catalogs"), details=True)["catalogs"]
    session.show(found, "name", "type", "provider", "comment")


@command(app, "create")
def create(
    session: Session,
    name: Name,
    provider: Provider,
    type: Type = None,
    comment: Comment = None,
    properties: Properties = None,
) -> None:
    """Create a catalog; you become its owner."""
    body = _body(name, provider, type, comment, properties)
    made = session.post(session.in_metalake("catalogs"), body)["catalog"]
    session.done(f"catalog {name} created", made)


@command(app, "test")
def try_connection(
    session: Session, name: Name, provider: Provider, type: Type = None, properties: Properties = None
) -> None:
    """Try a catalog that is not there yet: the server writes into its storage, and a worker's Spark does what reads need."""
    body = _body(name, provider, type, None, properties)
    session.post(session.in_metalake("catalogs", "testConnection"), body)
    query = {"metalake": session.in_metalake()[1]}
    found = session.ask("POST", ("headgate", "catalogs", "probe"), body, query, patience=_PATIENCE)
    if found["tried"]:
        session.done(f"catalog {name} answers, and a worker's Spark writes and reads there", found)
    else:
        session.done(f"catalog {name} answers the server; Spark was not tried: {found['why']}", found)


@command(app, "details")
def details(session: Session, name: Name) -> None:
    """Show a catalog."""
    session.show(session.get(session.in_metalake("catalogs", name))["catalog"])


@command(app, "update")
def update(
    session: Session,
    name: Name,
    rename: Rename = None,
    comment: Comment = None,
    properties: Properties = None,
    remove: Remove = None,
) -> None:
    """Rename a catalog, change its comment or properties."""
    body = updates(rename, comment, properties, remove)
    made = session.put(session.in_metalake("catalogs", name), body)["catalog"]
    session.done(f"catalog {name} updated", made)


@command(app, "enable")
def enable(session: Session, name: Name) -> None:
    """Take a catalog into use."""
    session.patch(session.in_metalake("catalogs", name), {"inUse": True})
    session.done(f"catalog {name} enabled")


@command(app, "disable")
def disable(session: Session, name: Name) -> None:
    """Take a catalog out of use."""
    session.patch(session.in_metalake("catalogs", name), {"inUse": False})
    session.done(f"catalog {name} disabled")


@command(app, "delete")
def delete(session: Session, name: Name, force: Force = False) -> None:
    """Drop a catalog."""
    session.dropped(f"catalog {name}", session.delete(session.in_metalake("catalogs", name), force=force))


def _body(
    name: str, provider: str, type: str | None, comment: str | None, properties: list[str] | None
) -> dict[str, object]:
    return {
        "name": name,
        "type": type or _TYPES.get(provider, "relational"),
        "provider": provider,
        "comment": comment,
        "properties": pairs(properties),
    }
