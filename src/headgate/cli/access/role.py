"""`headgate role`."""

from headgate.cli.command import Name, Properties, command, group, pairs
from headgate.cli.output import Format
from headgate.cli.session import Session

app = group("role", "Roles: privileges on objects, held by users and groups.")


@command(app, "list")
def list_(session: Session) -> None:
    """List the roles that you may see."""
    session.show([{"name": name} for name in session.get(session.in_metalake("roles"))["names"]], "name")


@command(app, "create")
def create(session: Session, name: Name, properties: Properties = None) -> None:
    """Create a role without privileges; 'headgate grant privilege' adds them."""
    body = {"name": name, "properties": pairs(properties), "securableObjects": []}
    session.done(f"role {name} created", session.post(session.in_metalake("roles"), body)["role"])


@command(app, "details")
def details(session: Session, name: Name) -> None:
    """Show what a role allows and denies."""
    role = session.get(session.in_metalake("roles", name))["role"]
    if session.format is not Format.TABLE:
        session.show(role)
        return
    rows = [
        {
            "object": f"{on['type']}:{on['fullName']}",
            "privilege": held["name"],
            "condition": held["condition"],
        }
        for on in role.get("securableObjects", [])
        for held in on["privileges"]
    ]
    session.show(rows, "object", "privilege", "condition")


@command(app, "delete")
def delete(session: Session, name: Name) -> None:
    """Drop a role; whoever held it holds it no more."""
    session.dropped(f"role {name}", session.delete(session.in_metalake("roles", name)))
