"""Statistics of tables and partitions: ``…/objects/{type}/{fullName}/statistics``."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model.errors import Unsupported
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.records import Statistic
from headgate.steward.metadata.statistics import Range

routes = Routes("/api/metalakes/{metalake}/objects/{type}/{fullName}/statistics")


class Update(msgspec.Struct, frozen=True):
    updates: dict[str, Any]


class Drop(msgspec.Struct, frozen=True):
    names: list[str]


class PartitionUpdate(msgspec.Struct, frozen=True, rename="camel"):
    partition_name: str
    statistics: dict[str, Any]


class UpdatePartitions(msgspec.Struct, frozen=True):
    updates: list[PartitionUpdate]


class PartitionDrop(msgspec.Struct, frozen=True, rename="camel"):
    partition_name: str
    statistic_names: list[str]


class DropPartitions(msgspec.Struct, frozen=True):
    drops: list[PartitionDrop]


def _table(call: DoorCall) -> ObjectRef:
    ref = wire.named_object(call)
    if ref.type is not ObjectType.TABLE:
        raise Unsupported(f"a {ref.type} has no statistics", hint="ask about a table")
    return ref


def shown(statistic: Statistic) -> dict[str, Any]:
    return {
        "name": statistic.name,
        "value": statistic.value,
        "reserved": False,
        "modifiable": True,
        "audit": wire.audit(statistic.audit),
    }


@routes.on("GET", "", Op.READ_STATISTICS, _table, query=wire.PAGE)
def list_statistics(call: DoorCall) -> Any:
    """List the statistics of a table."""
    found, token = wire.page(call, call.steward.statistics.of_table(call.permit), lambda s: s.name)
    return wire.ok(statistics=[shown(statistic) for statistic in found], nextPageToken=token)


@routes.on("PUT", "", Op.WRITE_STATISTICS, _table, body=Update)
def update_statistics(call: DoorCall) -> Any:
    """Set statistics of a table."""
    call.steward.statistics.update(call.permit, call.body.updates)
    return wire.ok()


@routes.on("POST", "", Op.WRITE_STATISTICS, _table, body=Drop)
def drop_statistics(call: DoorCall) -> Any:
    """Forget statistics of a table."""
    return wire.ok(dropped=call.steward.statistics.drop(call.permit, call.body.names))


@routes.on(
    "GET",
    "/partitions",
    Op.READ_STATISTICS,
    _table,
    query=("from", "to", "fromInclusive", "toInclusive", *wire.PAGE),
)
def list_partition_statistics(call: DoorCall) -> Any:
    """List the statistics of a table's partitions, or of a span of them."""
    span = Range(
        call.query.get("from"),
        call.query.get("to"),
        call.flag("fromInclusive", True),
        call.flag("toInclusive", False),
    )
    by_name = call.steward.statistics.of_partitions(call.permit, span)
    names, token = wire.page(call, sorted(by_name), lambda name: name)
    rendered = [
        {"partitionName": name, "statistics": [shown(statistic) for statistic in by_name[name]]}
        for name in names
    ]
    return wire.ok(partitionStatistics=rendered, nextPageToken=token)


@routes.on("PUT", "/partitions", Op.WRITE_STATISTICS, _table, body=UpdatePartitions)
def update_partition_statistics(call: DoorCall) -> Any:
    """Set statistics of partitions."""
    body: UpdatePartitions = call.body
    merged: dict[str, dict[str, Any]] = {}
    for update in body.updates:
        merged.setdefault(update.partition_name, {}).update(update.statistics)
    call.steward.statistics.update_partitions(call.permit, merged)
    return wire.ok()


@routes.on("POST", "/partitions", Op.WRITE_STATISTICS, _table, body=DropPartitions)
def drop_partition_statistics(call: DoorCall) -> Any:
    """Forget statistics of partitions."""
    body: DropPartitions = call.body
    merged: dict[str, list[str]] = {}
    for drop in body.drops:
        merged.setdefault(drop.partition_name, []).extend(drop.statistic_names)
    return wire.ok(dropped=call.steward.statistics.drop_partitions(call.permit, merged))
