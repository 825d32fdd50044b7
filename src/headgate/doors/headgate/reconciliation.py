"""What reconciling reads with plans asks for, beyond the audit trail itself: for the owner of a metalake."""

from typing import Any

import msgspec

from headgate.decide import Op
from headgate.doors.headgate.audit import metalake_of, time_of
from headgate.doors.routing import DoorCall, Routes
from headgate.model.errors import IllegalArgument
from headgate.steward.reads.history import Reader

routes = Routes("/api/headgate/audit")


class Readers(msgspec.Struct, frozen=True):
    readers: list[Reader]


@routes.on("GET", "/files", Op.READ_AUDIT, metalake_of, query=("metalake", "view"))
def given_files(call: DoorCall) -> Any:
    """The fingerprints of the original files that readers of a restricted view were given, by the view in their events."""
    return {"code": 0, "files": call.steward.history.files(call.permit, call.query.get("view", ""))}


@routes.on("POST", "/losses", Op.READ_AUDIT, metalake_of, body=Readers, query=("metalake", "since"))
def losses(call: DoorCall) -> Any:
    """When users lost the right to read tables, from a time on."""
    since = time_of(call, "since")
    if since is None:
        raise IllegalArgument("'since' says from when on", hint="add &since=2026-01-31T12:00:00Z")
    found = call.steward.history.losses(call.permit, since, call.body.readers)
    return {"code": 0, "complete": found.complete, "losses": found.losses}
