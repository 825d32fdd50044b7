"""Scan plans under way and done: kept so that every process can answer who asks for one again."""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

import msgspec
from sqlalchemy import delete, insert, select, update

from headgate.store import tables as t
from headgate.store.database import Store, clock, now, stored_time

LEASE: Final = timedelta(seconds=15)
"""How long a process that says nothing is believed to be at work on a plan."""

_p = t.plans.c


class PlanRecord(msgspec.Struct, frozen=True):
    """A plan as it is kept: whose it is, of which table, and its answer once it is done."""

    id: str
    object: int
    user: str
    status: str
    expires_at: str
    view: bytes
    """Stands for what the caller saw of the table: when they asked, and once there is an answer, when that was made."""
    request: bytes
    circumstances: bytes
    """What the request says about itself besides its object."""
    runner: str
    """The process that is at work on it."""
    answer: bytes | None = None
    lapsed: bool = False
    """Whether the process that was at work on it let go of it or is gone."""


_KEPT: Final = tuple(name for name in PlanRecord.__struct_fields__ if name != "lapsed")


def begin(store: Store, record: PlanRecord) -> None:
    """Keep a plan that is under way, and forget those that have expired."""
    with store.append() as connection:
        connection.execute(delete(t.plans).where(_p.expires_at <= now()))
        values = {name: getattr(record, name) for name in _KEPT}
        until = stored_time(clock(connection) + LEASE)
        connection.execute(insert(t.plans).values(**values, until=until))


def keep(store: Store, runner: str, ids: Collection[str]) -> None:
    """Say that a process is still at work on its plans."""
    with store.append() as connection:
        connection.execute(
            update(t.plans)
            .where(_p.id.in_(ids), _p.runner == runner)
            .values(until=stored_time(clock(connection) + LEASE))
        )


def take_over(store: Store, id: str, runner: str) -> bool:
    """Take a plan from a process that let go of it or is gone; False if one is at work on it, or if it is done."""
    with store.append() as connection:
        time = clock(connection)
        taken = connection.execute(
            update(t.plans)
            .where(_p.id == id, _p.status == "submitted", _p.until < stored_time(time))
            .values(runner=runner, until=stored_time(time + LEASE))
        )
        return bool(taken.rowcount)


def let_go(store: Store, runner: str, ids: Collection[str]) -> None:
    """Leave plans to whoever is asked for them next."""
    with store.append() as connection:
        connection.execute(update(t.plans).where(_p.id.in_(ids), _p.runner == runner).values(until=""))


def end(store: Store, id: str, status: str, answer: bytes | None, view: bytes | None = None) -> bool:
    """Say how a plan ended, and under which view; False if it was cancelled or forgotten before, which stays so."""
    values = {"status": status, "answer": answer, **({} if view is None else {"view": view})}
    with store.append() as connection:
        done = connection.execute(update(t.plans).where(_p.id == id, _p.status == "submitted").values(values))
        return bool(done.rowcount)


def find(store: Store, id: str, object: int, user: str) -> PlanRecord | None:
    """A plan of that table and user that has not expired."""
    with store.read() as read:
        row = read.execute(
            select(t.plans).where(_p.id == id, _p.object == object, _p.user == user, _p.expires_at > now())
        ).one_or_none()
        if row is None:
            return None
        lapsed = row.status == "submitted" and row.until < stored_time(clock(read.connection))
        return PlanRecord(**{name: getattr(row, name) for name in _KEPT}, lapsed=lapsed)


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
