"""Functions: ``…/schemas/{schema}/functions``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model import functions as f
from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord

routes = Routes("/api/metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/functions")

_function = wire.leaf(ObjectType.FUNCTION)


class RegisterFunction(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    function_type: str
    definitions: tuple[f.Definition, ...]
    deterministic: bool = False
    comment: str | None = None


class AlterFunction(msgspec.Struct, frozen=True):
    updates: list[
        wire.UpdateComment | f.AddDefinition | f.RemoveDefinition | f.AddImpl | f.UpdateImpl | f.RemoveImpl
    ]


def shown(record: ObjectRecord) -> dict[str, Any]:
    return wire.present(
        {
            "name": record.name,
            "functionType": record.body["functionType"],
            "deterministic": record.body["deterministic"],
            "comment": record.comment,
            "definitions": [{"parameters": [], **kept} for kept in record.body["definitions"]],
            "audit": wire.audit(record.audit),
        }
    )


@routes.on("GET", "", Op.LIST_FUNCTIONS, wire.schema, query=("details", *wire.PAGE))
def list_functions(call: DoorCall) -> Any:
    """List the functions of a schema."""
    if not call.flag("details"):
        return wire.identifiers(call, call.steward.functions.nodes(call.permit))
    found, token = wire.page(call, call.steward.functions.list(call.permit), lambda record: record.name)
    return wire.ok(functions=[shown(record) for record in found], nextPageToken=token)


@routes.on("POST", "", Op.REGISTER_FUNCTION, wire.schema, body=RegisterFunction)
def register_function(call: DoorCall) -> Any:
    """Register a function."""
    body: RegisterFunction = call.body
    made = call.steward.functions.register(
        call.permit, body.name, body.comment, body.function_type, body.deterministic, body.definitions
    )
    return wire.ok(function=shown(made))


@routes.on("GET", "/{function}", Op.LOAD_FUNCTION, _function)
def load_function(call: DoorCall) -> Any:
    """Load a function."""
    return wire.ok(function=shown(call.steward.functions.load(call.permit)))


@routes.on("PUT", "/{function}", Op.ALTER_FUNCTION, _function, body=AlterFunction)
def alter_function(call: DoorCall) -> Any:
    """Change the comment, the definitions or the implementations of a function."""
    items = call.body.updates
    changes = tuple(item for item in items if not isinstance(item, wire.UpdateComment))
    altered = call.steward.functions.redefine(call.permit, wire.updates(items), changes)
    return wire.ok(function=shown(altered))


@routes.on("DELETE", "/{function}", Op.DROP_FUNCTION, _function, absent=wire.ok(dropped=False))
def drop_function(call: DoorCall) -> Any:
    """Drop a function."""
    call.steward.functions.drop(call.permit)
    return wire.ok(dropped=True)
