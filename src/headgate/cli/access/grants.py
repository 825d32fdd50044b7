"""`headgate grant` and `headgate revoke`: roles to people, privileges to roles."""

from typing import Annotated

import typer

from headgate.cli.command import On, command, group, names, object_of, verbs
from headgate.cli.failure import Usage
from headgate.cli.session import Session

grant = group("grant", "Give a role to someone, or a privilege to a role.")
revoke = group("revoke", "Take a role from someone, or a privilege from a role.")
app = verbs()
app.add_typer(grant)
app.add_typer(revoke)

Role = Annotated[str, typer.Option("--role", help="The role.")]
Roles = Annotated[str, typer.Option("--role", help="The role, or several by comma.")]
User = Annotated[str | None, typer.Option("--user", help="To this user.")]
Group = Annotated[str | None, typer.Option("--group", help="To this group.")]
Privileges = Annotated[str, typer.Option("--privilege", help="E.g. select_table, or several by comma.")]
Deny = Annotated[bool, typer.Option("--deny", help="The privilege is denied, which wins over every allow.")]


@command(grant, "role")
def grant_role(session: Session, role: Roles, user: User = None, group: Group = None) -> None:
    """Give a role to a user or a group."""
    _hold(session, "grant", role, user, group)


@command(revoke, "role")
def revoke_role(session: Session, role: Roles, user: User = None, group: Group = None) -> None:
    """Take a role from a user or a group."""
    _hold(session, "revoke", role, user, group)


@command(grant, "privilege")
def grant_privilege(session: Session, role: Role, privilege: Privileges, on: On, deny: Deny = False) -> None:
    """Give a role a privilege on an object, for it and everything below."""
    _privilege(session, "grant", role, privilege, on, deny)


@command(revoke, "privilege")
def revoke_privilege(session: Session, role: Role, privilege: Privileges, on: On, deny: Deny = False) -> None:
    """Take a privilege on an object from a role."""
    _privilege(session, "revoke", role, privilege, on, deny)


def _hold(session: Session, verb: str, role: str, user: str | None, group: str | None) -> None:
    if (user is None) == (group is None):
        raise Usage("one holder must be named", "give either --user or --group")
    kind, name = ("user", user) if user is not None else ("group", group)
    path = session.in_metalake("permissions", f"{kind}s", str(name), verb)
    answer = session.put(path, {"roleNames": names(role)})
    session.done(
        f"role {role} {'granted to' if verb == 'grant' else 'revoked from'} {kind} {name}", answer[kind]
    )


def _privilege(session: Session, verb: str, role: str, privilege: str, on: str, deny: bool) -> None:
    type, name = object_of(on)
    condition = "deny" if deny else "allow"
    body = {"privileges": [{"name": item.lower(), "condition": condition} for item in names(privilege)]}
    answer = session.put(session.in_metalake("permissions", "roles", role, type, name, verb), body)
    way = "to" if verb == "grant" else "from"
    word = ("denied" if deny else "granted") if verb == "grant" else "revoked"
    session.done(f"{privilege} on {on} {word} {way} role {role}", answer["role"])
