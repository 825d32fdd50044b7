"""Schemas: ``/api/metalakes/{metalake}/catalogs/{catalog}/schemas``."""

from typing import Any
from urllib.parse import unquote

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes, read_body
from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.records import ObjectRecord
from headgate.model.secrets import without_secrets
from headgate.steward.metadata.schemas import parent_of
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}/catalogs/{catalog}/schemas")


class CreateSchema(msgspec.Struct, frozen=True):
    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None

    @property
    def meant(self) -> str:
        """The name as it was meant: Gravitino's Python client sends it percent-encoded, and no name holds a ``%``."""
        return unquote(self.name)


class AlterSchema(msgspec.Struct, frozen=True):
    updates: list[wire.SetProperty | wire.RemoveProperty]


def shown(record: ObjectRecord) -> dict[str, Any]:
    return wire.present(
        {
            "name": record.name,
            "comment": record.comment,
            "properties": without_secrets(record.properties),
            "audit": wire.audit(record.audit),
        }
    )


def _holder(call: DoorCall) -> ObjectRef:
    """What will hold the new schema, which only the body tells; one that cannot be read is refused afterwards."""
    try:
        body: CreateSchema = read_body(call.raw, CreateSchema)
    except IllegalArgument:
        return wire.catalog(call)
    return parent_of(wire.catalog(call), body.meant)


@routes.on("GET", "", Op.LIST_SCHEMAS, wire.catalog, query=("parentSchema", *wire.PAGE))
def list_schemas(call: DoorCall) -> Any:
    """List the schemas of a catalog, or those nested in one schema."""
    outer = call.query.get("parentSchema")
    parent = call.ask(Op.LOAD_SCHEMA, call.permit.ref.child(ObjectType.SCHEMA, outer)) if outer else None
    found, token = wire.page(call, call.steward.schemas.list(call.permit, parent), lambda ref: ref.name)
    return wire.ok(identifiers=[wire.identifier(ref) for ref in found], nextPageToken=token)


def _below_what_is_there(call: DoorCall) -> Any:
    """Create a nested schema whose parents are not there yet, in the nearest one that is."""
    outer = _holder(call)
    while outer.type is ObjectType.SCHEMA:
        outer = parent_of(outer, outer.name)
        try:
            call.permit = call.ask(Op.CREATE_SCHEMA, outer)
        except NotFound:
            continue
        call.body = read_body(call.raw, CreateSchema)
        return create_schema(call)
    return None


@routes.on("POST", "", Op.CREATE_SCHEMA, _holder, body=CreateSchema, absent=_below_what_is_there)
def create_schema(call: DoorCall) -> Any:
    """Create a schema, and the schemas that a nested one lies in."""
    body: CreateSchema = call.body
    made = call.steward.schemas.create(
        call.permit, body.meant, body.comment, checked_properties(body.properties)
    )
    return wire.ok(schema=shown(made))


@routes.on("GET", "/{schema}", Op.LOAD_SCHEMA, wire.schema)
def load_schema(call: DoorCall) -> Any:
    """Load a schema."""
    return wire.ok(schema=shown(call.steward.schemas.load(call.permit)))


@routes.on("PUT", "/{schema}", Op.ALTER_SCHEMA, wire.schema, body=AlterSchema)
def alter_schema(call: DoorCall) -> Any:
    """Change the properties of a schema."""
    return wire.ok(schema=shown(call.steward.schemas.alter(call.permit, wire.updates(call.body.updates))))


@routes.on(
    "DELETE", "/{schema}", Op.DROP_SCHEMA, wire.schema, query=("cascade",), absent=wire.ok(dropped=False)
)
def drop_schema(call: DoorCall) -> Any:
    """Drop a schema."""
    call.steward.schemas.drop(call.permit, cascade=call.flag("cascade"))
    return wire.ok(dropped=True)
