"""Owners: ``/api/metalakes/{metalake}/owners/{type}/{fullName}``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import ByType, Call, Routes
from headgate.model.errors import IllegalArgument
from headgate.model.objects import OWNABLE, ObjectRef
from headgate.model.principals import PrincipalKind, PrincipalRef

routes = Routes("/api/metalakes/{metalake}/owners")


class Owner(msgspec.Struct, frozen=True):
    name: str
    type: str


def _ownable(call: Call) -> ObjectRef:
    ref = wire.named_object(call)
    if ref.type not in OWNABLE:
        raise IllegalArgument(
            f"a {ref.type} has no owner", hint=f"ask about one of {', '.join(sorted(OWNABLE))}"
        )
    return ref


@routes.on("GET", "/{type}/{fullName}", ByType.LOAD, _ownable, missing="metadata-object")
def get_owner(call: Call) -> Any:
    """Get the owner of an object; no member if it has none."""
    found = call.steward.owners.get(call.permit)
    return wire.ok(owner=None if found is None else {"name": found.name, "type": found.kind})


@routes.on("PUT", "/{type}/{fullName}", Op.SET_OWNER, _ownable, body=Owner, missing="metadata-object")
def set_owner(call: Call) -> Any:
    """Make a user or group the owner of an object."""
    body: Owner = call.body
    call.steward.owners.set(call.permit, PrincipalRef(PrincipalKind.parse(body.type), body.name))
    return wire.ok(set=True)
