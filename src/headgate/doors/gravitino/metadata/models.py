"""Models and their versions: ``…/schemas/{schema}/models``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Handler, Routes
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType, clip
from headgate.model.records import ObjectRecord, VersionRecord
from headgate.model.secrets import without_secrets
from headgate.steward.metadata.kept.models import UNKNOWN, VersionUpdates
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/models")

_model = wire.leaf(ObjectType.MODEL)


class RegisterModel(msgspec.Struct, frozen=True):
    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


class AlterModel(msgspec.Struct, frozen=True):
    updates: list[wire.Rename | wire.UpdateComment | wire.SetProperty | wire.RemoveProperty]


class Link(msgspec.Struct, frozen=True):
    uri: str | None = None
    uris: dict[str, str] | None = None
    aliases: list[str] | None = None
    comment: str | None = None
    properties: dict[str, str] | None = None


class UpdateUri(msgspec.Struct, frozen=True, tag_field="@type", tag="updateUri"):
    newUri: str  # noqa: N815
    uriName: str | None = None  # noqa: N815


class AddUri(msgspec.Struct, frozen=True, tag_field="@type", tag="addUri"):
    uriName: str  # noqa: N815
    uri: str


class RemoveUri(msgspec.Struct, frozen=True, tag_field="@type", tag="removeUri"):
    uriName: str  # noqa: N815


class UpdateAliases(msgspec.Struct, frozen=True, tag_field="@type", tag="updateAliases"):
    aliasesToAdd: list[str] | None = None  # noqa: N815
    aliasesToRemove: list[str] | None = None  # noqa: N815


class AlterVersion(msgspec.Struct, frozen=True):
    updates: list[
        wire.UpdateComment
        | wire.SetProperty
        | wire.RemoveProperty
        | UpdateUri
        | AddUri
        | RemoveUri
        | UpdateAliases
    ]


def shown(record: ObjectRecord) -> dict[str, Any]:
    """A model on the wire. Its latest version is the number that the next one will get, as clients expect."""
    return wire.present(
        {
            "name": record.name,
            "comment": record.comment,
            "properties": without_secrets(record.properties),
            "latestVersion": record.body["next"],
            "audit": wire.audit(record.audit),
        }
    )


def shown_version(record: VersionRecord) -> dict[str, Any]:
    body = record.body
    return wire.present(
        {
            "version": record.version,
            "comment": body["comment"],
            "aliases": list(record.aliases),
            "uri": body["uris"].get(UNKNOWN),
            "uris": body["uris"],
            "properties": without_secrets(body["properties"]),
            "audit": wire.audit(record.audit),
        }
    )


@routes.on("GET", "", Op.LIST_MODELS, wire.schema, query=wire.PAGE)
def list_models(call: DoorCall) -> Any:
    """List the models of a schema."""
    return wire.identifiers(call, call.steward.models.nodes(call.permit))


@routes.on("POST", "", Op.REGISTER_MODEL, wire.schema, body=RegisterModel)
def register_model(call: DoorCall) -> Any:
    """Register a model."""
    body: RegisterModel = call.body
    made = call.steward.models.register(
        call.permit, body.name, body.comment, checked_properties(body.properties)
    )
    return wire.ok(model=shown(made))


@routes.on("GET", "/{model}", Op.LOAD_MODEL, _model)
def load_model(call: DoorCall) -> Any:
    """Load a model."""
    return wire.ok(model=shown(call.steward.models.load(call.permit)))


@routes.on("PUT", "/{model}", Op.ALTER_MODEL, _model, body=AlterModel)
def alter_model(call: DoorCall) -> Any:
    """Rename a model, change its comment or its properties."""
    return wire.ok(model=shown(call.steward.models.alter(call.permit, wire.updates(call.body.updates))))


@routes.on("DELETE", "/{model}", Op.DROP_MODEL, _model, absent=wire.ok(dropped=False))
def drop_model(call: DoorCall) -> Any:
    """Drop a model with all its versions."""
    call.steward.models.drop(call.permit)
    return wire.ok(dropped=True)


@routes.on("GET", "/{model}/versions", Op.READ_MODEL_VERSIONS, _model, query=("details", *wire.PAGE))
def list_versions(call: DoorCall) -> Any:
    """List the versions of a model."""
    versions = call.steward.models.versions(call.permit)
    found, token = wire.page(call, versions, lambda record: f"{record.version:012d}")
    if call.flag("details"):
        return wire.ok(infos=[shown_version(record) for record in found], nextPageToken=token)
    return wire.ok(versions=[record.version for record in found], nextPageToken=token)


@routes.on("POST", "/{model}/versions", Op.LINK_MODEL_VERSION, _model, body=Link)
def link_version(call: DoorCall) -> Any:
    """Link a version to a model."""
    body: Link = call.body
    uris = dict(body.uris or {})
    if body.uri is not None:
        uris.setdefault(UNKNOWN, body.uri)
    call.steward.models.link(
        call.permit, uris, body.aliases or (), body.comment, checked_properties(body.properties)
    )
    return wire.ok()


def load_version(call: DoorCall) -> Any:
    """Load a version of a model."""
    return wire.ok(modelVersion=shown_version(call.steward.models.version(call.permit, _which(call))))


def alter_version(call: DoorCall) -> Any:
    """Change a version of a model: its comment, properties, URIs or aliases."""
    items = call.body.updates
    uris: list[tuple[str, str, str | None]] = []
    added: list[str] = []
    removed: list[str] = []
    for item in items:
        match item:
            case UpdateUri():
                uris.append(("update", item.uriName or UNKNOWN, item.newUri))
            case AddUri():
                uris.append(("add", item.uriName, item.uri))
            case RemoveUri():
                uris.append(("remove", item.uriName, None))
            case UpdateAliases():
                added += item.aliasesToAdd or []
                removed += item.aliasesToRemove or []
    updates = VersionUpdates(wire.updates(items), tuple(uris), tuple(added), tuple(removed))
    altered = call.steward.models.alter_version(call.permit, _which(call), updates)
    return wire.ok(modelVersion=shown_version(altered))


def delete_version(call: DoorCall) -> Any:
    """Delete a version of a model with its aliases."""
    return wire.ok(dropped=call.steward.models.delete_version(call.permit, _which(call)))


def version_uri(call: DoorCall) -> Any:
    """Say where a version of a model lies."""
    return wire.ok(uri=call.steward.models.uri(call.permit, _which(call), call.query.get("uriName")))


def _which(call: DoorCall) -> int | str:
    """The version that a path names, by number or by alias."""
    alias = call.params.get("alias")
    if alias is not None:
        return alias
    text = call.params["version"]
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise IllegalArgument(f"'{clip(text)}' is not the number of a version")
    return int(text)


def _on_version(method: str, tail: str, op: Op, handler: Handler, **more: Any) -> None:
    """The same route by number and by alias."""
    for path in ("/{model}/versions/{version}", "/{model}/aliases/{alias}"):
        routes.on(method, path + tail, op, _model, **more)(handler)


_on_version("GET", "", Op.READ_MODEL_VERSIONS, load_version, missing="model-version")
_on_version("PUT", "", Op.ALTER_MODEL_VERSION, alter_version, body=AlterVersion, missing="model-version")
_on_version("DELETE", "", Op.DELETE_MODEL_VERSION, delete_version, absent=wire.ok(dropped=False))
_on_version("GET", "/uri", Op.READ_MODEL_VERSIONS, version_uri, query=("uriName",), missing="model-version")
