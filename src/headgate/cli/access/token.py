"""`headgate token`: over HTTP for a service admin, on the store itself for whoever can open it.

INVARIANT: whoever named a server changes no other store than that server's.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.command import Login, Output, ProfileName, Token, Url, flags_of, group, names
from headgate.cli.failure import Denied
from headgate.cli.operations.settings_options import option
from headgate.cli.output import AnswerFormat, Format
from headgate.cli.profiles import sign_in
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
    context: typer.Context,
    user: User,
    groups: Groups = None,
    expires: Expires = None,
    comment: Comment = None,
    home: Home = None,
    store: StoreUrl = None,
    url: Url = None,
    token: Token = None,
    login: Login = None,
    profile: ProfileName = None,
    output: Output = AnswerFormat.TABLE,
) -> None:
    """Make a token. It is shown once. The server is asked if you are signed in, and with --home or --store its store is opened."""
    session, asked = _session(context, home, store, url, token, login, profile, output)
    if asked:
        body = {"user": user, "groups": names(groups), "expires": expires, "comment": comment}
        answer = session.post(("headgate", "tokens"), body)
        made, text = answer["token"], answer["text"]
    else:
        made, text = _operator(home, store).create(user, names(groups), expires, comment)
    session.done(text, {**made, "text": text})


@app.command("list")
def list_(
    context: typer.Context,
    home: Home = None,
    store: StoreUrl = None,
    url: Url = None,
    token: Token = None,
    login: Login = None,
    profile: ProfileName = None,
    output: Output = AnswerFormat.TABLE,
) -> None:
    """List the tokens, without their secrets."""
    session, asked = _session(context, home, store, url, token, login, profile, output)
    found = session.get(("headgate", "tokens"))["tokens"] if asked else _operator(home, store).every()
    session.show(found, "id", "user", "groups", "comment", "createTime", "expireTime", "revokeTime")


@app.command("revoke")
def revoke(
    context: typer.Context,
    id: Id,
    home: Home = None,
    store: StoreUrl = None,
    url: Url = None,
    token: Token = None,
    login: Login = None,
    profile: ProfileName = None,
    output: Output = AnswerFormat.TABLE,
) -> None:
    """Revoke a token: it is refused from the next request on."""
    session, asked = _session(context, home, store, url, token, login, profile, output)
    if asked:
        session.delete(("headgate", "tokens", id))
    else:
        _operator(home, store).revoke(id)
    session.done(f"token {id} revoked")


def _session(
    context: typer.Context,
    home: str | None,
    store: str | None,
    url: str | None,
    token: str | None,
    login: str | None,
    profile: str | None,
    output: AnswerFormat,
) -> tuple[Session, bool]:
    """The session, and whether the server is asked in it rather than the store opened."""
    named = bool(home or store)
    signed = sign_in(
        url=url, token=token, login=login, metalake=None, profile=profile, flags=flags_of(context)
    )
    asked = not named and bool(signed.token or (signed.login and signed.named))
    if signed.named and not asked and not named:
        raise Denied(
            f"nobody is signed in at {signed.url}",
            "set HEADGATE_TOKEN to ask that server, or name its store with --home or --store",
        )
    session = Session(
        url=signed.url, token=signed.token, login=signed.login, metalake=None, format=Format(output)
    )
    return session, asked


def _operator(home: str | None, store: str | None) -> "Operator":
    # Only this way of doing it needs the store; asking the server starts faster without.
    from headgate.cli.access.operator import Operator

    return Operator(home, store)
