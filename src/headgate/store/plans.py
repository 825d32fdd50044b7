"""Scan plans under way and done: kept so that every process can answer who asks for one again."""

import msgspec
from sqlalchemy import delete, insert, select, update

from headgate.store import tables as t
from headgate.store.database import Store, now

_p = t.plans.c


class PlanRecord(msgspec.Struct, frozen=True):
    """A plan as it is kept: whose it is, of which table, and its answer once it is done."""

    id: str
    object: int
    user: str
    status: str
    expires_at: str
    view: bytes
    """Stands for what the caller saw of the table when it was planned."""
    answer: bytes | None = None


def begin(store: Store, record: PlanRecord) -> None:
    """Keep a plan that is under way, and forget those that have expired."""
    with store.append() as connection:
        connection.execute(delete(t.plans).where(_p.expires_at <= now()))
        connection.execute(
            insert(t.plans).values({name: getattr(record, name) for name in record.__struct_fields__})
        )


def end(store: Store, id: str, status: str, answer: bytes | None) -> bool:
    """Say how a plan ended; False if it was cancelled or forgotten before, which stays so."""
    with store.append() as connection:
        done = connection.execute(
            update(t.plans).where(_p.id == id, _p.status == "submitted").values(status=status, answer=answer)
        )
        return bool(done.rowcount)


def find(store: Store, id: str, object: int, user: str) -> PlanRecord | None:
    """A plan of that table and user that has not expired."""
    with store.read() as read:
        row = read.execute(
            select(t.plans).where(_p.id == id, _p.object == object, _p.user == user, _p.expires_at > now())
        ).one_or_none()
    return None if row is None else PlanRecord(*(getattr(row, name) for name in PlanRecord.__struct_fields__))


def forget(store: Store, id: str) -> None:
    with store.append() as connection:
        connection.execute(delete(t.plans).where(_p.id == id))


def any_live(store: Store, object: int) -> bool:
    """Whether somebody may still come for a plan of that table."""
    with store.read() as read:
        return (
            read.execute(select(_p.id).where(_p.object == object, _p.expires_at > now()).limit(1)).first()
            is not None
        )
