"""Keys of masks: ``/api/headgate/keys``. Which there are, and which tables share their tokens."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.headgate.audit import metalake_of
from headgate.doors.routing import DoorCall, Routes

routes = Routes("/api/headgate/keys")


class KeyTables(msgspec.Struct, frozen=True):
    tables: tuple[str, ...]


@routes.on("GET", "", Op.LIST_POLICIES, metalake_of, query=("metalake",))
def list_keys(call: DoorCall) -> Any:
    """The keys of the policies that the caller may see. The keys themselves are never told."""
    return {"code": 0, "keys": msgspec.to_builtins(call.steward.mask_keys.listed(call.permit))}


@routes.on("POST", "/{key}/join", Op.LIST_POLICIES, metalake_of, body=KeyTables, query=("metalake",))
def join_key(call: DoorCall) -> Any:
    """Let these tables share the tokens of a key: for who may alter all policies that name it.

    The answer names who is shown no tokens of them, because they may write one of the tables or once did.
    """
    return _answered(call, leave=False)


@routes.on("POST", "/{key}/leave", Op.LIST_POLICIES, metalake_of, body=KeyTables, query=("metalake",))
def leave_key(call: DoorCall) -> Any:
    """Let these tables have tokens of their own again."""
    return _answered(call, leave=True)


def _answered(call: DoorCall, *, leave: bool) -> Any:
    found = call.steward.mask_keys.join(call.permit, call.params["key"], call.body.tables, leave=leave)
    return {"code": 0, "key": msgspec.to_builtins(found)}
