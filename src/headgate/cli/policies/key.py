"""`headgate key`: the keys of masks, and whose tables share their tokens."""

from typing import Annotated

import typer

from headgate.cli.command import Name, command, group, names
from headgate.cli.session import Session

app = group("key", "Keys of masks, and the owners whose tables share their tokens.")

Owners = Annotated[str, typer.Option("--owners", help="user:NAME or group:NAME, several joined by commas.")]
COLUMNS = ("name", "policies", "joined")


@command(app, "list")
def list_(session: Session) -> None:
    """List the keys of the policies that you may see."""
    found = session.get(("headgate", "keys"), metalake=session.in_metalake()[1])
    session.show(found["keys"], *COLUMNS)


@command(app, "join")
def join(session: Session, name: Name, owners: Owners) -> None:
    """Let the tables of these owners share the tokens of a key."""
    _change(session, name, owners, "join")


@command(app, "leave")
def leave(session: Session, name: Name, owners: Owners) -> None:
    """Let the tables of these owners have tokens of their own again."""
    _change(session, name, owners, "leave")


def _change(session: Session, name: str, owners: str, what: str) -> None:
    path = ("headgate", "keys", name, what)
    found = session.post(path, {"owners": names(owners)}, metalake=session.in_metalake()[1])
    session.show([found["key"]], *COLUMNS)
