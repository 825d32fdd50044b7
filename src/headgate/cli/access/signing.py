"""`headgate login`, `logout` and `whoami`: who one is to a server."""

from typing import Annotated, Any

import typer
from msgspec.structs import replace

from headgate.cli import profiles, secret_values
from headgate.cli.command import Login, Metalake, Output, ProfileName, Url, command, verbs
from headgate.cli.failure import Failure
from headgate.cli.output import AnswerFormat, Format, done
from headgate.cli.profiles import LOCAL, Profile
from headgate.cli.session import Session

app = verbs()

KeptToken = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="HEADGATE_TOKEN",
        help="The token; without it you are asked. @file:PATH and @env:NAME are kept as they are written.",
    ),
]


@app.command("login")
def login(
    url: Url = None,
    token: KeptToken = None,
    login: Login = None,
    metalake: Metalake = None,
    profile: ProfileName = None,
    output: Output = AnswerFormat.TABLE,
) -> None:
    """Sign in at a server and keep it in a profile, so that no command needs to be told again."""
    known = profiles.read()
    name = profiles.checked_name(profile or known.profile or "default")
    before = known.profiles.get(name)
    url = url or (before.url if before else LOCAL)
    if not token and not login:
        token = secret_values.PROMPT
    if token == secret_values.PROMPT:
        token = secret_values.ask(f"Token for {url}")
    kept = Profile(
        url=url,
        metalake=metalake or (before.metalake if before and before.url == url else None),
        token=token,
        login=None if token else login,
    )
    shown = None if token is None else secret_values.reveal(token, "token")
    # INVARIANT: nothing is kept that the server did not accept.
    asked = Session(
        url=url, token=shown, login=kept.login, metalake=kept.metalake, format=Format(output), profile=name
    )
    who = asked.get(("headgate", "whoami"), metalake=kept.metalake)
    profiles.write(replace(known, profile=name, profiles={**known.profiles, name: kept}))
    answer = {"user": who["user"], "url": url, "metalake": kept.metalake, "profile": name}
    done(f"signed in as {who['user']} at {url} (profile {name})", answer, Format(output))


@app.command("logout")
def logout(profile: ProfileName = None, output: Output = AnswerFormat.TABLE) -> None:
    """Forget who you are at the server of a profile. The token itself stays valid until it is revoked or expires."""
    known = profiles.read()
    name = profile or known.profile
    kept = None if name is None else known.profiles.get(name)
    if name is None or kept is None or not (kept.token or kept.login):
        raise Failure("nobody is signed in by a profile", "'headgate whoami' says who you are")
    left = replace(kept, token=None, login=None)
    profiles.write(replace(known, profiles={**known.profiles, name: left}))
    done(f"signed out of {kept.url} (profile {name})", None, Format(output))


@command(app, "whoami")
def whoami(session: Session) -> None:
    """Say who you are to the server, by what, and what the metalake knows of you."""
    answer = session.get(("headgate", "whoami"), metalake=session.metalake)
    about = {
        "user": answer["user"],
        "server": session.url,
        "profile": session.profile,
        "signed in by": "token" if session.token else "name",
        "service admin": answer["serviceAdmin"],
        "groups of the token": answer["claimedGroups"] if answer["groupsKnown"] else "not told",
    }
    session.show({**about, **_standing(answer.get("standing"))})


def _standing(standing: dict[str, Any] | None) -> dict[str, Any]:
    if standing is None:
        return {}
    if not standing["user"]:
        return {"metalake": standing["metalake"], "user of it": False}
    return {
        "metalake": standing["metalake"],
        "user of it": True,
        "groups": standing["groups"],
        "roles": standing["roles"],
        "attributes": standing["attributes"],
    }
