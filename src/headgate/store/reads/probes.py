"""Probes: somebody asks whether Spark can use the storage of a catalog, a worker tries it and answers.

A row has the catalog's properties, secrets included, as the catalog's own row will: it is deleted once it is answered.
"""

from datetime import timedelta
from typing import Final

import msgspec
from sqlalchemy import delete, insert, select, update

from headgate.store import tables as t
from headgate.store.database import Store, clock, stored_time

LIFE: Final = timedelta(minutes=5)
"""How long one is kept whose asker is gone."""

_p = t.storage_probes.c


class Probe(msgspec.Struct, frozen=True):
    """A probe that a worker has taken. The catalog's definition may hold secrets: it is not shown."""

    id: str
    definition: bytes

    def __repr__(self) -> str:
        return f"Probe({self.id!r})"


class ProbeState(msgspec.Struct, frozen=True):
    """How far a probe is. The outcome is empty if all went well, and None before it is known."""

    taken: bool
    outcome: str | None


def ask(store: Store, id: str, definition: bytes) -> None:
    """Ask for a probe, and forget those that nobody waits for any more."""
    with store.append() as connection:
        time = clock(connection)
        connection.execute(delete(t.storage_probes).where(_p.asked_at <= stored_time(time - LIFE)))
        connection.execute(
            insert(t.storage_probes).values(id=id, definition=definition, asked_at=stored_time(time))
        )


def take(store: Store, worker: str) -> Probe | None:
    """The probe that waits the longest; nobody else is given it."""
    waits = _p.worker.is_(None)
    with store.read() as read:
        # Cheap, and mostly the answer: nothing waits.
        if read.execute(select(_p.id).where(waits).limit(1)).first() is None:
            return None
    with store.append() as connection:
        found = connection.execute(
            select(_p.id, _p.definition)
            .where(waits, _p.asked_at > stored_time(clock(connection) - LIFE))
            .order_by(_p.asked_at)
            .limit(1)
            .with_for_update(skip_locked=True)
        ).first()
        if found is None:
            return None
        connection.execute(update(t.storage_probes).where(_p.id == found.id).values(worker=worker))
        return Probe(found.id, found.definition)


def answer(store: Store, id: str, outcome: str) -> None:
    """Say how a probe went: nothing if it went well."""
    with store.append() as connection:
        connection.execute(
            update(t.storage_probes).where(_p.id == id).values(outcome=outcome, definition=b"")
        )


def state(store: Store, id: str) -> ProbeState:
    with store.read() as read:
        found = read.execute(select(_p.worker, _p.outcome).where(_p.id == id)).first()
    return ProbeState(False, None) if found is None else ProbeState(found.worker is not None, found.outcome)


def forget(store: Store, id: str) -> None:
    with store.append() as connection:
        connection.execute(delete(t.storage_probes).where(_p.id == id))
