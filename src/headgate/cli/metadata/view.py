"""`headgate view`."""

from typing import Annotated

import typer

from headgate.cli.command import Catalog, Comment, Name, Properties, Schema, command, group, pairs
from headgate.cli.output import Format
from headgate.cli.secret_values import reveal
from headgate.cli.session import Path, Session

app = group("view", "Views of a schema: named queries, which each engine runs in its own dialect.")

Sql = Annotated[str, typer.Option("--sql", help="The query; @file:PATH reads it from a file.")]
Dialect = Annotated[str, typer.Option("--dialect", help="The dialect it is written in, e.g. spark or trino.")]


@command(app, "list")
def list_(session: Session, catalog: Catalog, schema: Schema) -> None:
    """List the views that you may see."""
    session.show(session.names(_path(session, catalog, schema)), "name")


@command(app, "create")
def create(
    session: Session,
    catalog: Catalog,
    schema: Schema,
    name: Name,
    sql: Sql,
    dialect: Dialect = "spark",
    comment: Comment = None,
    properties: Properties = None,
) -> None:
    """Create a view; you become its owner. What it selects is read with the rights of whoever reads it."""
    body = {
        "name": name,
        "comment": comment,
        "representations": [{"type": "sql", "dialect": dialect, "sql": reveal(sql, "query")}],
        "defaultCatalog": catalog,
        "defaultSchema": schema,
        "properties": pairs(properties),
    }
    made = session.post(_path(session, catalog, schema), body)["view"]
    session.done(f"view {catalog}.{schema}.{name} created", made)


@command(app, "details")
def details(session: Session, catalog: Catalog, schema: Schema, name: Name) -> None:
    """Show a view with its queries and columns."""
    view = session.get((*_path(session, catalog, schema), name))["view"]
    if session.format is not Format.TABLE:
        session.show(view)
        return
    session.show(
        {key: value for key, value in view.items() if value and key not in ("columns", "representations")}
    )
    session.show(view["representations"], "dialect", "sql")
    if view.get("columns"):
        session.show(view["columns"], "name", "type", "comment")


@command(app, "delete")
def delete(session: Session, catalog: Catalog, schema: Schema, name: Name) -> None:
    """Drop a view."""
    answer = session.delete((*_path(session, catalog, schema), name))
    session.dropped(f"view {catalog}.{schema}.{name}", answer)


def _path(session: Session, catalog: str, schema: str) -> Path:
    return session.in_metalake("catalogs", catalog, "schemas", schema, "views")
