"""Permissions: ``/api/metalakes/{metalake}/permissions``. Roles go to people, privileges go to roles."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.gravitino.access import groups, roles, users
from headgate.doors.routing import DoorCall, Routes
from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalRef
from headgate.model.privileges import checked_grants
from headgate.steward.access.principals import DescribedPrincipal

routes = Routes("/api/metalakes/{metalake}/permissions")


class RoleNames(msgspec.Struct, frozen=True):
    roleNames: list[str]  # noqa: N815


class Privileges(msgspec.Struct, frozen=True):
    privileges: list[roles.PrivilegeBody]


class Overrides(msgspec.Struct, frozen=True):
    overrides: list[roles.SecurableBody]


def _hold(call: DoorCall, principal: PrincipalRef, *, held: bool) -> DescribedPrincipal:
    return call.steward.principals.hold_roles(call.permit, principal, call.body.roleNames, held=held)


@routes.on("PUT", "/users/{user}/grant", Op.GRANT_ROLE, wire.metalake, body=RoleNames)
def grant_to_user(call: DoorCall) -> Any:
    """Give roles to a user."""
    return wire.ok(user=users.shown(_hold(call, users.named(call), held=True)))


@routes.on("PUT", "/users/{user}/revoke", Op.REVOKE_ROLE, wire.metalake, body=RoleNames)
def revoke_from_user(call: DoorCall) -> Any:
    """Take roles from a user."""
    return wire.ok(user=users.shown(_hold(call, users.named(call), held=False)))


@routes.on("PUT", "/groups/{group}/grant", Op.GRANT_ROLE, wire.metalake, body=RoleNames)
def grant_to_group(call: DoorCall) -> Any:
    """Give roles to a group."""
    return wire.ok(group=users.shown(_hold(call, groups.named(call), held=True)))


@routes.on("PUT", "/groups/{group}/revoke", Op.REVOKE_ROLE, wire.metalake, body=RoleNames)
def revoke_from_group(call: DoorCall) -> Any:
    """Take roles from a group."""
    return wire.ok(group=users.shown(_hold(call, groups.named(call), held=False)))


def _check_privileges(call: DoorCall) -> None:
    """Refuse privileges that no object of the path's type can have."""
    checked_grants(roles.grants(call.body.privileges), wire.named_object(call).type)


@routes.on(
    "PUT",
    "/roles/{role}/{type}/{fullName}/grant",
    dict.fromkeys(ObjectType, Op.GRANT_PRIVILEGE),
    wire.named_object,
    body=Privileges,
    sound=_check_privileges,
)
def grant_privileges(call: DoorCall) -> Any:
    """Add privileges on an object to a role."""
    changed = call.steward.roles.grant(call.permit, call.params["role"], roles.grants(call.body.privileges))
    return wire.ok(role=roles.shown(changed))


@routes.on(
    "PUT",
    "/roles/{role}/{type}/{fullName}/revoke",
    dict.fromkeys(ObjectType, Op.REVOKE_PRIVILEGE),
    wire.named_object,
    body=Privileges,
    sound=_check_privileges,
)
def revoke_privileges(call: DoorCall) -> Any:
    """Take privileges on an object from a role."""
    changed = call.steward.roles.revoke(call.permit, call.params["role"], roles.grants(call.body.privileges))
    return wire.ok(role=roles.shown(changed))


@routes.on("PUT", "/roles/{role}", Op.OVERRIDE_ROLE, wire.metalake, body=Overrides)
def override_role(call: DoorCall) -> Any:
    """Make exactly these what a role allows and denies."""
    changed = call.steward.roles.override(
        call.permit, call.params["role"], roles.securables(call, call.body.overrides)
    )
    return wire.ok(role=roles.shown(changed))
