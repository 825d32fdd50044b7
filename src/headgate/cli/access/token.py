"""`headgate token`: over HTTP for a service admin, on the store itself for whoever can open it."""

from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.command import Output, Token, Url, group, names
from headgate.cli.operations.settings_options import option
from headgate.cli.output import Format
from headgate.cli.session import Session
from headgate.settings.setting import HOME, STORE

if TYPE_CHECKING:
    from headgate.cli.access.operator import Operator

app = group("token", "Headgate's own tokens.")

User = Annotated[str, typer.Option("--user", help="Who the token proves to be.")]
Groups = Annotated[str | None, typer.Option("--groups", help="The groups it carries: g,h")]
Expires = Annotated[str | None, typer.Option("--expires", help="Its age: 30d, 12h or 15m.")]
Comment = Annotated[str | None, typer.Option("--comment", help="What it is for.")]
Home = Annotated[str | None, option(HOME)]
StoreUrl = Annotated[str | None, option(STORE)]
Id = Annotated[str, typer.Option("--id", help="The token's id, the part after hg_.")]


@app.command("create")
def create(
    user: User,
    groups: Groups = None,
    expires: Expires = None,
    comment: Comment = None,
    home: Home = None,
    store: StoreUrl = None,
    url: Url = "http://127.0.0.1:8090",
    token: Token = None,
    output: Output = Format.TABLE,
) -> None:
    """Make a token. It is shown once. With a token of your own the server is asked, else the store is opened."""
    session = _session(url, token, output)
    if token:
        body = {"user": user, "groups": names(groups), "expires": expires, "comment": comment}
        answer = session.post(("headgate", "tokens"), body)
        made, text = answer["token"], answer["text"]
    else:
        made, text = _operator(home, store).create(user, names(groups), expires, comment)
    session.done(text, {**made, "text": text})


@app.command("list")
def list_(
    home: Home = None,
    store: StoreUrl = None,
    url: Url = "http://127.0.0.1:8090",
    token: Token = None,
    output: Output = Format.TABLE,
) -> None:
    """List the tokens, without their secrets."""
    session = _session(url, token, output)
    found = session.get(("headgate", "tokens"))["tokens"] if token else _operator(home, store).every()
    session.show(found, "id", "user", "groups", "comment", "createTime", "expireTime", "revokeTime")


@app.command("revoke")
def revoke(
    id: Id,
    home: Home = None,
    store: StoreUrl = None,
    url: Url = "http://127.0.0.1:8090",
    token: Token = None,
    output: Output = Format.TABLE,
) -> None:
    """Revoke a token: it is refused from the next request on."""
    session = _session(url, token, output)
    if token:
        session.delete(("headgate", "tokens", id))
    else:
        _operator(home, store).revoke(id)
    session.done(f"token {id} revoked")


def _session(url: str, token: str | None, output: Format) -> Session:
    return Session(url=url, token=token, login=None, metalake=None, format=output)


def _operator(home: str | None, store: str | None) -> "Operator":
    # Only this way of doing it needs the store; asking the server starts faster without.
    from headgate.cli.access.operator import Operator

    return Operator(home, store)
