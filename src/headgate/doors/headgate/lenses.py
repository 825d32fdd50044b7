"""Restricted lenses: ``/api/headgate/lenses``. How far the copies of each are, making them ready, and clearing them away."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.headgate.audit import metalake_of
from headgate.doors.routing import DoorCall, Routes
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward.reads.copies.care import LensStatus

routes = Routes("/api/headgate/lenses")


class Warm(msgspec.Struct, frozen=True):
    tables: list[str] = []
    users: list[str] = []


class Collect(msgspec.Struct, frozen=True):
    unusedDays: int = 7  # noqa: N815
    dryRun: bool = False  # noqa: N815


def table_of(call: DoorCall) -> ObjectRef:
    """The table that the query names."""
    name = call.query.get("table")
    if not name:
        raise IllegalArgument("'table' says which table is meant", hint="add &table=catalog.schema.table")
    return ObjectRef.parse(metalake_of(call).metalake, ObjectType.TABLE, name)


def _shown(status: LensStatus) -> dict[str, Any]:
    progress = msgspec.to_builtins(status.progress)
    progress.pop("object")
    return {"table": status.table, **progress}


@routes.on("GET", "", Op.MANAGE_LENSES, metalake_of, query=("metalake",))
def list_views(call: DoorCall) -> Any:
    """How far the restricted lenses over all tables are."""
    return {"code": 0, "views": [_shown(one) for one in call.steward.care.status(call.permit)]}


@routes.on("GET", "/mine", Op.LOAD_TABLE, table_of, query=("metalake", "table"))
def my_view(call: DoorCall) -> Any:
    """Whether the caller's own lens over a table is ready."""
    return {"code": 0, "views": call.steward.care.mine(call.permit)}


@routes.on("POST", "/warm", Op.MANAGE_LENSES, metalake_of, body=Warm, query=("metalake",))
def warm(call: DoorCall) -> Any:
    """Have copies made before anybody waits for them."""
    body: Warm = call.body
    tables = [ObjectRef.parse(call.permit.ref.metalake, ObjectType.TABLE, name) for name in body.tables]
    return {"code": 0, "warmed": call.steward.care.warm(call.permit, tables, body.users)}


@routes.on("POST", "/gc", Op.MANAGE_LENSES, metalake_of, body=Collect, query=("metalake",))
def collect(call: DoorCall) -> Any:
    """Clear away what nobody can use any more."""
    body: Collect = call.body
    if not 0 <= body.unusedDays <= 36_500:
        raise IllegalArgument("'unusedDays' must be 0 to 36500")
    found = call.steward.care.gc(call.permit, body.unusedDays, dry_run=body.dryRun)
    return {"code": 0, "collected": found}
