"""Namespaces: ``/v1/{prefix}/namespaces``. A namespace is a schema; its levels are joined to the schema's name."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.iceberg import wire
from headgate.doors.iceberg.errors import Unprocessable
from headgate.doors.iceberg.once import done_before, once, permitted
from headgate.doors.routing import Answer, DoorCall, Routes, read_body
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.records import ObjectRecord
from headgate.steward.metadata.schemas import parent_of
from headgate.steward.updates import Updates, checked_properties

routes = Routes("/iceberg/v1/{prefix}/namespaces")


class CreateNamespace(msgspec.Struct, frozen=True):
    namespace: list[str]
    properties: dict[str, str] | None = None


class UpdateProperties(msgspec.Struct, frozen=True):
    removals: list[str] | None = None
    updates: dict[str, str] | None = None


def _properties(record: ObjectRecord) -> dict[str, str]:
    comment = {"comment": record.comment} if record.comment else {}
    return {**record.properties, **comment}


def _holder(call: DoorCall) -> ObjectRef:
    """What will hold the new namespace; its name is in the body, which is read before the permit is asked for."""
    body = read_body(call.raw, CreateNamespace)
    return parent_of(wire.catalog(call), wire.schema_name(body.namespace))


@routes.on("GET", "", Op.LIST_SCHEMAS, wire.catalog, query=("parent", "pageToken", "pageSize"))
def list_namespaces(call: DoorCall) -> Any:
    """List the namespaces directly in the catalog, or in a parent."""
    parent = None
    if call.query.get("parent"):
        name = wire.schema_name(call.query["parent"].split(wire.LEVELS))
        parent = call.ask(Op.LOAD_SCHEMA, wire.catalog(call).child(ObjectType.SCHEMA, name))
    found, token = wire.page(call, call.steward.schemas.list(call.permit, parent), lambda ref: ref.name)
    return wire.paged({"namespaces": [wire.levels(ref.name) for ref in found]}, token)


def _shown(record: ObjectRecord) -> dict[str, Any]:
    return {"namespace": wire.levels(record.name), "properties": _properties(record)}


def _made_again(call: DoorCall, done: bool) -> Any:
    if not done:
        return None
    ref = wire.catalog(call).child(ObjectType.SCHEMA, wire.schema_name(call.body.namespace))
    return _shown(call.steward.schemas.load(call.ask(Op.LOAD_SCHEMA, ref)))


@routes.on("POST", "", Op.CREATE_SCHEMA, _holder, body=CreateNamespace)
@once(_made_again)
def create_namespace(call: DoorCall) -> Any:
    """Create a namespace."""
    body: CreateNamespace = call.body
    properties = dict(checked_properties(body.properties))
    comment = properties.pop("comment", None)
    made = call.steward.schemas.create(call.permit, wire.schema_name(body.namespace), comment, properties)
    return _shown(made)


@routes.on("GET", "/{namespace}", Op.LOAD_SCHEMA, wire.namespace)
def load_namespace(call: DoorCall) -> Any:
    """Load a namespace with its properties."""
    return _shown(call.steward.schemas.load(call.permit))


@routes.on("HEAD", "/{namespace}", Op.LOAD_SCHEMA, wire.namespace)
def namespace_exists(call: DoorCall) -> Any:
    """Tell whether a namespace exists."""
    return Answer(status=204)


@routes.on("DELETE", "/{namespace}", Op.DROP_SCHEMA, wire.namespace, absent=done_before("drop_namespace"))
@once(permitted)
def drop_namespace(call: DoorCall) -> Any:
    """Drop an empty namespace."""
    call.steward.schemas.drop(call.permit, cascade=False)
    return Answer(status=204)


def _updated_again(call: DoorCall, done: bool) -> Any:
    """That it is as was asked for; which properties had been missing before is not kept."""
    body: UpdateProperties = call.body
    return {"updated": sorted(body.updates or {}), "removed": sorted(body.removals or []), "missing": []}


@routes.on("POST", "/{namespace}/properties", Op.ALTER_SCHEMA, wire.namespace, body=UpdateProperties)
@once(_updated_again)
def update_properties(call: DoorCall) -> Any:
    """Set and remove properties of a namespace."""
    body: UpdateProperties = call.body
    removals, updates = body.removals or [], checked_properties(body.updates)
    both = sorted(set(removals) & updates.keys())
    if both:
        raise Unprocessable(f"property '{both[0]}' is both set and removed", hint="do one of the two")
    before = call.steward.schemas.load(call.permit).properties
    items = [*((key, None) for key in removals), *updates.items()]
    call.steward.schemas.alter(call.permit, Updates(properties=tuple(items)))
    return {
        "updated": sorted(updates),
        "removed": sorted(key for key in removals if key in before),
        "missing": sorted(key for key in removals if key not in before),
    }
