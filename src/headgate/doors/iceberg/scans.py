"""Scan planning: ``…/tables/{table}/plan``, ``/plan/{plan-id}`` and ``/tasks``."""

from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.doors.iceberg import access
from headgate.doors.iceberg.access import circumstances_of, table
from headgate.doors.routing import Answer, DoorCall, Routes
from headgate.steward.reads.planning.plan_trail import PlanStep
from headgate.steward.reads.planning.scans import Planned

routes = Routes("/iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}")


def _answer(call: DoorCall, planned: Planned) -> Answer:
    parts = [b'"status":' + msgspec.json.encode(planned.status)]
    # A plan that is there at once has no id: with one, its client would come back to cancel it.
    if planned.status == "submitted":
        parts.append(b'"plan-id":' + msgspec.json.encode(planned.id))
    if planned.members:
        parts.append(planned.members)
    # Added to the answer and never kept with the plan.
    if planned.status == "completed" and (circumstances := circumstances_of(call)).delegations:
        with call.steward.scans.trail.failures(call.permit, PlanStep.ACCESS, circumstances):
            given = call.steward.vending.plan_access(
                call.permit, circumstances, planned.files, planned.read, planned.signer
            )
        if given.credentials or given.signer is not None:
            parts.append(msgspec.json.encode(access.members(given, call.permit.ref))[1:-1])
    return Answer(b"{" + b",".join(parts) + b"}")


_NUMBER: Final = {"type": "integer", "minimum": 0}
_NAMES: Final = {"type": "array", "items": {"type": "string"}}
_PLAN: Final = {
    "type": "object",
    "properties": {
        "snapshot-id": _NUMBER,
        "select": _NAMES,
        "filter": {
            "type": "object",
            "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": ["eq", "not-eq", "lt", "gt", "in", "is-null", "and", "or", "not", "true"]},
                "term": {"type": "string"},
                "value": {},
                "values": {"type": "array"},
            },
        },
        "min-rows-requested": _NUMBER,
        "case-sensitive": {"type": "boolean"},
        "use-snapshot-schema": {"type": "boolean"},
        "start-snapshot-id": _NUMBER,
        "end-snapshot-id": _NUMBER,
        "stats-fields": _NAMES,
    },
}  # fmt: skip
"""What a plan may ask for, for the OpenAPI document; the planner itself reads it."""
_TASK: Final = {
    "type": "object",
    "required": ["plan-task"],
    "properties": {"plan-task": {"type": "string"}},
}


@routes.on("POST", "/plan", Op.READ_TABLE, table, raw={"application/json": _PLAN})
def plan_scan(call: DoorCall) -> Any:
    """Plan a scan: which files hold what the caller asks for and may see."""
    return _answer(call, call.steward.scans.plan(call.permit, call.raw, circumstances_of(call)))


@routes.on("GET", "/plan/{plan-id}", Op.READ_TABLE, table)
def fetch_plan(call: DoorCall) -> Any:
    """Ask how far a plan is that took longer."""
    planned = call.steward.scans.poll(call.permit, call.params["plan-id"], circumstances_of(call))
    return _answer(call, planned)


@routes.on("DELETE", "/plan/{plan-id}", Op.READ_TABLE, table)
def cancel_plan(call: DoorCall) -> Any:
    """Give up a plan."""
    call.steward.scans.cancel(call.permit, call.params["plan-id"], circumstances_of(call))
    return Answer(status=204)


@routes.on("POST", "/tasks", Op.READ_TABLE, table, raw={"application/json": _TASK})
def fetch_tasks(call: DoorCall) -> Any:
    """The files of one part of a plan."""
    members = call.steward.scans.tasks(call.permit, call.raw, circumstances_of(call))
    return Answer(b"{" + members + b"}")
