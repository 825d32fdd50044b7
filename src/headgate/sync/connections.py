"""Where a named system is and who administers it, and what connectors take from that. People write ``postgresql:main``."""

import httpx
import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.secrets import Secret
from headgate.sync.snapshots.facts import Kind, Principal


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """Where a system is, who administers it, and which metalakes' owners may use it."""

    kind: str
    url: Secret
    catalog: str
    """Under which catalog its objects are named."""
    metalake: str
    """Of a system that has metalakes: which one."""
    user: str | None = None
    password: Secret | None = None
    metalakes: tuple[str, ...] = ()
    """The owners of these metalakes may use it. Service admins always may; if there is no name here, nobody else may."""
    options: dict[str, str] = {}
    """What only this kind of system asks for."""


def client(at: Connection) -> httpx.Client:
    """A client with the credentials of the connection: a password without a user is a bearer token."""
    password = at.password.hidden if at.password else ""
    # Without either, the address itself may hold the credentials.
    headers = {"Authorization": f"Bearer {password}"} if password and at.user is None else {}
    auth = None if at.user is None else (at.user, password)
    return httpx.Client(base_url=at.url.hidden, headers=headers, auth=auth, timeout=60)


def option(name: str, at: Connection, key: str) -> str:
    """An option that this kind of system cannot do without."""
    found = at.options.get(key)
    if not found:
        raise IllegalArgument(f"'{name}' does not say its {key}", hint=f'options = {{ {key} = "…" }}')
    return found


def people(name: str, at: Connection) -> list[Principal]:
    """Who there is, for a system that lists nobody: `user:ann, group:staff`."""
    people = []
    for text in filter(None, (part.strip() for part in at.options.get("people", "").split(","))):
        kind, colon, who = text.partition(":")
        if not colon or not who or kind not in (Kind.USER, Kind.GROUP):
            raise IllegalArgument(
                f"'{name}' names '{clip(text)}' among its people", hint="write user:ann, group:staff"
            )
        people.append(Principal(Kind(kind), who))
    return people
