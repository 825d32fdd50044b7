"""Filesets: ``…/schemas/{schema}/filesets``."""

from typing import Any

import msgspec

from headgate.catalogs.folders import UNKNOWN
from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.errors import IllegalArgument, Unsupported
from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord
from headgate.model.secrets import without_secrets
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/filesets")

_fileset = wire.leaf(ObjectType.FILESET)


class CreateFileset(msgspec.Struct, frozen=True):
    name: str
    type: str | None = None
    comment: str | None = None
    storageLocation: str | None = None  # noqa: N815
    storageLocations: dict[str, str] | None = None  # noqa: N815
    properties: dict[str, str] | None = None


class RemoveComment(msgspec.Struct, frozen=True, tag_field="@type", tag="removeComment"):
    pass


class AlterFileset(msgspec.Struct, frozen=True):
    updates: list[wire.Rename | wire.UpdateComment | wire.SetProperty | wire.RemoveProperty | RemoveComment]


def shown(record: ObjectRecord) -> dict[str, Any]:
    locations = record.body["locations"]
    return wire.present(
        {
            "name": record.name,
            "comment": record.comment or None,
            "type": record.body["type"],
            "storageLocation": locations.get(UNKNOWN),
            "storageLocations": locations,
            "properties": without_secrets(record.properties),
            "audit": wire.audit(record.audit),
        }
    )


@routes.on("GET", "", Op.LIST_FILESETS, wire.schema, query=wire.PAGE)
def list_filesets(call: DoorCall) -> Any:
    """List the filesets of a schema."""
    return wire.identifiers(call, call.steward.filesets.nodes(call.permit))


@routes.on("POST", "", Op.CREATE_FILESET, wire.schema, body=CreateFileset)
def create_fileset(call: DoorCall) -> Any:
    """Create a fileset, and for a managed one its folders."""
    body: CreateFileset = call.body
    locations = dict(body.storageLocations or {})
    if body.storageLocation is not None:
        if UNKNOWN in locations and locations[UNKNOWN] != body.storageLocation:
            raise IllegalArgument(f"storageLocation and the location '{UNKNOWN}' differ")
        locations[UNKNOWN] = body.storageLocation
    made = call.steward.filesets.add(
        call.permit,
        body.name,
        body.comment,
        body.type or "managed",
        locations,
        checked_properties(body.properties),
    )
    return wire.ok(fileset=shown(made))


@routes.on("GET", "/{fileset}", Op.LOAD_FILESET, _fileset)
def load_fileset(call: DoorCall) -> Any:
    """Load a fileset."""
    return wire.ok(fileset=shown(call.steward.filesets.load(call.permit)))


@routes.on("PUT", "/{fileset}", Op.ALTER_FILESET, _fileset, body=AlterFileset)
def alter_fileset(call: DoorCall) -> Any:
    """Rename a fileset, change its comment or its properties."""
    items = [wire.UpdateComment() if isinstance(item, RemoveComment) else item for item in call.body.updates]
    return wire.ok(fileset=shown(call.steward.filesets.change(call.permit, wire.updates(items))))


@routes.on("DELETE", "/{fileset}", Op.DROP_FILESET, _fileset, absent=wire.ok(dropped=False))
def drop_fileset(call: DoorCall) -> Any:
    """Drop a fileset, and the folders that were made for it."""
    call.steward.filesets.discard(call.permit)
    return wire.ok(dropped=True)


@routes.on(
    "GET", "/{fileset}/files", Op.LIST_FILES, _fileset, query=("sub_path", "location_name", *wire.PAGE)
)
def list_files(call: DoorCall) -> Any:
    """List the files in a folder of a fileset."""
    sub_path = call.query.get("sub_path") or "/"
    files = call.steward.filesets.files(call.permit, sub_path, call.query.get("location_name"))
    found, token = wire.page(call, files, lambda info: info.name)
    folder = "/".join(("/fileset", *call.permit.ref.path, *sub_path.strip("/").split("/"))).rstrip("/")
    return wire.ok(
        files=[
            {
                "name": info.name,
                "isDir": info.is_dir,
                "size": info.size,
                "lastModified": info.modified,
                "path": folder,
            }
            for info in found
        ],
        nextPageToken=token,
    )


@routes.on("GET", "/{fileset}/location", Op.LOAD_FILESET, _fileset, query=("sub_path", "location_name"))
def file_location(call: DoorCall) -> Any:
    """Say where a path inside a fileset lies."""
    sub_path = call.query.get("sub_path", "")
    if call.headers.get("filesetdataoperation", "").upper() == "RENAME" and not sub_path.strip(" /"):
        raise Unsupported(
            "the folder of a fileset cannot be renamed under it",
            hint="rename the fileset, or name a sub_path",
        )
    location = call.steward.filesets.location(call.permit, sub_path, call.query.get("location_name"))
    return wire.ok(fileLocation=location)
