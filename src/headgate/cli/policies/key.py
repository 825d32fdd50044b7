"""`headgate key`: the keys of masks, and which tables share their tokens."""

from typing import Annotated

import typer

from headgate.cli.command import Name, command, group, names
from headgate.cli.session import Session

app = group("key", "Keys of masks, and the tables that share their tokens.")

Tables = Annotated[str, typer.Option("--tables", help="CATALOG.SCHEMA.TABLE, several joined by commas.")]
COLUMNS = ("name", "policies", "joined")


@command(app, "list")
def list_(session: Session) -> None:
    """List the keys of the policies that you may see."""
    found = session.get(("headgate", "keys"), metalake=session.in_metalake()[1])
    session.show(found["keys"], *COLUMNS)


@command(app, "join")
def join(session: Session, name: Name, tables: Tables) -> None:
    """Let these tables share the tokens of a key. Who may write one of them, or ever did, is shown none of them."""
    _change(session, name, tables, "join")


@command(app, "leave")
def leave(session: Session, name: Name, tables: Tables) -> None:
    """Let these tables have tokens of their own again."""
    _change(session, name, tables, "leave")


def _change(session: Session, name: str, tables: str, what: str) -> None:
    path = ("headgate", "keys", name, what)
    found = session.post(path, {"tables": names(tables)}, metalake=session.in_metalake()[1])
    session.show([found["key"]], *COLUMNS, "shut_out")
