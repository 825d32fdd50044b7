"""The audit trail: every decision that mattered, with who, what, when, why and at which revision."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, select

from headgate.store import tables as t
from headgate.store.database import Store, now

_a = t.audit.c


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was asked, by whom, and what was answered."""

    metalake: str | None
    user: str
    action: str
    type: str | None
    object: str | None
    allowed: bool
    revision: int | None
    details: dict[str, Any]
    id: int = 0
    at: str = ""


def add(connection: Connection, event: Event) -> None:
    """Keep an event together with the change it tells of."""
    connection.execute(insert(t.audit).values(_values(event)))


def _values(event: Event) -> dict[str, Any]:
    values = {field: getattr(event, field) for field in event.__struct_fields__ if field != "id"}
    return {**values, "at": event.at or now(), "details": msgspec.json.encode(event.details)}


def record(store: Store, event: Event) -> None:
    """Keep an event by itself: a refusal is kept although nothing else changed."""
    with store.append() as connection:
        add(connection, event)


def record_all(store: Store, events: Sequence[Event]) -> None:
    """Keep events in one transaction, in their order."""
    with store.append() as connection:
        connection.execute(insert(t.audit), [_values(event) for event in events])


def query(
    store: Store,
    *,
    metalake: str,
    user: str | None = None,
    action: str | None = None,
    object: str | None = None,
    allowed: bool | None = None,
    since: str | None = None,
    after: int | None = None,
    limit: int = 100,
) -> list[Event]:
    """Events of a metalake that match, oldest first: those right after an id, or without one the latest."""
    wanted = select(t.audit).where(_a.metalake == metalake)
    for column, value in ((_a.user, user), (_a.action, action), (_a.object, object), (_a.allowed, allowed)):
        if value is not None:
            wanted = wanted.where(column == value)
    if since is not None:
        wanted = wanted.where(_a.at >= since)
    if after is not None:
        wanted = wanted.where(_a.id > after).order_by(_a.id)
    else:
        wanted = wanted.order_by(_a.id.desc())
    with store.read() as read:
        found = sorted(read.execute(wanted.limit(limit)).all(), key=lambda row: row.id)
    return [
        Event(
            id=row.id,
            at=row.at,
            metalake=row.metalake,
            user=row.user,
            action=row.action,
            type=row.type,
            object=row.object,
            allowed=row.allowed,
            revision=row.revision,
            details=msgspec.json.decode(row.details),
        )
        for row in found
    ]
