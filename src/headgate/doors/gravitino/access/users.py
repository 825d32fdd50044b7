"""Users: ``/api/metalakes/{metalake}/users``, many at once under ``/api/bulk``, and what policies know of them."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import errors, wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.errors import HeadgateError, IllegalArgument, NotFound
from headgate.model.objects import clip
from headgate.model.principals import Attributes, PrincipalKind, PrincipalRef
from headgate.steward.access.principals import DescribedPrincipal

routes = Routes("/api")

_USERS: Final = "/metalakes/{metalake}/users"
_BULK: Final = "/bulk/metalakes/{metalake}/users"

MOST: Final = 100
"""Items of one bulk request."""


class AddUser(msgspec.Struct, frozen=True):
    name: str
    externalId: str | None = None  # noqa: N815
    enabled: bool | None = None


class BulkAdd(msgspec.Struct, frozen=True):
    users: list[AddUser]


class BulkRemove(msgspec.Struct, frozen=True):
    names: list[str]


def user(name: str) -> PrincipalRef:
    return PrincipalRef(PrincipalKind.USER, name)


def named(call: DoorCall) -> PrincipalRef:
    return user(call.params["user"])


def shown(described: DescribedPrincipal) -> dict[str, Any]:
    """A user or group on the wire."""
    record = described.record
    return wire.present(
        {
            "name": record.name,
            "roles": list(described.roles),
            "externalId": record.external_id,
            "enabled": record.enabled if record.kind is PrincipalKind.USER else None,
            "audit": wire.audit(record.audit),
        }
    )


@routes.on("GET", _USERS, Op.LIST_USERS, wire.metalake, query=("details", *wire.PAGE))
def list_users(call: DoorCall) -> Any:
    """List the users of a metalake, as names or in full; without the right to manage users, oneself."""
    found, token = wire.page(
        call, call.steward.principals.list(call.permit, PrincipalKind.USER), lambda d: d.record.name
    )
    if call.flag("details"):
        return wire.ok(users=[shown(described) for described in found], nextPageToken=token)
    return wire.ok(names=[described.record.name for described in found], nextPageToken=token)


@routes.on("POST", _USERS, Op.ADD_USER, wire.metalake, body=AddUser)
def add_user(call: DoorCall) -> Any:
    """Add a user to a metalake."""
    return wire.ok(user=shown(_add(call, call.body)))


@routes.on("GET", _USERS + "/{user}", Op.GET_USER, wire.metalake, about=named)
def get_user(call: DoorCall) -> Any:
    """Get a user with the roles they hold."""
    return wire.ok(user=shown(call.steward.principals.get(call.permit, named(call))))


@routes.on("DELETE", _USERS + "/{user}", Op.REMOVE_USER, wire.metalake)
def remove_user(call: DoorCall) -> Any:
    """Remove a user from a metalake."""
    return wire.ok(removed=call.steward.principals.remove(call.permit, named(call)))


@routes.on("GET", _USERS + "/{user}/attributes", Op.GET_USER, wire.metalake, about=named)
def get_attributes(call: DoorCall) -> Any:
    """Get what policies know of a user."""
    described = call.steward.principals.get(call.permit, named(call))
    return wire.ok(attributes=described.record.attributes)


@routes.on("PUT", _USERS + "/{user}/attributes", Op.SET_USER_ATTRIBUTES, wire.metalake, body=Attributes)
def set_attributes(call: DoorCall) -> Any:
    """Set what policies know of a user: texts, or lists of texts, by name."""
    described = call.steward.principals.set_attributes(call.permit, call.params["user"], call.body)
    return wire.ok(attributes=described.record.attributes)


# -- many at once -----------------------------------------------------------------------------------------------


@routes.on("POST", _BULK + "/add", Op.ADD_USER, wire.metalake, body=BulkAdd)
def add_users(call: DoorCall) -> Any:
    """Add many users; those that cannot be added are told, the others are added."""
    items: list[AddUser] = call.body.users
    done, outcome = _each(items, lambda item: item.name, lambda item: shown(_add(call, item)))
    return wire.ok(users=done, **outcome)


@routes.on("POST", _BULK + "/remove", Op.REMOVE_USER, wire.metalake, body=BulkRemove)
def remove_users(call: DoorCall) -> Any:
    """Remove many users; those that cannot be removed are told, the others are removed."""

    def remove(name: str) -> str:
        if not call.steward.principals.remove(call.permit, user(name)):
            raise NotFound(f"user '{clip(name)}' does not exist in the metalake", about=PrincipalKind.USER)
        return name

    names: list[str] = call.body.names
    done, outcome = _each(names, lambda name: name, remove)
    return wire.ok(names=done, **outcome)


def _add(call: DoorCall, item: AddUser) -> DescribedPrincipal:
    return call.steward.principals.add(
        call.permit, user(item.name), external_id=item.externalId, enabled=item.enabled is not False
    )


def _each(
    items: list[Any], name: Callable[[Any], str], act: Callable[[Any], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Do each by itself; what was done, and what is told of the rest."""
    if len(items) > MOST:
        raise IllegalArgument(f"{len(items)} items were sent at once", hint=f"send at most {MOST}")
    done: list[Any] = []
    failed: list[dict[str, Any]] = []
    for index, item in enumerate(items):
        try:
            done.append(act(item))
        except HeadgateError as error:
            failed.append({"index": index, "name": clip(name(item)), **errors.error(error).body})
    summary = {"total": len(items), "succeeded": len(done), "failed": len(failed)}
    return done, {"errors": failed, "summary": summary}
