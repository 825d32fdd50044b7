"""The parts of Gravitino's wire that every module shares: names, audits, updates, pages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from headgate.decide import Node, Op
from headgate.doors import paging
from headgate.doors.routing import DoorCall
from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Audit
from headgate.steward import Permit
from headgate.steward.updates import Updates

T = TypeVar("T")

PAGE: Final = ("limit", "pageToken")
"""The query parameters that every list takes beyond Gravitino's own."""


def ok(**members: Any) -> dict[str, Any]:
    """A body: code 0 and the members that are not None."""
    return {"code": 0, **present(members)}


def present(members: dict[str, Any]) -> dict[str, Any]:
    """Gravitino omits what is null."""
    return {name: value for name, value in members.items() if value is not None}


def audit(audit: Audit) -> dict[str, Any]:
    return present(
        {
            "creator": audit.creator,
            "createTime": audit.create_time,
            "lastModifier": audit.last_modifier,
            "lastModifiedTime": audit.last_modified_time,
        }
    )


def identifier(ref: ObjectRef) -> dict[str, Any]:
    """A name as Gravitino writes it: the namespace from the metalake down, and the last part."""
    return {"namespace": [ref.metalake, *ref.path[:-1]], "name": ref.name}


# -- which object a path names ----------------------------------------------------------------------------------


def metalake(call: DoorCall) -> ObjectRef:
    return ObjectRef(call.params["metalake"], ObjectType.METALAKE)


def catalog(call: DoorCall) -> ObjectRef:
    return ObjectRef(call.params["metalake"], ObjectType.CATALOG, (call.params["catalog"],))


def schema(call: DoorCall) -> ObjectRef:
    return catalog(call).child(ObjectType.SCHEMA, call.params["schema"])


def leaf(type: ObjectType) -> Callable[[DoorCall], ObjectRef]:
    """The table, view, … of a path, under the parameter named like its type."""
    return lambda call: schema(call).child(type, call.params[type.value])


def beside(type: ObjectType) -> Callable[[DoorCall], ObjectRef]:
    """The role, tag, policy, … of a path, directly in the metalake."""
    return lambda call: ObjectRef(call.params["metalake"], type, (call.params[type.value],))


def named_object(call: DoorCall) -> ObjectRef:
    """The object of a path such as ``…/objects/{type}/{fullName}/…``."""
    return ObjectRef.parse(
        call.params["metalake"], ObjectType.parse(call.params["type"]), call.params["fullName"]
    )


def label(call: DoorCall, op: Op, type: ObjectType, name: str) -> Permit | None:
    """The permit to put a tag or policy somewhere; None for one that is not there, which Gravitino passes over.

    Only who may apply every tag or policy of the metalake comes to know that there is none of this name.
    """
    try:
        return call.ask(op, ObjectRef(call.params["metalake"], type, (name,)))
    except NotFound as missing:
        if missing.about != type:
            raise
        return None


# -- lists ------------------------------------------------------------------------------------------------------


def page(call: DoorCall, items: Sequence[T], key: Callable[[T], str]) -> tuple[list[T], str | None]:
    """The part of a list that the caller asked for, and the token of the next part.

    `items` are sorted by `key`.
    """
    text = call.query.get("limit")
    return (list(items), None) if text is None else paging.page(items, key, text, call.query.get("pageToken"))


def identifiers(call: DoorCall, nodes: Sequence[Node]) -> dict[str, Any]:
    """A page of the objects in the object of the call's permit, each by its name."""
    found, token = page(call, nodes, lambda node: node.name)
    above = call.permit.ref
    return ok(
        identifiers=[identifier(above.child(node.type, node.name)) for node in found], nextPageToken=token
    )


def metadata_objects(call: DoorCall, refs: list[ObjectRef]) -> dict[str, Any]:
    """A page of objects of any type, each by type and full name."""
    found, token = page(call, sorted(refs, key=_place), _place)
    return ok(
        metadataObjects=[{"type": ref.type.value, "fullName": ref.full_name} for ref in found],
        nextPageToken=token,
    )


def _place(ref: ObjectRef) -> str:
    return f"{ref.type} {ref.full_name}"


# -- updates ----------------------------------------------------------------------------------------------------


class Rename(msgspec.Struct, frozen=True, tag_field="@type", tag="rename"):
    newName: str  # noqa: N815
    newSchemaName: str | None = None  # noqa: N815


class UpdateComment(msgspec.Struct, frozen=True, tag_field="@type", tag="updateComment"):
    newComment: str | None = None  # noqa: N815


class SetProperty(msgspec.Struct, frozen=True, tag_field="@type", tag="setProperty"):
    property: str
    value: str

    def __repr__(self) -> str:
        return f"SetProperty({self.property!r})"


class RemoveProperty(msgspec.Struct, frozen=True, tag_field="@type", tag="removeProperty"):
    property: str


def updates(items: Iterable[Any]) -> Updates:
    """What a list of the common updates comes to; later ones win."""
    name = comment = None
    properties: list[tuple[str, str | None]] = []
    for item in items:
        match item:
            case Rename():
                name = item.newName
            case UpdateComment():
                comment = item.newComment or ""
            case SetProperty(property=key, value=value):
                properties.append((key, value))
            case RemoveProperty(property=key):
                properties.append((key, None))
    if any(key == "in-use" for key, _ in properties):
        raise IllegalArgument("property 'in-use' cannot be set", hint="enable or disable the object instead")
    return Updates(name, comment, tuple(properties))
