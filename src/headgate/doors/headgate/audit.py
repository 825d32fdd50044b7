"""The audit trail of a metalake, for its owner."""

from datetime import UTC, datetime
from typing import Any, Final

from headgate.decide import Op
from headgate.doors.routing import DoorCall, Routes
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType

routes = Routes("/api/headgate")

MOST: Final = 1000


def metalake_of(call: DoorCall) -> ObjectRef:
    """The metalake that the query names."""
    name = call.query.get("metalake")
    if not name:
        raise IllegalArgument("'metalake' says which metalake is meant", hint="add ?metalake=…")
    return ObjectRef(name, ObjectType.METALAKE)


@routes.on(
    "GET",
    "/audit",
    Op.READ_AUDIT,
    metalake_of,
    query=("metalake", "user", "action", "object", "allowed", "since", "after", "limit"),
)
def read_audit(call: DoorCall) -> Any:
    """Read what was asked and answered, oldest first: the latest events, or with `after` those that follow an id."""
    query = call.query
    events = call.steward.questions.audit(
        call.permit,
        user=query.get("user"),
        action=query.get("action"),
        object=query.get("object"),
        allowed=call.flag("allowed") if query.get("allowed") else None,
        since=time_of(call, "since"),
        after=_number(call, "after", 0, 2**62),
        limit=_number(call, "limit", 1, MOST) or 100,
    )
    return {"code": 0, "events": events}


def _number(call: DoorCall, name: str, least: int, most: int) -> int | None:
    text = call.query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise IllegalArgument(f"'{name}' must be a number from {least} to {most}")
    return int(text)


def time_of(call: DoorCall, name: str) -> datetime | None:
    """A time of the query; without an offset it is UTC."""
    text = call.query.get(name)
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise IllegalArgument(f"'{name}' must be a time such as 2026-01-31T12:00:00Z") from None
