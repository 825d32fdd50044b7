"""`headgate policy`: the policies that are there, one by one."""

from headgate.cli.command import Name, Yes, command, confirm, group
from headgate.cli.session import Session

app = group("policy", "Policies: what people see of tables.")


@command(app, "list")
def list_(session: Session) -> None:
    """List the policies that you may see."""
    found = session.get(session.in_metalake("policies"), details=True)["policies"]
    rows = [
        {**policy, "on": policy["content"].get("on"), "to": policy["content"].get("to")} for policy in found
    ]
    session.show(rows, "name", "policyType", "on", "to", "enabled", "comment")


@command(app, "details")
def details(session: Session, name: Name) -> None:
    """Show a policy."""
    session.show(session.get(session.in_metalake("policies", name))["policy"])


@command(app, "history")
def history(session: Session, name: Name) -> None:
    """Show all that a policy ever said, and who made it so."""
    _, metalake = session.in_metalake()
    found = session.get(("headgate", "metalakes", metalake, "policies", name, "history"))["history"]
    session.show(found, "version", "revision", "at", "actor", "action", "name", "on", "enabled", "document")


@command(app, "enable")
def enable(session: Session, name: Name) -> None:
    """Enable a policy."""
    session.patch(session.in_metalake("policies", name), {"enable": True})
    session.done(f"policy {name} enabled")


@command(app, "disable")
def disable(session: Session, name: Name, yes: Yes = False) -> None:
    """Disable a policy: it stays, but restricts nobody."""
    confirm(f"Disable policy {name}? Whom it restricts may see more.", yes, look=_look(name))
    session.patch(session.in_metalake("policies", name), {"enable": False})
    session.done(f"policy {name} disabled")


@command(app, "delete")
def delete(session: Session, name: Name, yes: Yes = False) -> None:
    """Drop a policy; its history stays."""
    confirm(f"Drop policy {name}? Whom it restricts may see more.", yes, look=_look(name))
    session.dropped(f"policy {name}", session.delete(session.in_metalake("policies", name)))


def _look(name: str) -> str:
    return f"look at it with 'headgate policy details --name {name}'"
