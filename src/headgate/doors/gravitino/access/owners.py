"""Owners: ``/api/metalakes/{metalake}/owners/{type}/{fullName}``."""

from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.decide.operations import LOADS
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.objects import OWNABLE
from headgate.model.principals import PrincipalKind, PrincipalRef

routes = Routes("/api/metalakes/{metalake}/owners")


class SetOwner(msgspec.Struct, frozen=True):
    name: str
    type: str


_SEEN: Final = {type: op for type, op in LOADS.items() if type in OWNABLE}
_SET: Final = dict.fromkeys(OWNABLE, Op.SET_OWNER)


@routes.on("GET", "/{type}/{fullName}", _SEEN, wire.named_object)
def get_owner(call: DoorCall) -> Any:
    """Get the owner of an object; no member if it has none."""
    found = call.steward.owners.get(call.permit)
    return wire.ok(owner=None if found is None else {"name": found.name, "type": found.kind})


@routes.on("PUT", "/{type}/{fullName}", _SET, wire.named_object, body=SetOwner)
def set_owner(call: DoorCall) -> Any:
    """Make a user or group the owner of an object."""
    body: SetOwner = call.body
    call.steward.owners.set(call.permit, PrincipalRef(PrincipalKind.parse(body.type), body.name))
    return wire.ok(set=True)
