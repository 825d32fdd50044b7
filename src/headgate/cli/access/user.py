"""`headgate user`."""

from typing import Annotated, Any

import typer

from headgate.cli.command import Name, command, group, names
from headgate.cli.failure import Denied, Usage
from headgate.cli.output import Format
from headgate.cli.session import Session

app = group("user", "Users of a metalake.")

AttributesSet = Annotated[
    list[str] | None,
    typer.Option(
        "--attributes",
        help="What policies may ask: region=EU,team=data. One that is given twice has both values.",
    ),
]
AttributesGone = Annotated[str | None, typer.Option("--remove", help="Attributes to remove: k,k")]


@command(app, "list")
def list_(session: Session) -> None:
    """List the users that you may see."""
    session.show(session.get(session.in_metalake("users"), details=True)["users"], "name", "roles")


@command(app, "create")
def create(session: Session, name: Name) -> None:
    """Add a user to the metalake."""
    session.done(f"user {name} added", session.post(session.in_metalake("users"), {"name": name})["user"])


@command(app, "set")
def set_(
    session: Session, name: Name, attributes: AttributesSet = None, remove: AttributesGone = None
) -> None:
    """Set what policies know of a user. Attributes that are not named stay as they are."""
    given, gone = _attributes(attributes), names(remove)
    if not given and not gone:
        raise Usage("nothing to change", "give --attributes region=EU, or --remove region")
    path = session.in_metalake("users", name, "attributes")
    before = session.get(path)["attributes"]
    kept = {key: value for key, value in before.items() if key not in gone}
    answer = session.put(path, {**kept, **given})["attributes"]
    session.done(f"attributes of user {name} set", {"name": name, "attributes": answer})


@command(app, "details")
def details(session: Session, name: Name) -> None:
    """Show a user: attributes, roles, groups with the roles that come from them, and to a service admin the tokens."""
    _, metalake = session.in_metalake()
    answer = session.get(("headgate", "metalakes", metalake, "users", name))
    user, groups = answer["user"], answer["groups"]
    whole: dict[str, Any] = {**user, "groups": groups}
    tokens = _tokens(session, name)
    if tokens is not None:
        whole["tokens"] = tokens
    if session.format is not Format.TABLE:
        session.show(whole)
        return
    shown: dict[str, Any] = {
        key: user[key] for key in ("name", "enabled", "attributes", "roles") if key in user
    }
    shown["groups"] = [group["group"] for group in groups]
    shown["roles by group"] = {
        group["group"]: ", ".join(group["roles"]) for group in groups if group["roles"]
    }
    if tokens is not None:
        shown["tokens"] = [_token(token) for token in tokens]
    session.show(shown)


@command(app, "delete")
def delete(session: Session, name: Name) -> None:
    """Remove a user from the metalake, with all they hold."""
    session.dropped(f"user {name}", session.delete(session.in_metalake("users", name)))


def _attributes(texts: list[str] | None) -> dict[str, str | list[str]]:
    found: dict[str, list[str]] = {}
    for part in (part for text in texts or () for part in names(text)):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise Usage(
                f"'{part}' is not key=value", "write --attributes region=EU, and a comma in a value as '\\,'"
            )
        found.setdefault(key.strip(), []).append(value.strip())
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _tokens(session: Session, user: str) -> list[dict[str, Any]] | None:
    """Headgate's own tokens of a user; None if the server does not tell them to this caller."""
    try:
        every = session.get(("headgate", "tokens"))["tokens"]
    except Denied:
        return None
    return [token for token in every if token["user"] == user]


def _token(token: dict[str, Any]) -> str:
    if "revokeTime" in token:
        return f"{token['id']}, revoked {token['revokeTime']}"
    return f"{token['id']}, {'until ' + token['expireTime'] if 'expireTime' in token else 'without end'}"
