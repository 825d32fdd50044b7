"""Who one is, and who somebody is to a metalake: ``/api/headgate/whoami`` and ``/api/headgate/metalakes/…/users/…``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.gravitino.access.users import named, shown
from headgate.doors.routing import DoorCall, Open, Routes, at_least

routes = Routes("/api/headgate")


@routes.on("GET", "/whoami", Open.AUTHENTICATED, query=("metalake",))
def whoami(call: DoorCall) -> Any:
    """Say who the caller is to this server, and with a metalake what it knows of them."""
    caller, metalake = call.caller, call.query.get("metalake")
    memberships = call.steward.memberships
    answer: dict[str, Any] = {
        "code": 0,
        "user": caller.user,
        "claimedGroups": sorted(caller.groups),
        "groupsKnown": caller.groups_known,
        "serviceAdmin": memberships.is_service_admin(caller),
    }
    if metalake:
        answer["standing"] = msgspec.to_builtins(memberships.mine(caller, metalake, at_least(call.headers)))
    return answer


@routes.on("GET", "/metalakes/{metalake}/users/{user}", Op.GET_USER, wire.metalake, about=named)
def user_standing(call: DoorCall) -> Any:
    """Get a user with their attributes, roles, groups and the roles of these, as far as the caller may look at the groups."""
    described, inherited = call.steward.memberships.of(call.permit, call.params["user"])
    return {
        "code": 0,
        "user": {**shown(described), "attributes": described.record.attributes},
        "groups": msgspec.to_builtins(inherited),
    }
