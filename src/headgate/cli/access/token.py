"""`headgate token`: over HTTP for a service admin, on the store itself for whoever can open it.

INVARIANT: whoever named a server changes no other store than that server's.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.command import LOCAL, Login, Output, Token, group, names
from headgate.cli.failure import Denied
from headgate.cli.operations.settings_options import option
from headgate.cli.output import AnswerFormat, Format
from headgate.cli.session import Session
from headgate.settings.setting import HOME, STORE

if TYPE_CHECKING:
    from headgate.cli.access.operator import Operator

app = group("token", "Headgate's own tokens.")

User = Annotated[str, typer.Option("--user", help="Who the token proves to be.")]
Groups = Annotated[str | None, typer.Option("--groups", help="The groups it carries: g,h")]
Expires = Annotated[str | None, typer.Option("--expires", help="Its age: 30d, 12h or 15m.")]
Comment = Annotated[str | None, typer.Option("--comment", help="What it is for.")]
Url = Annotated[
    str | None,
    typer.Option("--url", envvar="HEADGATE_URL", help="Where the server is, if it is to be asked."),
]
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
    url: Url = None,
    token: Token = None,
    login: Login = None,
    output: Output = AnswerFormat.TABLE,
) -> None:
    """Make a token. It is shown once. The server is asked if you are signed in, and with --home or --store its store is opened."""
    session, asked = _session(home, store, url, token, login, output)
    if asked:
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
    url: Url = None,
    token: Token = None,
    login: Login = None,
    output: Output = AnswerFormat.TABLE,
) -> None:
    """List the tokens, without their secrets."""
    session, asked = _session(home, store, url, token, login, output)
    found = session.get(("headgate", "tokens"))["tokens"] if asked else _operator(home, store).every()
    session.show(found, "id", "user", "groups", "comment", "createTime", "expireTime", "revokeTime")


@app.command("revoke")
def revoke(
    id: Id,
    home: Home = None,
    store: StoreUrl = None,
    url: Url = None,
    token: Token = None,
    login: Login = None,
    output: Output = AnswerFormat.TABLE,
) -> None:
    """Revoke a token: it is refused from the next request on."""
    session, asked = _session(home, store, url, token, login, output)
    if asked:
        session.delete(("headgate", "tokens", id))
    else:
        _operator(home, store).revoke(id)
    session.done(f"token {id} revoked")


def _session(
    home: str | None,
    store: str | None,
    url: str | None,
    token: str | None,
    login: str | None,
    output: AnswerFormat,
) -> tuple[Session, bool]:
    """The session, and whether the server is asked in it rather than the store opened."""
    named = bool(home or store)
    asked = not named and bool(token or (login and url))
    if url and not asked and not named:
        raise Denied(
            f"nobody is signed in at {url}",
            "set HEADGATE_TOKEN to ask that server, or name its store with --home or --store",
        )
    return Session(url=url or LOCAL, token=token, login=login, metalake=None, format=Format(output)), asked


def _operator(home: str | None, store: str | None) -> "Operator":
    # Only this way of doing it needs the store; asking the server starts faster without.
    from headgate.cli.access.operator import Operator

    return Operator(home, store)
