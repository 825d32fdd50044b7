"""Tags: ``/api/metalakes/{metalake}/tags`` and the tags of an object."""

from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.decide.operations import LOADS
from headgate.doors.gravitino import wire
from headgate.doors.routing import Answer, DoorCall, Routes
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord
from headgate.steward.policies.labels import Assign, Assigned
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}")

V2: Final = "application/vnd.gravitino.v2+json"
_OBJECT: Final = ("/objects/{type}/{fullName}/tags", "/tags/{type}/{fullName}")
"""The path of an object's tags, and the deprecated one that older clients use."""

_tag = wire.beside(ObjectType.TAG)


class CreateTag(msgspec.Struct, frozen=True):
    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None
    allowedValues: list[str] | None = None  # noqa: N815


class AlterTag(msgspec.Struct, frozen=True):
    updates: list[wire.Rename | wire.UpdateComment | wire.SetProperty | wire.RemoveProperty]


class Value(msgspec.Struct, frozen=True):
    name: str
    value: str | None = None


class AssociateTags(msgspec.Struct, frozen=True):
    tagsToAdd: list[str | Value] | None = None  # noqa: N815
    tagsToRemove: list[str | Value] | None = None  # noqa: N815


def shown(record: ObjectRecord, **assigned: Any) -> dict[str, Any]:
    return wire.present(
        {
            "name": record.name,
            "comment": record.comment,
            "properties": record.properties,
            "audit": wire.audit(record.audit),
            "allowedValues": record.body.get("allowedValues"),
            **assigned,
        }
    )


def shown_on(found: Assigned) -> dict[str, Any]:
    values = None if found.value is None else [found.value]
    return shown(found.label, inherited=found.inherited, assignmentValues=values)


@routes.on("GET", "/tags", Op.LIST_TAGS, wire.metalake, query=("details", *wire.PAGE))
def list_tags(call: DoorCall) -> Any:
    """List the tags that the caller may apply."""
    if not call.flag("details"):
        nodes, token = wire.page(call, call.steward.tags.nodes(call.permit), lambda node: node.name)
        return wire.ok(names=[node.name for node in nodes], nextPageToken=token)
    found, token = wire.page(call, call.steward.tags.list(call.permit), lambda record: record.name)
    return wire.ok(tags=[shown(record) for record in found], nextPageToken=token)


@routes.on("POST", "/tags", Op.CREATE_TAG, wire.metalake, body=CreateTag)
def create_tag(call: DoorCall) -> Any:
    """Create a tag, with the values it may have if these are governed."""
    body: CreateTag = call.body
    values = body.allowedValues
    if values is not None and not all(value.strip() for value in values):
        raise IllegalArgument("allowedValues cannot contain empty values")
    kept = {} if values is None else {"allowedValues": list(dict.fromkeys(values))}
    made = call.steward.tags.create(
        call.permit, body.name, body.comment, checked_properties(body.properties), kept
    )
    return wire.ok(tag=shown(made))


@routes.on("GET", "/tags/{tag}", Op.LOAD_TAG, _tag)
def load_tag(call: DoorCall) -> Any:
    """Load a tag."""
    return wire.ok(tag=shown(call.steward.tags.load(call.permit)))


@routes.on("PUT", "/tags/{tag}", Op.ALTER_TAG, _tag, body=AlterTag)
def alter_tag(call: DoorCall) -> Any:
    """Rename a tag, change its comment or its properties."""
    return wire.ok(tag=shown(call.steward.tags.alter(call.permit, wire.updates(call.body.updates))))


@routes.on("DELETE", "/tags/{tag}", Op.DROP_TAG, _tag, absent=wire.ok(dropped=False))
def drop_tag(call: DoorCall) -> Any:
    """Drop a tag and take it off everything."""
    call.steward.tags.drop(call.permit)
    return wire.ok(dropped=True)


@routes.on("GET", "/tags/{tag}/objects", Op.LOAD_TAG, _tag, query=("value", "details", *wire.PAGE))
def list_tag_objects(call: DoorCall) -> Any:
    """List what a tag is on, as far as the caller can see it; with details also the value that it has there."""
    places = call.steward.tags.places(call.permit, call.query.get("value"))
    listed = wire.metadata_objects(call, [place.ref for place in places])
    if call.flag("details"):
        values = {(place.ref.type.value, place.ref.full_name): place.value for place in places}
        for item in listed["metadataObjects"]:
            item["value"] = values[item["type"], item["fullName"]]
    return listed


def list_object_tags(call: DoorCall) -> Any:
    """List the tags of an object, its own and inherited ones."""
    found, token = wire.page(call, call.steward.tags.of(call.permit), lambda assigned: assigned.label.name)
    if call.flag("details"):
        return wire.ok(tags=[shown_on(assigned) for assigned in found], nextPageToken=token)
    return wire.ok(names=[assigned.label.name for assigned in found], nextPageToken=token)


def get_object_tag(call: DoorCall) -> Any:
    """Load a tag of an object."""
    tag = call.ask(Op.APPLY_TAG, _tag(call))
    return wire.ok(tag=shown_on(call.steward.tags.one_of(call.permit, tag)))


def associate_tags(call: DoorCall) -> Any:
    """Put tags on an object and take others off, all or none."""
    body: AssociateTags = call.body
    if body.tagsToAdd is None and body.tagsToRemove is None:
        raise IllegalArgument("tagsToAdd and tagsToRemove cannot both be null")
    held = call.steward.tags.assign(
        call.permit, _assigned(call, body.tagsToAdd), _assigned(call, body.tagsToRemove)
    )
    answer = wire.ok(names=[assigned.label.name for assigned in held])
    second = any(V2 in call.headers.get(name, "") for name in ("accept", "content-type"))
    return Answer(answer, media=V2) if second else answer


def _assigned(call: DoorCall, items: list[str | Value] | None) -> list[Assign]:
    values = [Value(item) if isinstance(item, str) else item for item in items or []]
    if not all(value.name.strip() for value in values):
        raise IllegalArgument("tagsToAdd and tagsToRemove must not contain empty tag names")
    permits = ((wire.label(call, Op.APPLY_TAG, ObjectType.TAG, value.name), value.value) for value in values)
    return [Assign(permit, value) for permit, value in permits if permit is not None]


for _path in _OBJECT:
    routes.on("GET", _path, LOADS, wire.named_object, query=("details", *wire.PAGE))(list_object_tags)
    routes.on("POST", _path, LOADS, wire.named_object, body=AssociateTags, versions=(1, 2))(associate_tags)
    routes.on("GET", _path + "/{tag}", LOADS, wire.named_object)(get_object_tag)
