"""Discovery: ``/v1/config``, where a client learns its prefix and what the server can do."""

from typing import Any
from urllib.parse import unquote

from headgate.decide import Op
from headgate.doors.iceberg import wire
from headgate.doors.routing import DoorCall, Open, Routes
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType, clip

routes = Routes("/iceberg/v1")

ENDPOINTS: list[str] = []
"""What the door can do, as clients read it; filled when the door is put together."""


@routes.on("GET", "/config", Open.AUTHENTICATED, query=("warehouse",))
def config(call: DoorCall) -> Any:
    """The prefix of a warehouse, defaults and overrides for its clients, and the endpoints that are there."""
    catalog = _catalog(call)
    call.ask(Op.LOAD_CATALOG, catalog)
    return {
        "defaults": {},
        "overrides": {"prefix": wire.prefix_of(catalog), "warehouse": f"{catalog.metalake}.{catalog.name}"},
        "endpoints": ENDPOINTS,
        "idempotency-key-lifetime": "PT30M",
    }


def _catalog(call: DoorCall) -> ObjectRef:
    """`metalake.catalog`, or just `catalog` for someone who is in one metalake."""
    warehouse = unquote(call.query.get("warehouse", "")).strip("/")
    if not warehouse:
        raise IllegalArgument("the client names no warehouse", hint="set warehouse to <metalake>.<catalog>")
    metalake, dot, name = warehouse.partition(".")
    if not dot:
        authority = call.steward.kernel.authority()
        mine = [
            node.name
            for node in authority.children_of(0, ObjectType.METALAKE)
            if authority.caller(call.caller, node.id).member is not None
        ]
        if len(mine) != 1:
            raise IllegalArgument(
                f"warehouse '{clip(warehouse)}' does not say which metalake", hint="use <metalake>.<catalog>"
            )
        metalake, name = mine[0], metalake
    return ObjectRef(metalake, ObjectType.CATALOG, (name,))
