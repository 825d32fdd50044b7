"""`headgate table`."""

from typing import Annotated, Any

import typer

from headgate.cli.command import (
    Catalog,
    Comment,
    Name,
    Properties,
    Remove,
    Rename,
    Schema,
    command,
    group,
    pairs,
    updates,
)
from headgate.cli.failure import Usage
from headgate.cli.metadata import governance
from headgate.cli.output import Format
from headgate.cli.session import Path, Session

app = group("table", "Tables of a schema.")

Columns = Annotated[
    str, typer.Option("--columns", help="name:type,name:type! — the '!' says it is never null, e.g. id:long!")
]
Purge = Annotated[bool, typer.Option("--purge", help="With its data files.")]


@command(app, "list")
def list_(session: Session, catalog: Catalog, schema: Schema) -> None:
    """List the tables that you may read or write."""
    session.show(session.names(_path(session, catalog, schema)), "name")


@command(app, "create")
def create(
    session: Session,
    catalog: Catalog,
    schema: Schema,
    name: Name,
    columns: Columns,
    comment: Comment = None,
    properties: Properties = None,
) -> None:
    """Create a table; you become its owner."""
    body = {
        "name": name,
        "comment": comment,
        "columns": _columns(columns),
        "properties": pairs(properties),
    }
    made = session.post(_path(session, catalog, schema), body)["table"]
    session.done(f"table {catalog}.{schema}.{name} created", made)


@command(app, "details")
def details(session: Session, catalog: Catalog, schema: Schema, name: Name) -> None:
    """Show a table with its columns, its tags, what you see of it, and to whom may know which policies restrict it."""
    table = session.get((*_path(session, catalog, schema), name))["table"]
    governed = governance.of_table(session, f"{catalog}.{schema}.{name}")
    if session.format is not Format.TABLE:
        session.show({**table, "governance": governed})
        return
    shown = {key: value for key, value in table.items() if value and key != "columns"}
    session.show({**shown, **governance.summary(governed)})
    rows = governance.columns(table["columns"], governed)
    session.show(rows, "name", "type", "nullable", "comment", "tags", "shown as")


@command(app, "update")
def update(
    session: Session,
    catalog: Catalog,
    schema: Schema,
    name: Name,
    rename: Rename = None,
    comment: Comment = None,
    properties: Properties = None,
    remove: Remove = None,
) -> None:
    """Rename a table, change its comment or properties."""
    body = updates(rename, comment, properties, remove)
    made = session.put((*_path(session, catalog, schema), name), body)["table"]
    session.done(f"table {catalog}.{schema}.{name} updated", made)


@command(app, "delete")
def delete(session: Session, catalog: Catalog, schema: Schema, name: Name, purge: Purge = False) -> None:
    """Drop a table."""
    answer = session.delete((*_path(session, catalog, schema), name), purge=purge)
    session.dropped(f"table {catalog}.{schema}.{name}", answer)


def _path(session: Session, catalog: str, schema: str) -> Path:
    return session.in_metalake("catalogs", catalog, "schemas", schema, "tables")


def _columns(text: str) -> list[dict[str, Any]]:
    """Read ``name:type,name:type!``; the comma in ``decimal(9,2)`` belongs to the type."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    found = []
    for part in parts:
        name, colon, type = part.strip().partition(":")
        if not colon or not name or not type.strip("!"):
            raise Usage(f"'{part.strip()}' is not a column", "write --columns id:long!,name:string")
        found.append({"name": name, "type": type.rstrip("!"), "nullable": not type.endswith("!")})
    return found
