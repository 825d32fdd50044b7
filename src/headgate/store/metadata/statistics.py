"""Statistics of tables and of their partitions, as clients keep them here."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import delete, insert, select, update

from headgate.model.records import Statistic, audit_of
from headgate.store import tables as t
from headgate.store.database import Read, Write

_s = t.statistics.c

WHOLE = ""
"""In place of a partition: the statistics of the table itself."""


def of_table(read: Read, object: int) -> list[Statistic]:
    """The statistics of a table itself, by name."""
    return _found(read, (_s.object == object) & (_s.partition == WHOLE))


def of_partitions(read: Read, object: int) -> list[Statistic]:
    """The statistics of all partitions of a table, by partition and name."""
    return _found(read, (_s.object == object) & (_s.partition != WHOLE))


def put(tx: Write, object: int, partition: str, values: Mapping[str, Any]) -> None:
    """Set these values; others stay as they are."""
    for name, value in values.items():
        one = (_s.object == object) & (_s.partition == partition) & (_s.name == name)
        encoded = msgspec.json.encode(value)
        known = tx.execute(
            update(t.statistics).where(one).values(value=encoded, modifier=tx.actor, modified_at=tx.now)
        ).rowcount
        if not known:
            tx.execute(
                insert(t.statistics).values(
                    object=object,
                    partition=partition,
                    name=name,
                    value=encoded,
                    creator=tx.actor,
                    created_at=tx.now,
                )
            )


def drop(tx: Write, object: int, partition: str, names: Iterable[str]) -> bool:
    """Forget these values; False if none of them was there."""
    gone = tx.execute(
        delete(t.statistics).where(_s.object == object, _s.partition == partition, _s.name.in_(list(names)))
    ).rowcount
    return bool(gone)


def _found(read: Read, where: Any) -> list[Statistic]:
    query = select(t.statistics).where(where).order_by(_s.partition, _s.name)
    return [
        Statistic(row.partition, row.name, msgspec.json.decode(row.value), audit_of(row))
        for row in read.execute(query)
    ]
