"""Roles: ``/api/metalakes/{metalake}/roles``, and the roles that name an object."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.privileges import Condition, Grant, Privilege
from headgate.steward.access.roles import Role, RoleSecurable
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}")


class PrivilegeBody(msgspec.Struct, frozen=True):
    name: str
    condition: str = "allow"


class SecurableBody(msgspec.Struct, frozen=True):
    fullName: str  # noqa: N815
    type: str
    privileges: list[PrivilegeBody]


class CreateRole(msgspec.Struct, frozen=True):
    name: str
    properties: dict[str, str] | None = None
    securableObjects: list[SecurableBody] | None = None  # noqa: N815


def grants(bodies: list[PrivilegeBody]) -> tuple[Grant, ...]:
    """Privileges as a client writes them."""
    return tuple(Grant(Privilege.parse(body.name), Condition.parse(body.condition)) for body in bodies)


def securables(call: DoorCall, bodies: list[SecurableBody]) -> list[RoleSecurable]:
    """Objects with privileges as a client writes them."""
    metalake = call.params["metalake"]
    return [
        RoleSecurable(
            ObjectRef.parse(metalake, ObjectType.parse(body.type), body.fullName), grants(body.privileges)
        )
        for body in bodies
    ]


def shown(role: Role) -> dict[str, Any]:
    """A role on the wire."""
    return {
        "name": role.record.name,
        "properties": role.record.properties,
        "securableObjects": [_securable(securable) for securable in role.objects],
        "audit": wire.audit(role.record.audit),
    }


def _securable(securable: RoleSecurable) -> dict[str, Any]:
    return {
        "fullName": securable.ref.full_name,
        "type": securable.ref.type,
        "privileges": [
            {"name": grant.privilege.wire, "condition": grant.condition} for grant in securable.grants
        ],
    }


@routes.on("GET", "/roles", Op.LIST_ROLES, wire.metalake, query=wire.PAGE)
def list_roles(call: DoorCall) -> Any:
    """List the names of the roles that the caller may see."""
    found, token = wire.page(call, call.steward.roles.list(call.permit), lambda name: name)
    return wire.ok(names=found, nextPageToken=token)


@routes.on("POST", "/roles", Op.CREATE_ROLE, wire.metalake, body=CreateRole)
def create_role(call: DoorCall) -> Any:
    """Create a role with what it allows and denies."""
    body: CreateRole = call.body
    made = call.steward.roles.create(
        call.permit,
        body.name,
        checked_properties(body.properties),
        securables(call, body.securableObjects or []),
    )
    return wire.ok(role=shown(made))


@routes.on("GET", "/roles/{role}", Op.GET_ROLE, wire.beside(ObjectType.ROLE))
def get_role(call: DoorCall) -> Any:
    """Get a role with what it allows and denies."""
    return wire.ok(role=shown(call.steward.roles.get(call.permit)))


@routes.on(
    "DELETE",
    "/roles/{role}",
    Op.DELETE_ROLE,
    wire.beside(ObjectType.ROLE),
    absent=wire.ok(dropped=False, deleted=False),
)
def delete_role(call: DoorCall) -> Any:
    """Delete a role; those who held it hold it no more."""
    call.steward.roles.delete(call.permit)
    return wire.ok(dropped=True, deleted=True)


@routes.on("GET", "/objects/{type}/{fullName}/roles", Op.LIST_OBJECT_ROLES, wire.metalake, query=wire.PAGE)
def list_object_roles(call: DoorCall) -> Any:
    """List the names of the roles the caller may see that say something of an object."""
    names = call.steward.roles.list_on(call.permit, wire.named_object(call))
    found, token = wire.page(call, names, lambda name: name)
    return wire.ok(names=found, nextPageToken=token)
