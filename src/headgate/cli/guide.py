"""`headgate` alone: what to do next, from what is there and what is missing."""

import os
from collections.abc import Iterator

from rich.text import Text

from headgate.cli.failure import Denied, Failure
from headgate.cli.output import Format, console
from headgate.cli.profiles import SignedIn, path, sign_in
from headgate.cli.session import Session

_MOST = 5


def guide(signed: SignedIn) -> None:
    """Print what to do next."""
    screen = console()
    for line in _lines(signed):
        screen.print(Text(line))
    screen.print(Text("All commands: headgate --help"))


def show() -> None:
    """Print what to do next, for the server that variables and the profile name."""
    # The callback of the whole command has no options of a session: what it asks stands in variables and the profile.
    guide(
        sign_in(
            url=_variable("HEADGATE_URL"),
            token=_variable("HEADGATE_TOKEN"),
            login=_variable("HEADGATE_USER"),
            metalake=_variable("HEADGATE_METALAKE"),
            profile=_variable("HEADGATE_PROFILE"),
        )
    )


def _variable(name: str) -> str | None:
    return os.environ.get(name) or None


def _lines(signed: SignedIn) -> Iterator[str]:
    session = Session(
        url=signed.url,
        token=signed.token,
        login=signed.login,
        metalake=signed.metalake,
        profile=signed.profile,
        format=Format.TABLE,
    )
    if not session.reachable():
        yield f"No server answers at {session.url}."
        yield "  to try Headgate on this machine:  headgate serve --dev"
        yield "  to use a server that is there:    headgate login --url https://SERVER"
        return
    if not (signed.token or signed.login):
        yield f"The server at {session.url} answers; nobody is signed in."
        yield f"  with a token:                     headgate login --url {session.url}"
        yield f"  at a --dev server, as its admin:  headgate login --url {session.url} --login admin"
        yield f"  (it is kept in {path()})"
        return
    try:
        yield from _inside(session)
    except Denied as denied:
        yield f"{session.url} does not take who you say you are: {denied.message}."
        yield f"  sign in again:                    headgate login --url {session.url}"
    except Failure as failure:
        yield f"{session.url} did not answer as it should: {failure.message}."
        yield "  what is wrong on the server:      headgate doctor"


def _inside(session: Session) -> Iterator[str]:
    who = session.get(("headgate", "whoami"), metalake=session.metalake)
    by = f" (profile {session.profile})" if session.profile else ""
    yield f"You are {who['user']} at {session.url}{by}."
    if session.metalake is None:
        yield from _metalakes(session, who["user"], admin=who["serviceAdmin"])
    elif not who["standing"]["user"]:
        yield f"You are no user of a metalake '{session.metalake}'."
        yield "  those that you are a user of:     headgate metalake list"
        yield f"  or ask an owner of it to run:     headgate user create {who['user']}"
    else:
        yield from _lake(session, who["user"])


def _metalakes(session: Session, user: str, *, admin: bool) -> Iterator[str]:
    names = [metalake["name"] for metalake in session.get(("metalakes",))["metalakes"]]
    if names:
        yield f"No metalake is named; there are: {', '.join(names[:_MOST])}{' …' if len(names) > _MOST else ''}."
        yield f"  name one for this shell:          export HEADGATE_METALAKE={names[0]}"
    elif admin:
        yield "There is no metalake yet, and you may make one."
        yield "  make one:                         headgate metalake create NAME"
        yield "  and name it for this shell:       export HEADGATE_METALAKE=NAME"
    else:
        yield "You are a user of no metalake."
        yield f"  ask an owner of one to run:       headgate user create {user}"


def _lake(session: Session, user: str) -> Iterator[str]:
    catalogs = [found["name"] for found in session.get(session.in_metalake("catalogs"))["identifiers"]]
    if not catalogs:
        yield f"Metalake {session.metalake} has no catalog that you may see."
        yield "  try the storage of one:           headgate catalog test NAME --provider lakehouse-iceberg"
        yield "  make one:                         headgate catalog create NAME --provider lakehouse-iceberg"
        return
    yield f"Metalake {session.metalake} has the catalogs {', '.join(catalogs[:_MOST])}."
    yield f"  look around:                      headgate schema list {catalogs[0]}"
    yield "  who may do what, and why:         headgate explain --user NAME --operation load_table --on table:NAME"
    yield f"  what you see of a table:          headgate explain --as {user} --table CATALOG.SCHEMA.TABLE"
    yield "  policies as code:                 headgate plan -f FOLDER"
