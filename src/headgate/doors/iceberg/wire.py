"""Names on Iceberg's wire: the prefix that stands for a catalog, namespaces of several levels, table identifiers."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

from headgate.doors import paging
from headgate.doors.routing import DoorCall
from headgate.model.errors import IllegalArgument
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType, clip

T = TypeVar("T")

LEVELS: Final = "\x1f"
"""Separates the levels of a namespace in a path or query, after decoding."""


def prefix_of(catalog: ObjectRef) -> str:
    """The one path segment that stands for a catalog; metalakes and catalogs have no dots in their names."""
    return quote(f"{catalog.metalake}.{catalog.name}", safe="")


def catalog(call: DoorCall) -> ObjectRef:
    """The catalog that the prefix of the path stands for."""
    metalake, dot, name = call.params["prefix"].partition(".")
    if not dot or not metalake or not name or "." in name:
        raise IllegalArgument(
            f"'{clip(call.params['prefix'])}' is not a prefix of this server",
            hint="ask /v1/config for it, with your warehouse",
        )
    return ObjectRef(metalake, ObjectType.CATALOG, (name,))


def schema_name(levels: Any) -> str:
    """The levels of a namespace as the one name that a schema has here."""
    if (
        not isinstance(levels, list | tuple)
        or not levels
        or not all(isinstance(x, str) and x for x in levels)
    ):
        raise IllegalArgument("a namespace is a list of one or more names")
    for level in levels:
        if SCHEMA_SEPARATOR in level:
            raise IllegalArgument(
                f"the namespace level '{clip(level)}' holds a '{SCHEMA_SEPARATOR}'", hint="use another name"
            )
    return SCHEMA_SEPARATOR.join(levels)


def levels(schema: str) -> list[str]:
    return schema.split(SCHEMA_SEPARATOR)


def namespace(call: DoorCall) -> ObjectRef:
    return catalog(call).child(ObjectType.SCHEMA, schema_name(call.params["namespace"].split(LEVELS)))


def entry(type: ObjectType) -> Callable[[DoorCall], ObjectRef]:
    """The table or view of a path."""
    return lambda call: namespace(call).child(type, call.params[type.value])


def identifier(ref: ObjectRef) -> dict[str, Any]:
    """A table or view as Iceberg names it."""
    return {"namespace": levels(ref.path[1]), "name": ref.name}


def page(call: DoorCall, items: Sequence[T], key: Callable[[T], str]) -> tuple[list[T], str | None]:
    """The part of a sorted list that the client asked for; a client that sends no pageToken wants everything."""
    if "pageToken" not in call.query:
        return list(items), None
    return paging.page(items, key, call.query.get("pageSize") or "1000", call.query["pageToken"])


def paged(body: dict[str, Any], token: str | None) -> dict[str, Any]:
    return body if token is None else {**body, "next-page-token": token}


def named(catalog: ObjectRef, type: ObjectType, value: Any) -> ObjectRef:
    """The table or view that a body names."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        raise IllegalArgument(f"a {type} is named by its namespace and name")
    schema = catalog.child(ObjectType.SCHEMA, schema_name(value.get("namespace")))
    return schema.child(type, value["name"])
