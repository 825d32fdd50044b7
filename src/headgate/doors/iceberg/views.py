"""Views: ``/v1/{prefix}/namespaces/{namespace}/views``, rename and register."""

from typing import Any

import msgspec

from headgate.catalogs.interface import Document
from headgate.decide import Op
from headgate.doors.iceberg import wire
from headgate.doors.iceberg.access import circumstances_of
from headgate.doors.iceberg.once import done_before, once, permitted
from headgate.doors.iceberg.tables import CommitBody, RegisterTable, RenameIcebergTable, rename, renamed_again
from headgate.doors.routing import Answer, DoorCall, Routes
from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward.metadata.documents import Commit

routes = Routes("/iceberg/v1/{prefix}")

Json = dict[str, Any]

_VIEW = "/namespaces/{namespace}/views/{view}"
view = wire.entry(ObjectType.VIEW)


class CreateIcebergView(msgspec.Struct, frozen=True, rename="kebab"):
    name: str
    schema: Json
    view_version: Json
    properties: dict[str, str] | None = None
    location: str | None = None


def result(loaded: Document) -> Json:
    """A view as clients get it."""
    return {"metadata-location": loaded.location, "metadata": loaded.metadata, "config": {}}


@routes.on(
    "GET", "/namespaces/{namespace}/views", Op.LIST_VIEWS, wire.namespace, query=("pageToken", "pageSize")
)
def list_views(call: DoorCall) -> Any:
    """List the views of a namespace that the caller may see."""
    found, token = wire.page(call, call.steward.views.nodes(call.permit), lambda node: node.name)
    refs = [call.permit.ref.child(ObjectType.VIEW, node.name) for node in found]
    return wire.paged({"identifiers": [wire.identifier(ref) for ref in refs]}, token)


def _loaded(call: DoorCall, ref: ObjectRef, done: bool) -> Any:
    """A view as the caller may load it today."""
    if not done:
        return None
    return result(call.steward.loading.load(call.ask(Op.LOAD_VIEW, ref), circumstances_of(call)).document)


def _made_again(call: DoorCall, done: bool) -> Any:
    return _loaded(call, wire.namespace(call).child(ObjectType.VIEW, call.body.name), done)


@routes.on("POST", "/namespaces/{namespace}/views", Op.CREATE_VIEW, wire.namespace, body=CreateIcebergView)
@once(_made_again)
def create_view(call: DoorCall) -> Any:
    """Create a view."""
    body: CreateIcebergView = call.body
    definition = {
        "schema": body.schema,
        "location": body.location,
        "view-version": body.view_version,
        "properties": body.properties,
    }
    return result(call.steward.documents.create(call.permit, ObjectType.VIEW, body.name, definition))


@routes.on(
    "POST", "/namespaces/{namespace}/register-view", Op.CREATE_VIEW, wire.namespace, body=RegisterTable
)
@once(_made_again)
def register_view(call: DoorCall) -> Any:
    """Take over a view by its metadata file."""
    body: RegisterTable = call.body
    return result(
        call.steward.documents.register(call.permit, ObjectType.VIEW, body.name, body.metadata_location)
    )


@routes.on("GET", _VIEW, Op.LOAD_VIEW, view, query=("referenced-by",))
def load_view(call: DoorCall) -> Any:
    """Load a view."""
    return result(call.steward.loading.load(call.permit, circumstances_of(call)).document)


@routes.on("HEAD", _VIEW, Op.LOAD_VIEW, view)
def view_exists(call: DoorCall) -> Any:
    """Tell whether a view exists."""
    return Answer(status=204)


@routes.on("POST", _VIEW, Op.ALTER_VIEW, view, body=CommitBody)
@once(lambda call, done: _loaded(call, view(call), done))
def replace_view(call: DoorCall) -> Any:
    """Commit updates to a view."""
    body: CommitBody = call.body
    commit = Commit(call.permit, None, body.requirements, body.updates)
    return result(call.steward.documents.commit([commit])[0])


@routes.on("DELETE", _VIEW, Op.DROP_VIEW, view, absent=done_before("drop_view"))
@once(permitted)
def drop_view(call: DoorCall) -> Any:
    """Drop a view."""
    call.steward.views.drop(call.permit)
    return Answer(status=204)


@routes.on("POST", "/views/rename", Op.LOAD_CATALOG, wire.catalog, body=RenameIcebergTable)
@once(renamed_again(ObjectType.VIEW))
def rename_view(call: DoorCall) -> Any:
    """Rename a view, also into another namespace."""
    rename(call, ObjectType.VIEW)
    return Answer(status=204)
