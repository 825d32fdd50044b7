"""Keys of masks: ``/api/headgate/keys``. Which there are, and whose tables share their tokens."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.headgate.audit import metalake_of
from headgate.doors.routing import DoorCall, Routes

routes = Routes("/api/headgate/keys")


class KeyOwners(msgspec.Struct, frozen=True):
    owners: tuple[str, ...]


@routes.on("GET", "", Op.LIST_POLICIES, metalake_of, query=("metalake",))
def list_keys(call: DoorCall) -> Any:
    """The keys of the policies that the caller may see. The keys themselves are never told."""
    return {"code": 0, "keys": msgspec.to_builtins(call.steward.mask_keys.listed(call.permit))}


@routes.on("POST", "/{key}/join", Op.LIST_POLICIES, metalake_of, body=KeyOwners, query=("metalake",))
def join_key(call: DoorCall) -> Any:
    """Let the tables of these owners share the tokens of a key: for somebody who may alter all policies that name it."""
    return _answered(call, leave=False)


@routes.on("POST", "/{key}/leave", Op.LIST_POLICIES, metalake_of, body=KeyOwners, query=("metalake",))
def leave_key(call: DoorCall) -> Any:
    """Let the tables of these owners have tokens of their own again."""
    return _answered(call, leave=True)


def _answered(call: DoorCall, *, leave: bool) -> Any:
    found = call.steward.mask_keys.join(call.permit, call.params["key"], call.body.owners, leave=leave)
    return {"code": 0, "key": msgspec.to_builtins(found)}
