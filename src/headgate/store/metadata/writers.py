"""Who ever wrote a table: they know plain text of it, so no keyed mask of it is shown to them.

INVARIANT: by name, and for as long as the table is there or may come back. A right that was given away, a role that was
revoked or a user who was removed and added again undoes nothing.
"""

from collections.abc import Iterator

from sqlalchemy import delete, insert, select

from headgate.model.changes import TableWritten
from headgate.store import tables as t
from headgate.store.database import Read, Write, rows

_w = t.table_writers.c


def add(tx: Write, object: int, user: str) -> None:
    """Keep that somebody wrote a table, who is not known to have."""
    tx.execute(insert(t.table_writers).values(object=object, user=user))
    tx.journal(TableWritten(object, user))


def of(read: Read, object: int) -> frozenset[str]:
    return frozenset(read.execute(select(_w.user).where(_w.object == object)).scalars())


def hand_over(tx: Write, former: int, object: int) -> None:
    """A table that comes back was written by those who wrote it before."""
    for user in sorted(of(tx, former) - of(tx, object)):
        add(tx, object, user)


def forget(tx: Write, object: int) -> None:
    """Nothing of a table is left."""
    tx.execute(delete(t.table_writers).where(_w.object == object))


def all_written(read: Read) -> Iterator[TableWritten]:
    """The writers of all tables that are there."""
    there = select(_w.object, _w.user).join(t.objects, t.objects.c.id == _w.object)
    for row in rows(read, there):
        yield TableWritten(row.object, row.user)
