"""Partitions of a table: ``…/tables/{table}/partitions``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.objects import ObjectType

routes = Routes("/api/metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/tables/{table}/partitions")

_table = wire.leaf(ObjectType.TABLE)


class AddPartitions(msgspec.Struct, frozen=True):
    partitions: list[dict[str, Any]]


@routes.on("GET", "", Op.READ_PARTITIONS, _table, query=("details", *wire.PAGE))
def list_partitions(call: DoorCall) -> Any:
    """List the partitions that hold data."""
    found, token = wire.page(call, call.steward.partitions.list(call.permit), lambda p: p.name)
    if call.flag("details"):
        return wire.ok(partitions=found, nextPageToken=token)
    return wire.ok(names=[partition.name for partition in found], nextPageToken=token)


@routes.on("POST", "", Op.WRITE_PARTITIONS, _table, body=AddPartitions)
def add_partitions(call: DoorCall) -> Any:
    """Add partitions, where a catalog can do that."""
    call.steward.partitions.change(call.permit)


@routes.on("GET", "/{partition}", Op.READ_PARTITIONS, _table)
def get_partition(call: DoorCall) -> Any:
    """Get one partition."""
    return wire.ok(partition=call.steward.partitions.get(call.permit, call.params["partition"]))


@routes.on("DELETE", "/{partition}", Op.WRITE_PARTITIONS, _table, query=("purge",))
def drop_partition(call: DoorCall) -> Any:
    """Drop a partition, where a catalog can do that."""
    call.steward.partitions.change(call.permit)
