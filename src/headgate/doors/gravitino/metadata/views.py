"""Views: ``…/schemas/{schema}/views``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.objects import ObjectType
from headgate.model.secrets import without_secrets
from headgate.model.views import ViewBody
from headgate.steward.metadata.views import KeptView
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/views")

_view = wire.leaf(ObjectType.VIEW)


class CreateView(ViewBody, frozen=True, rename="camel", kw_only=True):
    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


class ReplaceView(ViewBody, frozen=True, rename="camel", tag_field="@type", tag="replaceView"):
    comment: str | None = None


class AlterView(msgspec.Struct, frozen=True):
    updates: list[wire.Rename | wire.SetProperty | wire.RemoveProperty | ReplaceView]


def shown(view: KeptView) -> dict[str, Any]:
    body = view.body
    return wire.present(
        {
            "name": view.name,
            "comment": view.comment or None,
            "columns": [wire.present(msgspec.to_builtins(column)) for column in body.columns or ()],
            "representations": body.representations,
            "defaultCatalog": body.default_catalog,
            "defaultSchema": body.default_schema,
            "properties": without_secrets(view.properties),
            "audit": wire.audit(view.audit),
        }
    )


def _body(body: ViewBody) -> ViewBody:
    return ViewBody(body.representations, body.columns, body.default_catalog, body.default_schema)


@routes.on("GET", "", Op.LIST_VIEWS, wire.schema, query=wire.PAGE)
def list_views(call: DoorCall) -> Any:
    """List the views of a schema."""
    return wire.identifiers(call, call.steward.views.nodes(call.permit))


@routes.on("POST", "", Op.CREATE_VIEW, wire.schema, body=CreateView)
def create_view(call: DoorCall) -> Any:
    """Create a view."""
    body: CreateView = call.body
    made = call.steward.views.define(
        call.permit, body.name, body.comment, checked_properties(body.properties), _body(body)
    )
    return wire.ok(view=shown(made))


@routes.on("GET", "/{view}", Op.LOAD_VIEW, _view)
def load_view(call: DoorCall) -> Any:
    """Load a view."""
    return wire.ok(view=shown(call.steward.views.load(call.permit)))


@routes.on("PUT", "/{view}", Op.ALTER_VIEW, _view, body=AlterView)
def alter_view(call: DoorCall) -> Any:
    """Rename a view, change its properties, or replace its columns and SQL."""
    items = call.body.updates
    replaced = [item for item in items if isinstance(item, ReplaceView)]
    updates = wire.updates(items)
    if replaced:
        updates = msgspec.structs.replace(updates, comment=replaced[-1].comment or "")
    altered = call.steward.views.redefine(call.permit, updates, _body(replaced[-1]) if replaced else None)
    return wire.ok(view=shown(altered))


@routes.on("DELETE", "/{view}", Op.DROP_VIEW, _view, absent=wire.ok(dropped=False))
def drop_view(call: DoorCall) -> Any:
    """Drop a view."""
    call.steward.views.drop(call.permit)
    return wire.ok(dropped=True)
