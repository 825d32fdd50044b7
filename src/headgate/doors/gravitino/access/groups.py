"""Groups: ``/api/metalakes/{metalake}/groups``, and the members that Headgate keeps for them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.gravitino.access.users import shown, user
from headgate.doors.routing import DoorCall, Routes
from headgate.model.principals import PrincipalKind, PrincipalRef
from headgate.model.records import PrincipalRecord

routes = Routes("/api/metalakes/{metalake}/groups")


class AddGroup(msgspec.Struct, frozen=True):
    name: str
    externalId: str | None = None  # noqa: N815


class Members(msgspec.Struct, frozen=True):
    users: list[str]
    groups: list[str]


def group(name: str) -> PrincipalRef:
    return PrincipalRef(PrincipalKind.GROUP, name)


def named(call: DoorCall) -> PrincipalRef:
    return group(call.params["group"])


@routes.on("GET", "", Op.LIST_GROUPS, wire.metalake, query=("details", *wire.PAGE))
def list_groups(call: DoorCall) -> Any:
    """List the groups of a metalake, as names or in full; without the right to manage groups, one's own."""
    found, token = wire.page(
        call, call.steward.principals.list(call.permit, PrincipalKind.GROUP), lambda d: d.record.name
    )
    if call.flag("details"):
        return wire.ok(groups=[shown(described) for described in found], nextPageToken=token)
    return wire.ok(names=[described.record.name for described in found], nextPageToken=token)


@routes.on("POST", "", Op.ADD_GROUP, wire.metalake, body=AddGroup)
def add_group(call: DoorCall) -> Any:
    """Add a group to a metalake."""
    body: AddGroup = call.body
    made = call.steward.principals.add(call.permit, group(body.name), external_id=body.externalId)
    return wire.ok(group=shown(made))


@routes.on("GET", "/{group}", Op.GET_GROUP, wire.metalake, about=named)
def get_group(call: DoorCall) -> Any:
    """Get a group with the roles it holds."""
    return wire.ok(group=shown(call.steward.principals.get(call.permit, named(call))))


@routes.on("DELETE", "/{group}", Op.REMOVE_GROUP, wire.metalake)
def remove_group(call: DoorCall) -> Any:
    """Remove a group from a metalake."""
    return wire.ok(removed=call.steward.principals.remove(call.permit, named(call)))


@routes.on("GET", "/{group}/members", Op.GET_GROUP, wire.metalake, about=named)
def get_members(call: DoorCall) -> Any:
    """Get the members that are kept here; those that tokens claim are not known before they come."""
    return wire.ok(**_shown(call.steward.principals.members(call.permit, call.params["group"])))


@routes.on("PUT", "/{group}/members", Op.SET_GROUP_MEMBERS, wire.metalake, body=Members)
def set_members(call: DoorCall) -> Any:
    """Make exactly these users and groups the members of a group."""
    body: Members = call.body
    wanted = [*map(user, body.users), *map(group, body.groups)]
    return wire.ok(**_shown(call.steward.principals.set_members(call.permit, call.params["group"], wanted)))


def _shown(members: Sequence[PrincipalRecord]) -> dict[str, list[str]]:
    return {
        "users": [member.name for member in members if member.kind is PrincipalKind.USER],
        "groups": [member.name for member in members if member.kind is PrincipalKind.GROUP],
    }
