"""Metrics: ``…/tables/{table}/metrics``. What engines report about their scans and commits, kept for the audit."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.iceberg.access import table
from headgate.doors.routing import Answer, DoorCall, Routes

routes = Routes("/iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}")


class Report(msgspec.Struct, frozen=True, rename="kebab"):
    """A scan or commit report; what only one of them has is None for the other."""

    report_type: str
    snapshot_id: int | None = None
    filter: Any = None
    projected_field_names: list[str] | None = None
    sequence_number: int | None = None
    operation: str | None = None
    metrics: dict[str, Any] = {}
    metadata: dict[str, str] | None = None


@routes.on("POST", "/metrics", Op.LOAD_TABLE, table, body=Report)
def report_metrics(call: DoorCall) -> Any:
    """Keep what an engine reports about a scan or commit."""
    body: Report = call.body
    call.steward.documents.reported(
        call.permit,
        body.report_type,
        {
            "snapshot": body.snapshot_id,
            "predicate": body.filter,
            "projection": body.projected_field_names,
            "operation": body.operation,
            "metrics": body.metrics,
            "metadata": body.metadata,
        },
    )
    return Answer(status=204)
