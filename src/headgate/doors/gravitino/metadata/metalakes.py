"""Metalakes: ``/api/metalakes``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.records import ObjectRecord
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes")


class CreateMetalake(msgspec.Struct, frozen=True):
    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


class AlterMetalake(msgspec.Struct, frozen=True):
    updates: list[wire.Rename | wire.UpdateComment | wire.SetProperty | wire.RemoveProperty]


class SetInUse(msgspec.Struct, frozen=True):
    inUse: bool  # noqa: N815


def _everywhere(call: DoorCall) -> ObjectRef:
    return ObjectRef("*", ObjectType.METALAKE)


def shown(record: ObjectRecord, *, in_use: bool = True) -> dict[str, Any]:
    """A metalake on the wire. What was just created does not tell yet that it is in use, as clients expect."""
    use = {"in-use": str(record.in_use).lower()} if in_use else {}
    return wire.present(
        {
            "name": record.name,
            "comment": record.comment,
            "properties": {**record.properties, **use},
            "audit": wire.audit(record.audit),
        }
    )


@routes.on("GET", "", Op.LIST_METALAKES, _everywhere, query=wire.PAGE)
def list_metalakes(call: DoorCall) -> Any:
    """List the metalakes the caller is a user of."""
    found, token = wire.page(call, call.steward.metalakes.list(call.permit), lambda record: record.name)
    return wire.ok(metalakes=[shown(record) for record in found], nextPageToken=token)


@routes.on("POST", "", Op.CREATE_METALAKE, _everywhere, body=CreateMetalake)
def create_metalake(call: DoorCall) -> Any:
    """Create a metalake."""
    body: CreateMetalake = call.body
    made = call.steward.metalakes.create(
        call.permit, body.name, body.comment, checked_properties(body.properties)
    )
    return wire.ok(metalake=shown(made, in_use=False))


@routes.on("GET", "/{metalake}", Op.LOAD_METALAKE, wire.metalake)
def load_metalake(call: DoorCall) -> Any:
    """Load a metalake."""
    return wire.ok(metalake=shown(call.steward.metalakes.load(call.permit)))


@routes.on("PUT", "/{metalake}", Op.ALTER_METALAKE, wire.metalake, body=AlterMetalake)
def alter_metalake(call: DoorCall) -> Any:
    """Rename a metalake, change its comment or its properties."""
    return wire.ok(metalake=shown(call.steward.metalakes.alter(call.permit, wire.updates(call.body.updates))))


@routes.on("PATCH", "/{metalake}", Op.SET_METALAKE_IN_USE, wire.metalake, body=SetInUse)
def set_metalake_in_use(call: DoorCall) -> Any:
    """Take a metalake into use or out of it."""
    call.steward.metalakes.set_in_use(call.permit, call.body.inUse)
    return wire.ok()


@routes.on(
    "DELETE",
    "/{metalake}",
    Op.DROP_METALAKE,
    wire.metalake,
    query=("force",),
    absent=wire.ok(dropped=False),
)
def drop_metalake(call: DoorCall) -> Any:
    """Drop a metalake."""
    call.steward.metalakes.drop(call.permit, force=call.flag("force"))
    return wire.ok(dropped=True)
