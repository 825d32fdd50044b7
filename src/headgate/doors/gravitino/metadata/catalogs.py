"""Catalogs: ``/api/metalakes/{metalake}/catalogs``."""

from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import errors, wire
from headgate.doors.gravitino.metadata.metalakes import SetInUse
from headgate.doors.routing import Answer, DoorCall, Routes
from headgate.model.errors import HeadgateError, IllegalArgument
from headgate.model.objects import CatalogType, ObjectType, clip
from headgate.model.records import ObjectRecord
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}/catalogs")

_ANSWERED_WITH_200: Final = frozenset({1001, 1003, 1004, 1007, 1009})
"""What can be wrong with a connection. Clients read the code in the body; HTTP says that the test itself was run."""

_TAKEN: Final = frozenset({"testConnection"})
"""Names that are paths of the API, so a catalog of that name could not be reached."""


class CreateCatalog(msgspec.Struct, frozen=True):
    name: str
    type: str
    provider: str | None = None
    comment: str | None = None
    properties: dict[str, str] | None = None

    def __repr__(self) -> str:
        return f"Create({self.name!r}, {self.type!r}, {self.provider!r})"


class AlterCatalog(msgspec.Struct, frozen=True):
    updates: list[wire.Rename | wire.UpdateComment | wire.SetProperty | wire.RemoveProperty] = []


def shown(call: DoorCall, record: ObjectRecord) -> dict[str, Any]:
    """A catalog on the wire, without its secrets and what only its owner is shown."""
    properties = call.steward.catalogs.shown(call.permit, record)
    return wire.present(
        {
            "name": record.name,
            "type": record.body["type"],
            "provider": record.body["provider"],
            "comment": record.comment,
            "properties": {**properties, "in-use": str(record.in_use).lower()},
            "audit": wire.audit(record.audit),
        }
    )


def catalog_type(text: str) -> CatalogType:
    try:
        return CatalogType(text.lower())
    except ValueError:
        raise IllegalArgument(
            f"'{clip(text)}' is not a type of catalog", hint=f"use one of {', '.join(CatalogType)}"
        ) from None


@routes.on("GET", "", Op.LIST_CATALOGS, wire.metalake, query=("details", *wire.PAGE))
def list_catalogs(call: DoorCall) -> Any:
    """List the catalogs the caller may load."""
    found, token = wire.page(call, call.steward.catalogs.list(call.permit), lambda record: record.name)
    if call.flag("details"):
        return wire.ok(catalogs=[shown(call, record) for record in found], nextPageToken=token)
    above = call.permit.ref
    return wire.ok(
        identifiers=[wire.identifier(above.child(ObjectType.CATALOG, record.name)) for record in found],
        nextPageToken=token,
    )


@routes.on("POST", "", Op.CREATE_CATALOG, wire.metalake, body=CreateCatalog)
def create_catalog(call: DoorCall) -> Any:
    """Create a catalog."""
    body: CreateCatalog = call.body
    if body.name in _TAKEN:
        raise IllegalArgument(f"the catalog name '{body.name}' is taken by the API", hint="choose another")
    made = call.steward.catalogs.create(
        call.permit,
        body.name,
        catalog_type(body.type),
        body.provider,
        body.comment,
        checked_properties(body.properties),
    )
    return wire.ok(catalog=shown(call, made))


@routes.on("POST", "/testConnection", Op.TEST_CONNECTION, wire.metalake, body=CreateCatalog)
def test_connection(call: DoorCall) -> Any:
    """See whether a catalog would work, before creating it."""
    body: CreateCatalog = call.body
    try:
        call.steward.catalogs.test(
            call.permit,
            body.name,
            catalog_type(body.type),
            body.provider,
            checked_properties(body.properties),
        )
    except HeadgateError as error:
        return _tested(error)
    return wire.ok()


@routes.on(
    "POST", "/{catalog}/testConnection", Op.TEST_CATALOG_CONNECTION, wire.catalog, body=AlterCatalog | None
)
def test_catalog_connection(call: DoorCall) -> Any:
    """See whether a catalog works, as it is or as it would be after some updates."""
    body: AlterCatalog | None = call.body
    try:
        call.steward.catalogs.test_altered(call.permit, wire.updates(body.updates if body else []))
    except HeadgateError as error:
        return _tested(error)
    return wire.ok()


def _tested(error: HeadgateError) -> Answer:
    answer = errors.error(error)
    return Answer(answer.body, 200 if answer.body["code"] in _ANSWERED_WITH_200 else answer.status)


@routes.on("GET", "/{catalog}", Op.LOAD_CATALOG, wire.catalog)
def load_catalog(call: DoorCall) -> Any:
    """Load a catalog."""
    return wire.ok(catalog=shown(call, call.steward.catalogs.load(call.permit)))


@routes.on("PUT", "/{catalog}", Op.ALTER_CATALOG, wire.catalog, body=AlterCatalog)
def alter_catalog(call: DoorCall) -> Any:
    """Rename a catalog, change its comment or its properties."""
    return wire.ok(
        catalog=shown(call, call.steward.catalogs.alter(call.permit, wire.updates(call.body.updates)))
    )


@routes.on("PATCH", "/{catalog}", Op.SET_CATALOG_IN_USE, wire.catalog, body=SetInUse)
def set_catalog_in_use(call: DoorCall) -> Any:
    """Take a catalog into use or out of it."""
    call.steward.catalogs.set_in_use(call.permit, call.body.inUse)
    return wire.ok()


@routes.on(
    "DELETE",
    "/{catalog}",
    Op.DROP_CATALOG,
    wire.catalog,
    query=("force",),
    absent=wire.ok(dropped=False),
)
def drop_catalog(call: DoorCall) -> Any:
    """Drop a catalog."""
    call.steward.catalogs.drop(call.permit, force=call.flag("force"))
    return wire.ok(dropped=True)
